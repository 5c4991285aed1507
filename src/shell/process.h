/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command from its start until it is over: it has ended, and its output was read. Processes that
 * keep its pipes open longer do not delay that.
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
     * Called once. With an error it was not started (err says why), or its outcome is unknown. May
     * free the process, as all of these may.
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

/* Like a starter's signal; does nothing once it has ended. */
void process_signal(struct process *process, int signum);

enum { PROCESS_MAX_INPUT = 1 << 20 }; /* unread by the command */

/* ERR_TOO_LARGE if it does not read; ERR_NOT_FOUND if it has no input, or it was closed. */
int process_write(struct process *process, struct str bytes);
/*
 * Closes the input after everything that was written. In a terminal, sends the end-of-file
 * character.
 */
int process_close_input(struct process *process);

#endif
