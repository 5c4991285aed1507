/* SPDX-License-Identifier: Apache-2.0 */
#include "copies/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "permission/settings/dir.h"

enum {
    CHANGE_WAIT_MS = 5000,
    MAKE_WAIT_MS = 60000, /* a sweep removes folders meanwhile */
    SWEPT_ENTRIES = 1000,
    MAX_SWEEPS = 10000,
    HEAD_BYTES = 1 << 20, /* of a record: all but the entries */
    MAX_NAMES = 10000,
};

static const char making_lock[] = "workspaces.making.lock";
static const char changing_lock[] = "workspaces.lock";

/* ---- the directories ---- */

static int make_directory(const char *path, struct err *err)
{
    int fd;
    int r = audit_dir_open(path, &fd, err);

    if (r == 0)
        close(fd);
    return r;
}

int copies_open_folder(struct copies_store *store, const struct copies_grant *grant,
                       struct authority_scope **out_scope, struct err *err)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "workspace"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "folder", .path = grant->path},
        .access = grant->may_write ? AUTHORITY_ALL_ACCESS
                                   : AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA,
        .reason = grant->reason,
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT,
                   .hardlinks =
                       grant->may_write ? AUTHORITY_HARDLINKS_REJECT : AUTHORITY_HARDLINKS_ALLOW},
    };
    struct err why = ERR_INIT;
    int r = authority_request_root(store->state->authority, &request, out_scope, &why);

    return r < 0 ? err_set(err, r, "cannot use '%.200s': %s", grant->path,
                           why.code != 0 ? why.message : err_text(r))
                 : 0;
}

static int open_own(struct copies_store *store, const char *path,
                    struct authority_scope **out_scope, struct err *err)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "workspace"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "workspaces", .path = path},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "keeps copies of projects",
        .source = AUTHORITY_FROM_CORE,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT},
    };
    int r = make_directory(path, err);

    return r == 0 ? authority_request_root(store->state->authority, &request, out_scope, err) : r;
}

int copies_store_open(struct session_state *state, struct copies_store *out_store, struct err *err)
{
    int r;

    *out_store = (struct copies_store)COPIES_STORE_INIT;
    out_store->state = state;
    if (snprintf(out_store->records_path, PATH_MAX, "%s/workspaces", state->state_path) >= PATH_MAX)
        return err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    r = workspace_copies_dir(state->state_path, out_store->copies_path, err);
    if (r == 0)
        r = open_own(out_store, out_store->records_path, &out_store->records, err);
    if (r == 0)
        r = open_own(out_store, out_store->copies_path, &out_store->copies, err);
    return r;
}

void copies_store_close(struct copies_store *store)
{
    authority_scope_free(store->records);
    authority_scope_free(store->copies);
    if (store->making_fd >= 0)
        close(store->making_fd);
    if (store->changing_fd >= 0)
        close(store->changing_fd);
    *store = (struct copies_store)COPIES_STORE_INIT;
}

int copies_store_lock(struct copies_store *store, struct err *err)
{
    int r = settingsdir_lock(store->state->audit_dir_fd, changing_lock, CHANGE_WAIT_MS,
                             &store->changing_fd, NULL);

    return r == ERR_BUSY
               ? err_set(err, r, "another 'gatehouse workspace' is changing something; try again")
           : r < 0 ? err_set(err, r, "cannot lock the workspaces: %s", err_text(r))
                   : 0;
}

int copies_store_begin(struct copies_store *store, struct err *err)
{
    int r = settingsdir_share(store->state->audit_dir_fd, making_lock, MAKE_WAIT_MS,
                              &store->making_fd, NULL);

    return r < 0 ? err_set(err, r, "cannot lock the workspaces: %s", err_text(r)) : 0;
}

/* ---- what killed commands left ---- */

struct sweep {
    struct copies_store *store;
    struct authority_scope *scope;
    struct arena arena;
    const char **names;
    size_t count;
};

