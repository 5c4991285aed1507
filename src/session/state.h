/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An authority with a state directory and an audit log; every program that works on a user's files
 * starts with one. The program chooses the folder and the access.
 */
#ifndef SESSION_STATE_H
#define SESSION_STATE_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "gatehouse/audit.h"
#include "gatehouse/authority.h"
#include "isolate/ownplaces.h"

#define SESSION_AUDIT_NAME "audit.jsonl"

struct session_state {
    struct authority *authority;
    struct audit_file *audit; /* NULL: another process keeps the audit log, or there is no room */
    int audit_dir_fd;
    bool is_failing;           /* the last write to the audit log failed */
    bool is_full;              /* there was no room for an audit log at the start */
    char state_path[PATH_MAX]; /* absolute */
    struct ownplaces own;      /* of all Gatehouse programs of this user */
};

#define SESSION_STATE_INIT ((struct session_state){.audit_dir_fd = -1})

struct session_state_config {
    const char *state_dir;         /* created if missing; NULL: session_state_default_dir() */
    bool is_recorded_elsewhere;    /* keep no audit log here */
    enum audit_sync audit_sync;    /* which records the disk must have */
    bool only_reads;               /* keep no journal either, which needs disk space */
    authority_backend_fn *backend; /* if it is in memory, only the audit log is on disk */
    bool may_be_full;              /* without disk space, go on: nothing is changed nor logged */
};

/*
 * Opens the state directory. No scope of this authority can reach it, nor any other directory in
 * which Gatehouse programs of this user keep settings or state (isolate/ownplaces.h). The error
 * message is for the user. Call session_state_close() even on failure, after freeing all scopes.
 */
int session_state_open(const struct session_state_config *config, struct session_state *state,
                       struct err *err);
void session_state_close(struct session_state *state);
/* `from` is as if closed then. */
void session_state_take(struct session_state *from, struct session_state *out_state);

/*
 * Flushes the audit log. Returns a message for the user when writing starts to fail and when it
 * works again; else NULL.
 */
const char *session_state_flush(struct session_state *state);

/*
 * The user's default state directory: $XDG_STATE_HOME/gatehouse or ~/.local/state/gatehouse.
 * ERR_INVALID_ARGUMENT when the environment names neither.
 */
int session_state_default_dir(char out_path[PATH_MAX], struct err *err);

/*
 * The directory of the server's state, below the given or default one; created if missing, private.
 * `err` is for the user.
 */
int session_state_server_dir(const char *given, char out_path[PATH_MAX], struct err *err);

/* Makes a folder name given by the user absolute, without looking at the file system. */
int session_state_absolute_path(const char *name, char out_path[PATH_MAX], struct err *err);

#endif
