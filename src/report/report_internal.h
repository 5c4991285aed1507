/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the report. */
#ifndef REPORT_REPORT_INTERNAL_H
#define REPORT_REPORT_INTERNAL_H

#include "base/buf.h"
#include "base/str.h"

extern const char report_style[];

/*
 * Text from a record as HTML: without secrets, control characters and marks that reorder text.
 * A line feed becomes visible in a line, and stays one in a block.
 */
int report_put_line(struct buf *out, struct str text);
int report_put_block(struct buf *out, struct str text);
/* The same for a diff, each line in the colour of what it does. */
int report_put_diff(struct buf *out, struct str diff);

#endif
