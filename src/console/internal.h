/* SPDX-License-Identifier: Apache-2.0 */
/* What console.c and confirm.c share, and nobody else. */
#ifndef CONSOLE_INTERNAL_H
#define CONSOLE_INTERNAL_H

#include "console/console.h"
#include "console/prompt.h"
#include "loop/loop.h"

struct confirm;

struct console {
    struct console_config config;
    struct stage *stage;
    struct loop_task
        turn; /* what must not happen inside a callback of the stage or the question queue */

    /* Questions in the order in which they came; the first may be on the stage. */
    struct waiting {
        uint64_t id;
        const struct question *question;
    } queue[QUESTION_QUEUE_MAX_OPEN];
    size_t queue_count;
    bool is_prompting; /* the first is on */
    struct prompt prompt;
    bool has_answer; /* for the first, which is off the stage again */
    enum permission_choice answer;

    struct confirm *confirm; /* NULL, or it waits for the stage or is on it */
    bool is_gone;
};

/* ---- confirm.c ---- */

/* It has the stage from here on. */
void confirm_begin(struct confirm *confirm);
/* Is answered and off the stage: tells who asked. */
bool confirm_is_over(const struct confirm *confirm);
void confirm_tell(struct confirm *confirm);
/* No more can be answered. */
void confirm_refuse(struct confirm *confirm);
void confirm_free(struct confirm *confirm);

#endif
