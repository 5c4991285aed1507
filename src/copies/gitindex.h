/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git's index of a copy: the files that were left out get the bit skip-worktree, so that Git does
 * not take them for deleted. It is changed here and not by Git, which runs what the configuration
 * of the project says.
 */
#ifndef COPIES_GITINDEX_H
#define COPIES_GITINDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/*
 * Appends the index with the bit set for each file or link that `is_left_out` names; *out_count is
 * how many did not have it. ERR_UNSUPPORTED for what is not a whole index of version 2 or 3 with
 * SHA-1: also for a split or sparse one, and one without a checksum.
 */
int gitindex_skip(struct str index, bool (*is_left_out)(void *data, struct str name), void *data,
                  struct buf *out, size_t *out_count);

#endif
