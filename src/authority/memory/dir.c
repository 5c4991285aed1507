/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and creating directories, removing and renaming. */
#include "authority/memory/internal.h"

#include <stdlib.h>
#include <string.h>

enum { MODE_READ = 0400 };

static int open_node(struct memory_backend *backend, struct memory_node *node,
                     struct backend_dir **out_dir)
{
    struct backend_dir *dir;
    int r;

    if (node->type == AUTHORITY_SYMLINK)
        return ERR_SYMLINK_REJECTED;
    if (node->type != AUTHORITY_DIRECTORY)
        return ERR_NOT_A_DIRECTORY;
    r = memory_check_mode(node, MODE_READ);
    if (r < 0)
        return r;
    dir = calloc(1, sizeof(*dir));
    if (dir == NULL)
        return ERR_NO_MEMORY;
    dir->backend = backend;
    dir->directory = memory_ref(node);
    dir->next = node->entries.next;
    dir->last_serial = backend->last_serial;
    list_append(&node->readers, &dir->node);
    *out_dir = dir;
    return 0;
}

int memory_dir_open(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                    struct backend_dir **out_dir)
{
    MEMORY_LOCKED(root->backend);
    struct memory_node *node;
    int r = memory_resolve_node(root, lookup, name, &node);

    return r < 0 ? r : open_node(root->backend, node, out_dir);
}

/* The node of an entry, by one component. The lock is held. */
static int find_below(const struct backend_dir *dir, struct str component,
                      struct memory_node **out_node)
{
    const struct memory_entry *entry;
    int r = memory_check_component(component);

    if (r < 0)
        return r;
    entry = memory_entry_find(dir->directory, component);
    if (entry == NULL)
        return ERR_NOT_FOUND;
    *out_node = entry->target;
    return 0;
}

int memory_dir_open_below(struct backend_dir *dir, struct str component,
                          struct backend_dir **out_dir)
{
    MEMORY_LOCKED(dir->backend);
    struct memory_node *node;
    int r = find_below(dir, component, &node);

    return r < 0 ? r : open_node(dir->backend, node, out_dir);
}

bool memory_dir_next(struct backend_dir *dir, struct str *out_component,
                     enum authority_type *out_type, int *out_error)
{
    MEMORY_LOCKED(dir->backend);
    const struct memory_entry *entry;

    if (dir->next == &dir->directory->entries) {
        *out_error = 0;
        return false;
    }
    entry = list_entry(dir->next, struct memory_entry, node);
    if (entry->serial > dir->last_serial) {
        *out_error = 0;
        return false;
    }
    dir->next = entry->node.next;
    memcpy(dir->name, entry->name, entry->name_len + 1);
    *out_component = (struct str){dir->name, entry->name_len};
    *out_type = entry->target->type;
    return true;
}

int memory_dir_stat(struct backend_dir *dir, struct str component, struct authority_stat *out_stat)
{
    MEMORY_LOCKED(dir->backend);
    struct memory_node *node;
    int r = find_below(dir, component, &node);

    if (r < 0)
        return r;
    memory_fill_stat(node, out_stat);
    return 0;
}

int memory_dir_file_open(struct backend_dir *dir, const struct backend_lookup *lookup,
                         struct str component, struct backend_file **out_file,
                         struct authority_stat *out_stat)
{
    MEMORY_LOCKED(dir->backend);
    struct memory_node *node = NULL;
    int r = cancel_check(lookup->cancel);

    if (r == 0)
        r = find_below(dir, component, &node);
    return r < 0 ? r : memory_file_open_node(dir->backend, lookup, node, out_file, out_stat);
}

void memory_dir_close(struct backend_dir *dir)
{
    if (dir == NULL)
        return;
    {
        MEMORY_LOCKED(dir->backend);

        list_remove(&dir->node);
        memory_unref(dir->backend, dir->directory);
    }
    free(dir);
}

int memory_mkdir(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 unsigned mode, bool is_synced)
{
    MEMORY_LOCKED(root->backend);
    struct memory_place place;
    struct memory_node *node;
    int r = memory_resolve(root, lookup, name, false, &place);

    (void)is_synced;
    if (r < 0)
        return r;
    if (place.node != NULL)
        return ERR_ALREADY_EXISTS;
    r = memory_node_new(root->backend, AUTHORITY_DIRECTORY, mode, &node);
    if (r < 0)
        return r;
    r = memory_entry_add(root->backend, place.parent, (struct str){place.last, place.last_len},
                         node);
    memory_unref(root->backend, node);
    return r;
}

