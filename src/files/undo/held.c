/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the old content of small files in memory. An edit changes little, so the common beginning
 * and end of old and new content are not kept: the file itself has them, as long as only we change
 * it, which its print tells.
 */
#include "files/undo/internal.h"

#include <stdlib.h>
#include <string.h>

int undo_hold(struct undo_log *log, struct undo_step *step, struct str old, struct str new)
{
    size_t head = 0;
    size_t tail = 0;
    size_t len;

    /* What would have to be read again for putting it back is small as well. */
    if (new.len <= UNDO_HELD_FILE_BYTES) {
        head = str_common_prefix(old, new);
        tail = str_common_suffix(str_slice(old, head, old.len), str_slice(new, head, new.len));
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

/* Reassembles the old content: what is kept, between what the file still has. */
static int put_together(struct undo_log *log, const struct undo_step *step,
                        const struct cancel *cancel, struct buf *out, struct authority_stat *about,
                        struct err *err)
{
    const struct authority_read_options options = {.cancel = cancel};
    const struct str held = {step->held, step->slot_bytes};
    cleanup_buf struct buf now = BUF_INIT(UNDO_HELD_FILE_BYTES);
    struct undo_measure measure;
    bool is_whole = step->held_head + step->held_tail == 0;
    int r = is_whole ? authority_stat(log->files, step->name, about, err)
                     : authority_read_pieces(log->files, step->name, &options, about, take_piece,
                                             &now, err);

    if (r < 0)
        return r;
    undo_measure_seen(step->name, about, &measure);
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

int undo_held_give_back(struct undo_log *log, const struct undo_step *step,
                        const struct cancel *cancel, struct err *err)
{
    cleanup_buf struct buf content = BUF_INIT(UNDO_HELD_FILE_BYTES);
    struct authority_stat about = {0};
    struct authority_exchange exchange = {.expected = &about};
    int r = put_together(log, step, cancel, &content, &about, err);

    if (r < 0)
        return r;
    r = authority_write_bytes(log->files, step->name, buf_view(&content),
                              &(struct authority_write_options){.create = AUTHORITY_REPLACE_OLD,
                                                                .cancel = cancel,
                                                                .exchange = &exchange},
                              err);
    return r == ERR_BUSY ? err_set(err, ERR_BUSY, "somebody else has changed it just now") : r;
}
