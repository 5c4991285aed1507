/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"

enum { SMALLEST_BYTES = 64 };

void buf_done(struct buf *buf)
{
    free(buf->data);
    buf->data = NULL;
    buf->len = 0;
    buf->capacity = 0;
}

int buf_grow(struct buf *buf, size_t extra)
{
    size_t needed;
    size_t capacity;
    char *data;

    if (!checked_add(buf->len, extra, &needed) || needed > buf->max)
        return ERR_TOO_LARGE;
    capacity = buf->capacity < SMALLEST_BYTES ? SMALLEST_BYTES : buf->capacity;
    while (capacity < needed)
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    if (capacity > buf->max)
        capacity = buf->max;
    data = realloc(buf->data, capacity);
    if (data == NULL)
        return ERR_NO_MEMORY;
    buf->data = data;
    buf->capacity = capacity;
    return 0;
}

int buf_append(struct buf *buf, const void *bytes, size_t len)
{
    int r;

    if (len == 0)
        return 0;
    r = buf_reserve(buf, len);
    if (r < 0)
        return r;
    memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    return 0;
}

int buf_append_int(struct buf *buf, int64_t number)
{
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    char text[sizeof("-9223372036854775808")];
    size_t at = sizeof(text);

    do {
        text[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        text[--at] = '-';
    return buf_append(buf, text + at, sizeof(text) - at);
}

int buf_vprintf(struct buf *buf, const char *format, va_list args)
{
    char *room;
    va_list again;
    int length;
    int r;

    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        return ERR_INVALID_ARGUMENT;
    /* One byte more for the terminator that vsnprintf insists on. */
    r = buf_reserve(buf, (size_t)length + 1);
    if (r < 0)
        return r;
    room = buf->data + buf->len;
    vsnprintf(room, (size_t)length + 1, format, args);
    buf->len += (size_t)length;
    return 0;
}

int buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    int r;

    va_start(args, format);
    r = buf_vprintf(buf, format, args);
    va_end(args);
    return r;
}

void buf_drop_front(struct buf *buf, size_t count)
{
    assert(count <= buf->len);
    buf->len -= count;
    if (buf->len > 0 && count > 0)
        memmove(buf->data, buf->data + count, buf->len);
}

int buf_terminate(struct buf *buf, const char **out_text)
{
    int r = buf_reserve(buf, 1);

    if (r < 0)
        return r;
    buf->data[buf->len] = '\0';
    *out_text = buf->data;
    return 0;
}
