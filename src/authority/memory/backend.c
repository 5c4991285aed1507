/* SPDX-License-Identifier: Apache-2.0 */
/* Roots, staged trees, and the table. */
#include "authority/memory/internal.h"

#include <stdlib.h>
#include <string.h>

enum { ROOT_MODE = 0755, PRIVATE_MODE = 0700 };

static struct memory_backend *memory_of(struct backend *backend)
{
    /* SAFETY: the table is in no other struct, and `base` is its first member. */
    return (struct memory_backend *)backend;
}

static void memory_free(struct backend *backend)
{
    struct memory_backend *memory = memory_of(backend);

    if (backend == NULL)
        return;
    memory_unref(memory, memory->top);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

/* A root handle on the node. The lock is held. */
static int root_new(struct memory_backend *backend, struct memory_node *node,
                    struct backend_root **out_root)
{
    struct backend_root *root = calloc(1, sizeof(*root));

    if (root == NULL)
        return ERR_NO_MEMORY;
    root->backend = backend;
    root->node = memory_ref(node);
    *out_root = root;
    return 0;
}

static int memory_root_open(struct backend *backend, const char *path,
                            struct backend_root **out_root)
{
    struct memory_backend *memory = memory_of(backend);
    MEMORY_LOCKED(memory);
    struct memory_entry *entry = memory_entry_find(memory->top, str_from(path));
    struct memory_node *node;
    int r;

    if (entry != NULL)
        return root_new(memory, entry->target, out_root);
    if (strnlen(path, PATH_MAX) == PATH_MAX)
        return ERR_INVALID_PATH;
    r = memory_node_new(memory, AUTHORITY_DIRECTORY, ROOT_MODE, &node);
    if (r < 0)
        return r;
    r = memory_entry_add(memory, memory->top, str_from(path), node);
    if (r == 0)
        r = root_new(memory, node, out_root);
    memory_unref(memory, node);
    return r;
}

static void memory_root_close(struct backend_root *root)
{
    if (root == NULL)
        return;
    {
        MEMORY_LOCKED(root->backend);

        memory_unref(root->backend, root->node);
        memory_target_done(root->backend, &root->target);
    }
    free(root);
}

/* A directory without a name. It counts as linked until it is dropped. */
static int private_new(struct memory_backend *backend, struct backend_root **out_root)
{
    struct memory_node *node;
    int r = memory_node_new(backend, AUTHORITY_DIRECTORY, PRIVATE_MODE, &node);

    if (r < 0)
        return r;
    node->links = 1;
    r = root_new(backend, node, out_root);
    memory_unref(backend, node);
    return r;
}

/* Handles into it stay valid and see it empty. */
static void private_drop(struct backend_root *root)
{
    if (root == NULL)
        return;
    {
        MEMORY_LOCKED(root->backend);

        memory_empty(root->backend, root->node);
        root->node->links = 0;
    }
    memory_root_close(root);
}

/* Whether a tree may be put there. */
static int check_tree_target(const struct memory_node *node)
{
    if (node == NULL)
        return 0;
    if (node->type != AUTHORITY_DIRECTORY)
        return ERR_ALREADY_EXISTS;
    return list_is_empty(&node->entries) ? 0 : ERR_NOT_EMPTY;
}

static int memory_tree_stage(struct backend_root *root, const struct backend_lookup *lookup,
                             struct str name, struct backend_root **out_tree)
{
    MEMORY_LOCKED(root->backend);
    struct backend_root *tree;
    struct memory_place place;
    int r = memory_resolve_target(root, lookup, name, &place);

    if (r == 0)
        r = check_tree_target(place.node);
    if (r == 0)
        r = private_new(root->backend, &tree);
    if (r < 0)
        return r;
    memory_target_init(&tree->target, root, lookup, &place);
    /* A name that is too long to be said is none that it could keep. */
    (void)memory_target_name(&tree->target, &tree->name);
    *out_tree = tree;
    return 0;
}

static int memory_tree_link(struct backend_root *tree, struct str name, struct backend_dir *dir,
                            struct str component, struct authority_stat *out_from,
                            struct authority_stat *out_to)
{
    static const struct backend_lookup strict = {.follows_links = false};
    MEMORY_LOCKED(tree->backend);
    const struct memory_entry *entry = memory_entry_find(dir->directory, component);
    struct memory_node *link;
    struct memory_place place;
    int r;

    if (entry == NULL || entry->target->type != AUTHORITY_SYMLINK)
        return ERR_NOT_FOUND;
    r = memory_resolve(tree, &strict, name, false, &place);
    if (r == 0 && place.node != NULL)
        r = ERR_ALREADY_EXISTS;
    if (r == 0)
        r = memory_node_new(tree->backend, AUTHORITY_SYMLINK, entry->target->mode, &link);
    if (r < 0)
        return r;
    r = memory_content_append(tree->backend, link, entry->target->content.data,
                              entry->target->content.len);
    if (r == 0)
        r = memory_entry_add(tree->backend, place.parent, (struct str){place.last, place.last_len},
                             link);
    if (r == 0) {
        memory_fill_stat(entry->target, out_from);
        memory_fill_stat(link, out_to);
    }
    memory_unref(tree->backend, link);
    return r;
}

static int memory_tree_set_mode(struct backend_root *tree, struct str name, unsigned mode)
{
    static const struct backend_lookup strict = {.follows_links = false};
    MEMORY_LOCKED(tree->backend);
    struct memory_place place;
    int r = memory_resolve(tree, &strict, name, false, &place);

    if (r < 0)
        return r;
    if (place.node == NULL)
        return ERR_NOT_FOUND;
    place.node->mode = mode & MEMORY_MODE_BITS;
    return 0;
}

/* If some names are denied: everything in it was checked by the name that it would have. */
static bool has_kept_name(const struct backend_root *tree)
{
    struct path_name name;

    return !tree->target.lookup.is_selective || (memory_target_name(&tree->target, &name) == 0 &&
                                                 str_eq(path_view(&name), path_view(&tree->name)));
}

/* The lock is held. */
static int publish_tree(struct backend_root *tree, unsigned mode)
{
    struct memory_backend *backend = tree->backend;
    struct memory_node *parent = tree->target.parent;
    struct str last = memory_target_last(&tree->target);
    struct memory_entry *entry = memory_entry_find(parent, last);
    int r = memory_target_check(&tree->target);

    if (r == 0 && !has_kept_name(tree))
        r = ERR_DENIED_BY_POLICY;
    if (r == 0)
        r = check_tree_target(entry != NULL ? entry->target : NULL);
    if (r < 0)
        return r;
    if (entry != NULL)
        memory_entry_retarget(backend, parent, entry, tree->node);
    else if ((r = memory_entry_add(backend, parent, last, tree->node)) < 0)
        return r;
    tree->node->links = 1;
    tree->node->mode = mode & MEMORY_MODE_BITS;
    return 0;
}

static int memory_tree_publish(struct backend_root *tree, unsigned mode, bool is_synced)
{
    int r;

    (void)is_synced;
    {
        MEMORY_LOCKED(tree->backend);

        r = publish_tree(tree, mode);
    }
    if (r < 0)
        private_drop(tree);
    else
        memory_root_close(tree);
    return r;
}

static int memory_temp_make(struct backend *backend, struct backend_root **out_root)
{
    struct memory_backend *memory = memory_of(backend);
    MEMORY_LOCKED(memory);

    return private_new(memory, out_root);
}

static int memory_watch(struct backend_root *root, const struct backend_lookup *lookup,
                        /* NOLINTNEXTLINE(readability-non-const-parameter): as in the table */
                        struct str name, struct backend_watch **out_watch, int *out_fd)
{
    (void)root;
    (void)lookup;
    (void)name;
    (void)out_watch;
    (void)out_fd;
    return ERR_UNSUPPORTED;
}

static int memory_watch_read(struct backend_watch *watch,
                             void (*report)(void *data, enum authority_change change,
                                            struct str name),
                             void *data)
{
    (void)watch;
    (void)report;
    (void)data;
    return ERR_UNSUPPORTED;
}

static void memory_watch_free(struct backend_watch *watch)
{
    (void)watch;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the table says what it is. */
static int root_path(struct backend_root *root, char out_path[PATH_MAX])
{
    (void)root;
    (void)out_path;
    return ERR_UNSUPPORTED; /* nothing outside could find it */
}

static bool has_leftovers(const struct backend *backend)
{
    (void)backend;
    return false; /* all of it went with the process */
}

static void sweep(struct backend *backend, uint64_t max_entries, const struct cancel *cancel)
{
    (void)backend;
    (void)max_entries;
    (void)cancel;
}

static const struct backend_ops memory_ops = {
    .free = memory_free,
    .has_leftovers = has_leftovers,
    .sweep = sweep,
    .root_open = memory_root_open,
    .root_close = memory_root_close,
    .root_path = root_path,
    .stat = memory_stat,
    .file_open = memory_file_open,
    .file_from_fd = memory_file_from_fd,
    .file_read = memory_file_read,
    .file_close = memory_file_close,
    .stage = memory_stage,
    .stage_write = memory_stage_write,
    .stage_copy = memory_stage_copy,
    .stage_dress = memory_stage_dress,
    .stage_date = memory_stage_date,
    .stage_exchange = memory_stage_exchange,
    .stage_publish = memory_stage_publish,
    .stage_publish_all = memory_stage_publish_all,
    .stage_drop = memory_stage_drop,
    .append = memory_append,
    .dir_open = memory_dir_open,
    .dir_open_below = memory_dir_open_below,
    .dir_next = memory_dir_next,
    .dir_stat = memory_dir_stat,
    .dir_file_open = memory_dir_file_open,
    .dir_close = memory_dir_close,
    .mkdir = memory_mkdir,
    .remove = memory_remove,
    .rename = memory_rename,
    .link = memory_link,
    .tree_stage = memory_tree_stage,
    .tree_link = memory_tree_link,
    .tree_set_mode = memory_tree_set_mode,
    .tree_publish = memory_tree_publish,
    .tree_drop = private_drop,
    .temp_make = memory_temp_make,
    .temp_drop = private_drop,
    .watch = memory_watch,
    .watch_read = memory_watch_read,
    .watch_free = memory_watch_free,
};

int authority_in_memory(struct backend **out_backend)
{
    cleanup_free struct memory_backend *memory = calloc(1, sizeof(*memory));
    int r;

    if (memory == NULL)
        return ERR_NO_MEMORY;
    memory->base.ops = &memory_ops;
    memory->clock = &clock_system;
    memory->max_bytes = MEMORY_MAX_BYTES;
    memory->max_nodes = MEMORY_MAX_NODES;
    r = memory_node_new(memory, AUTHORITY_DIRECTORY, PRIVATE_MODE, &memory->top);
    if (r < 0)
        return r;
    memory->top->links = 1;
    /* Without attributes it cannot fail. */
    pthread_mutex_init(&memory->lock, NULL);
    *out_backend = &memory->base;
    memory = NULL;
    return 0;
}
