/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the report. */
#ifndef REPORT_REPORT_INTERNAL_H
#define REPORT_REPORT_INTERNAL_H

#include "base/buf.h"
#include "base/str.h"

extern const char report_style[];

/* What a line of a unified diff is. */
enum report_line {
    REPORT_LINE_OTHER,
    REPORT_LINE_NAME, /* names the file */
    REPORT_LINE_HUNK, /* begins a hunk */
    REPORT_LINE_ADDED,
    REPORT_LINE_REMOVED,
};

/* The lines of a hunk that are still to come: one in it that looks like a name, such as an added
 * "++ b/x", is none. Begins with zeros. */
struct report_hunk {
    int64_t before;
    int64_t after;
};
enum report_line report_read_line(struct report_hunk *hunk, struct str line);

/*
 * Text from a record as HTML: without secrets, control characters and marks that reorder text.
 * A line feed becomes visible in a line, and stays one in a block.
 */
int report_put_line(struct buf *out, struct str text);
int report_put_block(struct buf *out, struct str text);
/* The same for a diff, each line in the colour of what it does. */
int report_put_diff(struct buf *out, struct str diff);

#endif
