/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unified diffs of two texts, as patch(1) reads them. The work is bounded: a diff that would take
 * too long becomes coarser, but stays correct. The texts may hold any bytes; a line ends with a
 * line feed, and CR is part of the line.
 */
#ifndef FILES_DIFF_H
#define FILES_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
    DIFF_CONTEXT_LINES = 3,
    DIFF_MAX_LINES = 1 << 24, /* of both texts, without what they begin and end with */
    /* Search steps in total; about a tenth of a second. */
    DIFF_MAX_WORK = 1 << 25,
};

struct diff_options {
    struct str name;  /* after "--- a/" and "+++ b/"; shown without control characters */
    size_t max_bytes; /* limit of what is appended; 0: only that of the buffer */
    bool is_added;    /* there was no file: "--- /dev/null" */
    bool is_deleted;  /* there is none any more: "+++ /dev/null" */
};

/*
 * Appends nothing when the texts are equal. Beyond max_bytes it stops between two hunks and adds a
 * note outside of the hunks. Errors: ERR_TOO_LARGE (lines, or the buffer), ERR_NO_MEMORY.
 */
int diff_unified(struct str before, struct str after, const struct diff_options *options,
                 struct buf *out);

#endif
