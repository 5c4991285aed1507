/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse workspace new` */
#include "programs/workspace/workspace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/colour.h"
#include "cli/stop.h"

#define ERASE_LINE "\r\033[K"

enum {
    MAX_NUMBER = 1000, /* of workspaces of one project */
    NAME_ROOM = 8,     /* "-1000" */
    PROGRESS_MS = 100,
    LINE_BYTES = 128,
    MEGABYTE = 1000000,
    MAX_TOLD = 10,
};

struct making {
    bool has_terminal;
    bool is_shown;
    int64_t next_ms;
    size_t missed;
};

static void erase(struct making *making)
{
    if (making->is_shown && write(STDERR_FILENO, ERASE_LINE, sizeof(ERASE_LINE) - 1) > 0)
        making->is_shown = false;
}

static void show_progress(void *data, uint64_t files, uint64_t total_files, uint64_t bytes)
{
    struct making *making = data;
    int64_t now_ms = clock_monotonic_ms(&clock_system);
    char line[LINE_BYTES];
    int len;

    if (!making->has_terminal || now_ms < making->next_ms)
        return;
    making->next_ms = now_ms + PROGRESS_MS;
    len = snprintf(line, sizeof(line),
                   ERASE_LINE "copying: %" PRIu64 " of %" PRIu64 " files, %" PRIu64 " MB", files,
                   total_files, bytes / MEGABYTE);
    making->is_shown = write(STDERR_FILENO, line, (size_t)len) > 0 || making->is_shown;
}

static void tell_missed(void *data, struct str name, int code)
{
    struct making *making = data;

    if (making->missed++ >= MAX_TOLD)
        return;
    erase(making);
    task_tell(name, code == ERR_NOT_REGULAR_FILE
                        ? "not copied: it is neither a file nor a directory"
                        : err_text(code));
}

static void tell_unmarked(void *data, struct str name)
{
    erase(data);
    task_tell(name, "left as it is: Git may show files that were left out as deleted; see to it "
                    "that nobody commits that");
}

/* ---- its name ---- */

/* Letters, digits, hyphens and underscores of the folder's name. */
static void take_name(const char *path, char out_name[WORKSPACE_NAME_BYTES + 1])
{
    const char *last = strrchr(path, '/');
    size_t len = 0;

    for (const char *at = last != NULL ? last + 1 : path;
         *at != '\0' && len < WORKSPACE_NAME_BYTES - NAME_ROOM; at++) {
        char one[2] = {*at, '\0'};

        /* A hyphen for all that cannot stay between two others. */
        if (workspace_is_name(one) || ((*at == '-' || *at == '_') && len > 0))
            out_name[len++] = *at;
        else if (len > 0 && out_name[len - 1] != '-')
            out_name[len++] = '-';
    }
    while (len > 0 && out_name[len - 1] == '-')
        len--;
    out_name[len] = '\0';
    if (len == 0)
        snprintf(out_name, WORKSPACE_NAME_BYTES + 1, "workspace");
}

static int find_free_name(struct task *task, const char *path,
                          char out_name[WORKSPACE_NAME_BYTES + 1], struct err *err)
{
    char base[WORKSPACE_NAME_BYTES + 1];

    take_name(path, base);
    snprintf(out_name, WORKSPACE_NAME_BYTES + 1, "%s", base);
    for (int i = 2; i < MAX_NUMBER && copies_is_taken(&task->store, out_name); i++)
        snprintf(out_name, WORKSPACE_NAME_BYTES + 1, "%.*s-%d", WORKSPACE_NAME_BYTES - NAME_ROOM,
                 base, i);
    return copies_is_taken(&task->store, out_name)
               ? err_set(err, ERR_ALREADY_EXISTS,
                         "there are too many workspaces of this folder: "
                         "give --name")
               : 0;
}

static int choose_name(struct task *task, const char *path, char out_name[WORKSPACE_NAME_BYTES + 1],
                       struct err *err)
{
    const char *given = options_text(task->values, WORKSPACE_NEW_NAME);

    if (given == NULL)
        return find_free_name(task, path, out_name, err);
    if (!workspace_is_name(given))
        return err_set(err, ERR_INVALID_OPTION, "--name needs " WORKSPACE_NAME_RULE,
                       WORKSPACE_NAME_BYTES - 1);
    if (copies_is_taken(&task->store, given))
        return err_set(err, ERR_ALREADY_EXISTS, "there is a workspace '%s' already", given);
    snprintf(out_name, WORKSPACE_NAME_BYTES + 1, "%s", given);
    return 0;
}

/* ---- the project ---- */

static bool is_within(const char *inner, const char *outer)
{
    size_t len = strcmp(outer, "/") == 0 ? 0 : strlen(outer);

    return strncmp(inner, outer, len) == 0 && (inner[len] == '/' || inner[len] == '\0');
}

static int open_project(struct task *task, char out_path[PATH_MAX], struct err *err)
{
    const char *given = options_argument(task->values, 0);
    char path[PATH_MAX];
    char copies[PATH_MAX];
    const struct copies_grant grant = {.path = path, .reason = "the user copies this project"};
    int r = session_state_absolute_path(given != NULL ? given : ".", path, err);

    if (r == 0)
        r = copies_open_folder(&task->store, &grant, &task->project, err);
    if (r < 0)
        return r;
    if (authority_scope_path(task->project, out_path) < 0 ||
        authority_scope_path(task->store.copies, copies) < 0)
        return err_set_plain(err, ERR_INVALID_PATH);
    if (is_within(copies, out_path))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "'%.200s' contains the copies themselves: name the folder of one project",
                       out_path);
    return 0;
}

static void tell_left_out(const struct copies_record *record)
{
    char words[LINE_BYTES];

    if (record->left_out_count == 0)
        return;
    snprintf(words, sizeof(words),
             "left out %" PRIu64 " file%s secrets (--with-sensitive copies such files):",
             record->left_out_count,
             record->left_out_count == 1 ? " that usually holds" : "s that usually hold");
    task_say(words);
    for (size_t i = 0; i < record->left_out_shown && i < MAX_TOLD; i++)
        task_tell(record->left_out[i], "left out");
}

static int make(struct task *task, const char *name, struct making *making, struct err *err)
{
    const struct copies_new wanted = {
        .project = task->project,
        .name = name,
        .without_git = options_is_on(task->values, WORKSPACE_NEW_WITHOUT_GIT),
        .with_sensitive = options_is_on(task->values, WORKSPACE_NEW_WITH_SENSITIVE),
        .record = &task->record,
        .progress = show_progress,
        .missed = tell_missed,
        .unmarked = tell_unmarked,
        .data = making,
        .cancel = &task->cancel,
    };
    char words[LINE_BYTES];
    int r = copies_make(&task->store, &wanted, err);

    erase(making);
    if (r == 0 && making->missed > MAX_TOLD) {
        snprintf(words, sizeof(words), "and %zu more were not copied", making->missed - MAX_TOLD);
        task_say(words);
    }
    return r;
}

int task_new(struct task *task, struct err *err)
{
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    struct making making = {.has_terminal = colour_has_terminal(STDERR_FILENO),
                            .next_ms = clock_monotonic_ms(&clock_system) + PROGRESS_MS};
    char path[PATH_MAX];
    char name[WORKSPACE_NAME_BYTES + 1];
    const char *const folder = path;
    const struct task_walls walls = {.folders = &folder, .folder_count = 1, .makes_links = true};
    int r = open_project(task, path, err);

    if (r == 0)
        r = task_confine(task, &walls, err);
    if (r < 0)
        return r;
    copies_store_sweep(&task->store, &task->cancel);
    r = copies_store_begin(&task->store, err);
    if (r == 0)
        r = choose_name(task, path, name, err);
    if (r < 0)
        return r;
    task->record.original = str_from(path);
    task->record.created_ms = clock_wall_ms(&clock_system);
    r = make(task, name, &making, err);
    if (r < 0)
        return r;
    tell_left_out(&task->record);
    output_str(&output, str_from(name));
    output_line_end(&output);
    r = output_finish(&output, err);
    if (r == 0 && making.has_terminal)
        fprintf(stderr,
                "The copy is ready. To let an agent work on it, and to see what was changed:\n"
                "    gatehouse workspace mcp %s --install CLIENT\n"
                "    gatehouse workspace diff %s\n",
                name, name);
    return r;
}
