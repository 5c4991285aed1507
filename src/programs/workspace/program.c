/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-workspace: copies of projects for agents to work on. It confines itself to the project,
 * the copies and its state before it looks at a file that an agent could have written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "cli/runner.h"
#include "cli/stop.h"
#include "cli/workspace.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "programs/workspace/workspace.h"

#define TITLE "gatehouse workspace"

static const volatile sig_atomic_t never = 0;

void task_tell(struct str name, const char *words)
{
    cleanup_output struct output output = OUTPUT_INIT(STDERR_FILENO, &never);

    output_str(&output, STR(TITLE ": "));
    output_shown(&output, name, PRINTABLE_LINE);
    output_str(&output, STR(": "));
    output_shown(&output, str_from(words), PRINTABLE_LINE);
    output_line_end(&output);
    (void)output_finish(&output, NULL);
}

void task_say(const char *words)
{
    cleanup_output struct output output = OUTPUT_INIT(STDERR_FILENO, &never);

    output_printf(&output, TITLE ": %s", words);
    output_line_end(&output);
    (void)output_finish(&output, NULL);
}

int task_confine(const struct task *task, const struct task_walls *walls, struct err *err)
{
    const unsigned both = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE;
    struct landlock_place places[CONFINE_MAX_PLACES] = {
        {.path = task->state.state_path, .rights = both},
        {.path = task->store.copies_path, .rights = both},
    };
    struct confine_plan plan = {.places = places,
                                .place_count = 2,
                                .changes_files = true,
                                .makes_links = walls->makes_links,
                                .has_closed_fds = true};
    struct confine_report report;

    if (walls->folder_count > CONFINE_MAX_PLACES - plan.place_count)
        return err_set(err, ERR_TOO_LARGE, "more than %zu workspaces at once",
                       CONFINE_MAX_PLACES - plan.place_count);
    for (size_t i = 0; i < walls->folder_count; i++)
        places[plan.place_count++] =
            (struct landlock_place){.path = walls->folders[i],
                                    .rights = walls->may_write ? both : LANDLOCK_MAY_READ,
                                    .may_be_missing = true};
    return confine_process(&plan, &report, err);
}

int task_open(struct task *task, const char *name, bool may_write, struct err *err)
{
    char original[PATH_MAX];
    char copy[PATH_MAX];
    struct copies_grant project = {
        .path = original, .reason = task->reason, .may_write = may_write};
    const struct copies_grant theirs = {.path = copy, .reason = "the copy of a project"};
    const char *const folder = original;
    const struct task_walls walls = {.folders = &folder, .folder_count = 1, .may_write = may_write};
    int r = copies_load(&task->store, name, &task->record, err);

    if (r < 0)
        return r;
    if (task->record.original.len >= sizeof(original) ||
        snprintf(copy, sizeof(copy), "%s/%s", task->store.copies_path, name) >= (int)sizeof(copy))
        return err_set_plain(err, ERR_INVALID_PATH);
    snprintf(original, sizeof(original), "%.*s", STR_ARG(task->record.original));
    r = copies_open_folder(&task->store, &project, &task->project, err);
    if (r == ERR_NOT_FOUND)
        return err_set(err, r,
                       "the project is no longer at %.100s: move it back, or take files out by "
                       "'gatehouse workspace sh' and end with 'gatehouse workspace rm --force "
                       "%.64s'",
                       original, name);
    if (r == 0)
        r = copies_open_folder(&task->store, &theirs, &task->copy, err);
    return r == 0 ? task_confine(task, &walls, err) : r;
}

struct copies_workspace task_workspace(struct task *task)
{
    return (struct copies_workspace){.record = &task->record,
                                     .project = task->project,
                                     .copy = task->copy,
                                     .cancel = &task->cancel};
}

static const struct {
    size_t command;
    task_work *work;
    bool only_reads;
} commands[] = {
    {WORKSPACE_NEW, task_new, false},   {WORKSPACE_LS, task_list, true},
    {WORKSPACE_PATH, task_path, true},  {WORKSPACE_CP, task_copy, false},
    {WORKSPACE_DIFF, task_diff, true},  {WORKSPACE_APPLY, task_apply, false},
    {WORKSPACE_UNDO, task_undo, false}, {WORKSPACE_RM, task_remove, false},
};

int task_run(struct task *task, task_work *work, bool only_reads, struct err *err)
{
    const struct session_state_config config = {
        .state_dir = options_text(task->values, WORKSPACE_STATE_DIR),
        .audit_sync = (enum audit_sync)options_choice(task->values, WORKSPACE_AUDIT_SYNC),
        .only_reads = only_reads};
    int r = session_state_open(&config, &task->state, err);

    if (r == 0)
        r = copies_store_open(&task->state, &task->store, err);
    if (r == 0)
        r = work(task, err);
    authority_scope_free(task->outside);
    authority_scope_free(task->copy);
    authority_scope_free(task->project);
    copies_record_done(&task->record);
    copies_store_close(&task->store);
    session_state_close(&task->state);
    return r == 0 && task->has_left ? EXIT_FAILURE : r;
}

static struct task *new_task(const struct option_values *values, struct arena *arena,
                             const char *reason)
{
    struct task *task = arena_new(arena, struct task);

    if (task == NULL)
        return NULL;
    *task = (struct task){.values = values,
                          .state = {.audit_dir_fd = -1},
                          .store = COPIES_STORE_INIT,
                          .record = COPIES_RECORD_INIT,
                          .reason = reason};
    cancel_init(&task->cancel, &clock_system, CANCEL_NO_DEADLINE);
    return task;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct task *task = new_task(values, arena, "the project of a workspace");

    if (task == NULL)
        return err_set_plain(err, arena->error);
    stop_watch(&task->cancel);
    for (size_t i = 0; i < array_size(commands); i++)
        if (values->command == &workspace_commands[commands[i].command])
            return task_run(task, commands[i].work, commands[i].only_reads, err);
    return err_set(err, ERR_INVALID_OPTION, "gatehouse itself does that: 'gatehouse workspace'");
}

static const struct runner runner = {
    .program = WORKSPACE_PROGRAM,
    .title = TITLE,
    .see = "'gatehouse workspace --help'",
    .command = WORKSPACE_COMMAND,
    .keeps_input = true,
    .checks_options_late = true,
    .run = run,
};

/* ---- for the server's page ---- */

static int run_page(const struct option_values *values, struct arena *arena, struct err *err)
{
    const int kept[] = {STDERR_FILENO, COMPANION_FD};
    struct task *task = new_task(values, arena, "the project of a workspace, by the page");
    int r = confine_close_fds(kept, array_size(kept), err);

    if (task != NULL)
        task->request = arena_new(arena, struct copies_request);
    if (task == NULL || task->request == NULL)
        return err_set_plain(err, arena->error);
    companion_follow_parent();
    return r == 0 ? task_page(task, err) : r;
}

static const struct runner page_runner = {
    .program = WORKSPACE_PROGRAM,
    .title = TITLE,
    .see = "'gatehouse workspace --help'",
    .command = {.name = WORKSPACE_PAGE_WORD,
                .options = workspace_shared_options,
                .option_count = WORKSPACE_SHARED_OPTIONS},
    .closes_descriptors = true,
    .run = run_page,
};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], WORKSPACE_PAGE_WORD) == 0)
        return runner_main(&page_runner, argc - 1, argv + 1);
    return runner_main(&runner, argc, argv);
}
