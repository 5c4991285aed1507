/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, their names, and their cost. */
#include "authority/memory/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_SEC UINT64_C(1000000000)

/* Never the same twice: comparing two of them shows every change. */
static uint64_t next_stamp(struct memory_backend *backend)
{
    int64_t wall_ms = clock_wall_ms(backend->clock);
    uint64_t now = wall_ms > 0 ? (uint64_t)wall_ms * NS_PER_MS : 0;

    backend->last_stamp_ns = now > backend->last_stamp_ns ? now : backend->last_stamp_ns + 1;
    return backend->last_stamp_ns;
}

static void touch(struct memory_backend *backend, struct memory_node *node)
{
    node->modified_ns = next_stamp(backend);
    node->changed_ns = node->modified_ns;
}

int memory_node_new(struct memory_backend *backend, enum authority_type type, unsigned mode,
                    struct memory_node **out_node)
{
    struct memory_node *node;

    if (backend->nodes >= backend->max_nodes)
        return ERR_NO_SPACE;
    node = calloc(1, sizeof(*node));
    if (node == NULL)
        return ERR_NO_MEMORY;
    node->type = type;
    node->refs = 1;
    node->mode = mode & MEMORY_MODE_BITS;
    node->inode = ++backend->last_inode;
    /* The limit is the backend's, and can be changed. */
    buf_init(&node->content, SIZE_MAX);
    node->children.max = MEMORY_MAX_NODES;
    list_init(&node->entries);
    list_init(&node->readers);
    touch(backend, node);
    backend->nodes++;
    *out_node = node;
    return 0;
}

struct memory_node *memory_ref(struct memory_node *node)
{
    node->refs++;
    return node;
}

/* A directory has one name at a time, except during a rename. */
static void link_target(struct memory_backend *backend, struct memory_node *directory,
                        struct memory_entry *entry, struct memory_node *target)
{
    entry->target = memory_ref(target);
    target->links++;
    target->changed_ns = next_stamp(backend);
    if (target->type == AUTHORITY_DIRECTORY) {
        target->parent = directory;
        target->self = entry;
    }
}

static void forget_target(const struct memory_entry *entry)
{
    struct memory_node *target = entry->target;

    target->links--;
    if (target->self == entry) {
        target->parent = NULL;
        target->self = NULL;
    }
}

/* Puts the node on the list to be freed, if that was the last reference. */
static void let_go(struct memory_node *node, struct memory_node **dead)
{
    assert(node->refs > 0);
    if (--node->refs > 0)
        return;
    node->next_dead = *dead;
    *dead = node;
}

/* A list instead of recursion: trees can have any depth. */
void memory_unref(struct memory_backend *backend, struct memory_node *node)
{
    struct memory_node *dead = NULL;

    if (node == NULL)
        return;
    let_go(node, &dead);
    while (dead != NULL) {
        struct memory_node *last = dead;

        dead = last->next_dead;
        list_each_safe (at, &last->entries) {
            struct memory_entry *entry = list_entry(at, struct memory_entry, node);

            forget_target(entry);
            let_go(entry->target, &dead);
            free(entry);
        }
        map_done(&last->children);
        backend->bytes -= last->content.len;
        backend->nodes--;
        buf_done(&last->content);
        free(last);
    }
}

int memory_content_append(struct memory_backend *backend, struct memory_node *node,
                          const void *bytes, size_t len)
{
    int r;

    if (backend->bytes > backend->max_bytes || len > backend->max_bytes - backend->bytes)
        return ERR_NO_SPACE;
    r = buf_append(&node->content, bytes, len);
    if (r < 0)
        return r;
    backend->bytes += len;
    touch(backend, node);
    return 0;
}

struct memory_entry *memory_entry_find(const struct memory_node *directory, struct str name)
{
    return map_get(&directory->children, name);
}

int memory_entry_add(struct memory_backend *backend, struct memory_node *directory, struct str name,
                     struct memory_node *target)
{
    cleanup_free struct memory_entry *entry = NULL;
    int r;

