/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a file so that it can be undone. */
#include "files/undo/internal.h"

static bool is_small_file(const struct undo_log *log, const struct authority_stat *seen)
{
    const struct undo_measure measure = {.mode = seen->mode, .bytes = seen->size};

    if (log->open == NULL || seen->inode == 0 || seen->type != AUTHORITY_FILE)
        return false;
    return undo_store_can_hold(log, &measure) && log->kept_bytes <= log->max_bytes &&
           measure.bytes <= log->max_bytes - log->kept_bytes;
}

/* After these codes the slower way may still work. */
static bool has_changed_since(int code)
{
    return code == ERR_NOT_FOUND || code == ERR_TOO_LARGE || code == ERR_BUSY ||
           code == ERR_PERMISSION_DENIED;
}

/* Notes the file's state before and after, as the write reported it. */
static void note(struct undo_log *log, struct undo_step *step,
                 const struct authority_exchange *exchange, struct str content)
{
    struct undo_measure before;
    struct undo_measure after;

    undo_measure_seen(step->name, &exchange->before, &before);
    undo_measure_seen(step->name, &exchange->after, &after);
    undo_carry(log, log->open->id, step->name, &before);
    if (undo_hold(log, step, buf_view(exchange->content), content) < 0) {
        step->kind = UNDO_LOST;
        undo_set_lost(log->open, "cannot be undone: out of memory");
    }
    step->before = before.print;
    step->now = after.print;
    step->is_pending = false;
    undo_shift(log, step->name, before.print ^ after.print);
}

/* Keeps the old content, about `size` bytes, and writes the new in one operation. */
static int replace(struct undo_log *log, struct str name, size_t size, struct str content,
                   const struct cancel *cancel, struct err *err)
{
    struct authority_exchange exchange = {.content = &log->scratch};
    const struct authority_write_options options = {
        .create = AUTHORITY_REPLACE_OLD, .cancel = cancel, .exchange = &exchange};
    struct undo_step *step = undo_step_add(log, UNDO_REPLACED, name, STR_EMPTY);
    int r = ERR_NO_MEMORY;

    if (step != NULL) {
        buf_clear(&log->scratch);
        r = buf_reserve(&log->scratch, size);
    }
    if (r < 0)
        err_set_plain(err, r);
    else
        r = authority_write_bytes(log->files, name, content, &options, err);
    if (r == 0)
        note(log, step, &exchange, content);
    else if (step != NULL)
        undo_step_free(log, log->open, step);
    return r;
}

int undo_write(struct undo_log *log, struct str name, const struct authority_stat *seen,
               struct str content, const struct cancel *cancel, struct str *out_old,
               struct err *err)
{
    const struct authority_write_options options = {.make_parents = true, .cancel = cancel};
    int r;

    *out_old = (struct str){NULL, 0};
    if (is_small_file(log, seen)) {
        r = replace(log, name, (size_t)seen->size, content, cancel, err);
        if (r == 0)
            *out_old = log->scratch.len > 0 ? buf_view(&log->scratch) : STR("");
        if (!has_changed_since(r))
            return r;
        *err = (struct err)ERR_INIT;
    }
    r = undo_will_write(log, name, cancel, err);
    return r < 0 ? r : authority_write_bytes(log->files, name, content, &options, err);
}
