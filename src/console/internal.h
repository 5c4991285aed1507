/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by console.c and confirm.c only. */
#ifndef CONSOLE_INTERNAL_H
#define CONSOLE_INTERNAL_H

#include "console/console.h"
#include "console/prompt.h"
#include "loop/loop.h"

struct confirm;

struct console {
    struct console_config config;
    struct stage *stage;
    /* Work that must not happen inside a callback of the stage or the question queue. */
    struct loop_task turn;

    /* Questions in the order of arrival; the first may be on the stage. */
    struct waiting {
        uint64_t id;
        const struct question *question;
    } queue[QUESTION_QUEUE_MAX_OPEN];
    size_t queue_count;
    bool is_prompting; /* the first question is on the stage */
    struct prompt prompt;
    bool has_answer; /* for the first question, which has left the stage */
    enum permission_choice answer;

    struct confirm *confirm; /* waits for the stage or is on it; or NULL */
    bool is_gone;
};

/* ---- confirm.c ---- */

/* Takes the stage. */
void confirm_begin(struct confirm *confirm);
/* Whether it is answered and off the stage; then tell the caller. */
bool confirm_is_over(const struct confirm *confirm);
void confirm_tell(struct confirm *confirm);
/* Denies it: no answer is possible any more. */
void confirm_refuse(struct confirm *confirm);
void confirm_free(struct confirm *confirm);

#endif
