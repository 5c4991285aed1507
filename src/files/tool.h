/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to the tools: what a tool receives and returns, what the tools share (tool.c), and their
 * table (toolbox.c). One file per family: read.c, list.c, ….
 */
#ifndef FILES_TOOL_H
#define FILES_TOOL_H

#include "base/arena.h"
#include "base/jsonwrite.h"
#include "files/toolbox.h"

struct glob_set;
struct undo_log;

struct tool_folder {
    const char *root_path;
    const char *given_path;
    bool may_write;
    const struct glob_set *denied; /* as in the grants, for messages */
    const struct glob_set *allowed;
};

struct toolbox {
    struct toolbox_config config; /* with defaults filled in */
    struct tool_folder *folders;  /* at least one */
    size_t folder_count;
    struct undo_log *undo; /* NULL without write access */
    /* private to toolbox.c: schemas, the lock that serialises changes */
    struct toolbox_private *own;
};

enum { TOOL_MAX_RESOURCES = 256 };

/* A string of a tool's object, with its quotes; of no length: there is none. */
struct tool_told {
    size_t from;
    size_t len;
};

/* One of several files to read, which is refused while the others are read. */
struct tool_refusal {
    size_t place; /* among all that were given */
    struct str given;
    struct str why;
};

struct tool_call {
    struct toolbox *box;
    const struct catalog_tool *tool;
    uint64_t number;                    /* in the audit log */
    const struct json_value *arguments; /* an object that fits the schema */
    struct arena arena;                 /* lives as long as the call */
    struct tool_resource *resources;    /* in the order of the catalogue's rules */
    size_t resource_count;
    struct tool_refusal *refusals; /* in the order of their places; the resources lack them */
    size_t refusal_count;
    /*
     * Why one of the names cannot be used; code 0: all can. tool_run() returns it. Told before the
     * decision, it would say what exists.
     */
    struct err failure;
    /* undo_changes, when it was prepared: there is nothing to undo, and it undoes nothing. */
    bool has_no_effect;
    /* Errors may tell what exists beside a missing name: no question or rule let the call run. */
    bool may_suggest;
    /* While it runs: */
    const struct cancel *cancel;
    tool_progress_fn *progress; /* may be NULL */
    void *progress_data;
    /* Set by a tool that wrote a whole CallToolResult (images, plain text) instead of an object. */
    bool is_whole_result;
    /* Set by a tool whose object has all that a model need be told in one string. */
    struct tool_told told;
    struct str change; /* see tool_change(); in the arena */
};

/*
 * Appends the result's JSON object to `out`; it is sent as text and as structuredContent. An error
 * becomes {"error": message}: say what to do next, with names as the client gave them.
 */
typedef int tool_run_fn(struct tool_call *call, struct buf *out, struct err *err);

/* read.c */
tool_run_fn tool_read_file, tool_read_files, tool_stat_file, tool_list_allowed_directories;
/* readmedia.c, for read.c: content within the limit, and a file over it. */
int tool_write_media(struct tool_call *call, const char *type, struct str bytes, struct buf *out);
int tool_read_large_media(struct tool_call *call, const char *type, struct buf *out,
                          struct err *err);
/* Reads up to `limit` bytes, and one more to detect that there are more. */
int tool_read_up_to(const struct tool_call *call, uint64_t limit, struct buf *out, struct err *err);
/* list.c */
tool_run_fn tool_list_files, tool_get_file_tree;
/* search.c */
tool_run_fn tool_search_files;
/* write.c */
tool_run_fn tool_write_file, tool_append_file, tool_create_directory;
/* move.c */
tool_run_fn tool_move, tool_copy_file, tool_delete;
/* edit.c */
tool_run_fn tool_edit;
/* archive.c */
tool_run_fn tool_extract_archive;
/* pagefile.c */
tool_run_fn tool_load_page_file;
/* staged.c */
tool_run_fn tool_stage_upload, tool_save_download;
/* undo.c */
tool_run_fn tool_undo_changes;

/*
 * How toolbox.c treats an error: one that comes straight from the authority (its field is a
 * resolved name of this call) gets the name as given and a hint; any other message is complete and
 * stays as it is.
 */

/*
 * Puts the error into the client's terms. False for the codes that tool_run() returns to its
 * caller; for these the error may have no message.
 */
bool tool_explain(const struct tool_call *call, int code, struct err *err);

/* Waits for the toolbox's lock on changes and on the undo log. */
int tool_take_turn(struct toolbox *box, const struct cancel *cancel);
void tool_leave_turn(struct toolbox *box);

/* Resolved name of resource number `index`: relative in the first folder, absolute in others. */
static inline struct str tool_name(const struct tool_call *call, size_t index)
{
    return call->resources[index].resolved;
}

/* An integer argument that fits the schema (3, 3.0 and 3e0 are equal), clamped to an int64_t. */
int64_t tool_int(const struct tool_call *call, struct str key, int64_t fallback);

/* `maxResults`: the default also for one below 1, by which agents mean that they set none. */
size_t tool_max_results(const struct tool_call *call, size_t fallback, size_t most);

/*
 * The folder of a name, and in *name what follows the folder's path; a relative name is in the
 * first. NULL: an absolute name in none of them.
 */
const struct tool_folder *tool_folder_of(const struct toolbox *box, struct str *name);

/* Whether that holds of the whole path of a name, by either path of its folder. */
bool tool_is_by_path(const struct toolbox *box, struct str name, bool (*holds)(struct str path));

/* The same name as it works for the authority, which knows a folder by one of its two paths. */
struct str tool_plain_name(const struct toolbox *box, struct str given);

struct path_name;
/* Resolves ".." in a given name, and makes it relative to its folder; does not follow links. */
int tool_name_below(const struct toolbox *box, struct str given,
                    const struct tool_folder **out_folder, struct path_name *out_name);
/* The same in the form of resolved names. */
int tool_given_name(const struct toolbox *box, struct str given, struct path_name *out_name);

/* A given name without the root's path, for a diff. */
struct str tool_name_in_diff(const struct toolbox *box, struct str given);

/* Why a given name is denied, as the end of a sentence; NULL if the globs do not explain it. */
const char *tool_denial(const struct toolbox *box, struct str given);

/* The end of that sentence when it is not about the name itself. */
#define TOOL_DENIED_BEHIND "leads to or contains a denied path"

enum { TOOL_SHOWN_BYTES = 132 };
/* A name for a message, cut if long. */
const char *tool_show(struct str name, char out_text[TOOL_SHOWN_BYTES]);

/* Reports progress of a long operation; does nothing without a listener. */
void tool_report(const struct tool_call *call, uint64_t done, uint64_t total, const char *what);

/* False, too, for one that cannot be listed. */
bool tool_has_entries(struct authority_scope *files, struct str directory);
#endif
