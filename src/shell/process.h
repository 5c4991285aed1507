/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command from its start until it is over: it has ended, and what it printed
 * was read. Whoever keeps its pipes open after that does not hold it up.
 */
#ifndef SHELL_PROCESS_H
#define SHELL_PROCESS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"
#include "shell/starter.h"

struct process;

enum process_stream { PROCESS_OUTPUT, PROCESS_ERRORS, PROCESS_STREAMS };

struct process_events {
    void (*on_started)(void *data);
    void (*on_bytes)(void *data, enum process_stream stream, struct str bytes);
    /*
     * Once. With an error it was not started (err says why), or nobody knows how it ended.
     * It may free the process, as all of these may.
     */
    void (*on_over)(void *data, struct starter_end end, const struct err *err);
    void *data;
};

/* No event comes from inside. */
int process_new(struct loop *loop, const struct starter *starter,
                const struct starter_command *command, const struct process_events *events,
                struct process **out_process, struct err *err);
/* Kills what still runs. */
void process_free(struct process *process);

/* As a starter's signal; nothing once it has ended. */
void process_signal(struct process *process, int signum);

enum { PROCESS_MAX_INPUT = 1 << 20 }; /* that it has not read yet */

/* ERR_TOO_LARGE when it does not read; ERR_NOT_FOUND when it has no input, or none any more. */
int process_write(struct process *process, struct str bytes);
/* Behind all that was written. In a terminal, the character that says so. */
int process_close_input(struct process *process);

#endif
