/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal while a user must answer something, and at rest otherwise. The stage sets the
 * terminal's mode and restores it on every way out; it draws, and passes keys or lines to the
 * current act.
 *
 * Only input typed for the current act reaches it: earlier input, and input in the first
 * STAGE_GUARD_MS after it became visible, is dropped.
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
    STAGE_ESCAPE_MS = 100, /* within which the rest of an escape sequence must come */
    STAGE_TURN_MS = 500,   /* between checks whether we are in the foreground again */
    STAGE_LINE_MAX = 4200,
    STAGE_FRAME_MAX = 4 << 20,
};

/* Appearance; a program derives it from its environment. */
struct stage_look {
    bool is_plain; /* no cursor control: TERM is missing or "dumb" */
    bool has_colour;
    bool is_utf8;
};

/* From the values of TERM, NO_COLOR and LC_ALL, LC_CTYPE, LANG; NULL if not set. */
struct stage_look stage_look(const char *term, const char *no_color, const char *lc_all,
                             const char *lc_ctype, const char *lang);

struct stage_size {
    size_t rows;
    size_t columns;
};

/* A prompt on the stage. A callback may end it. */
struct stage_act {
    /*
     * All of the screen, at most size->rows lines with "\r\n" between them; where none can be
     * drawn, the text.
     */
    void (*draw)(void *data, const struct stage_size *size, struct buf *out);
    void (*key)(void *data, const struct key *key);
    /* There: a line that was typed. Ctrl-C comes as a key. */
    void (*line)(void *data, struct str line);
    void *data;
};

struct stage_config {
    struct loop *loop;
    int in_fd; /* owned by the caller; must stay open as long as the stage */
    int out_fd;
    struct stage_look look;
    /*
     * Called once: hung up, at its end, or a signal ends the program. No act is possible any more.
     */
    void (*on_gone)(void *data);
    void *data;
};

struct stage;

int stage_new(const struct stage_config *config, struct stage **out_stage);
/* Restores the terminal. Must not be called from a callback of the act; on_gone is not called. */
void stage_free(struct stage *stage);

/* No act may be running. ERR_IO if the terminal is gone. on_gone never comes from inside. */
int stage_begin(struct stage *stage, const struct stage_act *act);
/* Restores the terminal; `words`, ASCII or quoted by page_name(), stay on it. */
void stage_end(struct stage *stage, struct str words);
bool stage_is_taken(const struct stage *stage);

/* The act has changed: draws it again. In plain mode, use stage_print() to print more. */
void stage_redraw(struct stage *stage);
/* Same, for a new question: restarts the time in which input is dropped. */
void stage_renew(struct stage *stage);
void stage_print(struct stage *stage, struct str text);

struct stage_look stage_look_of(const struct stage *stage);

/*
 * Appends styled lines of a page, starting with `first`: "\r\n" between them, or "\n" after each if
 * plain.
 */
void stage_lines(const struct stage_look *look, const struct console_page *page, size_t first,
                 size_t count, struct buf *out);

#endif
