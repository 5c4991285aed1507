/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How this program gets the user's permission: modes from the command line, terminals of
 * `gatehouse ask`, and rules that may change at run time.
 */
#ifndef PROGRAMS_MCP_CONSENT_H
#define PROGRAMS_MCP_CONSENT_H

#include <stdbool.h>

#include "asking/asker.h"
#include "asking/noticeboard.h"
#include "base/err.h"
#include "base/log.h"
#include "base/options/options.h"
#include "loop/loop.h"
#include "permission/questionqueue.h"
#include "session/session.h"

struct consent {
    struct session_consent session; /* for session_open() */
    bool writes_unmarked;           /* folders without --ro and --rw may be changed */
    struct noticeboard board;       /* of open questions of all programs of this user */
    struct asking_socket socket;    /* where terminals of `gatehouse ask` connect */
    bool allows_remote_always;      /* offer permanent choices also when the client asks */
    /* Valid after consent_start(): */
    const struct log *log;
    const struct session *base;
    struct question_queue *queue;
    struct asker *asker;
    struct ready_watch *watch;
};

/*
 * Reads the options. In a workspace, which has nothing of the user's, everything is allowed that
 * they do not mention.
 */
int consent_init(struct consent *consent, const struct option_values *values, bool in_workspace,
                 struct err *err);

/*
 * Opens the socket for `gatehouse ask` and the noticeboard; if that fails, the log says so. Call it
 * before the process is confined, and after it has forked for good: a child would hold the socket.
 */
void consent_listen(struct consent *consent, const struct log *log);

/* Call once there is a loop: lets terminals connect, and follows the rules. */
int consent_start(struct consent *consent, struct loop *loop, const struct log *log,
                  const struct session *session, struct err *err);

/*
 * Call before freeing the loop and the session. Allowed after consent_init() alone, or if that
 * failed.
 */
void consent_done(struct consent *consent);

#endif
