/* SPDX-License-Identifier: Apache-2.0 */
/* What the tools that change something share: words for errors, results, reading before editing. */
#ifndef FILES_CHANGE_H
#define FILES_CHANGE_H

#include "files/tool.h"
#include "files/undo/undo.h"

/* A string argument; the schema has seen to it that it is there. */
struct str change_text(const struct tool_call *call, struct str key);

/* Resource number `index` as the client called it. */
static inline struct str change_given(const struct tool_call *call, size_t index)
{
    return call->resources[index].given;
}

/* "NAME: what", with a long name cut; returns the code. */
int change_fail(struct err *err, int code, struct str given, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with the words of the authority. */
int change_refuse(struct err *err, int code, struct str given, const struct err *why);

/* ERR_TOO_LARGE when a file of that size is over the limit. */
int change_check_size(const struct tool_call *call, struct str given, uint64_t size,
                      struct err *err);

/* Whether it is still the same file with the same content. */
bool change_is_same(const struct authority_stat *a, const struct authority_stat *b);

/* A text file within the limit, and what it was when it was read. */
int change_read(const struct tool_call *call, size_t index, struct buf *out,
                struct authority_stat *out_stat, struct err *err);

/*
 * What is known before a change is tried, and its words: the tools themselves begin with
 * these, and previews end with them.
 */
/* write.c */
int change_refuse_write(struct err *err, int code, struct str given, const struct err *why);
int change_refuse_directory(struct err *err, int code, struct str given, const struct err *why);
/* move.c */
int change_check_move(const struct tool_call *call, struct err *err);
int change_check_copy(const struct tool_call *call, struct err *err);
/* archive.c */
int change_check_extract(const struct tool_call *call, struct err *err);
/* edit.c: each file that edits would change, with its resource, in the order of the edits. */
typedef int change_foreseen_fn(void *data, size_t index, struct str before, struct str after);
int change_foresee_edits(struct tool_call *call, change_foreseen_fn *visit, void *data,
                         struct err *err);

/* Begins a change in the log. */
void change_begin(const struct tool_call *call);

/* A result with the names that the arguments `keys` have: {"path": …} and the like. */
struct change_field {
    struct str key;
    struct str value;
};
/* Ends the change in the log and writes the fields, and whether it can be undone if not. */
int change_end(const struct tool_call *call, const struct change_field *fields, size_t count,
               struct buf *out);
/* Ends it after a failure. */
void change_give_up(const struct tool_call *call);
/* For results of other shapes: {…, "undoable": false, "note": …}. */
void change_write_note(struct json_writer *w, const struct undo_note *note);

#endif
