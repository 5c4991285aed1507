/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/secondnames.h"

#include <stdlib.h>

#include "authority/names/sensitive.h"
#include "authority/walk.h"

enum {
    MOST_ENTRIES = 1 << 19, /* as before a command: some tenths of a second */
    FIRST_ROOM = 64,
};

struct secondname {
    uint64_t device;
    uint64_t inode;
};

/* The walk of one root. */
struct looking {
    struct secondnames *names;
    const struct authority_scope *scope;
    const struct backend_ops *ops;
};

static int compare(const void *left, const void *right)
{
    const struct secondname *a = left;
    const struct secondname *b = right;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return a->inode != b->inode ? (a->inode < b->inode ? -1 : 1) : 0;
}

static int add(struct secondnames *names, const struct authority_stat *about)
{
    if (names->count == names->room) {
        size_t room = names->room == 0 ? FIRST_ROOM : names->room * 2;
        struct secondname *grown = reallocarray(names->items, room, sizeof(*grown));

        if (grown == NULL)
            return ERR_NO_MEMORY;
        names->items = grown;
        names->room = room;
    }
    names->items[names->count++] = (struct secondname){about->device, about->inode};
    return 0;
}

static bool is_denied(const struct authority_scope *scope, struct str name)
{
    return !scope_admits(scope, name, SCOPE_LOOK) ||
           (!scope->shows_sensitive &&
            (sensitive_is_below(str_from(scope->real_path), name) ||
             sensitive_is_below(str_from(scope->grant.root.path), name)));
}

/* Another mount is not entered by any operation, so what it hides is not served there. */
static int look_at_directory(const struct looking *looking, const struct walk_entry *entry)
{
    struct backend_dir *dir;
    int r = looking->ops->dir_open_below(entry->dir, entry->component, &dir);

    if (r == 0)
        looking->ops->dir_close(dir);
    return r == ERR_CROSSES_MOUNT || r == ERR_NOT_FOUND || r == ERR_NOT_A_DIRECTORY ? WALK_SKIP : r;
}

static int look_at(void *data, const struct walk_entry *entry)
{
    const struct looking *looking = data;
    struct authority_stat about;
    int r;

    if (++looking->names->seen > MOST_ENTRIES)
        return ERR_TOO_LARGE;
    if (entry->type == AUTHORITY_DIRECTORY)
        return look_at_directory(looking, entry);
    if (entry->type != AUTHORITY_FILE || !is_denied(looking->scope, entry->name))
        return 0;
    r = looking->ops->dir_stat(entry->dir, entry->component, &about);
    if (r < 0)
        return r == ERR_NOT_FOUND ? 0 : r;
    return about.links > 1 ? add(looking->names, &about) : 0;
}

static int look_in(struct secondnames *names, const struct authority_scope *scope)
{
    static const struct backend_lookup strict = {.follows_links = false};
    struct looking looking = {
        .names = names, .scope = scope, .ops = scope->authority->backend->ops};
    const struct walk_options options = {
        .max_depth = AUTHORITY_MAX_DEPTH, .is_strict = true, .cancel = names->cancel};
    struct backend_dir *root;
    int r = looking.ops->dir_open(scope->root, &strict, STR_EMPTY, &root);

    return r == 0 ? walk_tree(looking.ops, root, &options, look_at, &looking) : r;
}

static int gather(struct secondnames *names)
{
    struct authority_scope *first = names->scope->first_joined;
    int r = 0;

    for (struct authority_scope *one = first != NULL ? first : names->scope; one != NULL && r == 0;
         one = one->next_joined)
        r = look_in(names, one);
    if (r == 0 && names->count > 0)
        qsort(names->items, names->count, sizeof(*names->items), compare);
    return r;
}

void secondnames_init(struct secondnames *names, struct authority_scope *scope,
                      const struct cancel *cancel)
{
    *names =
        (struct secondnames){.scope = scope, .cancel = cancel, .lock = PTHREAD_MUTEX_INITIALIZER};
}

void secondnames_done(struct secondnames *names)
{
    free(names->items);
    pthread_mutex_destroy(&names->lock);
}

int secondnames_check(struct secondnames *names, const struct authority_stat *about)
{
    const struct secondname wanted = {about->device, about->inode};
    int over;
    int r;

    if (about->links <= 1 || !names->scope->reads_hardlinks)
        return 0;
    pthread_mutex_lock(&names->lock);
    if (!names->is_gathered)
        names->error = gather(names);
    names->is_gathered = true;
    r = names->error;
    pthread_mutex_unlock(&names->lock);
    over = cancel_check(names->cancel);
    if (over < 0 || r == ERR_NO_MEMORY)
        return over < 0 ? over : r;
    if (r == 0 && names->count > 0 &&
        bsearch(&wanted, names->items, names->count, sizeof(wanted), compare) != NULL)
        r = ERR_HARDLINK_REJECTED;
    return r < 0 ? ERR_HARDLINK_REJECTED : 0;
}
