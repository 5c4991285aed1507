/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An authority with a directory for its state, and the record of what it does in
 * there: what every program starts with that works on a user's files. Which folder
 * is used, and in what ways, is left to the program.
 */
#ifndef SESSION_STATE_H
#define SESSION_STATE_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "gatehouse/audit.h"
#include "gatehouse/authority.h"

struct session_state {
    struct authority *authority;
    struct audit_file *audit; /* NULL where somebody else keeps the record */
    int audit_dir_fd;
    bool is_failing;           /* the record could not be written when it was last tried */
    char state_path[PATH_MAX]; /* absolute */
};

struct session_state_config {
    const char *state_dir;      /* made if it is missing; NULL: session_state_default_dir() */
    bool is_recorded_elsewhere; /* then no record is kept here */
    bool only_reads;            /* then no journal is either, which needs room on the disk */
};

/*
 * No scope of this authority reaches it, nor
 * the user's own place for state. The message is for the user. session_state_close() follows
 * in any case, after all scopes are freed.
 */
int session_state_open(const struct session_state_config *config, struct session_state *state,
                       struct err *err);
void session_state_close(struct session_state *state);

/*
 * Writes what waits for it. When that begins to fail, and when it is over, what is to be said to
 * the user; else NULL.
 */
const char *session_state_flush(struct session_state *state);

/*
 * The user's own place for state: $XDG_STATE_HOME/gatehouse or ~/.local/state/gatehouse.
 * ERR_INVALID_ARGUMENT when the environment names neither.
 */
int session_state_default_dir(char out_path[PATH_MAX], struct err *err);

/* A folder as the user named it, from / on; nothing is looked at. */
int session_state_absolute_path(const char *name, char out_path[PATH_MAX], struct err *err);

#endif