static int note_name(void *data, const struct authority_entry *entry)
{
    struct sweep *sweep = data;
    const char *name = arena_copy(&sweep->arena, entry->name);

    if (name == NULL || sweep->count == MAX_NAMES)
        return ERR_TOO_LARGE;
    sweep->names[sweep->count++] = name;
    return 0;
}

static bool has_record(struct copies_store *store, struct str name)
{
    bool exists = true;

    return authority_exists(store->records, name, &exists, NULL) < 0 || exists;
}

/* What else there may be of a workspace, beside its record. */
static const char *const suffixes[] = {".undo", ".base", WORKSPACE_TOLD_SUFFIX};

/* "fix" of "fix.undo". */
static struct str owner_of(const char *name)
{
    struct str owner = str_from(name);

    for (size_t i = 0; i < array_size(suffixes); i++)
        if (str_ends_with(owner, str_from(suffixes[i])))
            return str_slice(owner, 0, owner.len - strlen(suffixes[i]));
    return owner;
}

struct str copies_base_name(const char *name, char out_text[COPIES_BASE_BYTES])
{
    snprintf(out_text, COPIES_BASE_BYTES, "%.*s.base", WORKSPACE_NAME_BYTES, name);
    return str_from(out_text);
}

static void sweep_scope(struct copies_store *store, struct authority_scope *scope,
                        const struct cancel *cancel)
{
    const struct authority_remove_options options = {
        .is_recursive = true, .is_own = true, .may_miss = true, .cancel = cancel};
    struct sweep sweep = {
        .store = store, .scope = scope, .arena = ARENA_INIT((size_t)MAX_NAMES * NAME_MAX)};

    sweep.names = arena_alloc_array(&sweep.arena, MAX_NAMES, sizeof(*sweep.names));
    if (sweep.names != NULL) {
        (void)authority_list(scope, STR_EMPTY, NULL, note_name, &sweep, NULL);
        for (size_t i = 0; i < sweep.count; i++)
            if (!has_record(store, owner_of(sweep.names[i])))
                (void)authority_remove(scope, str_from(sweep.names[i]), &options, NULL);
    }
    arena_done(&sweep.arena);
}

void copies_store_sweep(struct copies_store *store, const struct cancel *cancel)
{
    cleanup_fd int fd = -1;

    for (int i = 0; i < MAX_SWEEPS && authority_has_leftovers(store->state->authority) &&
                    cancel_check(cancel) == 0;
         i++)
        authority_sweep(store->state->authority, SWEPT_ENTRIES, cancel);
    if (settingsdir_lock(store->state->audit_dir_fd, making_lock, 0, &fd, NULL) < 0)
        return;
    sweep_scope(store, store->copies, cancel);
    sweep_scope(store, store->records, cancel);
}

/* ---- records ---- */

static int refuse_record(const char *name, int code, struct err *err)
{
    if (code == ERR_NOT_FOUND)
        return err_set(err, code, "there is no workspace '%.*s': see 'gatehouse workspace ls'",
                       WORKSPACE_NAME_BYTES, name);
    if (code == ERR_STATE_INVALID)
        return err_set(err, code, "the record of the workspace '%.*s' is damaged",
                       WORKSPACE_NAME_BYTES, name);
    return err_set(err, code, "cannot read the record of the workspace '%.*s': %s",
                   WORKSPACE_NAME_BYTES, name, err_text(code));
}

static int load(struct copies_store *store, const char *name, size_t most,
                int (*parse)(struct str text, struct copies_record *out_record),
                struct copies_record *out_record, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(COPIES_MAX_RECORD_BYTES);
    const struct authority_read_options options = {.max_bytes = most};
    int r = workspace_is_name(name)
                ? authority_read_bytes(store->records, str_from(name), &options, &text, NULL)
                : ERR_NOT_FOUND;

    if (r == 0)
        r = parse(buf_view(&text), out_record);
    return r < 0 ? refuse_record(name, r, err) : 0;
}

static int add_entry(void *data, const struct authority_entry *entry)
{
    struct copies_entry known = {.name = entry->name, .type = entry->type};

    if (copies_is_git(entry->name))
        return AUTHORITY_WALK_SKIP;
    if (!entry->has_stat)
        return ERR_STATE_INVALID; /* nobody changes it */
    known.original = copies_print_of(&entry->stat);
    known.copy = known.original;
    return copies_record_add(data, &known);
}

