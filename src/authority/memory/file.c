/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, staging and appending. */
#include "authority/memory/internal.h"

#include <stdlib.h>
#include <string.h>

enum { MODE_READ = 0400, MODE_WRITE = 0200 };

struct backend_file {
    struct memory_backend *backend;
    struct memory_node *node; /* counted: readable also when it has lost its name */
};

struct backend_stage {
    struct memory_backend *backend;
    struct memory_node *node; /* counted; has no name yet */
    struct memory_target target;
    enum backend_create create;
    bool is_dressed;                     /* has its mode, also where it replaces a file */
    struct authority_exchange *exchange; /* what is told and expected of the old file; or NULL */
};

int memory_stat(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                struct authority_stat *out_stat)
{
    MEMORY_LOCKED(root->backend);
    struct memory_place place;
    int r = memory_resolve(root, lookup, name, lookup->follows_links, &place);

    if (r < 0)
        return r;
    if (place.node == NULL)
        return ERR_NOT_FOUND;
    memory_fill_stat(place.node, out_stat);
    return 0;
}

int memory_file_open_node(struct memory_backend *backend, const struct backend_lookup *lookup,
                          struct memory_node *node, struct backend_file **out_file,
                          struct authority_stat *out_stat)
{
    struct backend_file *file;
    int r = memory_check_file(node, lookup);

    if (r == 0)
        r = memory_check_mode(node, MODE_READ);
    if (r < 0)
        return r;
    file = malloc(sizeof(*file));
    if (file == NULL)
        return ERR_NO_MEMORY;
    *file = (struct backend_file){.backend = backend, .node = memory_ref(node)};
    memory_fill_stat(node, out_stat);
    *out_file = file;
    return 0;
}

int memory_file_open(struct backend_root *root, const struct backend_lookup *lookup,
                     struct str name, struct backend_file **out_file,
                     struct authority_stat *out_stat)
{
    MEMORY_LOCKED(root->backend);
    struct memory_node *node;
    int r = memory_resolve_node(root, lookup, name, &node);

    return r < 0 ? r : memory_file_open_node(root->backend, lookup, node, out_file, out_stat);
}

int memory_file_from_fd(struct backend *backend, const struct backend_lookup *lookup, int fd,
                        struct backend_file **out_file, struct authority_stat *out_stat)
{
    (void)backend;
    (void)lookup;
    (void)fd;
    (void)out_file;
    (void)out_stat;
    return ERR_UNSUPPORTED;
}

int memory_file_read(struct backend_file *file, uint64_t offset, void *bytes, size_t size,
                     size_t *out_got)
{
    MEMORY_LOCKED(file->backend);
    struct str content = buf_view(&file->node->content);
    size_t got = 0;

    if (offset < content.len) {
        got = content.len - (size_t)offset;
        if (got > size)
            got = size;
    }
    if (got > 0)
        memcpy(bytes, content.ptr + offset, got);
    *out_got = got;
    return 0;
}

void memory_file_close(struct backend_file *file)
{
    if (file == NULL)
        return;
    {
        MEMORY_LOCKED(file->backend);

        memory_unref(file->backend, file->node);
    }
    free(file);
}

/* The rules for a file to be replaced or appended to; its size does not matter. */
static int check_old(const struct memory_node *node, const struct backend_lookup *lookup)
{
    struct backend_lookup of_any_size = *lookup;
    int r;

    of_any_size.max_file_bytes = 0;
    r = memory_check_file(node, &of_any_size);
    return r < 0 ? r : memory_check_mode(node, MODE_WRITE);
}

