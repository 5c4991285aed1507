/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How this program gets the user's permission: modes from the command line, a terminal if one was
 * given, and rules that may change at run time.
 */
#ifndef PROGRAMS_MCP_CONSENT_H
#define PROGRAMS_MCP_CONSENT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "base/options/options.h"
#include "loop/loop.h"
#include "permission/questionqueue.h"
#include "session/session.h"

struct consent {
    struct session_consent session; /* for session_open() */
    int terminal_fd;                /* -1: none given */
    bool allows_remote_always;      /* offer permanent choices also when the client asks */
    /* Valid after consent_start(): */
    const struct log *log;
    const struct session *base;
    struct question_queue *queue;
    struct console *console;
    struct ready_watch *watch;
};

/* Reads the options and opens the terminal. */
int consent_init(struct consent *consent, const struct option_values *values, struct err *err);

/* Call once there is a loop: starts to ask on the terminal, and follows the rules. */
int consent_start(struct consent *consent, struct loop *loop, const struct log *log,
                  const struct session *session, struct err *err);

/*
 * Call before freeing the loop and the session. Allowed after consent_init() alone, or if that
 * failed.
 */
void consent_done(struct consent *consent);

#endif
