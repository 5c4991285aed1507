/* SPDX-License-Identifier: Apache-2.0 */
/* What operations/move.c and operations/copy.c share. Only they include this. */
#ifndef AUTHORITY_OPERATIONS_TRANSFER_INTERNAL_H
#define AUTHORITY_OPERATIONS_TRANSFER_INTERNAL_H

#include "authority/internal.h"

enum { TRANSFER_MAX_ENTRIES = 1000000 };

/* Both ends of a copy or move: names in two scopes that may be one and the same. */
struct transfer {
    struct operation *op; /* of the destination */
    struct authority_scope *source;
    struct backend_lookup source_lookup;
    struct backend_lookup lookup; /* of the destination */
    struct str from;
    struct str to;
    const struct authority_move_options *options;
    uint64_t copied; /* fingerprint of what was */
};

/* The bits that anything at the destination may have. */
unsigned transfer_mode_mask(const struct transfer *transfer);

/* A file that is open, to the destination; its mode as transfer_copied_mode() says. */
int transfer_copy_open_file(const struct transfer *transfer, struct backend_file *file,
                            unsigned mode);
unsigned transfer_copied_mode(const struct transfer *transfer, unsigned mode);

/* The source is a file; or a link, of an exact copy. `data` is a struct transfer. */
int transfer_copy_file(void *data);
/* The source is a directory of this mode. */
int transfer_copy_tree(struct transfer *transfer, unsigned mode);
/* ERR_BUSY when the source is not what was copied any more. */
int transfer_check_unchanged(const struct transfer *transfer, bool is_directory);

#endif
