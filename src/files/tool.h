/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the tools themselves: what a tool gets, what it gives back, what they share
 * (tool.c) and the table they stand in (toolbox.c). One file a family:
 * read.c, list.c, ….
 */
#ifndef FILES_TOOL_H
#define FILES_TOOL_H

#include "base/arena.h"
#include "base/jsonwrite.h"
#include "files/toolbox.h"

struct undo_log;

struct toolbox {
    struct toolbox_config config; /* with the defaults filled in */
    struct undo_log *undo;        /* NULL without write access */
    /* … toolbox.c's own, behind this: schemas, the turn of those that change something. */
    struct toolbox_private *own;
};

enum { TOOL_MAX_RESOURCES = 256 };

struct tool_call {
    struct toolbox *box;
    const struct catalog_tool *tool;
    const struct json_value *arguments; /* fit the schema; an object */
    struct arena arena;                 /* for what lives as long as the call */
    struct tool_resource *resources;    /* in the order of the catalogue's rules */
    size_t resource_count;
    /* While it runs: */
    const struct cancel *cancel;
    tool_progress_fn *progress; /* may be NULL */
    void *progress_data;
    /* Set by a tool that wrote a whole CallToolResult (images, plain text) and no object. */
    bool is_whole_result;
};

/*
 * Appends the result's JSON object to `out`; it travels as text and as
 * structuredContent. An error becomes {"error": message}: say what to do next,
 * with names as the client gave them.
 */
typedef int tool_run_fn(struct tool_call *call, struct buf *out, struct err *err);

/* read.c */
tool_run_fn tool_read_file, tool_stat_file;
/* list.c */
tool_run_fn tool_list_files, tool_get_file_tree;
/* search.c */
tool_run_fn tool_search_files;
/* write.c */
tool_run_fn tool_write_file, tool_append_file, tool_create_directory;
/* move.c */
tool_run_fn tool_move, tool_copy_file, tool_delete;
/* edit.c */
tool_run_fn tool_edit_file, tool_edit_files;
/* archive.c */
tool_run_fn tool_extract_archive;
/* undo.c */
tool_run_fn tool_undo_changes;

/*
 * What toolbox.c does with an error: one that comes straight from the authority
 * (its field is a resolved name of this call) gets the name as it was given and
 * a hint; any other message stays as it is, and is complete on its own.
 */

/*
 * In the client's terms. False for the codes that are left to the caller, as tool_run() has them;
 * of those the error may say nothing.
 */
bool tool_explain(const struct tool_call *call, int code, struct err *err);

/* Waits for the turn of those that change something, or look at the log of changes. */
int tool_take_turn(struct toolbox *box, const struct cancel *cancel);
void tool_leave_turn(struct toolbox *box);

/* Resource number `index`, resolved. */
static inline struct str tool_name(const struct tool_call *call, size_t index)
{
    return call->resources[index].resolved;
}

/* An integer argument that fits the schema: 3, 3.0 and 3e0 alike, clamped to an int64_t. */
int64_t tool_int(const struct tool_call *call, struct str key, int64_t fallback);

struct path_name;
/* A name as it was given, relative to the root and without ".."; links in it are not followed. */
int tool_given_name(const struct toolbox *box, struct str given, struct path_name *out_name);

/* Why a name as it was given is denied: the end of a sentence; NULL when its globs do not say. */
const char *tool_denial(const struct toolbox *box, struct str given);

/* The end of that sentence when it is not about the name itself. */
#define TOOL_DENIED_BEHIND "leads to, or holds, a name that is denied here"

enum { TOOL_SHOWN_BYTES = 132 };
/* A name for a message, cut where it is long. */
const char *tool_show(struct str name, char out_text[TOOL_SHOWN_BYTES]);

/* Told now and then by what takes long; does nothing without a listener. */
void tool_report(const struct tool_call *call, uint64_t done, uint64_t total, const char *what);

/*
 * A whole CallToolResult around finished JSON: `text` as the text block,
 * `structured` as structuredContent (empty: none). Sets nothing in the call.
 */
int tool_write_result(struct buf *out, struct str text, struct str structured, bool is_error);

#endif
