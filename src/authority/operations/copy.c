/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of files and whole trees, which appear complete or not at all. */
#include "authority/operations/transfer_internal.h"
#include "authority/walk.h"
#include "base/hash.h"

enum {
    /* Names of directories in a tree that get their mode when all is in them. */
    SHUT_MAX_BYTES = 16 << 20,
};

unsigned transfer_mode_mask(const struct transfer *transfer)
{
    return kind_mode_mask(transfer->op->scope->grant.root.kind);
}

/* If modes are restricted, nothing is copied exactly. */
static bool is_exact(const struct transfer *transfer)
{
    return transfer->options->is_exact && transfer_mode_mask(transfer) == 0777;
}

/* Total number of data bytes that may be copied. */
static uint64_t copy_budget(const struct transfer *transfer)
{
    uint64_t most = transfer->options->max_copy_bytes;

    return most > 0 ? most : UINT64_MAX;
}

/* ---- a file ---- */

int transfer_copy_open_file(const struct transfer *transfer, struct backend_file *file,
                            unsigned mode)
{
    const struct backend_ops *ops = operation_ops(transfer->op);
    uint64_t budget = copy_budget(transfer);
    struct backend_stage *stage;
    int r =
        ops->stage(transfer->op->scope->root, &transfer->lookup, transfer->to,
                   transfer->options->may_replace ? BACKEND_CREATE_OR_REPLACE : BACKEND_CREATE_NEW,
                   mode, &stage);

    if (r < 0)
        return r;
    r = ops->stage_copy(stage, file, &budget);
    if (r == 0 && is_exact(transfer))
        r = ops->stage_dress(stage, mode, file);
    if (r < 0) {
        ops->stage_drop(stage);
        return r;
    }
    return ops->stage_publish(stage, true);
}

/*
 * Fingerprint of what was copied, so that a move removes nothing else: combined over a tree
 * independent of order. Writing, replacing or adding a file changes it.
 */
static uint64_t fingerprint(struct str name, const struct authority_stat *about)
{
    const uint64_t facts[] = {
        hash_str(hash_process_key(), name),
        about->device,
        about->inode,
        about->type == AUTHORITY_FILE ? about->size : 0,
        about->type == AUTHORITY_FILE ? about->changed_ns : 0,
    };

    return hash_str(hash_process_key(), (struct str){(const char *)facts, sizeof(facts)});
}

unsigned transfer_copied_mode(const struct transfer *transfer, unsigned mode)
{
    unsigned usual = kind_file_mode(transfer->op->scope->grant.root.kind);

    /* Private stays private, executable stays executable; set-id bits are not copied. */
    if (is_exact(transfer))
        return mode & TRANSFER_FILE_MODE;
    return mode & (usual | (usual & 0444) >> 2);
}

/* Gives a link a second name: its target cannot be changed, so that is as good as a copy. */
static int copy_link(struct transfer *transfer)
{
    const struct backend_ops *ops = operation_ops(transfer->op);
    struct authority_stat about;
    int r = ops->stat(transfer->source->root, &transfer->source_lookup, transfer->from, &about);

    if (r < 0)
        return r;
    r = ops->link(transfer->source->root, &transfer->source_lookup, transfer->from,
                  transfer->op->scope->root, &transfer->lookup, transfer->to);
    transfer->copied = fingerprint(STR_EMPTY, &about);
    return r == ERR_CROSS_DEVICE ? ERR_SYMLINK_REJECTED : r;
}

int transfer_copy_file(void *data)
{
    struct transfer *transfer = data;
    const struct backend_ops *ops = operation_ops(transfer->op);
    struct backend_file *file;
    struct authority_stat about;
    int r = ops->file_open(transfer->source->root, &transfer->source_lookup, transfer->from, &file,
                           &about);

    if (r == ERR_SYMLINK_REJECTED && is_exact(transfer))
        return copy_link(transfer);
    if (r < 0)
        return r;
    r = transfer_copy_open_file(transfer, file, transfer_copied_mode(transfer, about.mode));
    ops->file_close(file);
    transfer->copied = fingerprint(STR_EMPTY, &about);
    return r;
}

/* ---- a tree ---- */

/* A directory in the copy that its owner may not write, read or enter. */
struct shut_directory {
    struct list link;
    struct str name;
    unsigned mode;
};

void transfer_shut_init(struct transfer_shut *shut)
{
    arena_init(&shut->arena, SHUT_MAX_BYTES);
    list_init(&shut->directories);
}

int transfer_shut_later(struct transfer_shut *shut, struct str name, unsigned mode)
{
    struct shut_directory *directory = arena_new(&shut->arena, struct shut_directory);

    if (directory == NULL || !arena_copy_str(&shut->arena, name, &directory->name))
        return shut->arena.error;
    directory->mode = mode;
    list_append(&shut->directories, &directory->link);
    return 0;
}

int transfer_shut_now(const struct transfer_shut *shut, const struct backend_ops *ops,
                      struct backend_root *tree)
{
    int r = 0;

    /* Inner ones first: they are reached through the outer. */
    for (struct list *node = shut->directories.prev; r == 0 && node != &shut->directories;
         node = node->prev) {
        const struct shut_directory *directory = list_entry(node, struct shut_directory, link);

        r = ops->tree_set_mode(tree, directory->name, directory->mode);
    }
    return r;
}

void transfer_shut_done(struct transfer_shut *shut)
{
    arena_done(&shut->arena);
}

struct tree_copy {
    const struct transfer *transfer;
    struct backend_root *tree;
    struct backend_lookup lookup;
    uint64_t seen;
    uint64_t copied;
    uint64_t budget;
    struct transfer_shut shut;
};

