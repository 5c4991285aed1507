/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/history.h"

#include "shell/text.h"

void history_init(struct history *history, size_t max_bytes)
{
    *history = (struct history){.ring = BUF_INIT(max_bytes)};
}

void history_done(struct history *history)
{
    buf_done(&history->ring);
}

int history_add(struct history *history, struct str bytes)
{
    struct buf *ring = &history->ring;
    size_t fill = ring->max - ring->len;
    int r;

    if (fill > bytes.len)
        fill = bytes.len;
    r = buf_append(ring, bytes.ptr, fill);
    if (r < 0)
        return r;
    history->total += fill;
    bytes = str_slice(bytes, fill, bytes.len);
    if (bytes.len > ring->max) {
        history->total += bytes.len - ring->max;
        bytes = str_slice(bytes, bytes.len - ring->max, ring->max);
    }
    while (bytes.len > 0) {
        size_t at = (size_t)(history->total % ring->max);
        size_t step = bytes.len < ring->max - at ? bytes.len : ring->max - at;

        memcpy(ring->data + at, bytes.ptr, step);
        history->total += step;
        bytes = str_slice(bytes, step, bytes.len);
    }
    return 0;
}

int history_copy(const struct history *history, uint64_t from, uint64_t to, struct buf *out)
{
    const struct buf *ring = &history->ring;
    int r = 0;

    while (from < to && r == 0) {
        size_t at = (size_t)(from % ring->max);
        size_t step = ring->len - at;

        if (step > to - from)
            step = (size_t)(to - from);
        r = buf_append(out, ring->data + at, step);
        from += step;
    }
    return r;
}

int history_read(const struct history *history, uint64_t cursor, size_t max_bytes, bool is_over,
                 struct buf *out, struct history_window *out_window)
{
    cleanup_buf struct buf bytes = BUF_INIT(max_bytes);
    uint64_t oldest = history->total - history->ring.len;
    uint64_t from = cursor < history->total ? cursor : history->total;
    uint64_t to;
    struct str text;
    size_t skip = 0;
    int r;

    if (from < oldest)
        from = oldest;
    to = history->total - from > max_bytes ? from + max_bytes : history->total;
    r = history_copy(history, from, to, &bytes);
    if (r < 0)
        return r;
    text = buf_view(&bytes);
    if (cursor < oldest)
        skip = text_leftover(text);
    text = str_slice(text, skip, text.len);
    if (to < history->total || !is_over) {
        size_t unfinished = text_unfinished(text);

        /* Not if that would be all of it: a reader of so few bytes must still make progress. */
        if (to == history->total || unfinished < text.len) {
            text.len -= unfinished;
            to -= unfinished;
        }
    }
    r = text_append(out, text);
    if (r < 0)
        return r;
    out_window->is_cut = history->total - from > max_bytes;
    out_window->next = to;
    out_window->dropped = cursor < oldest ? from + skip - cursor : 0;
    return 0;
}
