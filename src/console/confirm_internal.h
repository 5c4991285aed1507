/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by confirm.c and confirm_look.c only. */
#ifndef CONSOLE_CONFIRM_INTERNAL_H
#define CONSOLE_CONFIRM_INTERNAL_H

#include "base/buf.h"
#include "base/err.h"
#include "console/confirm.h"
#include "console/internal.h"
#include "console/sheet.h"

/*
 *   WAITING -> ASKING <-> EDITING <-> TYPING
 *      `-----> OVER <- any
 */
enum confirm_state {
    CONFIRM_WAITING, /* for the stage */
    CONFIRM_ASKING,
    CONFIRM_EDITING,
    CONFIRM_TYPING, /* the folder's name */
    CONFIRM_OVER,
};

enum answer { ANSWER_YES, ANSWER_EDIT, ANSWER_NO, ANSWERS };

/* Rows of the editor: one for each group, and these. */
enum { ROW_DIR = PERMISSION_GROUPS, ROW_DONE, ROWS };

enum { CONFIRM_LABEL_BYTES = 320 };

struct confirm {
    struct console *console;
    confirm_done_fn *done;
    void *data;
    enum confirm_state state;
    struct stage_look look;
    size_t chosen; /* an answer, or a row of the editor */
    struct sheet_place place;
    bool is_accepted;

    struct permission_modes modes;
    bool has_write_access;
    int (*take_dir)(void *data, struct str typed, struct buf *out_dir, struct err *err);
    bool only_reads_dir;
    struct buf dir;
    struct buf others[CONFIRM_MAX_OTHERS];
    bool writes_other[CONFIRM_MAX_OTHERS];
    size_t other_count;
    struct buf denied;
    struct buf allowed;
    const char *commands_refusal;
    struct buf typed;
    struct err problem; /* why the editor cannot be closed */

    struct buf url;
    bool shell_is_open;
    bool is_exposed;
    bool shell_has_network;
    struct buf hosts; /* on the web, that commands reach */
    struct buf writable[CONFIRM_MAX_WRITABLE];
    size_t writable_count;
};

/* ---- confirm_look.c ---- */

/* A sheet with its data. */
struct confirm_layout {
    struct sheet sheet;
    struct console_page body;
    const char *labels[ROWS];
    char texts[ROWS][CONFIRM_LABEL_BYTES];
};

/* The effective mode of a group. */
enum permission_mode confirm_mode_of(const struct confirm *confirm, size_t group);

/* Lays out the present state. Release the layout's body with page_done(). */
void confirm_lay_out(const struct confirm *confirm, size_t columns, struct confirm_layout *out);

#endif