int memory_stage(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 enum backend_create create, unsigned mode, struct backend_stage **out_stage)
{
    MEMORY_LOCKED(root->backend);
    cleanup_free struct backend_stage *stage = NULL;
    struct memory_place place;
    int r = memory_resolve_target(root, lookup, name, &place);

    if (r < 0)
        return r;
    if (place.node != NULL && create == BACKEND_CREATE_NEW)
        return ERR_ALREADY_EXISTS; /* whatever it is */
    if (place.node == NULL && create == BACKEND_REPLACE_OLD)
        return ERR_NOT_FOUND;
    if (place.node != NULL && (r = check_old(place.node, lookup)) < 0)
        return r;
    stage = calloc(1, sizeof(*stage));
    if (stage == NULL)
        return ERR_NO_MEMORY;
    r = memory_node_new(root->backend, AUTHORITY_FILE, mode, &stage->node);
    if (r < 0)
        return r;
    stage->backend = root->backend;
    stage->create = create;
    memory_target_init(&stage->target, root, lookup, &place);
    *out_stage = steal_ptr(&stage);
    return 0;
}

/* Whether `extra` more bytes keep the file within the limit. */
static int check_growth(const struct memory_node *node, size_t extra, uint64_t max_file_bytes)
{
    if (max_file_bytes == 0)
        return 0;
    if (node->content.len > max_file_bytes || extra > max_file_bytes - node->content.len)
        return ERR_TOO_LARGE;
    return 0;
}

static int stage_add(struct backend_stage *stage, const void *bytes, size_t len)
{
    int r = cancel_check(stage->target.lookup.cancel);

    if (r == 0)
        r = check_growth(stage->node, len, stage->target.lookup.max_file_bytes);
    return r < 0 ? r : memory_content_append(stage->backend, stage->node, bytes, len);
}

int memory_stage_write(struct backend_stage *stage, const void *bytes, size_t len)
{
    MEMORY_LOCKED(stage->backend);

    return stage_add(stage, bytes, len);
}

/* There are no holes here: all of it is data. */
int memory_stage_copy(struct backend_stage *stage, struct backend_file *file, uint64_t *budget)
{
    MEMORY_LOCKED(stage->backend);
    struct str content = buf_view(&file->node->content);

    if (content.len > *budget)
        return ERR_TOO_LARGE;
    *budget -= content.len;
    return stage_add(stage, content.ptr, content.len);
}

/* There are no owners or attributes here. */
int memory_stage_dress(struct backend_stage *stage, unsigned mode, struct backend_file *after)
{
    MEMORY_LOCKED(stage->backend);

    (void)after;
    stage->node->mode = mode & MEMORY_MODE_BITS;
    stage->is_dressed = true;
    return 0;
}

int memory_stage_date(struct backend_stage *stage, struct backend_file *after,
                      struct authority_stat *out_stat)
{
    MEMORY_LOCKED(stage->backend);

    stage->node->modified_ns = after->node->modified_ns;
    memory_fill_stat(stage->node, out_stat);
    return 0;
}

int memory_stage_exchange(struct backend_stage *stage, struct authority_exchange *exchange)
{
    MEMORY_LOCKED(stage->backend);
    struct memory_entry *entry =
        memory_entry_find(stage->target.parent, memory_target_last(&stage->target));
    int r;

    if (entry == NULL)
        return ERR_NOT_FOUND;
    r = exchange->content != NULL ? memory_check_mode(entry->target, MODE_READ) : 0;
    if (r == 0 && exchange->content != NULL)
        r = buf_append_str(exchange->content, buf_view(&entry->target->content));
    if (r < 0)
        return r;
    memory_fill_stat(entry->target, &exchange->before);
    stage->exchange = exchange;
    return 0;
}

/* Whether the file being replaced is still the one whose content was returned. */
static bool is_as_told(const struct backend_stage *stage, const struct memory_node *node)
{
    const struct authority_exchange *exchange = stage->exchange;

    return exchange == NULL ||
           (node->inode == exchange->before.inode && node->content.len == exchange->before.size &&
            node->changed_ns == exchange->before.changed_ns &&
            (exchange->expected_content == NULL ||
             str_eq(*exchange->expected_content, buf_view(&node->content))));
}

