/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `gatehouse status`, and the socket where it meets the daemon: in a private
 * directory of the user below the runtime directory, named after the daemon's port.
 */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include <limits.h>
#include <stdint.h>

#include "base/err.h"
#include "base/options/options.h"
#include "cli/programs.h"

enum { STATUS_OPTION_PORT, STATUS_OPTION_STATE_DIR, STATUS_OPTION_JSON, STATUS_OPTIONS };

extern const struct option status_options[STATUS_OPTIONS];

/* As a row of a table. */
#define STATUS_COMMAND                                                                             \
    {                                                                                              \
        .name = "status", .summary = STATUS_SUMMARY, .options = status_options,                    \
        .option_count = STATUS_OPTIONS                                                             \
    }

/* The request on the socket; the daemon answers and closes. */
#define STATUS_REQUEST "GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

/* The name under which `gatehouse up` starts its server and its daemon. */
#define STATUS_NAME_OF_UP "up"

enum { STATUS_NAME_BYTES = 32 };

/* Where a daemon's socket may be; a daemon started elsewhere may have had other variables. */
enum status_place {
    STATUS_PLACE_RUNTIME, /* below $XDG_RUNTIME_DIR */
    STATUS_PLACE_STATE,   /* below $XDG_STATE_HOME or ~/.local/state */
    STATUS_PLACE_LOGIN,   /* below /run/user/UID, the usual value of the first one */
    STATUS_PLACES
};

/* False if the environment does not define it. */
bool status_socket_place(enum status_place place, char out_path[PATH_MAX]);

/*
 * $XDG_RUNTIME_DIR/gatehouse, which disappears when the user logs out; if unset, the state
 * directory, $XDG_STATE_HOME/gatehouse or ~/.local/state/gatehouse. Relative paths are ignored.
 */
int status_socket_dir(char out_path[PATH_MAX], struct err *err);

/* "daemon-7655.socket" */
void status_socket_name(uint16_t port, char out_name[STATUS_NAME_BYTES]);

#endif
