/* SPDX-License-Identifier: Apache-2.0 */
#include "base/plain.h"

#include "base/printable.h"
#include "base/redact.h"

int plain_line(struct str text, size_t max_bytes, struct buf *out)
{
    cleanup_buf struct buf hidden = BUF_INIT(max_bytes);
    size_t used;
    int r = redact_cut(text, max_bytes, &hidden, &used);

    if (r == 0)
        r = printable_replace(out, buf_view(&hidden), PRINTABLE_LINE, STR(" "));
    return r;
}
