/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log of the server, in its own directory: who signed in or failed to, which keys were
 * created and revoked, what was refused. `gatehouse audit --server` shows it.
 */
#ifndef SESSION_SERVERAUDIT_H
#define SESSION_SERVERAUDIT_H

#include "gatehouse/audit.h"

struct serveraudit {
    struct audit_file *file; /* NULL: not opened */
    int dir_fd;
    uint64_t last_id;
};

#define SERVERAUDIT_INIT                                                                           \
    {                                                                                              \
        .dir_fd = -1                                                                               \
    }

/* `path` is that of session_state_server_dir(). Before the process is confined. */
int serveraudit_open(struct serveraudit *audit, const char *path, enum audit_sync sync,
                     struct err *err);
void serveraudit_close(struct serveraudit *audit);

struct serveraudit_note {
    enum authority_operation operation;
    struct str user;   /* whose it is; empty: nobody's */
    struct str what;   /* a name, a path of a request, … */
    const char *how;   /* "password", "link", "command", …; or NULL */
    const char *from;  /* an address; or NULL */
    int error;         /* 0, or why it was refused */
    const char *words; /* more about it; or NULL */
};

/* A log that cannot be written says so in its next line; nothing else fails for that. */
void serveraudit_write(struct serveraudit *audit, const struct serveraudit_note *note);

#endif
