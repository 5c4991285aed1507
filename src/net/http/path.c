/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/path.h"

#include "base/err.h"
#include "base/hex.h"
#include "base/utf8.h"

/* The byte encoded by "%41" at `at`, or -1. */
static int decode_at(struct str text, size_t at)
{
    return text.ptr[at] == '%' ? hex_byte(text, at + 1) : -1;
}

static bool has_odd_segment(struct str path)
{
    struct str rest = str_slice(path, 1, SIZE_MAX);
    struct str segment;

    while (str_cut(&rest, '/', &segment)) {
        /* A slash at the end leaves an empty one, which is all right there. */
        if (segment.len == 0 && rest.ptr != NULL)
            return true;
        if (str_eq(segment, STR(".")) || str_eq(segment, STR("..")))
            return true;
    }
    return false;
}

static int append_decoded(struct str raw, struct buf *space)
{
    int r = buf_reserve(space, raw.len);

    for (size_t i = 0; i < raw.len && r == 0; i++) {
        int byte = (unsigned char)raw.ptr[i];

        if (byte == '%') {
            byte = decode_at(raw, i);
            if (byte < 0x20 || byte == '/' || byte == '\\' || byte == 0x7f)
                return ERR_HTTP_PATH;
            i += 2;
        }
        r = buf_append_char(space, (char)byte);
    }
    return r;
}

int httppath_decode(struct str raw, struct buf *space, struct str *out_path)
{
    struct str path = raw;
    int r;

    for (size_t i = 0; i < raw.len; i++)
        if (raw.ptr[i] == '\\')
            return ERR_HTTP_PATH;
    if (str_find(raw, STR("%")) != SIZE_MAX) {
        buf_clear(space);
        r = append_decoded(raw, space);
        if (r < 0)
            return r;
        path = buf_view(space);
        for (size_t i = 0; i < path.len; i++)
            if (decode_at(path, i) >= 0)
                return ERR_HTTP_PATH;
        if (!utf8_is_valid(path))
            return ERR_HTTP_PATH;
    }
    if (has_odd_segment(path))
        return ERR_HTTP_PATH;
    *out_path = path;
    return 0;
}
