/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse workspace apply`, `undo`, `rm` and `cp` */
#include "programs/workspace/workspace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "cli/stop.h"

enum { WORDS_BYTES = 512, ANSWER_BYTES = 16 };

static void tell_left(void *data, struct str name, const char *why)
{
    struct task *task = data;

    task->has_left = true;
    task_tell(name, why);
}

/* ---- apply ---- */

/* The first line that is typed; anything but y or yes is no. */
static bool is_yes(void)
{
    char answer[ANSWER_BYTES];
    size_t len = 0;
    struct str text;

    while (len < sizeof(answer)) {
        struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
        ssize_t got;

        if (!stop_wait(&fd, 1))
            return false;
        got = read(STDIN_FILENO, answer + len, sizeof(answer) - len);
        if (got <= 0)
            break;
        len += (size_t)got;
        if (memchr(answer, '\n', len) != NULL)
            break;
    }
    text = str_trim((struct str){answer, len});
    return str_eq_nocase(text, STR("y")) || str_eq_nocase(text, STR("yes"));
}

static int ask(const struct task *task, size_t count, bool *out_yes, struct err *err)
{
    char words[WORDS_BYTES];
    char shown[WORDS_BYTES / 2];

    *out_yes = options_is_on(task->values, WORKSPACE_APPLY_YES);
    if (*out_yes)
        return 0;
    if (isatty(STDIN_FILENO) != 1)
        return err_set(err, ERR_ASK_UNAVAILABLE,
                       "nobody can be asked here: use --yes, or run it in a terminal");
    (void)printable_cut(task->record.original, PRINTABLE_LINE, shown,
                        sizeof(shown) - PRINTABLE_CUT_BYTES);
    snprintf(words, sizeof(words), "Apply %zu change%s to %s? [y/N] ", count, count == 1 ? "" : "s",
             shown);
    if (write(STDERR_FILENO, words, strlen(words)) < 0)
        return err_set_plain(err, err_from_errno(errno));
    *out_yes = is_yes();
    if (stop_signal != 0)
        (void)!write(STDERR_FILENO, "\n", 1); /* behind the ^C that the terminal shows */
    return 0;
}

/* How many would be applied; says what would not. */
static size_t count_applicable(struct task *task, const struct copies_applying *applying,
                               const struct copies_differences *differences)
{
    size_t count = 0;
    bool has_conflict = false;

    for (size_t i = 0; i < differences->count; i++) {
        const struct copies_difference *item = &differences->items[i];

        if (copies_is_applicable(applying, item)) {
            count++;
            continue;
        }
        tell_left(task, item->name, item->refusal != NULL ? item->refusal : item->conflict);
        has_conflict = has_conflict || item->refusal == NULL;
    }
    if (has_conflict)
        task_say("conflicts are not applied; name them with --overwrite to replace your files");
    return count;
}

static int apply(struct task *task, const struct copies_applying *applying,
                 const struct copies_differences *differences, struct err *err)
{
    char words[WORDS_BYTES];
    size_t done = 0;
    int r = copies_store_lock(&task->store, err);

    if (r == 0)
        r = copies_apply(applying, differences, &done, err);
    if (done > 0) {
        snprintf(words, sizeof(words),
                 "applied %zu change%s; 'gatehouse workspace undo %s' takes %s back", done,
                 done == 1 ? "" : "s", applying->name, done == 1 ? "it" : "them");
        task_say(words);
    }
    return r;
}

int task_apply(struct task *task, struct err *err)
{
    cleanup_differences struct copies_differences differences = COPIES_DIFFERENCES_INIT;
    const struct option_values *values = task->values;
    struct copies_workspace workspace;
    const struct copies_applying applying = {.store = &task->store,
                                             .name = options_argument(values, 0),
                                             .workspace = &workspace,
                                             .overwrites =
                                                 options_is_on(values, WORKSPACE_APPLY_OVERWRITE),
                                             .told = tell_left,
                                             .data = task};
    bool is_agreed = false;
    size_t count;
    int r = task_open(task, applying.name, true, err);

    if (r < 0)
        return r;
    workspace = task_workspace(task);
    r = copies_compare(&workspace, values->arguments + 1, values->argument_count - 1, &differences,
                       err);
    if (r == 0)
        r = show_diff(task, &differences, err);
    if (r < 0)
        return r;
    count = count_applicable(task, &applying, &differences);
    if (count == 0) {
        task_say("there is nothing to apply");
        return 0;
    }
    r = ask(task, count, &is_agreed, err);
    if (r < 0)
        return r;
    if (!is_agreed) {
        task_say("nothing was applied");
        return EXIT_FAILURE;
    }
    return apply(task, &applying, &differences, err);
}

int task_undo(struct task *task, struct err *err)
{
    struct copies_workspace workspace;
    const struct copies_applying applying = {.store = &task->store,
                                             .name = options_argument(task->values, 0),
                                             .workspace = &workspace,
                                             .told = tell_left,
                                             .data = task};
    char words[WORDS_BYTES];
    size_t done = 0;
    int r = task_open(task, applying.name, true, err);

    if (r == 0)
        r = copies_store_lock(&task->store, err);
    if (r < 0)
        return r;
    workspace = task_workspace(task);
    r = copies_undo(&applying, &done, err);
    if (r == 0) {
        snprintf(words, sizeof(words), "took %zu change%s back", done, done == 1 ? "" : "s");
        task_say(words);
    }
    return r;
}

/* ---- rm ---- */

/* Changes of the copy are lost with it, also those that cannot be told since the project is gone.
 */
static int refuse_unapplied(struct task *task, const char *name, struct err *err)
{
    cleanup_differences struct copies_differences differences = COPIES_DIFFERENCES_INIT;
    cleanup_record struct copies_record record = COPIES_RECORD_INIT;
    struct authority_scope *project = NULL;
    struct authority_scope *copy = NULL;
    char original[PATH_MAX];
    char path[2 * PATH_MAX];
    const struct copies_grant ours = {.path = original, .reason = "the project of a workspace"};
    const struct copies_grant theirs = {.path = path, .reason = "the copy of a project"};
    struct copies_workspace workspace = {.record = &record, .cancel = &task->cancel};
    int r = copies_load(&task->store, name, &record, err);

    if (r < 0)
        return r;
    snprintf(original, sizeof(original), "%.*s", STR_ARG(record.original));
    snprintf(path, sizeof(path), "%s/%s", task->store.copies_path, name);
    if (copies_open_folder(&task->store, &theirs, &copy, NULL) == 0) {
        r = copies_open_folder(&task->store, &ours, &project, NULL);
        if (r < 0)
            r = err_set(err, r,
                        "cannot tell what was changed in '%s', since its project cannot be used: "
                        "%.100s. Use --force to remove it anyway",
                        name, original);
    }
    if (r == 0 && copy != NULL) {
        workspace.project = project;
        workspace.copy = copy;
        r = copies_compare(&workspace, NULL, 0, &differences, err);
    }
    authority_scope_free(project);
    authority_scope_free(copy);
    if (r == 0 && differences.count > 0)
        return err_set(err, ERR_NOT_EMPTY,
                       "'%s' has %zu change%s that %s not applied: see 'gatehouse workspace diff "
                       "%s', or use --force",
                       name, differences.count, differences.count == 1 ? "" : "s",
                       differences.count == 1 ? "was" : "were", name);
    return r;
}

/* A record that is broken can be removed, too. */
static int refuse_missing(struct task *task, const char *name, struct err *err)
{
    if (workspace_is_name(name) && copies_is_taken(&task->store, name))
        return 0;
    return err_set(err, ERR_NOT_FOUND,
                   "there is no workspace '%.64s': see 'gatehouse workspace ls'", name);
}

/* Their projects are read to tell what was applied, and nothing else. */
static int confine_to_projects(struct task *task, struct err *err)
{
    const struct option_values *values = task->values;
    const char **folders =
        arena_alloc_array(values->arena, values->argument_count, sizeof(*folders));
    const struct task_walls walls = {
        .folders = folders, .folder_count = values->argument_count, .makes_links = true};

    if (folders == NULL)
        return err_set_plain(err, values->arena->error);
    for (size_t i = 0; i < values->argument_count; i++) {
        cleanup_record struct copies_record record = COPIES_RECORD_INIT;
        int r = copies_load_head(&task->store, values->arguments[i], &record, err);

        if (r < 0)
            return r;
        folders[i] = arena_copy(values->arena, record.original);
        if (folders[i] == NULL)
            return err_set_plain(err, values->arena->error);
    }
    return task_confine(task, &walls, err);
}

/* The settings of clients are not ours to reach from here. */
static void tell_clients(const char *name, struct str told)
{
    char words[WORDS_BYTES];
    struct str line;
    struct str client;

    while (told.len > 0 && str_cut(&told, '\n', &line)) {
        if (!str_cut(&line, ' ', &client) || line.len == 0)
            continue;
        snprintf(words, sizeof(words),
                 "the settings of %.*s still name the copy; to take that out: 'gatehouse workspace "
                 "mcp %s --uninstall %.*s --name %.*s'",
                 STR_ARG(client), name, STR_ARG(client), STR_ARG(line));
        task_say(words);
    }
}

static int remove_one(struct task *task, const char *name, struct err *err)
{
    cleanup_buf struct buf told = BUF_INIT(WORKSPACE_TOLD_BYTES);
    char beside[WORKSPACE_TOLD_NAME_BYTES];
    int r;

    snprintf(beside, sizeof(beside), "%s" WORKSPACE_TOLD_SUFFIX, name);
    (void)authority_read_bytes(task->store.records, str_from(beside), NULL, &told, NULL);
    r = copies_remove(&task->store, name, &task->cancel, err);
    if (r == 0)
        tell_clients(name, buf_view(&told));
    return r;
}

int task_remove(struct task *task, struct err *err)
{
    const struct option_values *values = task->values;
    const struct task_walls walls = {.makes_links = true}; /* for the removal of snapshots */
    bool is_forced = options_is_on(values, WORKSPACE_RM_FORCE);
    int r = is_forced ? task_confine(task, &walls, err) : confine_to_projects(task, err);

    /* All or none, as far as can be known. */
    for (size_t i = 0; i < values->argument_count && r == 0; i++)
        r = is_forced ? refuse_missing(task, values->arguments[i], err)
                      : refuse_unapplied(task, values->arguments[i], err);
    if (r == 0)
        r = copies_store_lock(&task->store, err);
    for (size_t i = 0; i < values->argument_count && r == 0; i++)
        r = remove_one(task, values->arguments[i], err);
    if (r == 0)
        copies_store_sweep(&task->store, &task->cancel);
    return r;
}

/* ---- cp ---- */

/* One end of a copy: a name in a scope. */
struct end {
    struct authority_scope *scope;
    char folder[PATH_MAX];
    char name[PATH_MAX]; /* "" is the folder itself */
    bool is_directory;
    bool exists;
};

/* NAME:PATH, with the name of a workspace. A path with a slash before the colon is none. */
static bool is_inside(const char *text, char out_name[WORKSPACE_NAME_BYTES + 1])
{
    const char *colon = strchr(text, ':');
    size_t len = colon != NULL ? (size_t)(colon - text) : 0;

    if (len == 0 || len > WORKSPACE_NAME_BYTES)
        return false;
    memcpy(out_name, text, len);
    out_name[len] = '\0';
    return workspace_is_name(out_name);
}

static int look_at(struct end *end, struct err *err)
{
    struct authority_stat about;
    int r = authority_stat(end->scope, str_from(end->name), &about, err);

    end->exists = r == 0;
    end->is_directory = r == 0 && about.type == AUTHORITY_DIRECTORY;
    return r == ERR_NOT_FOUND ? 0 : r;
}

static int open_inside(struct task *task, const char *workspace, const char *path, bool may_write,
                       struct end *end, struct err *err)
{
    char folder[2 * PATH_MAX];
    const struct copies_grant grant = {
        .path = folder, .reason = "the user copies files", .may_write = may_write};
    int r = copies_load_head(&task->store, workspace, &task->record, err);

    if (r < 0)
        return r;
    snprintf(folder, sizeof(folder), "%s/%s", task->store.copies_path, workspace);
    while (*path == '/')
        path++;
    if (snprintf(end->name, sizeof(end->name), "%s", path) >= (int)sizeof(end->name))
        return err_set_plain(err, ERR_INVALID_PATH);
    r = copies_open_folder(&task->store, &grant, &task->copy, err);
    end->scope = task->copy;
    return r;
}

static int open_outside(struct task *task, const char *path, bool may_write, struct end *end,
                        struct err *err)
{
    const struct copies_grant grant = {
        .path = end->folder, .reason = "the user copies files", .may_write = may_write};
    char *slash;
    size_t len;
    int r = session_state_absolute_path(path, end->folder, err);

    if (r < 0)
        return r;
    len = strlen(end->folder);
    while (len > 1 && end->folder[len - 1] == '/')
        end->folder[--len] = '\0';
    slash = strrchr(end->folder, '/');
    /* "." and ".." are folders; of others, the one they lie in is opened. */
    if (strcmp(slash, "/.") != 0 && strcmp(slash, "/..") != 0) {
        snprintf(end->name, sizeof(end->name), "%s", slash + 1);
        slash[slash == end->folder ? 1 : 0] = '\0';
    }
    r = copies_open_folder(&task->store, &grant, &task->outside, err);
    end->scope = task->outside;
    return r;
}

static const char *last_of(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash != NULL ? slash + 1 : name;
}

/* As cp(1): into a directory that exists, under its own name. */
static int settle_target(const struct end *from, struct end *to, struct err *err)
{
    char name[2 * PATH_MAX];

    if (!to->is_directory)
        return 0;
    if (from->name[0] == '\0')
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "name the new folder that the whole workspace is to be copied to");
    snprintf(name, sizeof(name), "%s%s%s", to->name, to->name[0] != '\0' ? "/" : "",
             last_of(from->name));
    if (strlen(name) >= sizeof(to->name))
        return err_set_plain(err, ERR_INVALID_PATH);
    memcpy(to->name, name, strlen(name) + 1);
    return look_at(to, err);
}

static void tell_missed(void *data, struct str name, int code)
{
    tell_left(data, name, err_text(code));
}

static int copy(struct task *task, const struct end *from, const struct end *to, struct err *err)
{
    const struct authority_move_options file = {
        .may_replace = true, .make_parents = true, .cancel = &task->cancel};
    const struct authority_duplicate_options folder = {
        .missed = tell_missed, .data = task, .make_parents = true, .cancel = &task->cancel};

    if (from->is_directory && to->exists)
        return err_set(err, ERR_ALREADY_EXISTS, "'%.200s' exists already", to->name);
    return from->is_directory ? authority_duplicate(to->scope, str_from(to->name), from->scope,
                                                    str_from(from->name), &folder, err)
                              : authority_copy_in(to->scope, str_from(to->name), from->scope,
                                                  str_from(from->name), &file, err);
}

int task_copy(struct task *task, struct err *err)
{
    const char *from_text = options_argument(task->values, 0);
    const char *to_text = options_argument(task->values, 1);
    char name[WORKSPACE_NAME_BYTES + 1];
    char other[WORKSPACE_NAME_BYTES + 1];
    struct end from = {.scope = NULL};
    struct end to = {.scope = NULL};
    bool is_out = is_inside(from_text, name);
    const char *const folder = is_out ? to.folder : from.folder;
    const struct task_walls walls = {
        .folders = &folder, .folder_count = 1, .may_write = is_out, .makes_links = true};
    int r;

    if (is_out == is_inside(to_text, is_out ? other : name))
        return err_set(err, ERR_INVALID_OPTION,
                       "one of the two must be in a workspace, like NAME:PATH");
    r = is_out ? open_inside(task, name, strchr(from_text, ':') + 1, false, &from, err)
               : open_outside(task, from_text, false, &from, err);
    if (r == 0)
        r = is_out ? open_outside(task, to_text, true, &to, err)
                   : open_inside(task, name, strchr(to_text, ':') + 1, true, &to, err);
    if (r == 0)
        r = task_confine(task, &walls, err);
    if (r == 0)
        r = look_at(&from, err);
    if (r == 0 && !from.exists)
        r = err_set(err, ERR_NOT_FOUND, "'%.200s' does not exist", from_text);
    if (r == 0)
        r = look_at(&to, err);
    if (r == 0)
        r = settle_target(&from, &to, err);
    return r == 0 ? copy(task, &from, &to, err) : r;
}
