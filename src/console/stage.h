/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal while something stands on it that a person shall answer, and at
 * rest otherwise. The stage brings the terminal into its mode and back, on every
 * way out; it draws, and gives keys or lines to the act that is on.
 *
 * Only what was typed at the act that is on reaches it: what came before, and in the
 * first STAGE_GUARD_MS after it could be seen, is thrown away.
 */
#ifndef CONSOLE_STAGE_H
#define CONSOLE_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "console/keys.h"
#include "console/page.h"
#include "loop/loop.h"

enum {
    STAGE_GUARD_MS = 300,
    STAGE_ESCAPE_MS = 100, /* within which the rest of a key's sequence comes */
    STAGE_TURN_MS = 500,   /* between looks whether the terminal is ours again */
    STAGE_LINE_MAX = 4200,
    STAGE_FRAME_MAX = 4 << 20,
};

/* How things look there; a program finds it out from its environment. */
struct stage_look {
    bool is_plain; /* no cursor to be moved: TERM is missing or "dumb" */
    bool has_colour;
    bool is_utf8;
};

/* From the values of TERM, NO_COLOR and of LC_ALL, LC_CTYPE, LANG; NULL when one is not set. */
struct stage_look stage_look(const char *term, const char *no_color, const char *lc_all,
                             const char *lc_ctype, const char *lang);

struct stage_size {
    size_t rows;
    size_t columns;
};

/* What stands on the stage. A callback may end it. */
struct stage_act {
    /* All of the screen, at most size->rows lines with "\r\n" between them. */
    void (*draw)(void *data, const struct stage_size *size, struct buf *out);
    void (*key)(void *data, const struct key *key);
    /* Where no screen can be drawn: the text, and a line that was typed. Ctrl-C comes as a key. */
    void (*print)(void *data, const struct stage_size *size, struct buf *out);
    void (*line)(void *data, struct str line);
    void *data;
};

struct stage_config {
    struct loop *loop;
    int in_fd; /* the caller's, open as long as the stage is */
    int out_fd;
    struct stage_look look;
    /* Once: hung up, at its end, or a signal ends the program. Nothing can stand any more. */
    void (*on_gone)(void *data);
    void *data;
};

struct stage;

int stage_new(const struct stage_config *config, struct stage **out_stage);
/* Brings the terminal back. Not from inside a callback of the act; on_gone is not called. */
void stage_free(struct stage *stage);

/* Nothing is on. ERR_IO when the stage is gone. on_gone never comes from inside. */
int stage_begin(struct stage *stage, const struct stage_act *act);
/* Brings the terminal back; the words, ASCII or quoted by page_name(), stay on it. */
void stage_end(struct stage *stage, struct str words);
bool stage_is_taken(const struct stage *stage);

/* The act looks different: draw it again, or print this much more. */
void stage_redraw(struct stage *stage);
/* The same, and it is something new to answer: with its own time in which nothing counts. */
void stage_renew(struct stage *stage);
void stage_print(struct stage *stage, struct str text);

struct stage_look stage_look_of(const struct stage *stage);

/* Lines of a page from `first` on, styled: "\r\n" between them, or "\n" behind each if plain. */
void stage_lines(const struct stage_look *look, const struct page *page, size_t first, size_t count,
                 struct buf *out);

#endif
