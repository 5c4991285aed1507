/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events are the same however the stream is split; the first byte is the length of a piece. No
 * event exceeds its limits, and no id has a NUL.
 */
#include <assert.h>
#include <stdint.h>

#include "base/err.h"
#include "net/sse/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINE_MAX_BYTES = 40, EVENT_MAX_BYTES = 60, TOLD_BYTES = 4 << 20 };

static void tell_event(void *data, const struct sse_received *event)
{
    assert(event->data.len < EVENT_MAX_BYTES && event->type.len > 0);
    assert(event->type.len < LINE_MAX_BYTES && event->last_id.len < LINE_MAX_BYTES);
    assert(!str_has_nul(event->last_id) && str_find(event->type, STR("\n")) == SIZE_MAX);
    assert(str_find(event->data, STR("\r")) == SIZE_MAX);
    assert(buf_append_str(data, event->type) == 0 && buf_append_char(data, '\n') == 0);
    assert(buf_append_str(data, event->data) == 0 && buf_append_char(data, '\r') == 0);
    assert(buf_append_str(data, event->last_id) == 0 && buf_append_char(data, '\n') == 0);
}

static void tell_retry(void *data, int64_t delay_ms)
{
    assert(delay_ms >= 0 && delay_ms <= SSE_MAX_RETRY_MS);
    assert(buf_printf(data, "retry %lld\n", (long long)delay_ms) == 0);
}

static int read_stream(struct str text, size_t step, struct buf *told)
{
    const struct sse_limits limits = {LINE_MAX_BYTES, EVENT_MAX_BYTES};
    const struct sse_handler handler = {.event = tell_event, .retry = tell_retry, .data = told};
    struct sse_reader reader;
    int r = 0;

    sse_reader_init(&reader, &limits);
    for (size_t at = 0; at < text.len; at += step)
        r = sse_reader_feed(&reader, str_slice(text, at, step), &handler);
    sse_reader_done(&reader);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf whole = BUF_INIT(TOLD_BYTES);
    cleanup_buf struct buf pieces = BUF_INIT(TOLD_BYTES);
    struct str text;
    int r;

    if (size < 2)
        return 0;
    text = (struct str){(const char *)data + 1, size - 1};
    r = read_stream(text, text.len, &whole);
    assert(r == 0 || r == ERR_TOO_LARGE);
    assert(read_stream(text, (size_t)data[0] + 1, &pieces) == r);
    assert(str_eq(buf_view(&whole), buf_view(&pieces)));
    return 0;
}
