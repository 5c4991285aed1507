/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `gatehouse status` understands, and where it and the daemon meet: a socket of the user's own
 * below the runtime directory, named after the daemon's port.
 */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include <limits.h>
#include <stdint.h>

#include "base/err.h"
#include "base/options/options.h"
#include "cli/programs.h"

enum { STATUS_OPTION_PORT, STATUS_OPTION_JSON, STATUS_OPTIONS };

extern const struct option status_options[STATUS_OPTIONS];

/* As a row of a table. */
#define STATUS_COMMAND                                                                             \
    {                                                                                              \
        .name = "status", .summary = STATUS_SUMMARY, .options = status_options,                    \
        .option_count = STATUS_OPTIONS                                                             \
    }

/* What is asked over the socket; the daemon answers and closes. */
#define STATUS_REQUEST "GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

enum { STATUS_NAME_BYTES = 32 };

/* Where a daemon's socket may be; one that was started elsewhere may have had other variables. */
enum status_place {
    STATUS_PLACE_RUNTIME, /* below $XDG_RUNTIME_DIR */
    STATUS_PLACE_STATE,   /* below $XDG_STATE_HOME or ~/.local/state */
    STATUS_PLACE_LOGIN,   /* below /run/user/UID, which is the first one's usual value */
    STATUS_PLACES
};

/* False where the environment says nothing of it. */
bool status_socket_place(enum status_place place, char out_path[PATH_MAX]);

/*
 * $XDG_RUNTIME_DIR/gatehouse, which goes when the user logs out; without one the place for state,
 * $XDG_STATE_HOME/gatehouse or ~/.local/state/gatehouse. A relative path counts as none.
 */
int status_socket_dir(char out_path[PATH_MAX], struct err *err);

/* "daemon-7655.socket" */
void status_socket_name(uint16_t port, char out_name[STATUS_NAME_BYTES]);

#endif
