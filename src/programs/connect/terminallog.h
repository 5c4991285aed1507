/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log on a terminal that also shows questions: lines come over a pipe, from this program and
 * from those it starts, and are held back while a question is on screen.
 */
#ifndef PROGRAMS_CONNECT_TERMINALLOG_H
#define PROGRAMS_CONNECT_TERMINALLOG_H

#include <stdbool.h>

#include "base/err.h"
#include "loop/loop.h"

enum {
    TERMINALLOG_MAX_BYTES = 256 << 10, /* of waiting lines; further ones are counted and reported */
    TERMINALLOG_LOOK_MS = 100,         /* between checks whether the terminal is free */
};

struct terminal_log;

struct terminallog_config {
    struct loop *loop;
    int out_fd; /* owned by the caller */
    /* Whether a question is on screen. */
    bool (*is_taken)(void *data);
    void *data;
};

int terminallog_new(const struct terminallog_config *config, struct terminal_log **out_log,
                    struct err *err);
/* Writes the waiting lines, as far as the terminal accepts them. */
void terminallog_free(struct terminal_log *log);

/*
 * The fd to write lines to. Does not block: lines are lost if they come faster than they are read.
 */
int terminallog_fd(const struct terminal_log *log);

#endif
