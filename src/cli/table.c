/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/colour.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "base/when.h"

enum {
    TEXT_MAX_BYTES = 2 * OUTPUT_MAX_BYTES,
    CELLS_MAX_BYTES = 1 << 20,
    HELD_TEXT_BYTES = 256 << 10, /* then rows are printed without waiting for others */
    HELD_CELLS_BYTES = 512 << 10,
    SHORT_TIME = 11, /* its width */
    MOST_GONE = 2,
    WIDEST = 60,          /* without a terminal; a wider cell moves only the rest of its line */
    PRINTED_BYTES = 4096, /* of a cell that is formatted */
};

#define HEAD_COLOUR STR("\033[1m")
#define PLAIN       STR("\033[0m")

struct cell {
    size_t start; /* in the text */
    size_t len;
    size_t width;
    int64_t ms; /* of a time; or 0 */
    struct str colour;
};

static size_t terminal_width(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void table_init(struct table *table, struct output *output, const struct table_column *columns,
                size_t count)
{
    bool is_terminal = isatty(STDOUT_FILENO);

    assert(count <= TABLE_MOST_COLUMNS);
    *table = (struct table){.output = output,
                            .columns = columns,
                            .count = count,
                            .now_ms = clock_wall_ms(&clock_system),
                            .is_terminal = is_terminal,
                            .width = is_terminal ? terminal_width() : 0,
                            .has_colour = colour_is_wanted(STDOUT_FILENO),
                            .has_head = is_terminal,
                            .gap = "  ",
                            .text = BUF_INIT(TEXT_MAX_BYTES),
                            .cells = BUF_INIT(CELLS_MAX_BYTES)};
}

void table_done(struct table *table)
{
    buf_done(&table->text);
    buf_done(&table->cells);
}

/* ---- widths ---- */

static const struct cell *cells_of(const struct table *table)
{
    /* SAFETY: the buffer's memory is malloc()'s and holds nothing but cells. */
    return (const struct cell *)(const void *)table->cells.data;
}

static size_t held_rows(const struct table *table)
{
    return table->cells.len / sizeof(struct cell) / table->count;
}

/* For rows that are not there yet. */
static size_t later_width(const struct table *table, const struct table_column *about)
{
    if (about->has_seconds && table->has_short_times)
        return SHORT_TIME;
    return about->usual > about->fair ? about->usual : about->fair;
}

/* As wide as its widest text; 0 if it is left out. */
static size_t wanted_width(const struct table *table, size_t column, bool has_more)
{
    const struct table_column *about = &table->columns[column];
    size_t width = 0;

    for (size_t row = 0; row < held_rows(table); row++) {
        const struct cell *cell = &cells_of(table)[row * table->count + column];
        size_t own = cell->ms > 0 && table->has_short_times ? SHORT_TIME : cell->width;

        width = own > width ? own : width;
    }
    if (about->is_optional && width == 0 && !has_more)
        return 0;
    if (has_more && width < later_width(table, about))
        width = later_width(table, about);
    if (table->width == 0 && width > WIDEST)
        width = WIDEST;
    return width > strlen(about->title) ? width : strlen(about->title);
}

static size_t line_width(const struct table *table)
{
    size_t sum = 0;

    for (size_t i = 0; i < table->count; i++)
        if (table->widths[i] > 0)
            sum += table->widths[i] + (sum > 0 ? strlen(table->gap) : 0);
    return sum;
}

/* The widest of those that may still lose something; NULL if there is none. */
static size_t *widest(struct table *table, bool is_fair)
{
    size_t *found = NULL;

    for (size_t i = 0; i < table->count; i++) {
        const struct table_column *about = &table->columns[i];
        size_t least = is_fair ? about->fair : about->least;

        if (least > 0 && table->widths[i] > least && (found == NULL || table->widths[i] > *found))
            found = &table->widths[i];
    }
    return found;
}

/* Whether it fits when columns are cut, down to what is fair or to the least. */
static bool fit(struct table *table, bool is_fair)
{
    size_t width = line_width(table);
    size_t *column;

    for (; width > table->width && (column = widest(table, is_fair)) != NULL; width--)
        (*column)--;
    if (width > table->width)
        return false;
    if (table->widths[table->count - 1] > 0) /* for what comes later */
        table->widths[table->count - 1] += table->width - width;
    return true;
}

static void want(struct table *table, unsigned gone, bool has_more)
{
    for (size_t i = 0; i < table->count; i++) {
        unsigned char goes = table->columns[i].goes;
        size_t width = wanted_width(table, i, has_more);

        if (table->width > 0 && table->columns[i].least > 0 && width > table->width)
            width = table->width; /* so that fitting takes few steps */
        table->widths[i] = !table->has_head           ? table->columns[i].usual
                           : goes > 0 && goes <= gone ? 0
                                                      : width;
    }
}

/* If a line does not fit, long texts are cut, times get shorter, columns are left out. */
static void measure(struct table *table, bool has_more)
{
    want(table, 0, has_more);
    if (table->width == 0 || fit(table, true))
        return;
    table->has_short_times = true;
    for (unsigned gone = 0; gone <= MOST_GONE; gone++) {
        want(table, gone, has_more);
        if (fit(table, true) || fit(table, false))
            return;
    }
}

/* ---- printing ---- */

/* Text that is wider than its column, with an ellipsis. */
static void put_cut(struct table *table, struct str text, size_t has, size_t width, bool is_path)
{
    size_t skipped = is_path ? has - width + 1 : width - 1;
    struct str rest = text;
    uint32_t code_point;

    for (size_t i = 0; i < skipped; i++)
        (void)utf8_next(&rest, &code_point);
    if (is_path)
        output_str(table->output, STR("…"));
    output_str(table->output, is_path ? rest : str_slice(text, 0, text.len - rest.len));
    if (!is_path)
        output_str(table->output, STR("…"));
}

/* Returns the blanks that are due before the next column. */
static size_t put_cell(struct table *table, size_t column, struct str text, struct str colour)
{
    const struct table_column *about = &table->columns[column];
    bool may_cut = table->width > 0 && about->least > 0 && !about->is_whole;
    size_t width = table->widths[column];
    size_t has = utf8_count(text);
    size_t pad = has < width ? width - has : 0;

    if (about->is_number)
        output_printf(table->output, "%*s", (int)pad, "");
    if (table->has_colour)
        output_str(table->output, colour);
    if (may_cut && has > width)
        put_cut(table, text, has, width, about->is_path);
    else
        output_str(table->output, text);
    if (table->has_colour && colour.len > 0)
        output_str(table->output, PLAIN);
    return about->is_number ? 0 : pad;
}

/* A row, or the head without one. Programs get no more cells than there is text for. */
static void put_line(struct table *table, const struct cell *row)
{
    size_t count = table->count;
    size_t blanks = 0;
    const char *gap = "";

    while (row != NULL && !table->has_head && count > 0 &&
           (row[count - 1].len == 0 || table->widths[count - 1] == 0))
        count--;
    for (size_t i = 0; i < count; i++) {
        struct str text = STR("-");
        char time[WHEN_BYTES];

        if (table->widths[i] == 0)
            continue;
        if (row != NULL && row[i].ms > 0 && table->has_short_times)
            when_format(row[i].ms, table->now_ms, WHEN_SHORT, time);
        if (row == NULL)
            text = str_from(table->columns[i].title);
        else if (row[i].ms > 0 && table->has_short_times)
            text = str_from(time);
        else if (row[i].len > 0)
            text = str_slice(buf_view(&table->text), row[i].start, row[i].len);
        output_printf(table->output, "%*s%s", (int)blanks, "", gap);
        blanks = put_cell(table, i, text, row != NULL ? row[i].colour : STR_EMPTY);
        gap = table->gap;
    }
}

static void begin(struct table *table, bool has_more)
{
    if (!table->is_begun)
        measure(table, has_more);
    if (!table->is_begun && table->has_head) {
        output_str(table->output, table->has_colour ? HEAD_COLOUR : STR_EMPTY);
        put_line(table, NULL);
        output_str(table->output, table->has_colour ? PLAIN : STR_EMPTY);
        output_line_end(table->output);
    }
    table->is_begun = true;
    for (size_t row = 0; row < held_rows(table); row++) {
        put_line(table, &cells_of(table)[row * table->count]);
        output_line_end(table->output);
    }
    buf_clear(&table->text);
    buf_clear(&table->cells);
}

void table_begin(struct table *table)
{
    begin(table, true);
}

void table_end(struct table *table, const char *nothing)
{
    if (table->rows > 0)
        begin(table, false);
    else if (nothing != NULL && isatty(STDERR_FILENO))
        fprintf(stderr, "%s\n", nothing);
}

/* ---- cells ---- */

static void end_row(struct table *table)
{
    table->at = 0;
    table->rows++;
    if (table->is_begun || !table->has_head || table->text.len >= HELD_TEXT_BYTES ||
        table->cells.len >= HELD_CELLS_BYTES)
        begin(table, true);
}

static void add(struct table *table, struct str text, struct str colour, int64_t ms)
{
    struct cell cell = {.start = table->text.len, .colour = colour, .ms = ms};
    int r = printable_append(&table->text, text, PRINTABLE_LINE);

    cell.len = table->text.len - cell.start;
    cell.width = utf8_count(str_slice(buf_view(&table->text), cell.start, cell.len));
    if (r == 0)
        r = buf_append(&table->cells, &cell, sizeof(cell));
    if (r < 0 && table->output->error == 0)
        table->output->error = r;
    if (r == 0 && ++table->at == table->count)
        end_row(table);
}

void table_cell(struct table *table, struct str text)
{
    add(table, text, STR_EMPTY, 0);
}

void table_cell_coloured(struct table *table, struct str text, struct str colour)
{
    add(table, text, colour, 0);
}

void table_cell_printf(struct table *table, const char *format, ...)
{
    char text[PRINTED_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    table_cell(table, str_from(text));
}

void table_cell_time(struct table *table, int64_t ms, struct str for_programs)
{
    bool has_seconds = table->columns[table->at].has_seconds;
    char text[WHEN_BYTES] = "";

    if (!table->is_terminal && for_programs.len > 0) {
        table_cell(table, for_programs);
        return;
    }
    if (ms > 0)
        when_format(ms, table->now_ms, has_seconds ? WHEN_SECONDS : WHEN_MINUTES, text);
    add(table, str_from(text), STR_EMPTY, ms > 0 ? ms : 0);
}