/* The entries that were not written. From here on it is a record like any other. */
static int read_base(struct copies_store *store, const char *name, struct copies_record *record,
                     struct err *err)
{
    const struct authority_walk_options options = {.with_stat = true};
    char text[COPIES_BASE_BYTES];
    int r = authority_walk(store->records, copies_base_name(name, text), &options, add_entry,
                           record, NULL);

    if (r < 0) {
        copies_record_done(record);
        return refuse_record(name, r == ERR_NOT_FOUND ? ERR_STATE_INVALID : r, err);
    }
    copies_record_sort(record);
    record->has_base = false;
    return 0;
}

int copies_load(struct copies_store *store, const char *name, struct copies_record *out_record,
                struct err *err)
{
    int r = load(store, name, 0, copies_record_parse, out_record, err);

    return r == 0 && out_record->has_base ? read_base(store, name, out_record, err) : r;
}

int copies_load_head(struct copies_store *store, const char *name, struct copies_record *out_record,
                     struct err *err)
{
    return load(store, name, HEAD_BYTES, copies_record_parse_head, out_record, err);
}

int copies_save(struct copies_store *store, const char *name, const struct copies_record *record,
                bool is_new, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(COPIES_MAX_RECORD_BYTES);
    const struct authority_write_options options = {
        .create = is_new ? AUTHORITY_CREATE_NEW : AUTHORITY_REPLACE_OLD, .mode = 0600};
    struct err why = ERR_INIT;
    int r = copies_record_write(record, &text);

    if (r == 0)
        r = authority_write_bytes(store->records, str_from(name), buf_view(&text), &options, &why);
    return r < 0 ? err_set(err, r, "cannot write the record of the workspace '%.*s': %s",
                           WORKSPACE_NAME_BYTES, name, why.code != 0 ? why.message : err_text(r))
                 : 0;
}

bool copies_is_taken(struct copies_store *store, const char *name)
{
    bool exists = true;

    if (has_record(store, str_from(name)))
        return true;
    return authority_exists(store->copies, str_from(name), &exists, NULL) < 0 || exists;
}

int copies_remove(struct copies_store *store, const char *name, const struct cancel *cancel,
                  struct err *err)
{
    const struct authority_remove_options options = {
        .is_recursive = true, .is_own = true, .may_miss = true, .cancel = cancel};
    char beside[WORKSPACE_TOLD_NAME_BYTES];
    int r = workspace_is_name(name) ? authority_remove(store->records, str_from(name), NULL, NULL)
                                    : ERR_NOT_FOUND;

    if (r < 0)
        return refuse_record(name, r, err);
    /* From here on it is gone, and the rest is swept if this fails. */
    for (size_t i = 0; i < array_size(suffixes) && r == 0; i++) {
        snprintf(beside, sizeof(beside), "%s%s", name, suffixes[i]);
        r = authority_remove(store->records, str_from(beside), &options, err);
    }
    return r == 0 ? authority_remove(store->copies, str_from(name), &options, err) : r;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int copies_each(struct copies_store *store, int (*visit)(void *data, const char *name), void *data,
                struct err *err)
{
    struct sweep list = {
        .store = store, .scope = store->records, .arena = ARENA_INIT((size_t)MAX_NAMES * NAME_MAX)};
    int r = 0;

    list.names = arena_alloc_array(&list.arena, MAX_NAMES, sizeof(*list.names));
    if (list.names == NULL)
        return err_set_plain(err, list.arena.error);
    r = authority_list(store->records, STR_EMPTY, NULL, note_name, &list, err);
    if (r == 0)
        qsort(list.names, list.count, sizeof(*list.names), compare_names);
    for (size_t i = 0; i < list.count && r == 0; i++)
        if (workspace_is_name(list.names[i]))
            r = visit(data, list.names[i]);
    arena_done(&list.arena);
    return r;
}
