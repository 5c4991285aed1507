/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a copy: a snapshot if the file system can do that; else first a look at all names, then
 * the copy. Then its record.
 */
#include "copies/store.h"

#include <stdio.h>
#include <stdlib.h>

#include "authority/names/sensitive.h"
#include "base/cleanup.h"
#include "copies/gitindex.h"

enum {
    MAX_HIDDEN = 4096,
    PROGRESS_EVERY = 64,
    MAX_INDEXES = 256,
    MAX_INDEX_BYTES = 256 << 20,
    NAME_BYTES = 2 * PATH_MAX,
};

struct making {
    const struct copies_new *wanted;
    int error;
    uint64_t files;
    uint64_t total_files;
    uint64_t bytes;
    /* Files that usually hold secrets and have other names. */
    uint64_t hidden[MAX_HIDDEN];
    size_t hidden_count;
    /* Of the project's repositories, with those nested in it. */
    struct arena arena;
    struct str indexes[MAX_INDEXES];
    size_t index_count;
};

bool copies_is_git(struct str name)
{
    struct str rest = name;
    struct str part;

    while (str_cut(&rest, '/', &part))
        if (str_eq(part, STR(".git")))
            return true;
    return false;
}

/* The name of a repository's index, also if it is asked about twice. */
static void note_index(struct making *making, struct str name)
{
    struct str known;
    bool is_index = str_eq(name, STR(".git/index")) || str_ends_with(name, STR("/.git/index"));

    if (!is_index || making->index_count == MAX_INDEXES)
        return;
    for (size_t i = 0; i < making->index_count; i++)
        if (str_eq(making->indexes[i], name))
            return;
    known = (struct str){arena_copy(&making->arena, name), name.len};
    if (known.ptr != NULL)
        making->indexes[making->index_count++] = known;
}

/* By the whole path in the project: in the copy a folder above it no longer tells. */
static bool is_sensitive(const struct making *making, struct str name)
{
    return sensitive_is_below(making->wanted->record->original, name);
}

/* Its name alone says that it is not copied. */
static bool is_left_out(const struct making *making, struct str name)
{
    if (!making->wanted->with_sensitive && is_sensitive(making, name))
        return true;
    return making->wanted->without_git && copies_is_git(name);
}

/* ---- the look ahead ---- */

/* By its other names it would enter the copy all the same. */
static int note_hidden(struct making *making, struct str name)
{
    struct authority_stat about;

    if (authority_stat(making->wanted->project, name, &about, NULL) < 0 || about.links < 2)
        return 0;
    if (making->hidden_count == MAX_HIDDEN)
        return ERR_TOO_LARGE;
    making->hidden[making->hidden_count++] = about.inode;
    return 0;
}

static int look(void *data, const struct authority_entry *entry)
{
    struct making *making = data;

    if (entry->type != AUTHORITY_FILE)
        return is_left_out(making, entry->name) && entry->type == AUTHORITY_DIRECTORY &&
                       copies_is_git(entry->name)
                   ? AUTHORITY_WALK_SKIP
                   : 0;
    if (!is_left_out(making, entry->name)) {
        making->total_files++;
        return 0;
    }
    return note_hidden(making, entry->name);
}

/* ---- the copy ---- */

static bool is_hidden(const struct making *making, const struct authority_stat *about)
{
    if (about->type != AUTHORITY_FILE || about->links < 2)
        return false;
    for (size_t i = 0; i < making->hidden_count; i++)
        if (making->hidden[i] == about->inode)
            return true;
    return false;
}

static bool admits(void *data, struct str name, const struct authority_stat *about)
{
    struct making *making = data;
    bool is_secret = !making->wanted->with_sensitive && about->type != AUTHORITY_DIRECTORY &&
                     (is_sensitive(making, name) || is_hidden(making, about));

    if (is_secret) {
        int r = copies_record_leave_out(making->wanted->record, name);

        if (making->error == 0)
            making->error = r;
    }
    return !is_secret && !(making->wanted->without_git && copies_is_git(name));
}

static int copied(void *data, const struct authority_duplicated *entry)
{
    struct making *making = data;
    const struct copies_new *wanted = making->wanted;
    const struct copies_entry known = {.name = entry->name,
                                       .type = entry->from.type,
                                       .original = copies_print_of(&entry->from),
                                       .copy = copies_print_of(&entry->to)};

    if (making->error < 0)
        return making->error;
    if (entry->from.type == AUTHORITY_FILE) {
        note_index(making, entry->name);
        making->files++;
        making->bytes += entry->from.size;
        if (wanted->progress != NULL && making->files % PROGRESS_EVERY == 0)
            wanted->progress(wanted->data, making->files, making->total_files, making->bytes);
    }
    return copies_is_git(entry->name) ? 0 : copies_record_add(wanted->record, &known);
}

static void missed(void *data, struct str name, int code)
{
    const struct making *making = data;

    if (making->wanted->missed != NULL)
        making->wanted->missed(making->wanted->data, name, code);
}

/* ---- the snapshot ---- */

static bool stays(void *data, struct str name)
{
    struct making *making = data;

    note_index(making, name);
    return making->wanted->with_sensitive || !is_sensitive(making, name);
}

static int left_out(void *data, struct str name)
{
    const struct making *making = data;

    return copies_record_leave_out(making->wanted->record, name);
}

/*
 * First the base, without what holds secrets; the copy is a snapshot of that. Whatever keeps us
 * from it is no reason to fail.
 */
