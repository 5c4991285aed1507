/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of one session on one folder or several. A call has two phases, so that permission can
 * be decided in between:
 *
 *     tool_prepare()   checks the arguments against the schema and resolves names
 *     tool_resources() tells what would be touched, by its resolved name
 *     tool_run()       does it on those very names: a link that appeared since is refused
 *     tool_free()
 *
 * All functions may block and are called from workers, several at once. Changes are serialised: one
 * at a time in a toolbox.
 */
#ifndef FILES_TOOLBOX_H
#define FILES_TOOLBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "base/json.h"
#include "gatehouse/authority.h"
#include "protocol/catalog.h"
#include "protocol/toolresult.h"

struct client_roots;
struct media_client;
struct toolbox;
struct tool_call;

/* One of several folders. */
struct toolbox_folder {
    const char *root_path;  /* without links */
    const char *given_path; /* as given by the user; or NULL */
    bool may_write;
    const char *const *denied; /* the globs of its grants, as below */
    const char *const *allowed;
};

struct toolbox_config {
    struct authority *authority;
    /*
     * Two grants for one root, with the same globs: `names` follows links inside the root and only
     * resolves names (AUTHORITY_METADATA suffices); `files` rejects links and does the work.
     * Neither limits file sizes. With several folders, those of the first, to which the others are
     * joined: relative names are in the first, and names of others are absolute paths.
     */
    struct authority_scope *names;
    struct authority_scope *files;
    const char *root_path; /* without links; shown in trees and file:// URIs */
    /* The same path as given by the user, with which absolute names may begin too; NULL: none. */
    const char *given_path;
    /* The globs of both grants, NULL-terminated, to explain refusals; NULL: none. */
    const char *const *denied;
    const char *const *allowed;
    const struct toolbox_folder *folders; /* if several: all, and the first is the one above */
    size_t folder_count;                  /* 0: only that one */
    struct client_roots *client_roots;    /* narrows the folders; NULL: nothing does */
    /* Where files wait for a browser, and where its downloads arrive (protocol/staged.h); or NULL.
     */
    struct authority_scope *uploads;
    struct authority_scope *downloads;
    bool searches_sensitive; /* the contents of files of authority/names/sensitive.h, too */
    bool reads_hardlinks;    /* the grants read files with several names: for words of refusals */
    bool may_write;          /* else the tools of filesystemWrite do not exist */
    uint64_t max_file_bytes; /* 0: TOOLBOX_FILE_BYTES */
    uint64_t max_lines;      /* of one read; 0: TOOLBOX_MAX_LINES */
    uint64_t max_undo_bytes; /* 0: TOOLBOX_UNDO_BYTES */
    uint64_t max_copy_bytes; /* bytes copied in one call; 0: TOOLBOX_COPY_BYTES */
    uint64_t max_matches;    /* that a search counts; 0: TOOLBOX_MAX_MATCHES */
    enum toolresult_form result_form;
    struct media_client *media; /* makes what is too large smaller; NULL: nobody does */
    const struct clock *clock;  /* NULL: the system clock */
};

enum {
    TOOLBOX_FILE_BYTES = 512 << 10,
    TOOLBOX_DEFAULT_LINES = 200,
    TOOLBOX_MAX_LINES = 500,
    TOOLBOX_UNDO_BYTES = 256 << 20,
    TOOLBOX_MAX_MATCHES = 1000000,
};
#define TOOLBOX_COPY_BYTES (UINT64_C(4) << 30)

/* The caller owns the grants, which must outlive the toolbox. */
int toolbox_new(const struct toolbox_config *config, struct toolbox **out_box, struct err *err);
/* No call may be running. Also deletes the data kept for undo. */
void toolbox_free(struct toolbox *box);

size_t toolbox_folder_count(const struct toolbox *box);
/* Without its globs. */
struct toolbox_folder toolbox_folder_at(const struct toolbox *box, size_t index);

/* Whether the tool exists in this toolbox. */
bool toolbox_has(const struct toolbox *box, const struct catalog_tool *tool);

struct tool_resource {
    enum catalog_access access;
    struct str given;            /* as in the arguments */
    struct str resolved;         /* relative to the first root, or absolute; no links in it */
    bool is_root;                /* of any folder */
    struct authority_stat about; /* when prepared; inode 0: not looked at */
};

/*
 * The arguments must outlive the call. Returns ERR_SCHEMA_MISMATCH or the codes for names
 * (ERR_PATH_OUTSIDE_ROOT, …); the message is for the client.
 */
int tool_prepare(struct toolbox *box, const struct catalog_tool *tool,
                 const struct json_value *arguments, const struct cancel *cancel,
                 struct tool_call **out_call, struct err *err);
void tool_free(struct tool_call *call);

const struct tool_resource *tool_resources(const struct tool_call *call, size_t *out_count);

/* Called from the worker; `total` is 0 if unknown. */
typedef void tool_progress_fn(void *data, uint64_t done, uint64_t total, const char *what);

/*
 * Appends a finished CallToolResult to `out`. A failing tool also produces a result ({"error":…},
 * isError), and 0 is returned; the remaining codes are ERR_CANCELLED, ERR_TIMED_OUT, ERR_NO_MEMORY
 * and ERR_TOO_LARGE (of `out`).
 */
int tool_run(struct tool_call *call, const struct cancel *cancel, tool_progress_fn *progress,
             void *progress_data, struct buf *out);

enum { TOOL_CHANGE_BYTES = 8 << 10 };
/*
 * For the audit log, after the call ran: a diff of what it did to the contents of files, at most
 * TOOL_CHANGE_BYTES; empty if it did nothing to them, or they usually hold secrets, or are large.
 */
struct str tool_change(const struct tool_call *call);

#endif
