/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a small file had in it, in memory. An edit changes little, so what is the
 * same at the beginning and at the end of the new content is not kept: the file
 * itself has it, as long as only we change it, which its print tells.
 */
#include "tools/undo_internal.h"

#include <stdlib.h>
#include <string.h>

static size_t common_tail(struct str a, struct str b, size_t most)
{
    const char *a_end = a.ptr + a.len;
    const char *b_end = b.ptr + b.len;
    size_t len = 0;

    while (len + sizeof(uint64_t) <= most &&
           memcmp(a_end - len - sizeof(uint64_t), b_end - len - sizeof(uint64_t),
                  sizeof(uint64_t)) == 0)
        len += sizeof(uint64_t);
    while (len < most && a_end[-(ptrdiff_t)len - 1] == b_end[-(ptrdiff_t)len - 1])
        len++;
    return len;
}

int undo_hold(struct undo_log *log, struct undo_step *step, struct str old, struct str new)
{
    size_t shorter = old.len < new.len ? old.len : new.len;
    size_t head = 0;
    size_t tail = 0;
    size_t len;

    /* What would have to be read again for putting it back is small as well. */
    if (new.len <= UNDO_HELD_FILE_BYTES) {
        head = str_common_prefix(old, new);
        tail = common_tail(old, new, shorter - head);
    }
    len = old.len - head - tail;
    step->held = malloc(len > 0 ? len : 1);
    if (step->held == NULL)
        return ERR_NO_MEMORY;
    if (len > 0)
        memcpy(step->held, old.ptr + head, len);
    step->held_head = head;
    step->held_tail = tail;
    step->slot = ++log->last_slot;
    step->slot_bytes = len;
    log->kept_bytes += len;
    log->held_bytes += len;
    return 0;
}

static int take_piece(void *data, struct str piece)
{
    return buf_append_str(data, piece);
}

int undo_held_content(struct undo_log *log, const struct undo_step *step,
                      const struct cancel *cancel, struct buf *out, struct err *err)
{
    const struct authority_read_options options = {.cancel = cancel};
    const struct str held = {step->held, step->slot_bytes};
    cleanup_buf struct buf now = BUF_INIT(UNDO_HELD_FILE_BYTES);
    struct authority_stat about;
    struct undo_measure measure;
    int r;

    if (step->held_head + step->held_tail == 0)
        return buf_append_str(out, held);
    r = authority_read_pieces(log->files, step->name, &options, &about, take_piece, &now, err);
    if (r < 0)
        return r;
    undo_measure_seen(step->name, &about, &measure);
    if (measure.print != step->now || now.len < step->held_head + step->held_tail)
        return err_set(err, ERR_BUSY, "somebody else has changed it just now");
    r = buf_append_str(out, str_slice(buf_view(&now), 0, step->held_head));
    if (r == 0)
        r = buf_append_str(out, held);
    if (r == 0)
        r = buf_append_str(out,
                           str_slice(buf_view(&now), now.len - step->held_tail, step->held_tail));
    return r;
}
