/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/wire.h"

#include "base/err.h"

void browser_wire_length(size_t len, char out_bytes[BROWSER_LENGTH_BYTES])
{
    for (int i = 0; i < BROWSER_LENGTH_BYTES; i++)
        out_bytes[i] = (char)(unsigned char)(len >> (8 * i));
}

int browser_wire_feed(struct browser_wire *wire, struct str bytes)
{
    if (wire->used > 0) {
        buf_drop_front(&wire->bytes, wire->used);
        wire->used = 0;
    }
    return buf_append_str(&wire->bytes, bytes);
}

int browser_wire_next(struct browser_wire *wire, struct str *out_message)
{
    size_t held = wire->bytes.len - wire->used;
    size_t len = 0;

    *out_message = STR_EMPTY;
    if (held < BROWSER_LENGTH_BYTES)
        return 0;
    for (int i = 0; i < BROWSER_LENGTH_BYTES; i++)
        len |= (size_t)(unsigned char)wire->bytes.data[wire->used + (size_t)i] << (8 * i);
    if (len == 0 || len > BROWSER_MAX_MESSAGE)
        return ERR_TOO_LARGE;
    if (held < BROWSER_LENGTH_BYTES + len)
        return 0;
    *out_message = (struct str){wire->bytes.data + wire->used + BROWSER_LENGTH_BYTES, len};
    wire->used += BROWSER_LENGTH_BYTES + len;
    return 0;
}

void browser_wire_done(struct browser_wire *wire)
{
    buf_done(&wire->bytes);
}
