/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tools that change files: error messages, results, reading before editing. */
#ifndef FILES_CHANGE_H
#define FILES_CHANGE_H

#include "base/encoding.h"
#include "files/tool.h"
#include "files/undo/undo.h"

/* A string argument; the schema guarantees that it exists. */
struct str change_text(const struct tool_call *call, struct str key);

/* Resource number `index` as the client named it. */
static inline struct str change_given(const struct tool_call *call, size_t index)
{
    return call->resources[index].given;
}

/* Sets the message "NAME: …", with a long name cut; returns the code. */
int change_fail(struct err *err, int code, struct str given, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Same, with the authority's message. */
int change_refuse(struct err *err, int code, struct str given, const struct err *why);

/* ERR_TOO_LARGE if a file of that size is over the limit. */
int change_check_size(const struct tool_call *call, struct str given, uint64_t size,
                      struct err *err);

/* A file as it was read. */
struct change_source {
    struct authority_stat about;
    enum encoding encoding;
};
/*
 * Reads a text file within the size limit, as UTF-8. Encoding the text again gives the bytes of the
 * file. The text of a file that is not UTF-8 may be longer than the limit; so is out->max then.
 */
int change_read(const struct tool_call *call, size_t index, struct buf *out,
                struct change_source *out_source, struct err *err);
/* Appends the text in this encoding; an error names a character that it lacks. */
int change_encode(const struct tool_call *call, size_t index, enum encoding encoding,
                  struct str text, struct buf *out, struct err *err);

/*
 * Checks that are possible before a change is tried, and their messages: the tools begin with them,
 * and previews end with them.
 */
/* write.c */
int change_refuse_write(const struct tool_call *call, size_t index, int code, const struct err *why,
                        struct err *err);
int change_refuse_directory(struct err *err, int code, struct str given, const struct err *why);
/* What append_file appends: its argument in the encoding of the file. */
struct change_appended {
    enum encoding encoding;
    struct buf encoded;
    struct str bytes;
};
int change_encode_appended(const struct tool_call *call, struct change_appended *out_appended,
                           struct err *err);
static inline void change_appended_done(struct change_appended *appended)
{
    buf_done(&appended->encoded);
}
#define cleanup_appended cleanup_with(change_appended_done)
/* move.c */
int change_check_move(const struct tool_call *call, struct err *err);
int change_check_copy(const struct tool_call *call, struct err *err);
/* staged.c */
int change_check_download(const struct tool_call *call, struct err *err);
/* archive.c */
int change_check_extract(const struct tool_call *call, struct err *err);
/*
 * edit.c: visits each file that the edits would change, with its resource, in the order of the
 * edits.
 */
typedef int change_foreseen_fn(void *data, size_t index, struct str before, struct str after);
int change_foresee_edits(struct tool_call *call, change_foreseen_fn *visit, void *data,
                         struct err *err);

/* Begins a change in the undo log. */
void change_begin(const struct tool_call *call);

/* A field of the result, named like the argument: {"path": …}. */
struct change_field {
    struct str key;
    struct str value;
};
/* Ends the change in the undo log and writes the fields, with a note if it cannot be undone. */
int change_end(const struct tool_call *call, const struct change_field *fields, size_t count,
               struct buf *out);
/* Ends the change in the undo log after a failure. */
void change_give_up(const struct tool_call *call);
/*
 * Notes for the audit log what was done to the content of a file: see tool_change(). Without memory
 * there is no note.
 */
void change_show(struct tool_call *call, size_t index, struct str before, struct str after);
void change_show_diff(struct tool_call *call, struct str diff);
/* Adds "undoable": false, "note": … to results of other shapes. */
void change_write_note(struct json_writer *w, const struct undo_note *note);

#endif