static int make_snapshots(struct copies_store *store, struct making *making, bool *out_made,
                          struct err *err)
{
    const struct copies_new *wanted = making->wanted;
    const struct authority_remove_options all = {.is_recursive = true, .may_miss = true};
    const struct authority_snapshot_options options = {
        .stays = stays, .left_out = left_out, .data = making, .cancel = wanted->cancel};
    char text[COPIES_BASE_BYTES];
    struct str base = copies_base_name(wanted->name, text);
    bool is_made = false;
    int r = authority_snapshot(store->records, base, wanted->project, STR_EMPTY, &options, &is_made,
                               err);

    if (r < 0 || !is_made)
        return r;
    r = authority_snapshot(store->copies, str_from(wanted->name), store->records, base, NULL,
                           &is_made, err);
    if (r == 0 && is_made) {
        *out_made = true;
        return 0;
    }
    (void)authority_remove(store->records, base, &all, NULL);
    return r;
}

/* ---- Git's view of the copy ---- */

/* A folder with a repository. */
struct repository {
    const struct making *making;
    struct str prefix; /* "" or "lib/" */
};

static bool is_tracked_left_out(void *data, struct str name)
{
    const struct repository *repository = data;
    const struct making *making = repository->making;
    struct authority_stat about;
    char text[NAME_BYTES];
    int len = snprintf(text, sizeof(text), "%.*s%.*s", STR_ARG(repository->prefix), STR_ARG(name));
    struct str full = {text, len > 0 && (size_t)len < sizeof(text) ? (size_t)len : 0};
    bool is_secret = is_sensitive(making, full);
    int r;

    if (full.len == 0 || (!is_secret && making->hidden_count == 0))
        return false;
    r = authority_stat(making->wanted->project, full, &about, NULL);
    /* What is deleted in the project as well may show as deleted. */
    return is_secret ? r != ERR_NOT_FOUND : r == 0 && is_hidden(making, &about);
}

static int mark_left_out(struct copies_store *store, const struct making *making, struct str name)
{
    struct repository repository = {making,
                                    str_slice(name, 0, name.len - (sizeof(".git/index") - 1))};
    const struct authority_write_options writing = {.create = AUTHORITY_REPLACE_OLD,
                                                    .is_unsynced = true};
    cleanup_buf struct buf old = BUF_INIT(MAX_INDEX_BYTES);
    cleanup_buf struct buf marked = BUF_INIT(2 * (size_t)MAX_INDEX_BYTES);
    char text[NAME_BYTES];
    int len = snprintf(text, sizeof(text), "%s/%.*s", making->wanted->name, STR_ARG(name));
    struct str full = {text, (size_t)len};
    size_t count = 0;
    int r;

    if (len < 0 || (size_t)len >= sizeof(text))
        return ERR_INVALID_PATH;
    r = authority_read_bytes(store->copies, full, NULL, &old, NULL);
    if (r == 0)
        r = gitindex_skip(buf_view(&old), is_tracked_left_out, &repository, &marked, &count);
    return r == 0 && count > 0
               ? authority_write_bytes(store->copies, full, buf_view(&marked), &writing, NULL)
               : r;
}

/* Without this, an agent that commits everything commits that the files are deleted. */
static void mark_all_left_out(struct copies_store *store, const struct making *making)
{
    const struct copies_new *wanted = making->wanted;

    if (wanted->record->left_out_count == 0)
        return;
    for (size_t i = 0; i < making->index_count; i++)
        if (mark_left_out(store, making, making->indexes[i]) < 0 && wanted->unmarked != NULL)
            wanted->unmarked(wanted->data, making->indexes[i]);
}

/* ---- all of it ---- */

static int make_copy(struct copies_store *store, struct making *making, struct err *err)
{
    const struct copies_new *wanted = making->wanted;
    const struct authority_walk_options walking = {.cancel = wanted->cancel};
    const struct authority_duplicate_options options = {.admits = admits,
                                                        .copied = copied,
                                                        .missed = missed,
                                                        .data = making,
                                                        .cancel = wanted->cancel};
    int r = authority_walk(wanted->project, STR_EMPTY, &walking, look, making, err);

    if (r == 0)
        r = authority_duplicate(store->copies, str_from(wanted->name), wanted->project, STR_EMPTY,
                                &options, err);
    if (r == 0)
        copies_record_sort(wanted->record);
    return r;
}

int copies_make(struct copies_store *store, const struct copies_new *wanted, struct err *err)
{
    cleanup_free struct making *making = calloc(1, sizeof(*making));
    const struct authority_remove_options all = {.is_recursive = true, .may_miss = true};
    struct copies_record *record = wanted->record;
    char base[COPIES_BASE_BYTES];
    int r = 0;

    if (making == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    making->wanted = wanted;
    arena_init(&making->arena, (size_t)MAX_INDEXES * NAME_BYTES);
    record->has_git = !wanted->without_git;
    record->has_sensitive = wanted->with_sensitive;
    if (!wanted->without_git)
        r = make_snapshots(store, making, &record->has_base, err);
    if (r == 0 && !record->has_base) {
        record->left_out_count = record->left_out_shown = 0;
        r = make_copy(store, making, err);
    }
    if (r == 0)
        mark_all_left_out(store, making);
    arena_done(&making->arena);
    if (r < 0)
        return r;
    r = making->error < 0 ? err_set_plain(err, making->error)
                          : copies_save(store, wanted->name, record, true, err);
    if (r < 0) {
        (void)authority_remove(store->copies, str_from(wanted->name), &all, NULL);
        (void)authority_remove(store->records, copies_base_name(wanted->name, base), &all, NULL);
    }
    return r;
}
