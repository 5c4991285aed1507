/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How this program comes to the user's consent: modes from the command line,
 * a terminal if one was named, and rules that may change while it runs.
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
    int terminal_fd;                /* -1: none was named */
    bool allows_remote_always;      /* choices that are kept for good also by way of the client */
    /* From consent_start() on: */
    const struct log *log;
    const struct session *base;
    struct question_queue *queue;
    struct console *console;
    struct ready_watch *watch;
};

/* By the options; opens the terminal. */
int consent_init(struct consent *consent, const struct option_values *values, struct err *err);

/* When there is a loop: asks on the terminal, and follows the rules. */
int consent_start(struct consent *consent, struct loop *loop, const struct log *log,
                  const struct session *session, struct err *err);

/* Before the loop and the session. Also after consent_init() alone, or when that failed. */
void consent_done(struct consent *consent);

#endif
