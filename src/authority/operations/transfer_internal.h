/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by operations/move.c, operations/copy.c and operations/duplicate.c only. */
#ifndef AUTHORITY_OPERATIONS_TRANSFER_INTERNAL_H
#define AUTHORITY_OPERATIONS_TRANSFER_INTERNAL_H

#include "authority/internal.h"

enum {
    TRANSFER_MAX_ENTRIES = 1000000,
    /* All but the set-id bits, which would give the owner's rights to whoever runs the file. */
    TRANSFER_FILE_MODE = 01777,
};

/* Both ends of a copy or move: names in two scopes, which may be the same. */
struct transfer {
    struct operation *op; /* of the destination */
    struct authority_scope *source;
    struct backend_lookup source_lookup;
    struct backend_lookup lookup; /* of the destination */
    struct str from;
    struct str to;
    const struct authority_move_options *options;
    uint64_t copied; /* fingerprint of what was copied */
};

/* The mode bits allowed at the destination. */
unsigned transfer_mode_mask(const struct transfer *transfer);

/* Copies an open file to the destination, with the mode from transfer_copied_mode(). */
int transfer_copy_open_file(const struct transfer *transfer, struct backend_file *file,
                            unsigned mode);
unsigned transfer_copied_mode(const struct transfer *transfer, unsigned mode);

/* The source is a file; or, for an exact copy, a link. `data` is a struct transfer. */
int transfer_copy_file(void *data);
/* The source is a directory of this mode. */
int transfer_copy_tree(struct transfer *transfer, unsigned mode);
/* ERR_BUSY if the source has changed since it was copied. */
int transfer_check_unchanged(const struct transfer *transfer, bool is_directory);

/* ---- directories of a copied tree that are closed to their owner ---- */

/* They get their modes when everything is in them. */
struct transfer_shut {
    struct arena arena;
    struct list directories; /* outer ones before those in them */
};
void transfer_shut_init(struct transfer_shut *shut);
void transfer_shut_done(struct transfer_shut *shut);
int transfer_shut_later(struct transfer_shut *shut, struct str name, unsigned mode);
int transfer_shut_now(const struct transfer_shut *shut, const struct backend_ops *ops,
                      struct backend_root *tree);

#endif
