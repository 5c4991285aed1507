/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/sessionlog.h"

#include <string.h>

enum { MOST_BYTES = 64 << 20 };

static const struct str prefixes[] = {
    [SESSIONLOG_STDOUT] = STR_LITERAL("\x01\x01\x01"),
    [SESSIONLOG_STDERR] = STR_LITERAL("\x02\x02\x02"),
};

void sessionlog_init(struct sessionlog *log)
{
    *log = (struct sessionlog){.bytes = BUF_INIT(MOST_BYTES)};
}

void sessionlog_done(struct sessionlog *log)
{
    buf_done(&log->bytes);
}

void sessionlog_add(struct sessionlog *log, enum sessionlog_stream stream, struct str bytes)
{
    if (bytes.len == 0 || buf_reserve(&log->bytes, bytes.len + SESSIONLOG_PREFIX_BYTES) < 0)
        return;
    if (stream != log->last)
        (void)buf_append_str(&log->bytes, prefixes[stream]);
    log->last = stream;
    (void)buf_append_str(&log->bytes, bytes);
}

/* The first prefix; its position, or the text's length. */
static size_t find_prefix(struct str text, enum sessionlog_stream *out_stream)
{
    size_t out = str_find(text, prefixes[SESSIONLOG_STDOUT]);
    size_t err = str_find(text, prefixes[SESSIONLOG_STDERR]);

    *out_stream = out < err ? SESSIONLOG_STDOUT : SESSIONLOG_STDERR;
    return out < err ? out : err < text.len ? err : text.len;
}

void sessionlog_trim(struct sessionlog *log, size_t max_bytes, uint64_t keep)
{
    enum sessionlog_stream stream;
    size_t len = log->bytes.len;
    /* Not each time: the rest is moved. */
    size_t drop = len > max_bytes + max_bytes / 8 ? len - max_bytes : 0;

    if (keep < log->dropped + drop)
        drop = keep > log->dropped ? (size_t)(keep - log->dropped) : 0;
    if (drop == 0)
        return;
    buf_drop_front(&log->bytes, drop);
    log->dropped += drop;
    /* What is left begins with the name of its stream: that of the bytes before the next name. */
    if (log->bytes.len < SESSIONLOG_PREFIX_BYTES)
        return;
    if (find_prefix(buf_view(&log->bytes), &stream) == log->bytes.len)
        stream = log->last;
    else /* the names alternate */
        stream = stream == SESSIONLOG_STDOUT ? SESSIONLOG_STDERR : SESSIONLOG_STDOUT;
    memcpy(log->bytes.data, prefixes[stream].ptr, SESSIONLOG_PREFIX_BYTES);
}

uint64_t sessionlog_end(const struct sessionlog *log)
{
    return log->dropped + log->bytes.len;
}

struct str sessionlog_from(const struct sessionlog *log, uint64_t position)
{
    size_t at = position > log->dropped ? (size_t)(position - log->dropped) : 0;

    return str_slice(buf_view(&log->bytes), at, log->bytes.len);
}

int sessionlog_split(const struct sessionlog *log, bool has_stdout, bool has_stderr,
                     struct buf *out)
{
    struct str rest = buf_view(&log->bytes);
    bool is_wanted = false;
    int r = 0;

    while (rest.len > 0 && r == 0) {
        enum sessionlog_stream stream;
        size_t at = find_prefix(rest, &stream);

        if (is_wanted)
            r = buf_append_str(out, str_slice(rest, 0, at));
        rest = str_slice(rest, at < rest.len ? at + SESSIONLOG_PREFIX_BYTES : at, rest.len);
        is_wanted = stream == SESSIONLOG_STDOUT ? has_stdout : has_stderr;
    }
    return r;
}