static int copy_tree_file(struct tree_copy *copy, const struct walk_entry *entry)
{
    const struct backend_ops *ops = operation_ops(copy->transfer->op);
    bool exact = is_exact(copy->transfer);
    struct backend_stage *stage;
    struct backend_file *file;
    struct authority_stat about;
    unsigned mode;
    int r = ops->dir_file_open(entry->dir, &copy->transfer->source_lookup, entry->component, &file,
                               &about);

    if (r < 0)
        return r;
    mode = about.mode & (exact ? TRANSFER_FILE_MODE : transfer_mode_mask(copy->transfer));
    r = ops->stage(copy->tree, &copy->lookup, entry->name, BACKEND_CREATE_NEW, mode & 0777, &stage);
    if (r == 0) {
        r = ops->stage_copy(stage, file, &copy->budget);
        if (r == 0)
            r = ops->stage_dress(stage, mode, exact ? file : NULL);
        if (r == 0)
            r = ops->stage_publish(stage, false);
        else
            ops->stage_drop(stage);
    }
    ops->file_close(file);
    copy->copied ^= fingerprint(entry->name, &about);
    return r;
}

/*
 * As in the source; a directory's set-id bits determine the owner of its files, and are copied too.
 */
static unsigned directory_mode(const struct transfer *transfer, unsigned mode)
{
    return mode & (is_exact(transfer) ? 03777 : transfer_mode_mask(transfer));
}

/* Accessible to us until everything is in it. */
static int copy_tree_directory(struct tree_copy *copy, const struct walk_entry *entry)
{
    const struct backend_ops *ops = operation_ops(copy->transfer->op);
    struct authority_stat about;
    unsigned mode;
    int r = ops->dir_stat(entry->dir, entry->component, &about);

    if (r < 0)
        return r;
    copy->copied ^= fingerprint(entry->name, &about);
    mode = directory_mode(copy->transfer, about.mode);
    if ((mode & 0700) != 0700)
        r = transfer_shut_later(&copy->shut, entry->name, mode);
    return r < 0 ? r : ops->mkdir(copy->tree, &copy->lookup, entry->name, mode | 0700, false);
}

static int copy_tree_entry(void *data, const struct walk_entry *entry)
{
    struct tree_copy *copy = data;

    if (++copy->seen > TRANSFER_MAX_ENTRIES)
        return ERR_TOO_LARGE;
    switch (entry->type) {
    case AUTHORITY_FILE:
        return copy_tree_file(copy, entry);
    case AUTHORITY_DIRECTORY:
        return copy_tree_directory(copy, entry);
    case AUTHORITY_SYMLINK:
        return ERR_SYMLINK_REJECTED; /* its meaning there would be unknown */
    case AUTHORITY_OTHER:
        return ERR_NOT_REGULAR_FILE;
    }
    return ERR_INTERNAL;
}

int transfer_copy_tree(struct transfer *transfer, unsigned mode)
{
    const struct backend_ops *ops = operation_ops(transfer->op);
    const struct walk_options how = {
        .max_depth = AUTHORITY_MAX_DEPTH, .is_strict = true, .cancel = &transfer->op->cancel};
    struct tree_copy copy = {.transfer = transfer,
                             .budget = copy_budget(transfer),
                             .lookup = {.max_file_bytes = transfer->lookup.max_file_bytes,
                                        .cancel = &transfer->op->cancel}};
    struct backend_dir *dir;
    int r = ops->dir_open(transfer->source->root, &transfer->source_lookup, transfer->from, &dir);

    if (r < 0)
        return r;
    r = ops->tree_stage(transfer->op->scope->root, &transfer->lookup, transfer->to, &copy.tree);
    if (r < 0) {
        ops->dir_close(dir);
        return r;
    }
    transfer_shut_init(&copy.shut);
    r = walk_tree(ops, dir, &how, copy_tree_entry, &copy);
    if (r == 0)
        r = transfer_shut_now(&copy.shut, ops, copy.tree);
    transfer_shut_done(&copy.shut);
    if (r < 0) {
        ops->tree_drop(copy.tree);
        return r;
    }
    transfer->copied = copy.copied;
    return ops->tree_publish(copy.tree, directory_mode(transfer, mode), true);
}

/* ---- was it still that? ---- */

struct looking_again {
    const struct backend_ops *ops;
    uint64_t found;
};

static int look_again(void *data, const struct walk_entry *entry)
{
    struct looking_again *looking = data;
    struct authority_stat about;
    int r = looking->ops->dir_stat(entry->dir, entry->component, &about);

    if (r == 0)
        looking->found ^= fingerprint(entry->name, &about);
    return r;
}

/* ERR_BUSY if the source has changed since it was copied: then both stay. */
int transfer_check_unchanged(const struct transfer *transfer, bool is_directory)
{
    const struct walk_options how = {
        .max_depth = AUTHORITY_MAX_DEPTH, .is_strict = true, .cancel = &transfer->op->cancel};
    struct looking_again looking = {.ops = operation_ops(transfer->op)};
    struct authority_stat about;
    struct backend_dir *dir;
    int r;

    if (is_directory) {
        r = looking.ops->dir_open(transfer->source->root, &transfer->source_lookup, transfer->from,
                                  &dir);
        if (r == 0)
            r = walk_tree(looking.ops, dir, &how, look_again, &looking);
    } else {
        r = looking.ops->stat(transfer->source->root, &transfer->source_lookup, transfer->from,
                              &about);
        if (r == 0)
            looking.found = fingerprint(STR_EMPTY, &about);
    }
    if (r < 0)
        return r;
    return looking.found == transfer->copied ? 0 : ERR_BUSY;
}
