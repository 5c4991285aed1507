/* SPDX-License-Identifier: Apache-2.0 */
#include "copies/compare.h"

#include <stdlib.h>
#include <string.h>

#include "authority/names/sensitive.h"
#include "base/cleanup.h"
#include "base/hex.h"
#include "copies/store.h"

enum { FIRST_ROOM = 64, MAY_EXECUTE = 0111 };

const char *copies_change_name(enum copies_change change)
{
    switch (change) {
    case COPIES_ADDED:
        return "added";
    case COPIES_MODIFIED:
        return "modified";
    case COPIES_MODE:
        return "mode";
    case COPIES_DELETED:
        return "deleted";
    }
    return "";
}

void copies_differences_done(struct copies_differences *differences)
{
    arena_regrow_free(&differences->arena, differences->items);
    arena_done(&differences->arena);
    *differences = (struct copies_differences)COPIES_DIFFERENCES_INIT;
}

static void add_print(struct sha256 *hash, const struct authority_stat *about, bool is_there)
{
    const struct copies_print print = copies_print_of(about);
    const uint64_t numbers[] = {is_there, print.size, print.changed_ns, print.inode, about->mode};

    if (is_there)
        sha256_add(hash, (struct str){(const char *)numbers, sizeof(numbers)});
    else
        sha256_add(hash, STR("-"));
}

void copies_change_id(const struct copies_difference *item, char out_id[COPIES_ID_CHARS + 1])
{
    const uint64_t numbers[] = {item->name.len, item->change, item->type, item->conflict != NULL,
                                item->refusal != NULL};
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;

    sha256_init(&hash);
    sha256_add(&hash, (struct str){(const char *)numbers, sizeof(numbers)});
    sha256_add(&hash, item->name);
    add_print(&hash, &item->original, item->has_original);
    add_print(&hash, &item->copy, item->has_copy);
    sha256_end(&hash, digest);
    hex_text(out_id, digest, COPIES_ID_CHARS / 2);
}

/* ---- content ---- */

static int digest_piece(void *data, struct str piece)
{
    sha256_add(data, piece);
    return 0;
}

int copies_digest(struct authority_scope *scope, struct str name,
                  const struct authority_stat *expected, const struct cancel *cancel,
                  unsigned char out_digest[SHA256_BYTES], struct err *err)
{
    const struct authority_read_options options = {.cancel = cancel};
    const struct copies_print before = copies_print_of(expected);
    struct copies_print read;
    struct authority_stat about;
    struct sha256 hash;
    int r;

    sha256_init(&hash);
    r = authority_read_pieces(scope, name, &options, &about, digest_piece, &hash, err);
    if (r < 0)
        return r;
    sha256_end(&hash, out_digest);
    read = copies_print_of(&about);
    if (!copies_is_same(&before, &read))
        return err_set(err, ERR_BUSY, "it is being changed");
    return 0;
}

/* Files of one size. */
static int is_same_content(const struct copies_workspace *workspace,
                           const struct copies_difference *item, bool *out_same, struct err *err)
{
    unsigned char original[SHA256_BYTES];
    unsigned char copy[SHA256_BYTES];
    int r = copies_digest(workspace->copy, item->name, &item->copy, workspace->cancel, copy, err);

    if (r == 0)
        r = copies_digest(workspace->project, item->name, &item->original, workspace->cancel,
                          original, err);
    if (r == 0)
        *out_same = memcmp(original, copy, sizeof(copy)) == 0;
    return r;
}

/* ---- what is there ---- */

struct found {
    struct str name;
    struct authority_stat about;
};

struct finding {
    struct arena arena;
    struct found *items;
    size_t count;
    size_t room;
};

static int find(void *data, const struct authority_entry *entry)
{
    struct finding *finding = data;

    if (copies_is_git(entry->name))
        return AUTHORITY_WALK_SKIP;
    if (!entry->has_stat)
        return 0; /* it has just gone */
    if (finding->count == COPIES_MAX_ENTRIES)
        return ERR_TOO_LARGE;
    if (finding->count == finding->room) {
        size_t room = finding->room > 0 ? 2 * finding->room : FIRST_ROOM;
        struct found *grown = arena_regrow(&finding->arena, finding->items, room * sizeof(*grown));

        if (grown == NULL)
            return finding->arena.error;
        finding->items = grown;
        finding->room = room;
    }
    finding->items[finding->count].about = entry->stat;
    if (!arena_copy_str(&finding->arena, entry->name, &finding->items[finding->count].name))
        return finding->arena.error;
    finding->count++;
    return 0;
}

static int compare_found(const void *a, const void *b)
{
    return str_compare(((const struct found *)a)->name, ((const struct found *)b)->name);
}

/* ---- one name ---- */

struct comparing {
    const struct copies_workspace *workspace;
    const char *const *paths;
    size_t path_count;
    bool *is_met; /* each path */
    struct copies_differences *out;
    struct err *err;
};

static bool is_at_or_below(struct str name, struct str path)
{
    return str_eq(name, path) ||
           (name.len > path.len && name.ptr[path.len] == '/' && str_starts_with(name, path));
}

