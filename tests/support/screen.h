/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A minimal terminal for tests: it receives what a program writes and holds what a person would
 * see. It knows the few sequences that our prompts use; any other one, and any control character,
 * is counted as foreign, since only unescaped text could contain it.
 */
#ifndef TESTS_SUPPORT_SCREEN_H
#define TESTS_SUPPORT_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { SCREEN_ROWS = 60, SCREEN_COLUMNS = 200 };

struct screen {
    size_t rows;
    size_t columns;
    char cells[SCREEN_ROWS][SCREEN_COLUMNS + 1]; /* ASCII; '~' for any other character */
    /* The ordinary screen while the alternate one is shown. */
    char below[SCREEN_ROWS][SCREEN_COLUMNS + 1];
    size_t row;
    size_t column;
    size_t row_below;
    size_t column_below;
    bool is_other; /* the alternate screen */
    bool wraps;    /* at the edge; else what is written there is lost */
    bool is_pasting_marked;
    size_t lost;    /* characters beyond the edge */
    size_t scrolls; /* of the alternate screen, which should never scroll */
    size_t colours; /* SGR sequences except resets */
    size_t foreign;
    char sequence[32];
    size_t sequence_len; /* 0 outside of one */
};

static inline void screen_clear(struct screen *screen)
{
    for (size_t i = 0; i < SCREEN_ROWS; i++) {
        memset(screen->cells[i], ' ', SCREEN_COLUMNS);
        screen->cells[i][SCREEN_COLUMNS] = '\0';
    }
}

static inline void screen_init(struct screen *screen, size_t rows, size_t columns)
{
    memset(screen, 0, sizeof(*screen));
    screen->rows = rows;
    screen->columns = columns;
    screen->wraps = true;
    screen_clear(screen);
}

static inline void screen_new_line(struct screen *screen)
{
    if (screen->row + 1 < screen->rows) {
        screen->row++;
        return;
    }
    screen->scrolls += screen->is_other;
    memmove(screen->cells[0], screen->cells[1], (SCREEN_ROWS - 1) * sizeof(screen->cells[0]));
    memset(screen->cells[screen->rows - 1], ' ', SCREEN_COLUMNS);
}

static inline void screen_put(struct screen *screen, char c)
{
    if (screen->column >= screen->columns && screen->wraps) {
        screen->column = 0;
        screen_new_line(screen);
    }
    if (screen->column >= screen->columns)
        screen->lost++;
    else
        screen->cells[screen->row][screen->column++] = c;
}

static inline void screen_switch(struct screen *screen, bool to_other)
{
    if (screen->is_other == to_other)
        return;
    if (to_other) {
        memcpy(screen->below, screen->cells, sizeof(screen->cells));
        screen->row_below = screen->row;
        screen->column_below = screen->column;
    } else {
        memcpy(screen->cells, screen->below, sizeof(screen->cells));
        screen->row = screen->row_below;
        screen->column = screen->column_below;
    }
    screen->is_other = to_other;
}

static inline void screen_sequence(struct screen *screen, const char *text)
{
    if (strcmp(text, "[H") == 0)
        screen->row = screen->column = 0;
    else if (strcmp(text, "[2J") == 0)
        screen_clear(screen);
    else if (strcmp(text, "[?7l") == 0 || strcmp(text, "[?7h") == 0)
        screen->wraps = text[3] == 'h';
    else if (strcmp(text, "[?1049h") == 0 || strcmp(text, "[?1049l") == 0)
        screen_switch(screen, text[6] == 'h');
    else if (strcmp(text, "[?2004h") == 0 || strcmp(text, "[?2004l") == 0)
        screen->is_pasting_marked = text[6] == 'h';
    else if (text[0] == '[' && strspn(text + 1, "0123456789;") == strlen(text) - 2 &&
             text[strlen(text) - 1] == 'm')
        screen->colours += strcmp(text, "[0m") != 0;
    else
        screen->foreign++;
}

static inline void screen_take(struct screen *screen, char c)
{
    unsigned char byte = (unsigned char)c;

    if (screen->sequence_len > 0) {
        bool is_end = (byte >= 0x40 && byte < 0x7F && !(screen->sequence_len == 1 && c == '['));

        if (screen->sequence_len + 1 < sizeof(screen->sequence))
            screen->sequence[screen->sequence_len++] = c;
        if (is_end || byte < 0x20) {
            screen->sequence[screen->sequence_len] = '\0';
            screen->sequence_len = 0;
            screen_sequence(screen, screen->sequence + 1);
        }
    } else if (c == '\x1b') {
        screen->sequence[screen->sequence_len++] = c;
    } else if (c == '\r') {
        screen->column = 0;
    } else if (c == '\n') {
        screen_new_line(screen);
    } else if (byte < 0x20 || byte == 0x7F) {
        screen->foreign++;
    } else if (byte < 0x80) {
        screen_put(screen, c);
    } else if (byte >= 0xC0) {
        screen_put(screen, '~');
    }
}

/* A line without trailing spaces. */
static inline const char *screen_line(const struct screen *screen, size_t row)
{
    static char line[SCREEN_COLUMNS + 1];
    size_t len = screen->columns;

    memcpy(line, screen->cells[row], len);
    while (len > 0 && line[len - 1] == ' ')
        len--;
    line[len] = '\0';
    return line;
}

/* The row that contains the text, or -1. */
static inline int screen_find(const struct screen *screen, const char *text)
{
    for (size_t i = 0; i < screen->rows; i++)
        if (strstr(screen_line(screen, i), text) != NULL)
            return (int)i;
    return -1;
}

static inline bool screen_is_empty(const struct screen *screen)
{
    for (size_t i = 0; i < screen->rows; i++)
        if (screen_line(screen, i)[0] != '\0')
            return false;
    return true;
}

static inline void screen_print(const struct screen *screen)
{
    for (size_t i = 0; i < screen->rows; i++)
        printf("|%s\n", screen_line(screen, i));
}

#endif
