/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of gatehouse-workspace only. */
#ifndef PROGRAMS_WORKSPACE_WORKSPACE_H
#define PROGRAMS_WORKSPACE_WORKSPACE_H

#include <limits.h>
#include <stdbool.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/jsonwrite.h"
#include "base/options/options.h"
#include "cli/output.h"
#include "copies/apply.h"
#include "copies/compare.h"
#include "copies/request.h"
#include "copies/store.h"
#include "session/state.h"

/* A command at work. */
struct task {
    const struct option_values *values;
    struct session_state state;
    struct copies_store store;
    struct copies_record record;
    struct authority_scope *project;
    struct authority_scope *copy;
    struct authority_scope *outside; /* of cp */
    struct cancel cancel;
    const char *reason; /* why it uses the project, for the audit log */
    bool has_left;      /* something was not done as requested */
    /* Of the page: */
    struct copies_request *request;
    struct json_writer *json; /* the answer */
};

/* Beyond the store and what is open already, the process reaches no file after this. */
struct task_walls {
    const char *const *folders;
    size_t folder_count;
    bool may_write; /* in these */
    bool makes_links;
};
int task_confine(const struct task *task, const struct task_walls *walls, struct err *err);

/*
 * Opens the workspace of that name, its project and its copy, and confines the process to them.
 */
int task_open(struct task *task, const char *name, bool may_write, struct err *err);
struct copies_workspace task_workspace(struct task *task);

/* "gatehouse workspace: WORDS" with an escaped name in front, on standard error. */
void task_tell(struct str name, const char *words);
void task_say(const char *words);

/* new.c */
int task_new(struct task *task, struct err *err);

/* show.c */
int task_list(struct task *task, struct err *err);
int task_path(struct task *task, struct err *err);
int task_diff(struct task *task, struct err *err);
int show_diff(struct task *task, const struct copies_differences *differences, struct err *err);
/* For the page: appends an array of the workspaces, or of the first changes with their ids. */
int show_list_json(struct task *task, struct json_writer *json, struct err *err);
int show_changes_json(struct task *task, const struct copies_differences *differences,
                      int64_t since_ms, struct json_writer *json);

/* change.c; the result may be an exit status */
int task_apply(struct task *task, struct err *err);
int task_undo(struct task *task, struct err *err);
int task_remove(struct task *task, struct err *err);
int task_copy(struct task *task, struct err *err);

/* program.c: opens the store, does the work and closes all. */
typedef int task_work(struct task *task, struct err *err);
int task_run(struct task *task, task_work *work, bool only_reads, struct err *err);

/* page.c: one request of the server's page. */
int task_page(struct task *task, struct err *err);

#endif
