/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines are the same however the bytes are split; the first byte is the length of a piece. No line
 * is empty, too long, or contains a newline.
 */
#include <assert.h>
#include <stdint.h>

#include "programs/mcp/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CEILING = 40, TOLD_BYTES = 4 << 20 };

static void tell_line(void *data, struct str line)
{
    assert(line.len > 0 && line.len <= CEILING && str_find(line, STR("\n")) == SIZE_MAX);
    assert(buf_append_str(data, line) == 0 && buf_append_char(data, '\n') == 0);
}

static void tell_long_piece(void *data, struct str piece)
{
    assert(buf_append_str(data, piece) == 0);
}

static void tell_long_line(void *data)
{
    assert(buf_append_str(data, STR("\n\n")) == 0);
}

static void cut(struct str text, size_t step, struct buf *told)
{
    const struct lines_events events = {.on_line = tell_line,
                                        .on_long_piece = tell_long_piece,
                                        .on_long_line = tell_long_line,
                                        .data = told};
    struct lines lines;

    lines_init(&lines, CEILING);
    for (size_t at = 0; at < text.len; at += step)
        lines_feed(&lines, str_slice(text, at, step), &events);
    lines_end(&lines, &events);
    lines_done(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf whole = BUF_INIT(TOLD_BYTES);
    cleanup_buf struct buf pieces = BUF_INIT(TOLD_BYTES);
    struct str text;

    if (size < 2)
        return 0;
    text = (struct str){(const char *)data + 1, size - 1};
    cut(text, text.len, &whole);
    cut(text, (size_t)data[0] + 1, &pieces);
    assert(str_eq(buf_view(&whole), buf_view(&pieces)));
    return 0;
}
