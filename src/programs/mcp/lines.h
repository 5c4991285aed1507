/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines out of bytes that come in pieces. A line over its ceiling is not kept:
 * its pieces are shown as they pass, and its end is told.
 */
#ifndef PROGRAMS_MCP_LINES_H
#define PROGRAMS_MCP_LINES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

struct lines {
    struct buf begun; /* what came of a line whose end has not; its max is the ceiling */
    bool is_skipping; /* the rest of a line that was too long */
};

struct lines_events {
    void (*on_line)(void *data, struct str line); /* without its end; empty ones are left out */
    void (*on_long_piece)(void *data, struct str piece);
    void (*on_long_line)(void *data); /* once, at its end */
    void *data;
};

void lines_init(struct lines *lines, size_t max_line_bytes);
void lines_done(struct lines *lines);

void lines_feed(struct lines *lines, struct str bytes, const struct lines_events *events);

/* What came after the last line end, if anything did. */
void lines_end(struct lines *lines, const struct lines_events *events);

#endif
