/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question as the user sees it: the request in pages, and the choices below; the default
 * denies. It only draws and decides; stage.h handles the terminal, console.h the order of
 * questions.
 */
#ifndef CONSOLE_PROMPT_H
#define CONSOLE_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "console/keys.h"
#include "console/page.h"
#include "console/sheet.h"
#include "console/stage.h"
#include "permission/question.h"

struct prompt {
    const struct question *question;
    struct stage_look look;
    enum permission_choice offered[CHOICES];
    size_t offered_count;
    size_t chosen; /* index in offered */
    struct sheet_place place;
    bool is_too_early; /* the user tried to allow it before its end was shown; a hint says so */
    struct console_page body;
    bool has_body;
};

enum prompt_result { PROMPT_NOTHING, PROMPT_REDRAW, PROMPT_ANSWERED };

/* The caller owns the question, which must outlive the prompt. */
void prompt_init(struct prompt *prompt, const struct question *question,
                 const struct stage_look *look);
void prompt_done(struct prompt *prompt);

/* On a screen or in lines, as the look has it. more: how many wait behind this one. */
void prompt_draw(struct prompt *prompt, const struct stage_size *size, size_t more,
                 struct buf *out);
enum prompt_result prompt_key(struct prompt *prompt, const struct key *key,
                              enum permission_choice *out_choice);

/* PROMPT_REDRAW: print *out. */
enum prompt_result prompt_line(struct prompt *prompt, struct str line, struct buf *out,
                               enum permission_choice *out_choice);

/* "Denied once: write_file" and its resources, for the lines above the next prompt. */
void prompt_summary(const struct question *question, const struct stage_look *look,
                    const char *what_happened, struct buf *out);
/* "Denied once", … */
const char *prompt_past(enum permission_choice choice);

#endif
