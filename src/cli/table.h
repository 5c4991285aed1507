/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables that programs print for people. A terminal gets a head, columns as wide as their
 * texts, and lines that fit it; in a pipe nothing is cut, and most tables have no head. All text
 * is shown by base/printable.
 *
 * Rows are held until they can be measured: until table_end(), or table_begin() where more rows
 * come later, or until there are many. Those that follow have the widths of those before.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/output.h"

enum {
    TABLE_MOST_COLUMNS = 8,
};

struct table_column {
    const char *title;
    unsigned char usual; /* width at least, if rows come later, and in a pipe; 0: not in that */
    unsigned char fair;  /* in a narrow terminal, what is wider is cut to this first; 0: nothing */
    unsigned char least; /* then down to this; 0: never cut */
    unsigned char goes;  /* if that is not enough, 1 is left out first, 2 next; 0: never */
    bool is_number;      /* to the right */
    bool is_path;        /* its end matters more than its beginning */
    bool is_optional;    /* left out if it would be empty */
    bool is_whole;       /* the last one: longer than the line rather than cut */
    bool has_seconds;    /* its times, if there is room */
};

struct table {
    struct output *output;
    const struct table_column *columns;
    size_t count;
    int64_t now_ms;
    bool is_terminal;
    size_t width;    /* of the terminal; 0: lines of any length */
    bool has_colour; /* may be changed before the first cell, as the next two */
    bool has_head;
    const char *gap; /* between columns */
    /* What is held: */
    bool is_begun;
    bool has_short_times;
    size_t rows; /* so far */
    size_t at;   /* the column of the next cell */
    struct buf text;
    struct buf cells;
    size_t widths[TABLE_MOST_COLUMNS]; /* 0: left out */
};

/* For the standard output. The columns stay the caller's. */
void table_init(struct table *table, struct output *output, const struct table_column *columns,
                size_t count);
void table_done(struct table *table);
#define cleanup_table cleanup_with(table_done)

/* The next cell of the row; a row ends with its last column. */
void table_cell(struct table *table, struct str text);
void table_cell_printf(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* In this colour, an escape sequence, if the table has colours; may be empty. */
void table_cell_coloured(struct table *table, struct str text, struct str colour);
/* In the user's zone; 0: none. A pipe gets `for_programs` instead, unless that is empty. */
void table_cell_time(struct table *table, int64_t ms, struct str for_programs);

/* Prints the head and what is held; more rows may come. */
void table_begin(struct table *table);
/*
 * Prints what is held. If there was nothing, a terminal on standard error gets `nothing`, which
 * says how to go on.
 */
void table_end(struct table *table, const char *nothing);

#endif
