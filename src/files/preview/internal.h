/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to the previews: preview.c (the table, words, read-only tools), preview_write.c (new
 * content), preview_move.c (moving, deleting, unpacking) and preview_undo.c.
 */
#ifndef FILES_PREVIEW_INTERNAL_H
#define FILES_PREVIEW_INTERNAL_H

#include "files/change.h"
#include "files/preview/preview.h"
#include "files/preview/text.h"

struct preview {
    struct tool_call *call;
    struct tool_preview *out;
    int error;        /* first error while adding words that did not fit */
    struct buf lines; /* of the detail, before cutting */
    size_t files;     /* number touched by edits */
    bool only_names;  /* as they were given: nothing is told of the files */
};

/* Describes what the tool would do; an error is the one that the tool would return. */
typedef int preview_fn(struct preview *preview, struct err *err);
/* preview_write.c */
preview_fn preview_write_file, preview_append_file, preview_create_directory, preview_edits;
/* preview_move.c */
preview_fn preview_move, preview_copy_file, preview_save_download, preview_delete;
preview_fn preview_extract_archive;
/* preview_undo.c */
preview_fn preview_undo_changes;

/* ---- the sentence; if it does not fit, the error comes at the end ---- */

/* For our own words only. */
void preview_say(struct preview *preview, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The resource as given, and its target if that is elsewhere. */
void preview_say_name(struct preview *preview, size_t index);
/* " (3.4 KB)" */
void preview_say_size(struct preview *preview, uint64_t bytes);
/* Same, for a resource that was seen to be a file when the call was prepared. */
void preview_say_seen(struct preview *preview, size_t index);
/* "120 lines, 3.4 KB" */
void preview_say_content(struct preview *preview, struct str text);

/* ---- the detail ---- */

int preview_note(struct preview *preview, const char *words);
int preview_show_arguments(struct preview *preview);

/* Whether the error ends the call, whatever resource it is about. */
static inline bool preview_is_over(int code)
{
    return code == ERR_CANCELLED || code == ERR_TIMED_OUT || code == ERR_NO_MEMORY ||
           code == ERR_GRANT_EXPIRED || code == ERR_GRANT_REVOKED;
}

#endif
