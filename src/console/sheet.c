/* SPDX-License-Identifier: Apache-2.0 */
#include "console/sheet.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    TITLE_ROWS = 1,
    KEYS_ROWS = 1,
    MIN_BODY_ROWS = 5, /* below it the choices are shown one at a time */
    WIDE_COLUMNS = 40,
};

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Exactly one row, whatever it contains. */
__attribute__((format(printf, 5, 6))) static void row(const struct stage_look *look, size_t columns,
                                                      enum page_style style, struct buf *out,
                                                      const char *format, ...)
{
    struct console_page page;
    char said[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(said, sizeof(said), format, args);
    va_end(args);
    page_init(&page, columns, look->is_utf8);
    page_say(&page, style, "%s", said);
    stage_lines(look, &page, 0, 1, out);
    page_done(&page);
}

static void next_row(struct buf *out)
{
    (void)buf_append_str(out, STR("\r\n"));
}

static void draw_body(const struct sheet *sheet, const struct stage_look *look, size_t rows,
                      struct sheet_place *place, struct buf *out)
{
    const struct console_page *body = sheet->body;
    bool is_wide = body->columns >= WIDE_COLUMNS;
    size_t below;

    if (body->lines <= rows) {
        *place = (struct sheet_place){.top = 0, .step = rows, .has_shown_end = true};
        stage_lines(look, body, 0, rows, out);
        return;
    }
    place->step = rows - 1;
    place->top = at_most(place->top, body->lines - place->step);
    below = body->lines - place->top - place->step;
    stage_lines(look, body, place->top, place->step, out);
    next_row(out);
    if (below > 0)
        row(look, body->columns, PAGE_BOLD, out,
            is_wide ? "... %zu more lines (press space)" : "%zu more: space", below);
    else
        row(look, body->columns, PAGE_FAINT, out, "%s",
            is_wide ? "(the end; b goes back)" : "end; b: back");
    place->has_shown_end |= below == 0;
}

static void draw_choices(const struct sheet *sheet, const struct stage_look *look, size_t columns,
                         bool is_low, struct buf *out)
{
    for (size_t i = 0; i < sheet->label_count; i++) {
        bool is_chosen = i == sheet->chosen;

        if (!is_chosen && is_low)
            continue;
        next_row(out);
        row(look, columns, is_chosen ? PAGE_CHOSEN : PAGE_PLAIN, out, "%s %zu %s",
            is_chosen ? ">" : " ", i + 1, sheet->labels[i]);
    }
    next_row(out);
    if (columns > strlen(sheet->keys))
        row(look, columns, PAGE_FAINT, out, "%s", sheet->keys);
    else
        row(look, columns, PAGE_FAINT, out, "j k Enter Esc");
}

static void draw(const struct sheet *sheet, const struct stage_look *look,
                 const struct stage_size *size, struct sheet_place *place, struct buf *out)
{
    size_t below = sheet->label_count + KEYS_ROWS;
    bool is_low = size->rows < TITLE_ROWS + MIN_BODY_ROWS + below;

    if (size->rows < SHEET_MIN_ROWS || size->columns < PAGE_MIN_COLUMNS) {
        place->step = 0;
        (void)buf_append_str(out, str_slice(STR("Window too small"), 0, size->columns));
        return;
    }
    if (is_low)
        below = at_most(sheet->label_count, 1) + KEYS_ROWS;
    row(look, size->columns, PAGE_BOLD, out, "%s", sheet->title);
    next_row(out);
    draw_body(sheet, look, size->rows - TITLE_ROWS - below, place, out);
    draw_choices(sheet, look, size->columns, is_low, out);
}

bool sheet_turn(struct sheet_place *place, bool is_forward)
{
    size_t top = place->top;

    if (is_forward)
        place->top += place->step; /* drawing keeps it in the body */
    else
        place->top -= at_most(place->top, place->step);
    return place->top != top;
}

bool sheet_turn_to_end(struct sheet_place *place)
{
    if (place->has_shown_end && place->top == 0)
        return false; /* all of it is there */
    place->top = SIZE_MAX / 2;
    return true;
}

/* ---- in lines ---- */

void sheet_print_choices(const struct sheet *sheet, struct buf *out)
{
    for (size_t i = 0; i < sheet->label_count; i++)
        (void)buf_printf(out, "  %zu %s\n", i + 1, sheet->labels[i]);
    (void)buf_printf(out, "%s ", sheet->keys);
}

static void print_part(const struct sheet *sheet, const struct stage_look *look,
                       struct sheet_place *place, struct buf *out)
{
    size_t lines = sheet->body->lines;
    size_t below = lines - at_most(lines, place->top + place->step);

    stage_lines(look, sheet->body, place->top, place->step, out);
    if (below > 0)
        (void)buf_printf(out, "... %zu more lines (type m)\n", below);
    place->has_shown_end |= below == 0;
}

static void print(const struct sheet *sheet, const struct stage_look *look,
                  const struct stage_size *size, struct sheet_place *place, struct buf *out)
{
    size_t others = sheet->label_count + 4;

    place->top = 0;
    place->step = size->rows > others + MIN_BODY_ROWS ? size->rows - others : MIN_BODY_ROWS;
    (void)buf_printf(out, "\n== %s ==\n", sheet->title);
    print_part(sheet, look, place, out);
    sheet_print_choices(sheet, out);
}

void sheet_show(const struct sheet *sheet, const struct stage_look *look,
                const struct stage_size *size, struct sheet_place *place, struct buf *out)
{
    (look->is_plain ? print : draw)(sheet, look, size, place, out);
}

void sheet_print_more(const struct sheet *sheet, const struct stage_look *look,
                      struct sheet_place *place, struct buf *out)
{
    if (place->top + place->step < sheet->body->lines) {
        place->top += place->step;
        print_part(sheet, look, place, out);
    }
    sheet_print_choices(sheet, out);
}
