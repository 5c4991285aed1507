/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal as a surface of the queue: questions stand on it one at a time, in
 * the order in which they came. The connect confirmation of confirm.h takes its
 * turn between them. Opening the terminal is the program's, and so is saving what
 * is always allowed.
 */
#ifndef CONSOLE_CONSOLE_H
#define CONSOLE_CONSOLE_H

#include "console/stage.h"
#include "permission/questionqueue.h"

#define CONSOLE_NAME "terminal"

struct console_config {
    struct loop *loop;
    struct question_queue *queue;
    int in_fd; /* the caller's; they stay open as long as the console is */
    int out_fd;
    struct stage_look look;
    /* Hung up or at its end: all questions were denied and the surface is gone. May free. */
    void (*on_gone)(void *data);
    void *data;
};

struct console;

int console_new(const struct console_config *config, struct console **out_console);

/*
 * Gives the terminal back, also in the middle of a question. Before the queue is freed; allowed in
 * the answer functions of the queue.
 */
void console_free(struct console *console);

/* Whether something stands on the terminal, where what others write would stand in it. */
bool console_is_taken(const struct console *console);

#endif