int memory_remove(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                  enum backend_removal removal, uint64_t max_entries)
{
    MEMORY_LOCKED(root->backend);
    struct memory_place place;
    int r = memory_resolve(root, lookup, name, false, &place);

    if (r < 0)
        return r;
    if (!place.is_named)
        return ERR_ROOT_PROTECTED;
    if (place.node == NULL)
        return ERR_NOT_FOUND;
    if (!list_is_empty(&place.node->entries)) {
        if (removal == BACKEND_REMOVE_ONE)
            return ERR_NOT_EMPTY;
        /* Counted first: over the budget, nothing is removed at all. */
        r = memory_count(place.node, max_entries, lookup->cancel);
        if (r < 0)
            return r;
        memory_empty(root->backend, place.node);
    }
    memory_entry_remove(root->backend, place.parent,
                        memory_entry_find(place.parent, (struct str){place.last, place.last_len}));
    return 0;
}

/* A file with another name elsewhere is neither moved nor replaced. */
static int check_names(const struct memory_node *node, const struct backend_lookup *lookup)
{
    return node->type == AUTHORITY_FILE && node->links > 1 && !lookup->allows_hardlinks
               ? ERR_HARDLINK_REJECTED
               : 0;
}

/* Whether `from` may replace what is at `to`. */
static int check_replace(const struct memory_node *from, const struct memory_node *to,
                         bool may_replace)
{
    if (!may_replace)
        return ERR_ALREADY_EXISTS;
    if (to->type == AUTHORITY_OTHER)
        return ERR_NOT_REGULAR_FILE;
    if (from->type == AUTHORITY_DIRECTORY) {
        if (to->type != AUTHORITY_DIRECTORY)
            return ERR_NOT_A_DIRECTORY;
        return list_is_empty(&to->entries) ? 0 : ERR_NOT_EMPTY;
    }
    return to->type == AUTHORITY_DIRECTORY ? ERR_ALREADY_EXISTS : 0;
}

int memory_rename(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                  struct str from, struct backend_root *to_root,
                  const struct backend_lookup *to_lookup, struct str to, bool may_replace)
{
    MEMORY_LOCKED(from_root->backend);
    struct memory_place source;
    struct memory_place target;
    int r = memory_resolve(from_root, from_lookup, from, false, &source);

    if (r == 0)
        r = memory_resolve(to_root, to_lookup, to, false, &target);
    if (r < 0)
        return r;
    if (!source.is_named || !target.is_named)
        return ERR_ROOT_PROTECTED;
    if (source.node == NULL)
        return ERR_NOT_FOUND;
    r = check_names(source.node, from_lookup);
    if (r == 0 && target.node != NULL)
        r = check_names(target.node, to_lookup);
    if (r < 0)
        return r;
    if (source.node->type == AUTHORITY_DIRECTORY && source.node != target.node &&
        memory_is_within(target.parent, source.node))
        return ERR_INVALID_ARGUMENT;
    if (target.node != NULL) {
        /* Two names of one file, or one name twice: rename(2) does nothing then. */
        if (target.node == source.node)
            return may_replace ? 0 : ERR_ALREADY_EXISTS;
        r = check_replace(source.node, target.node, may_replace);
        if (r < 0)
            return r;
        memory_entry_retarget(
            to_root->backend, target.parent,
            memory_entry_find(target.parent, (struct str){target.last, target.last_len}),
            source.node);
    } else {
        r = memory_entry_add(to_root->backend, target.parent,
                             (struct str){target.last, target.last_len}, source.node);
        if (r < 0)
            return r;
    }
    memory_entry_remove(
        from_root->backend, source.parent,
        memory_entry_find(source.parent, (struct str){source.last, source.last_len}));
    return 0;
}

int memory_link(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                struct str from, struct backend_root *to_root,
                const struct backend_lookup *to_lookup, struct str to)
{
    MEMORY_LOCKED(from_root->backend);
    struct memory_place source = {.node = NULL};
    struct memory_place target = {.node = NULL};
    int r = memory_resolve(from_root, from_lookup, from, false, &source);

    if (r == 0)
        r = memory_resolve(to_root, to_lookup, to, false, &target);
    if (r < 0)
        return r;
    if (source.node == NULL)
        return ERR_NOT_FOUND;
    if (source.node->type != AUTHORITY_SYMLINK)
        return ERR_SYMLINK_REJECTED;
    if (target.node != NULL)
        return ERR_ALREADY_EXISTS;
    return memory_entry_add(to_root->backend, target.parent,
                            (struct str){target.last, target.last_len}, source.node);
}
