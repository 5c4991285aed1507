/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/kept.h"

void kept_init(struct kept_stream *kept, size_t half)
{
    *kept = (struct kept_stream){.half = half};
    buf_init(&kept->head, half);
    buf_init(&kept->tail, 3 * half);
}

void kept_done(struct kept_stream *kept)
{
    buf_done(&kept->head);
    buf_done(&kept->tail);
}

void kept_clear(struct kept_stream *kept)
{
    buf_clear(&kept->head);
    buf_clear(&kept->tail);
    kept->total = 0;
}

void kept_add(struct kept_stream *kept, struct str bytes)
{
    size_t half = kept->half;
    size_t room = kept->head.len < half ? half - kept->head.len : 0;
    struct str first = str_slice(bytes, 0, room);
    struct str rest = str_slice(bytes, first.len, bytes.len);

    kept->total += bytes.len;
    if (rest.len > half)
        rest = str_slice(rest, rest.len - half, half);
    (void)buf_append_str(&kept->head, first);
    (void)buf_append_str(&kept->tail, rest);
    if (kept->tail.len > 2 * half)
        buf_drop_front(&kept->tail, kept->tail.len - half);
}

int kept_show(struct kept_stream *kept, struct buf *out)
{
    int r = buf_append_str(out, buf_view(&kept->head));

    if (kept->tail.len > kept->half)
        buf_drop_front(&kept->tail, kept->tail.len - kept->half);
    if (r == 0 && kept->total > kept->head.len + kept->tail.len)
        r = buf_printf(out, "\n[%llu bytes left out]\n",
                       (unsigned long long)(kept->total - kept->head.len - kept->tail.len));
    return r == 0 ? buf_append_str(out, buf_view(&kept->tail)) : r;
}
