/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copies of a user's projects: each is a folder beside the state directory, which agents may be
 * given, and a record inside the state directory, which no agent can reach. The record makes the
 * workspace: it is written last and removed first, so a process that is killed leaves a whole
 * workspace or a folder without a record, which the next command removes.
 */
#ifndef COPIES_STORE_H
#define COPIES_STORE_H

#include <limits.h>
#include <stdbool.h>

#include "base/cancel.h"
#include "base/err.h"
#include "cli/workspace.h"
#include "copies/record.h"
#include "gatehouse/authority.h"
#include "session/state.h"

struct copies_store {
    struct session_state *state;
    /*
     * NAME, NAME.undo with what its undo needs, NAME.base: see copies_record, and NAME.told: see
     * cli/workspace.h
     */
    struct authority_scope *records;
    struct authority_scope *copies;
    int making_fd;   /* shared by all that make a copy */
    int changing_fd; /* one at a time */
    char records_path[PATH_MAX];
    char copies_path[PATH_MAX];
};

#define COPIES_STORE_INIT                                                                          \
    {                                                                                              \
        .making_fd = -1, .changing_fd = -1                                                         \
    }

/* Creates its directories if they are missing. The state must outlive the store. */
int copies_store_open(struct session_state *state, struct copies_store *out_store, struct err *err);
void copies_store_close(struct copies_store *store);
#define cleanup_store cleanup_with(copies_store_close)

/* For one change of a workspace at a time. ERR_BUSY: another command has it for too long. */
int copies_store_lock(struct copies_store *store, struct err *err);
/* Before a copy is made: nobody takes it for one that was left. */
int copies_store_begin(struct copies_store *store, struct err *err);
/* Removes what killed commands left, unless somebody makes a copy right now. */
void copies_store_sweep(struct copies_store *store, const struct cancel *cancel);

/* ---- one workspace ---- */

/* "the user names it"; ERR_NOT_FOUND with a message for the user. */
int copies_load(struct copies_store *store, const char *name, struct copies_record *out_record,
                struct err *err);
int copies_load_head(struct copies_store *store, const char *name, struct copies_record *out_record,
                     struct err *err);
/* Replaces the record of a workspace, or creates it: ERR_ALREADY_EXISTS. */
int copies_save(struct copies_store *store, const char *name, const struct copies_record *record,
                bool is_new, struct err *err);
/* Whether a record or a folder has this name. */
bool copies_is_taken(struct copies_store *store, const char *name);
int copies_remove(struct copies_store *store, const char *name, const struct cancel *cancel,
                  struct err *err);
/* Calls `visit` with each name, in order; a nonzero return stops and is returned. */
int copies_each(struct copies_store *store, int (*visit)(void *data, const char *name), void *data,
                struct err *err);

struct copies_grant {
    const char *path; /* absolute */
    const char *reason;
    bool may_write;
};
/* A scope for the project, or for a folder of a copy. */
int copies_open_folder(struct copies_store *store, const struct copies_grant *grant,
                       struct authority_scope **out_scope, struct err *err);

/* ---- making one ---- */

struct copies_new {
    struct authority_scope *project;
    const char *name;
    bool without_git;
    bool with_sensitive;
    struct copies_record *record; /* its original path is set; gets the rest */
    /* Called often, with what is done and what there is; or NULL. */
    void (*progress)(void *data, uint64_t files, uint64_t total_files, uint64_t bytes);
    /* Reports what cannot be copied; or NULL. */
    void (*missed)(void *data, struct str name, int code);
    /* Reports an index in which Git may see files that were left out as deleted; or NULL. */
    void (*unmarked)(void *data, struct str name);
    void *data;
    const struct cancel *cancel;
};
/* Copies the project, as a snapshot if possible, and writes the record. */
int copies_make(struct copies_store *store, const struct copies_new *wanted, struct err *err);

/* "NAME.base" */
enum { COPIES_BASE_BYTES = WORKSPACE_NAME_BYTES + sizeof(".base") };
struct str copies_base_name(const char *name, char out_text[COPIES_BASE_BYTES]);

/* Whether a component is .git: what an agent does there stays in the copy. */
bool copies_is_git(struct str name);

#endif