    if (directory->links == 0)
        return ERR_NOT_FOUND;
    entry = malloc(sizeof(*entry) + name.len + 1);
    if (entry == NULL)
        return ERR_NO_MEMORY;
    memcpy(entry->name, name.ptr, name.len);
    entry->name[name.len] = '\0';
    entry->name_len = name.len;
    r = map_add(&directory->children, (struct str){entry->name, name.len}, entry);
    if (r < 0)
        return r == ERR_TOO_LARGE ? ERR_NO_SPACE : r;
    link_target(backend, directory, entry, target);
    entry->serial = ++backend->last_serial;
    list_append(&directory->entries, &entry->node);
    touch(backend, directory);
    entry = NULL;
    return 0;
}

void memory_entry_remove(struct memory_backend *backend, struct memory_node *directory,
                         struct memory_entry *entry)
{
    list_each (at, &directory->readers) {
        struct backend_dir *reader = list_entry(at, struct backend_dir, node);

        if (reader->next == &entry->node)
            reader->next = entry->node.next;
    }
    map_remove(&directory->children, (struct str){entry->name, entry->name_len});
    list_remove(&entry->node);
    touch(backend, directory);
    forget_target(entry);
    entry->target->changed_ns = next_stamp(backend);
    memory_unref(backend, entry->target);
    free(entry);
}

void memory_entry_retarget(struct memory_backend *backend, struct memory_node *directory,
                           struct memory_entry *entry, struct memory_node *target)
{
    struct memory_node *old = entry->target;

    forget_target(entry);
    old->changed_ns = next_stamp(backend);
    link_target(backend, directory, entry, target);
    touch(backend, directory);
    memory_unref(backend, old);
}

static struct memory_entry *first_entry(const struct memory_node *directory)
{
    return list_is_empty(&directory->entries)
               ? NULL
               : list_entry(directory->entries.next, struct memory_entry, node);
}

void memory_empty(struct memory_backend *backend, struct memory_node *directory)
{
    struct memory_node *at = directory;

    /* Down to a leaf, remove it, and up again by the parents. */
    for (;;) {
        struct memory_entry *entry = first_entry(at);

        if (entry != NULL) {
            if (first_entry(entry->target) != NULL)
                at = entry->target;
            else
                memory_entry_remove(backend, at, entry);
        } else if (at == directory) {
            return;
        } else {
            at = at->parent;
        }
    }
}

int memory_count(struct memory_node *top, uint64_t max, const struct cancel *cancel)
{
    const struct memory_node *directory = top;
    struct list *at = top->entries.next;
    uint64_t count = 1;

    while (count <= max) {
        if (at != &directory->entries) {
            const struct memory_node *target = list_entry(at, struct memory_entry, node)->target;
            int r = cancel_check(cancel);

            if (r < 0)
                return r;
            count++;
            if (target->type != AUTHORITY_DIRECTORY) {
                at = at->next;
                continue;
            }
            directory = target;
            at = target->entries.next;
        } else if (directory == top) {
            return 0;
        } else {
            at = directory->self->node.next;
            directory = directory->parent;
        }
    }
    return ERR_TOO_LARGE;
}

bool memory_is_within(const struct memory_node *node, const struct memory_node *directory)
{
    while (node != NULL && node != directory)
        node = node->parent;
    return node != NULL;
}

void memory_fill_stat(const struct memory_node *node, struct authority_stat *out_stat)
{
    *out_stat = (struct authority_stat){
        .type = node->type,
        .size = node->type == AUTHORITY_DIRECTORY ? node->children.count : node->content.len,
        .modified_ms = (int64_t)(node->modified_ns / NS_PER_MS),
        .modified_ns = node->modified_ns % NS_PER_SEC,
        .changed_ns = node->changed_ns,
        .inode = node->inode,
        .mode = node->mode,
        .links = node->links,
    };
}