/* *out_entry is what is to be replaced; NULL: nothing. */
static int check_publish(const struct backend_stage *stage, struct memory_entry **out_entry)
{
    struct memory_entry *entry =
        memory_entry_find(stage->target.parent, memory_target_last(&stage->target));
    int r = cancel_check(stage->target.lookup.cancel);

    if (r == 0)
        r = memory_target_check(&stage->target);
    if (r < 0)
        return r;
    *out_entry = entry;
    if (entry == NULL)
        return stage->create == BACKEND_REPLACE_OLD ? ERR_NOT_FOUND : 0;
    if (stage->create == BACKEND_CREATE_NEW)
        return ERR_ALREADY_EXISTS;
    if (entry->target->type != AUTHORITY_FILE)
        return entry->target->type == AUTHORITY_SYMLINK ? ERR_SYMLINK_REJECTED
                                                        : ERR_NOT_REGULAR_FILE;
    return is_as_told(stage, entry->target) ? 0 : ERR_BUSY;
}

/* Cannot fail where it replaces. */
static int publish(struct backend_stage *stage)
{
    struct memory_node *parent = stage->target.parent;
    struct memory_entry *entry;
    int r = check_publish(stage, &entry);

    if (r < 0)
        return r;
    if (entry == NULL)
        return memory_entry_add(stage->backend, parent, memory_target_last(&stage->target),
                                stage->node);
    if (!stage->is_dressed)
        stage->node->mode = entry->target->mode;
    memory_entry_retarget(stage->backend, parent, entry, stage->node);
    if (stage->exchange != NULL)
        memory_fill_stat(stage->node, &stage->exchange->after);
    return 0;
}

/* The lock is held. */
static void release(struct backend_stage *stage)
{
    memory_unref(stage->backend, stage->node);
    memory_target_done(stage->backend, &stage->target);
}

int memory_stage_publish(struct backend_stage *stage, bool is_synced)
{
    int r;

    (void)is_synced;
    {
        MEMORY_LOCKED(stage->backend);

        r = publish(stage);
        release(stage);
    }
    free(stage);
    return r;
}

int memory_stage_publish_all(struct backend_stage **stages, size_t count, bool is_synced,
                             size_t *out_at)
{
    struct memory_entry *entry;
    int r = 0;

    (void)is_synced;
    {
        MEMORY_LOCKED(stages[0]->backend);

        for (size_t i = 0; r == 0 && i < count; i++) {
            *out_at = i;
            r = check_publish(stages[i], &entry);
        }
        for (size_t i = 0; r == 0 && i < count; i++) {
            *out_at = i;
            r = publish(stages[i]);
        }
        for (size_t i = 0; i < count; i++)
            release(stages[i]);
    }
    for (size_t i = 0; i < count; i++)
        free(stages[i]);
    return r;
}

void memory_stage_drop(struct backend_stage *stage)
{
    if (stage == NULL)
        return;
    {
        MEMORY_LOCKED(stage->backend);

        release(stage);
    }
    free(stage);
}

static int append_to_new(struct memory_backend *backend, const struct memory_place *place,
                         struct str bytes, unsigned mode)
{
    struct memory_node *node;
    int r = memory_node_new(backend, AUTHORITY_FILE, mode, &node);

    if (r < 0)
        return r;
    r = memory_content_append(backend, node, bytes.ptr, bytes.len);
    if (r == 0)
        r = memory_entry_add(backend, place->parent, (struct str){place->last, place->last_len},
                             node);
    memory_unref(backend, node);
    return r;
}

int memory_append(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                  struct str bytes, bool may_create, unsigned mode, bool is_synced)
{
    MEMORY_LOCKED(root->backend);
    struct memory_place place;
    int r = memory_resolve_target(root, lookup, name, &place);

    (void)is_synced;
    if (r < 0)
        return r;
    if (place.node == NULL) {
        if (!may_create)
            return ERR_NOT_FOUND;
        if (lookup->max_file_bytes > 0 && bytes.len > lookup->max_file_bytes)
            return ERR_TOO_LARGE;
        return append_to_new(root->backend, &place, bytes, mode);
    }
    r = check_old(place.node, lookup);
    if (r == 0)
        r = check_growth(place.node, bytes.len, lookup->max_file_bytes);
    if (r < 0)
        return r;
    /* As on Linux: set-id bits were given to the old content. */
    place.node->mode &= 0777;
    return memory_content_append(root->backend, place.node, bytes.ptr, bytes.len);
}
