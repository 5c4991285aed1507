/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/plain.h"

#include "base/redact.h"
#include "base/utf8.h"

int plain_line(struct str text, size_t max_bytes, struct buf *out)
{
    cleanup_buf struct buf hidden = BUF_INIT(max_bytes);
    struct str rest;
    size_t used;
    int r = redact_cut(text, max_bytes, &hidden, &used);

    rest = buf_view(&hidden);
    while (r == 0 && rest.len > 0) {
        struct str before = rest;
        uint32_t code_point;
        bool is_text = utf8_next(&rest, &code_point) && utf8_is_printable(code_point);

        r = is_text ? buf_append(out, before.ptr, before.len - rest.len)
                    : buf_append_char(out, ' ');
    }
    return r;
}