/* Slashes at the end and "./" in front are how people and shells write them. */
static struct str tidy(const char *path)
{
    struct str text = str_from(path);

    while (str_starts_with(text, STR("./")))
        text = str_slice(text, 2, text.len);
    while (text.len > 1 && text.ptr[text.len - 1] == '/')
        text.len--;
    return str_eq(text, STR(".")) ? STR_EMPTY : text;
}

static bool is_wanted(const struct comparing *comparing, struct str name)
{
    bool is_wanted = comparing->path_count == 0;

    for (size_t i = 0; i < comparing->path_count; i++) {
        struct str path = tidy(comparing->paths[i]);

        if (path.len == 0 || is_at_or_below(name, path)) {
            comparing->is_met[i] = true;
            is_wanted = true;
        }
    }
    return is_wanted;
}

static int add(struct copies_differences *out, const struct copies_difference *item)
{
    if (out->count == out->room) {
        size_t room = out->room > 0 ? 2 * out->room : FIRST_ROOM;
        struct copies_difference *grown =
            arena_regrow(&out->arena, out->items, room * sizeof(*grown));

        if (grown == NULL)
            return out->arena.error;
        out->items = grown;
        out->room = room;
    }
    out->items[out->count] = *item;
    if (!arena_copy_str(&out->arena, item->name, &out->items[out->count].name))
        return out->arena.error;
    out->count++;
    return 0;
}

/* Looks at the original; what keeps it from being found is a reason not to apply. */
static int look_at_original(const struct comparing *comparing, struct copies_difference *item)
{
    struct err why = ERR_INIT;
    int r = authority_stat(comparing->workspace->project, item->name, &item->original, &why);

    item->has_original = r == 0;
    if (r == ERR_NOT_FOUND || r == 0)
        return 0;
    if (r == ERR_SYMLINK_REJECTED)
        item->refusal = "your folder has a link in its place";
    else if (r == ERR_NOT_A_DIRECTORY)
        item->refusal = "your folder has a file in the place of its directory";
    else if (r == ERR_CROSSES_MOUNT || r == ERR_PERMISSION_DENIED || r == ERR_DENIED_BY_POLICY)
        item->refusal = err_text(r);
    else
        return err_set(comparing->err, r, "%.*s: %s",
                       str_print_length(str_slice(item->name, 0, 200)), item->name.ptr,
                       why.code != 0 ? why.message : err_text(r));
    return 0;
}

static const char *conflict_of(const struct copies_entry *entry,
                               const struct copies_difference *item)
{
    struct copies_print now = {.is_there = false};
    bool was_there = entry->original.is_there;

    if (item->has_original)
        now = copies_print_of(&item->original);
    if (item->has_original && was_there)
        /* A directory changes with what is in it. */
        return item->original.type == AUTHORITY_DIRECTORY || copies_is_same(&now, &entry->original)
                   ? NULL
                   : "your file has changed since the copy";
    if (item->has_original)
        return "your folder has such a file, which was not copied";
    return was_there && item->has_copy ? "you have removed your file since the copy" : NULL;
}

/* Only files and directories are ever applied. */
static void refuse_type(struct copies_difference *item)
{
    enum authority_type theirs = item->has_copy ? item->copy.type : AUTHORITY_FILE;

    if (item->refusal != NULL)
        return;
    if (theirs == AUTHORITY_SYMLINK)
        item->refusal = "links are not applied";
    else if (theirs == AUTHORITY_OTHER)
        item->refusal = "it is neither a file nor a directory";
    else if (item->has_original && item->original.type == AUTHORITY_SYMLINK)
        item->refusal = "your folder has a link in its place";
    else if (item->has_original && item->original.type == AUTHORITY_OTHER)
        item->refusal = "your folder has neither a file nor a directory in its place";
    else if (item->has_original && item->has_copy && item->original.type != theirs)
        item->refusal = theirs == AUTHORITY_FILE
                            ? "your folder has a directory in its place: remove that first"
                            : "your folder has a file in its place: remove that first";
}

/* Both are files: 0 if there is nothing to tell. */
static int compare_files(const struct comparing *comparing, struct copies_difference *item,
                         bool *out_same)
{
    bool is_same = false;
    struct err why = ERR_INIT;
    int r = 0;

    if (item->original.size == item->copy.size)
        r = is_same_content(comparing->workspace, item, &is_same, &why);
    /* Whoever writes to it now is not done: it differs. */
    if (r < 0 && r != ERR_BUSY && r != ERR_NOT_FOUND && r != ERR_PERMISSION_DENIED)
        return err_set(comparing->err, r, "cannot compare %.*s: %s",
                       str_print_length(str_slice(item->name, 0, 200)), item->name.ptr,
                       why.code != 0 ? why.message : err_text(r));
    item->change = COPIES_MODIFIED;
    *out_same = false;
    if (is_same) {
        *out_same = ((item->original.mode ^ item->copy.mode) & MAY_EXECUTE) == 0;
        item->change = COPIES_MODE;
    }
    return 0;
}

