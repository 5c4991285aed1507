/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_plant.h"

void memory_set_clock(struct backend *backend, const struct clock *clock)
{
    struct memory_backend *memory = (struct memory_backend *)backend;
    MEMORY_LOCKED(memory);

    memory->clock = clock;
}

void memory_set_ceilings(struct backend *backend, uint64_t max_bytes, uint64_t max_nodes)
{
    struct memory_backend *memory = (struct memory_backend *)backend;
    MEMORY_LOCKED(memory);

    memory->max_bytes = max_bytes;
    memory->max_nodes = max_nodes;
}

void memory_usage(struct backend *backend, uint64_t *out_bytes, uint64_t *out_nodes)
{
    struct memory_backend *memory = (struct memory_backend *)backend;
    MEMORY_LOCKED(memory);

    *out_bytes = memory->bytes;
    *out_nodes = memory->nodes;
}

static const struct backend_lookup no_rules = {.allows_hardlinks = true};

static int peek(struct backend_root *root, struct str name, struct memory_node **out_node)
{
    struct memory_place place;
    int r = memory_resolve(root, &no_rules, name, false, &place);

    if (r < 0)
        return r;
    if (place.node == NULL)
        return ERR_NOT_FOUND;
    *out_node = place.node;
    return 0;
}

static int plant_node(struct backend_root *root, struct str name, struct memory_node *node)
{
    struct memory_place place;
    int r = memory_resolve(root, &no_rules, name, false, &place);

    if (r < 0)
        return r;
    if (place.node != NULL)
        return ERR_ALREADY_EXISTS;
    return memory_entry_add(root->backend, place.parent, (struct str){place.last, place.last_len},
                            node);
}

int memory_plant(struct backend_root *root, struct str name, enum authority_type type,
                 struct str content, unsigned mode)
{
    MEMORY_LOCKED(root->backend);
    struct memory_node *node;
    int r = memory_node_new(root->backend, type, mode, &node);

    if (r < 0)
        return r;
    r = memory_content_append(root->backend, node, content.ptr, content.len);
    if (r == 0)
        r = plant_node(root, name, node);
    memory_unref(root->backend, node);
    return r;
}

int memory_plant_hardlink(struct backend_root *from_root, struct str existing,
                          struct backend_root *root, struct str name)
{
    MEMORY_LOCKED(root->backend);
    struct memory_node *node;
    int r = peek(from_root, existing, &node);

    return r < 0 ? r : plant_node(root, name, node);
}

int memory_take(struct backend_root *root, struct str name)
{
    return memory_remove(root, &no_rules, name, false, 1);
}

int memory_set_mode(struct backend_root *root, struct str name, unsigned mode)
{
    MEMORY_LOCKED(root->backend);
    struct memory_node *node;
    int r = peek(root, name, &node);

    if (r < 0)
        return r;
    node->mode = mode;
    return 0;
}

int memory_peek(struct backend_root *root, struct str name, struct authority_stat *out_stat,
                struct buf *out_content)
{
    MEMORY_LOCKED(root->backend);
    struct memory_node *node;
    int r = peek(root, name, &node);

    if (r < 0)
        return r;
    if (out_content != NULL) {
        r = buf_append_str(out_content, buf_view(&node->content));
        if (r < 0)
            return r;
    }
    memory_fill_stat(node, out_stat);
    return 0;
}
