/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workspace: a filesystem and a shell that belong together, apart from the user's machine. The
 * caller does not see which provider serves it.
 *
 * A workspace is created by its provider with its first call, and ends with workspace_end() or
 * workspaces_close(). One by a key is shared by all calls with this key; one without a key is its
 * caller's alone. If the provider has lost it, the call says so, and the next one gets a new one.
 *
 * Everything belongs to the loop's thread. Each call ends exactly once, by on_done, unless it is
 * cancelled; none waits longer than its deadline.
 */
#ifndef WORKSPACE_WORKSPACE_H
#define WORKSPACE_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"
#include "workspace/settings.h"

struct filter;
struct workspaces;
struct workspace;
struct workspace_call;

enum {
    WORKSPACE_MAX_FILE_BYTES = 32 << 20, /* that is read or written at once */
    WORKSPACE_MAX_ENTRIES = 100000,      /* of a list */
    WORKSPACE_MAX_WORKSPACES = 256,
    WORKSPACE_MAX_FILES = 2000, /* that a workspace begins with, and their bytes */
    WORKSPACE_MAX_FILES_BYTES = 64 << 20,
    WORKSPACE_KEY_BYTES = 256,
    WORKSPACE_PATH_BYTES = 4096,
    WORKSPACE_FILE_MS = 60000, /* deadline of a call for files, with creating the workspace */
};

/* A file that each workspace begins with. */
struct workspace_file {
    struct str path; /* relative to the home directory */
    struct str content;
    bool is_executable;
};

struct workspaces_config {
    struct loop *loop;
    const struct workspace_settings *settings; /* must outlive it */
    /* Of `isolated`: the user's state directory, and how to start the service. */
    const char *state_dir;
    const char *service_program;
    const char *libexec;
    /*
     * Steps of an image ("RUN npm install", "FROM builder"), up to a NULL; NULL: none. The first
     * workspace sends them, and the others the id of the image that came of it. For providers that
     * have images.
     */
    const char *const *setup;
    /* Written to each new workspace before its first call. */
    const struct workspace_file *files;
    size_t file_count;
    /* TLS, for providers on other machines; NULL: https is refused. */
    int (*make_filter)(void *data, struct str host, struct filter **out_filter, struct err *err);
    void *filter_data;
};

/* ERR_INVALID_OPTION: something that the provider needs is missing; the message names it. */
int workspaces_new(const struct workspaces_config *config, struct workspaces **out_workspaces,
                   struct err *err);
/*
 * Ends all workspaces; `done` comes when the provider has answered, or after a minute. Calls
 * under way fail with ERR_SESSION_OVER.
 */
void workspaces_close(struct workspaces *workspaces, void (*done)(void *data), void *data);
/* Nothing is called any more. Without workspaces_close() before, what exists is left. */
void workspaces_free(struct workspaces *workspaces);

/* The workspace of this key, which is ended by workspaces_close(). ERR_BUSY: there are too many. */
int workspaces_get(struct workspaces *workspaces, struct str key, struct workspace **out_workspace);
/* A new one that nobody else has. */
int workspaces_new_one(struct workspaces *workspaces, struct workspace **out_workspace);
/*
 * Uses a sandbox that exists already, which is left at the end. Only of `isolated` and
 * `n8n-sandbox`.
 */
int workspaces_adopt(struct workspaces *workspaces, struct str id, struct workspace **out_workspace,
                     struct err *err);
/* Its calls fail with ERR_SESSION_OVER, and the provider is told; the pointer is invalid. */
void workspace_end(struct workspace *workspace);
/* The same; `gone` comes once, when the provider has it no longer, maybe at once. */
void workspace_end_then(struct workspace *workspace, void (*gone)(void *data), void *data);

/* The provider's name of it; empty before the first call. */
const char *workspace_id(const struct workspace *workspace);

/* ---- Calls ---- */

enum workspace_action {
    WORKSPACE_READ,
    WORKSPACE_WRITE, /* with missing folders */
    WORKSPACE_LIST,
    WORKSPACE_STAT,
    WORKSPACE_MKDIR,
    WORKSPACE_DELETE,
    WORKSPACE_COPY,
    WORKSPACE_MOVE,
    WORKSPACE_EXECUTE,
};

struct workspace_variable {
    struct str name;
    struct str value;
};

/* Everything is copied. */
struct workspace_request {
    enum workspace_action action;
    struct str path;   /* absolute, or relative to the home directory; of a command its directory */
    struct str target; /* of a copy or a move */
    struct str content; /* to write */
    struct str command; /* for a shell */
    const struct workspace_variable *env;
    size_t env_count;
    bool is_recursive;   /* list, delete, copy: with what is in it; mkdir: with its parents */
    bool replaces;       /* write, copy, move: what is there; else ERR_ALREADY_EXISTS */
    bool may_be_missing; /* delete */
    bool is_executable;  /* write, where the provider can say so */
    int64_t timeout_ms;  /* of a command; 0: that of the settings */
    /*
     * Of a command: the call has no deadline but this time limit once it runs. background.h has
     * what else belongs to that.
     */
    bool is_background;
};

struct workspace_entry {
    struct str name; /* relative to the folder that is listed */
    bool is_directory;
    uint64_t size;
    int64_t modified_ms; /* since 1970; 0: unknown */
};

/* Valid until on_done returns. */
struct workspace_answer {
    struct str content;                    /* of read */
    const struct workspace_entry *entries; /* of list; of stat there is one */
    size_t count;
    int exit_code;     /* of a command; -1: it was killed */
    bool is_timed_out; /* and killed; what it wrote until then was passed on */
};

struct workspace_events {
    /* Of a background command; may be NULL otherwise, like the next two. */
    void (*on_started)(void *data);
    /* What it has written comes again, from the beginning: the provider does not pass it on. */
    void (*on_rewound)(void *data);
    /* After workspace_look(); `err` says why nothing could be learned. */
    void (*on_looked)(void *data, const struct err *err);
    /* What a command writes, as it comes; must not cancel. NULL: nobody wants it. */
    void (*on_output)(void *data, bool is_error, struct str bytes);
    /* `err` is NULL if it worked; else there is no answer. Never called from workspace_begin(). */
    void (*on_done)(void *data, const struct err *err, const struct workspace_answer *answer);
    void *data;
};

int workspace_begin(struct workspace *workspace, const struct workspace_request *request,
                    const struct workspace_events *events, struct workspace_call **out_call,
                    struct err *err);
/* on_done does not come. A command is killed; something else may have been done. */
void workspace_cancel(struct workspace_call *call);

/*
 * Of a background command that has started: has the provider asked for its output, and its end;
 * on_looked or on_done follows. False: they come by themselves.
 */
bool workspace_look(struct workspace_call *call);
/* Kills it, and on_done follows. False: only workspace_cancel() can. */
bool workspace_kill(struct workspace_call *call);

#endif