/* It changes with what is in it, which has names of its own. */
static bool is_old_directory(const struct copies_entry *entry, const struct found *found)
{
    return entry->type == AUTHORITY_DIRECTORY && entry->copy.is_there && found != NULL &&
           found->about.type == AUTHORITY_DIRECTORY;
}

static int compare_one(const struct comparing *comparing, const struct copies_entry *entry,
                       const struct found *found, bool is_empty)
{
    struct copies_print now = {.is_there = false};
    struct copies_difference item = {.name = found != NULL ? found->name : entry->name,
                                     .has_copy = found != NULL};
    bool is_same = false;
    int r;

    if (!is_wanted(comparing, item.name))
        return 0;
    if (found != NULL) {
        item.copy = found->about;
        now = copies_print_of(&found->about);
    }
    if (copies_is_same(&now, &entry->copy) || is_old_directory(entry, found))
        return 0;
    r = look_at_original(comparing, &item);
    if (r < 0)
        return r;
    if (found == NULL && !item.has_original && item.refusal == NULL)
        return 0; /* both have removed it */
    if (found != NULL && found->about.type == AUTHORITY_DIRECTORY &&
        ((item.has_original && item.original.type == AUTHORITY_DIRECTORY) || !is_empty))
        return 0; /* what is in it tells the rest */
    item.change = found == NULL ? COPIES_DELETED : COPIES_ADDED;
    item.type = found != NULL       ? found->about.type
                : item.has_original ? item.original.type
                                    : entry->type;
    refuse_type(&item);
    if (item.refusal == NULL && item.has_original && found != NULL) {
        r = compare_files(comparing, &item, &is_same);
        if (r < 0 || is_same)
            return r;
    } else if (item.has_original && found != NULL) {
        item.change = COPIES_MODIFIED;
    }
    item.conflict = conflict_of(entry, &item);
    item.is_sensitive = sensitive_is_below(comparing->workspace->record->original, item.name);
    r = add(comparing->out, &item);
    return r < 0 ? err_set_plain(comparing->err, r) : 0;
}

/* ---- all names ---- */

/* Both lists are in the order of their names. */
static int merge(const struct comparing *comparing, const struct finding *finding)
{
    /* Of what was neither here nor there. */
    static const struct copies_entry unknown = {.type = AUTHORITY_FILE};
    const struct copies_record *record = comparing->workspace->record;
    size_t f = 0;
    size_t e = 0;
    int r = 0;

    while (r == 0 && (f < finding->count || e < record->count)) {
        const struct copies_entry *entry = e < record->count ? &record->entries[e] : NULL;
        const struct found *found = f < finding->count ? &finding->items[f] : NULL;
        int order = entry == NULL ? -1 : found == NULL ? 1 : str_compare(found->name, entry->name);
        bool is_empty = true;

        if (order < 0)
            entry = &unknown;
        if (order > 0)
            found = NULL;
        f += order <= 0;
        e += order >= 0;
        /* What is in a directory need not come next: "a-b" is before "a/b". */
        for (size_t i = f; found != NULL && found->about.type == AUTHORITY_DIRECTORY &&
                           !is_old_directory(entry, found) && i < finding->count && is_empty &&
                           str_starts_with(finding->items[i].name, found->name);
             i++)
            is_empty = !is_at_or_below(finding->items[i].name, found->name);
        r = cancel_check(comparing->workspace->cancel);
        if (r == 0)
            r = compare_one(comparing, entry, found, is_empty);
        else
            (void)err_set_plain(comparing->err, r);
    }
    return r;
}

static int check_paths(const struct comparing *comparing, struct err *err)
{
    for (size_t i = 0; i < comparing->path_count; i++)
        if (!comparing->is_met[i])
            return err_set(
                err, ERR_NOT_FOUND,
                "'%.200s' is not in the workspace: paths begin in its folder, like src/main.c",
                comparing->paths[i]);
    return 0;
}

int copies_compare(const struct copies_workspace *workspace, const char *const *paths,
                   size_t path_count, struct copies_differences *out_differences, struct err *err)
{
    const struct authority_walk_options walking = {.with_stat = true, .cancel = workspace->cancel};
    cleanup_free bool *is_met = calloc(path_count + 1, sizeof(*is_met));
    struct finding finding = {.arena = ARENA_INIT((size_t)COPIES_MAX_RECORD_BYTES)};
    struct comparing comparing = {.workspace = workspace,
                                  .paths = paths,
                                  .path_count = path_count,
                                  .is_met = is_met,
                                  .out = out_differences,
                                  .err = err};
    int r;

    if (is_met == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = authority_walk(workspace->copy, STR_EMPTY, &walking, find, &finding, err);
    if (r == 0 && finding.count > 1)
        qsort(finding.items, finding.count, sizeof(*finding.items), compare_found);
    if (r == 0)
        r = merge(&comparing, &finding);
    if (r == 0)
        r = check_paths(&comparing, err);
    arena_regrow_free(&finding.arena, finding.items);
    arena_done(&finding.arena);
    return r;
}
