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
#include "permission/desk.h"
#include "tools/ground.h"

struct consent {
    struct ground_consent ground; /* for ground_open() */
    int terminal_fd;              /* -1: none was named */
    bool allows_remote_always;    /* choices that are kept for good also by way of the client */
    /* From consent_start() on: */
    const struct log *log;
    const struct ground *base;
    struct desk *desk;
    struct console *console;
    struct ready_watch *watch;
};

/* By the options; opens the terminal. */
int consent_init(struct consent *consent, const struct option_values *values, struct err *err);

/* When there is a loop: asks on the terminal, and follows the rules. */
int consent_start(struct consent *consent, struct loop *loop, const struct log *log,
                  const struct ground *ground, struct err *err);

/* Before the loop and the ground. Also after consent_init() alone, or when that failed. */
void consent_done(struct consent *consent);

#endif
