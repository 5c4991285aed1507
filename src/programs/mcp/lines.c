/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/lines.h"

#include <string.h>

enum { SPARE_BYTES = 256 << 10 };

void lines_init(struct lines *lines, size_t max_line_bytes)
{
    buf_init(&lines->begun, max_line_bytes);
    lines->is_skipping = false;
}

void lines_done(struct lines *lines)
{
    buf_done(&lines->begun);
}

static void forget(struct lines *lines)
{
    size_t max = lines->begun.max;

    buf_clear(&lines->begun);
    /* What one large line needed is not held for ever. */
    if (lines->begun.capacity > SPARE_BYTES) {
        buf_done(&lines->begun);
        buf_init(&lines->begun, max);
    }
}

static void keep(struct lines *lines, struct str piece, const struct lines_events *events)
{
    if (!lines->is_skipping && buf_append_str(&lines->begun, piece) == 0)
        return;
    if (!lines->is_skipping) {
        lines->is_skipping = true;
        events->on_long_piece(events->data, buf_view(&lines->begun));
        forget(lines);
    }
    events->on_long_piece(events->data, piece);
}

static void end_long(struct lines *lines, const struct lines_events *events)
{
    lines->is_skipping = false;
    events->on_long_line(events->data);
}

static void tell(struct lines *lines, struct str line, const struct lines_events *events)
{
    if (line.len > lines->begun.max) {
        events->on_long_piece(events->data, line);
        events->on_long_line(events->data);
        return;
    }
    line = str_trim(line);
    if (line.len > 0)
        events->on_line(events->data, line);
}

void lines_feed(struct lines *lines, struct str bytes, const struct lines_events *events)
{
    while (bytes.len > 0) {
        const char *end = memchr(bytes.ptr, '\n', bytes.len);
        size_t len = end != NULL ? (size_t)(end - bytes.ptr) : bytes.len;
        struct str piece = {bytes.ptr, len};

        bytes = str_slice(bytes, end != NULL ? len + 1 : len, bytes.len);
        if (end == NULL) {
            keep(lines, piece, events);
        } else if (!lines->is_skipping && lines->begun.len == 0) {
            tell(lines, piece, events); /* the usual case: no copy */
        } else {
            keep(lines, piece, events);
            if (lines->is_skipping)
                end_long(lines, events);
            else
                tell(lines, buf_view(&lines->begun), events);
            forget(lines);
        }
    }
}

void lines_end(struct lines *lines, const struct lines_events *events)
{
    if (lines->is_skipping)
        end_long(lines, events);
    else if (lines->begun.len > 0)
        tell(lines, buf_view(&lines->begun), events);
    forget(lines);
}
