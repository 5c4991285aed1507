/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/capture.h"

#include <stdbool.h>

#include "base/utf8.h"
#include "shell/text.h"

enum { LAST_LINE_LOOK = 4096 }; /* how far back the last line is looked for */

static size_t head_room(const struct capture *capture)
{
    return capture->max_bytes / 2;
}

void capture_init(struct capture *capture, size_t max_bytes)
{
    *capture = (struct capture){.max_bytes = max_bytes};
    buf_init(&capture->head, head_room(capture));
    history_init(&capture->tail, max_bytes - head_room(capture));
}

void capture_done(struct capture *capture)
{
    buf_done(&capture->head);
    history_done(&capture->tail);
}

int capture_add(struct capture *capture, struct str bytes)
{
    size_t fill = head_room(capture) - capture->head.len;
    int r = 0;

    /* Once something went to the tail, or was lost, the head is complete. */
    if (capture->total > capture->head.len)
        fill = 0;
    if (fill > bytes.len)
        fill = bytes.len;
    if (fill > 0)
        r = buf_append(&capture->head, bytes.ptr, fill);
    if (r == 0) {
        capture->total += fill;
        bytes = str_slice(bytes, fill, bytes.len);
        if (bytes.len > 0)
            r = history_add(&capture->tail, bytes);
    }
    capture->total += bytes.len;
    return r;
}

/* The last so many bytes of the tail, or all of it. */
static int copy_tail(const struct capture *capture, size_t most, struct buf *out)
{
    const struct history *tail = &capture->tail;
    size_t count = tail->ring.len < most ? tail->ring.len : most;

    return history_copy(tail, tail->total - count, tail->total, out);
}

/* Whether nothing is missing between the head and the tail. */
static bool is_whole(const struct capture *capture)
{
    return capture->head.len + capture->tail.ring.len == capture->total;
}

int capture_text(const struct capture *capture, struct buf *out)
{
    cleanup_buf struct buf joined = BUF_INIT(capture->max_bytes);
    struct str head = buf_view(&capture->head);
    struct str tail;
    char size[TEXT_SIZE_BYTES];
    int r = 0;

    /* A character may lie across the joint. */
    if (is_whole(capture))
        r = buf_append_str(&joined, head);
    if (r == 0)
        r = copy_tail(capture, SIZE_MAX, &joined);
    if (r < 0 || is_whole(capture))
        return r < 0 ? r : text_append(out, buf_view(&joined));
    tail = buf_view(&joined);
    tail = str_slice(tail, text_leftover(tail), tail.len);
    head.len -= text_unfinished(head);
    r = text_append(out, head);
    if (r == 0)
        r = buf_printf(out, "%s[… %s omitted …]\n",
                       head.len > 0 && head.ptr[head.len - 1] != '\n' ? "\n" : "",
                       text_size(capture->total - head.len - tail.len, size));
    return r == 0 ? text_append(out, tail) : r;
}

int capture_last_line(const struct capture *capture, size_t max_bytes, struct buf *out)
{
    cleanup_buf struct buf end = BUF_INIT(2 * LAST_LINE_LOOK);
    cleanup_buf struct buf text = BUF_INIT(6 * LAST_LINE_LOOK);
    struct str head = buf_view(&capture->head);
    size_t skip = head.len > LAST_LINE_LOOK ? head.len - LAST_LINE_LOOK : 0;
    struct str line;
    int r = 0;

    if (is_whole(capture))
        r = buf_append_str(&end, str_slice(head, skip, head.len));
    if (r == 0)
        r = copy_tail(capture, LAST_LINE_LOOK, &end);
    if (r < 0)
        return r;
    line = str_trim(buf_view(&end));
    for (size_t i = line.len; i > 0; i--)
        if (line.ptr[i - 1] == '\n' || line.ptr[i - 1] == '\r') {
            line = str_slice(line, i, line.len);
            break;
        }
    r = text_append(&text, line);
    return r == 0 ? buf_append_str(out, utf8_cut(buf_view(&text), max_bytes)) : r;
}
