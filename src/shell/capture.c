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

static size_t tail_room(const struct capture *capture)
{
    return capture->max_bytes - head_room(capture);
}

void capture_init(struct capture *capture, size_t max_bytes)
{
    *capture = (struct capture){.max_bytes = max_bytes};
    buf_init(&capture->head, head_room(capture));
    buf_init(&capture->tail, tail_room(capture));
}

void capture_done(struct capture *capture)
{
    buf_done(&capture->head);
    buf_done(&capture->tail);
}

/* The tail is full: these take the places of the oldest. */
static void overwrite(struct capture *capture, struct str bytes)
{
    size_t room = tail_room(capture);

    if (bytes.len > room)
        bytes = str_slice(bytes, bytes.len - room, room);
    while (bytes.len > 0) {
        size_t step = room - capture->oldest;

        if (step > bytes.len)
            step = bytes.len;
        memcpy(capture->tail.data + capture->oldest, bytes.ptr, step);
        bytes = str_slice(bytes, step, bytes.len);
        capture->oldest = (capture->oldest + step) % room;
    }
}

static int add_to_tail(struct capture *capture, struct str bytes)
{
    size_t fill = tail_room(capture) - capture->tail.len;
    int r;

    if (fill > bytes.len)
        fill = bytes.len;
    r = buf_append(&capture->tail, bytes.ptr, fill);
    if (r == 0)
        overwrite(capture, str_slice(bytes, fill, bytes.len));
    return r;
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
            r = add_to_tail(capture, bytes);
    }
    capture->total += bytes.len;
    return r;
}

/* The tail in its order, in two parts. */
static void tail_parts(const struct capture *capture, struct str out_parts[2])
{
    struct str ring = buf_view(&capture->tail);

    out_parts[0] = str_slice(ring, capture->oldest, ring.len);
    out_parts[1] = str_slice(ring, 0, capture->oldest);
}

int capture_text(const struct capture *capture, struct buf *out)
{
    cleanup_buf struct buf joined = BUF_INIT(capture->max_bytes);
    struct str head = buf_view(&capture->head);
    struct str parts[2];
    struct str tail;
    char size[TEXT_SIZE_BYTES];
    bool is_whole;
    int r = 0;

    tail_parts(capture, parts);
    is_whole = head.len + capture->tail.len == capture->total;
    /* A character may lie across the joints. */
    if (is_whole)
        r = buf_append_str(&joined, head);
    if (r == 0)
        r = buf_append_str(&joined, parts[0]);
    if (r == 0)
        r = buf_append_str(&joined, parts[1]);
    if (r < 0 || is_whole)
        return r < 0 ? r : text_append(out, buf_view(&joined));
    tail = buf_view(&joined);
    tail = str_slice(tail, text_leftover(tail), tail.len);
    head.len -= text_unfinished(head);
    r = text_append(out, head);
    if (r == 0)
        r = buf_printf(out, "%s[… %s left out …]\n",
                       head.len > 0 && head.ptr[head.len - 1] != '\n' ? "\n" : "",
                       text_size(capture->total - head.len - tail.len, size));
    return r == 0 ? text_append(out, tail) : r;
}

static int append_end(struct buf *out, struct str part)
{
    size_t skip = part.len > LAST_LINE_LOOK ? part.len - LAST_LINE_LOOK : 0;

    return buf_append_str(out, str_slice(part, skip, part.len));
}

int capture_last_line(const struct capture *capture, size_t max_bytes, struct buf *out)
{
    cleanup_buf struct buf end = BUF_INIT(3 * LAST_LINE_LOOK);
    cleanup_buf struct buf text = BUF_INIT(9 * LAST_LINE_LOOK);
    bool is_joined = capture->head.len + capture->tail.len == capture->total;
    struct str parts[2];
    struct str line;
    int r = 0;

    tail_parts(capture, parts);
    if (is_joined)
        r = append_end(&end, buf_view(&capture->head));
    for (size_t i = 0; i < 2 && r == 0; i++)
        r = append_end(&end, parts[i]);
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
