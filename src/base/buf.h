/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a fixed limit. An append that would exceed the limit changes nothing
 * and returns ERR_TOO_LARGE.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"

struct buf {
    char *data;
    size_t len;
    size_t capacity;
    size_t max;
};

#define BUF_INIT(max_bytes)                                                                        \
    {                                                                                              \
        .max = (max_bytes)                                                                         \
    }

static inline void buf_init(struct buf *buf, size_t max_bytes)
{
    *buf = (struct buf)BUF_INIT(max_bytes);
}

void buf_done(struct buf *buf);
#define cleanup_buf cleanup_with(buf_done)

/* Keeps the memory for the next use. */
static inline void buf_clear(struct buf *buf)
{
    buf->len = 0;
}

static inline struct str buf_view(const struct buf *buf)
{
    return buf->len > 0 ? (struct str){buf->data, buf->len} : STR_EMPTY;
}

/* Slow path of buf_reserve(). */
int buf_grow(struct buf *buf, size_t extra);

/* Makes room for `extra` bytes after the content; write them at data + len, then add to len. */
static inline int buf_reserve(struct buf *buf, size_t extra)
{
    if (extra <= buf->capacity - buf->len)
        return 0;
    return buf_grow(buf, extra);
}

int buf_append(struct buf *buf, const void *bytes, size_t len);

static inline int buf_append_str(struct buf *buf, struct str text)
{
    return buf_append(buf, text.ptr, text.len);
}

static inline int buf_append_char(struct buf *buf, char c)
{
    return buf_append(buf, &c, 1);
}

/* In decimal; far quicker than buf_printf(). */
int buf_append_int(struct buf *buf, int64_t number);

int buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Removes the first `count` bytes, for readers that consume a stream. */
void buf_drop_front(struct buf *buf, size_t count);

/* The content as a C string; the terminator is not part of the content. */
int buf_terminate(struct buf *buf, const char **out_text);

#endif
