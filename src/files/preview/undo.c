/* SPDX-License-Identifier: Apache-2.0 */
/* Preview of undo_changes: which changes it would undo. */
#include "files/preview/internal.h"

static int add_undone(void *data, const struct undo_told *told)
{
    struct buf *text = data;
    int r;

    if (text->len > PREVIEW_MAX_BYTES) /* that much is not shown: an empty line is counted, too */
        return buf_append_char(text, '\n');
    r = buf_append_str(text, told->tool);
    if (r == 0)
        r = buf_append_str(text, STR(": "));
    /* A line is a name, whatever is in it. */
    if (r == 0 && told->from.len > 0)
        r = preview_add_harmless(text, told->from);
    if (r == 0 && told->from.len > 0)
        r = buf_append_str(text, STR(" → "));
    if (r == 0)
        r = preview_add_harmless(text, told->name);
    if (r == 0 && told->stays != NULL)
        r = buf_printf(text, " (not undone: %s)", told->stays);
    return r < 0 ? r : buf_append_char(text, '\n');
}

/* Needs the lock on changes. */
static int tell_undone(struct preview *preview, uint64_t count)
{
    const struct undo_log *log = preview->call->box->undo;
    uint64_t remaining = undo_remaining(log);
    char number[PREVIEW_NUMBER_BYTES];

    if (remaining == 0) {
        preview_say(preview, "Undoes nothing: this session has no changes left to undo");
        return 0;
    }
    if (count >= remaining)
        preview_say(preview, "Undoes all changes that tools made in this session (%s change%s)",
                    preview_count(remaining, number), remaining == 1 ? "" : "s");
    else if (count == 1)
        preview_say(preview, "Undoes the last change of this session");
    else
        preview_say(preview, "Undoes the last %s changes of this session",
                    preview_count(count, number));
    return undo_tell(log, count, add_undone, &preview->lines);
}

int preview_undo_changes(struct preview *preview, struct err *err)
{
    struct tool_call *call = preview->call;
    int64_t count = tool_int(call, STR("count"), 1);
    bool is_all = false;
    int r;

    if (undo_why_not(call->box->undo) != NULL)
        return err_set(err, ERR_UNSUPPORTED, "%s", undo_why_not(call->box->undo));
    (void)json_get_bool(call->arguments, STR("all"), &is_all);
    if (!is_all && count < 1)
        return err_set(err, ERR_INVALID_ARGUMENT, "count: must be at least 1");
    r = tool_take_turn(call->box, call->cancel);
    if (r < 0)
        return r;
    r = tell_undone(preview, is_all ? UINT64_MAX : (uint64_t)count);
    tool_leave_turn(call->box);
    return r < 0 ? r : preview_add_lines(&preview->out->detail, buf_view(&preview->lines));
}
