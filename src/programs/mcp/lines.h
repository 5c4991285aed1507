/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits incoming bytes into lines. A line over the limit is not kept: its pieces are passed on as
 * they arrive, and its end is reported.
 */
#ifndef PROGRAMS_MCP_LINES_H
#define PROGRAMS_MCP_LINES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

struct lines {
    struct buf begun; /* incomplete line; its max is the limit */
    bool is_skipping; /* skipping the rest of a line that was too long */
};

struct lines_events {
    /* Without its newline; not called for empty lines. */
    void (*on_line)(void *data, struct str line);
    void (*on_long_piece)(void *data, struct str piece);
    void (*on_long_line)(void *data); /* once, at its end */
    void *data;
};

void lines_init(struct lines *lines, size_t max_line_bytes);
void lines_done(struct lines *lines);

void lines_feed(struct lines *lines, struct str bytes, const struct lines_events *events);

/* Handles what came after the last newline, if anything. */
void lines_end(struct lines *lines, const struct lines_events *events);

#endif
