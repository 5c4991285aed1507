/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/bytes.h"

#include "base/err.h"

int bytes_put_u32(struct buf *out, uint32_t number)
{
    char bytes[BYTES_NUMBER];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(unsigned char)(number >> (8 * i));
    return buf_append(out, bytes, sizeof(bytes));
}

int bytes_put_numbers(struct buf *out, const uint32_t *numbers, size_t count)
{
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++)
        r = bytes_put_u32(out, numbers[i]);
    return r;
}

struct str bytes_take(struct bytes_rest *rest, size_t len)
{
    struct str taken = str_slice(rest->bytes, 0, len);

    if (taken.len < len)
        rest->is_short = true;
    rest->bytes = str_slice(rest->bytes, taken.len, rest->bytes.len);
    return taken;
}

uint32_t bytes_take_u32(struct bytes_rest *rest)
{
    struct str bytes = bytes_take(rest, BYTES_NUMBER);
    uint32_t number = 0;

    for (size_t i = 0; i < bytes.len; i++)
        number |= (uint32_t)(unsigned char)bytes.ptr[i] << (8 * i);
    return number;
}

unsigned bytes_take_u8(struct bytes_rest *rest)
{
    struct str byte = bytes_take(rest, 1);

    return byte.len > 0 ? (unsigned char)byte.ptr[0] : 0;
}

int bytes_put_strings(struct buf *out, const struct str *strings, size_t count, uint32_t max_bytes)
{
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++)
        r = strings[i].len <= max_bytes ? bytes_put_u32(out, (uint32_t)strings[i].len)
                                        : ERR_TOO_LARGE;
    for (size_t i = 0; i < count && r == 0; i++)
        r = buf_append_str(out, strings[i]);
    return r;
}

/* Their lengths, then all of them; nothing may follow. */
void bytes_take_strings(struct bytes_rest *rest, size_t count, struct str *out_strings)
{
    struct bytes_rest lengths = {.bytes = bytes_take(rest, count * BYTES_NUMBER)};

    for (size_t i = 0; i < count && !rest->is_short; i++)
        out_strings[i] = bytes_take(rest, bytes_take_u32(&lengths));
    rest->is_short = rest->is_short || rest->bytes.len > 0;
}
