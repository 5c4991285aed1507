/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal as a surface of the question queue: shows questions one at a time, in order. The
 * connect confirmation of confirm.h takes its turn between them. The program opens the terminal,
 * and saves permanent answers.
 */
#ifndef CONSOLE_CONSOLE_H
#define CONSOLE_CONSOLE_H

#include "console/stage.h"
#include "permission/questionqueue.h"

#define CONSOLE_NAME "terminal"

struct console_config {
    struct loop *loop;
    struct question_queue *queue;
    int in_fd; /* owned by the caller; must stay open as long as the console */
    int out_fd;
    struct stage_look look;
    /*
     * The terminal hung up or reached its end: all questions were denied and the surface was
     * removed. May free the console.
     */
    void (*on_gone)(void *data);
    void *data;
};

struct console;

int console_new(const struct console_config *config, struct console **out_console);

/*
 * Restores the terminal, even during a question. Call before freeing the queue; allowed in the
 * queue's answer functions.
 */
void console_free(struct console *console);

/* Whether a prompt is on the terminal, so that other output would disturb it. */
bool console_is_taken(const struct console *console);

#endif
