/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of every prompt: a title, a body shown in pages if it does not fit the window, and
 * choices below. On a screen or in lines.
 */
#ifndef CONSOLE_SHEET_H
#define CONSOLE_SHEET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "console/page.h"
#include "console/stage.h"

enum { SHEET_MIN_ROWS = 5 };

struct sheet {
    const char *title; /* ASCII, short */
    const struct console_page *body;
    const char *const *labels; /* of the choices */
    size_t label_count;
    size_t chosen;
    const char *keys; /* help about keys; omitted in a narrow window */
};

/* The visible part of the body. */
struct sheet_place {
    size_t top;  /* first line */
    size_t step; /* number of lines shown last; 0 if the window is too small for anything */
    bool has_shown_end;
};

/*
 * All of a screen, never more rows than it has; in lines, as much of the body as the window has
 * room for, and the choices.
 */
void sheet_show(const struct sheet *sheet, const struct stage_look *look,
                const struct stage_size *size, struct sheet_place *place, struct buf *out);
/* True if the view changed. */
bool sheet_turn(struct sheet_place *place, bool is_forward);
bool sheet_turn_to_end(struct sheet_place *place);

/* In lines: the next part of the body, if there is one, and the choices again. */
void sheet_print_more(const struct sheet *sheet, const struct stage_look *look,
                      struct sheet_place *place, struct buf *out);
void sheet_print_choices(const struct sheet *sheet, struct buf *out);

#endif
