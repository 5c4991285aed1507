/* SPDX-License-Identifier: Apache-2.0 */
/* write_file, append_file and create_directory. */
#include "files/change.h"

static int end_with_path(const struct tool_call *call, struct buf *out)
{
    return change_end(call, &(struct change_field){STR("path"), change_given(call, 0)}, 1, out);
}

int change_refuse_write(struct err *err, int code, struct str given, const struct err *why)
{
    if (code == ERR_NOT_REGULAR_FILE || code == ERR_ROOT_PROTECTED)
        return change_fail(err, code, given, "is not a writable file");
    if (code == ERR_NOT_A_DIRECTORY)
        return change_fail(err, code, given, "one of its parents is a file, not a directory");
    return change_refuse(err, code, given, why);
}

int change_refuse_directory(struct err *err, int code, struct str given, const struct err *why)
{
    if (code == ERR_ALREADY_EXISTS || code == ERR_NOT_A_DIRECTORY)
        return change_fail(err, code, given, "it or one of its parents is a file");
    return change_refuse(err, code, given, why);
}

/* Ends a change that wrote one file, or says why it could not. */
static int end_write(const struct tool_call *call, int result, const struct err *why,
                     struct buf *out, struct err *err)
{
    if (result == 0)
        return end_with_path(call, out);
    change_give_up(call);
    return change_refuse_write(err, result, change_given(call, 0), why);
}

int tool_write_file(struct tool_call *call, struct buf *out, struct err *err)
{
    struct str content = change_text(call, STR("content"));
    struct err why = ERR_INIT;
    int r = change_check_size(call, change_given(call, 0), content.len, err);

    if (r < 0)
        return r;
    change_begin(call);
    r = undo_write(call->box->undo, tool_name(call, 0), &call->resources[0].about, content,
                   call->cancel, &why);
    return end_write(call, r, &why, out, err);
}

int tool_append_file(struct tool_call *call, struct buf *out, struct err *err)
{
    const struct authority_write_options options = {.make_parents = true, .cancel = call->cancel};
    struct authority_scope *files = call->box->config.files;
    struct str content = change_text(call, STR("content"));
    struct err why = ERR_INIT;
    struct authority_stat about;
    uint64_t size = content.len;
    int r = authority_stat(files, tool_name(call, 0), &about, &why);

    if (r == 0 && about.type == AUTHORITY_FILE)
        size += about.size;
    r = change_check_size(call, change_given(call, 0), size, err);
    if (r < 0)
        return r;
    change_begin(call);
    r = undo_will_write(call->box->undo, tool_name(call, 0), call->cancel, &why);
    if (r == 0)
        r = authority_append(files, tool_name(call, 0), content, &options, &why);
    return end_write(call, r, &why, out, err);
}

int tool_create_directory(struct tool_call *call, struct buf *out, struct err *err)
{
    const struct authority_mkdir_options options = {
        .make_parents = true, .may_exist = true, .cancel = call->cancel};
    struct err why = ERR_INIT;
    int r;

    change_begin(call);
    r = undo_will_make_directory(call->box->undo, tool_name(call, 0), &why);
    if (r == 0)
        r = authority_mkdir(call->box->config.files, tool_name(call, 0), &options, &why);
    if (r == 0)
        return end_with_path(call, out);
    change_give_up(call);
    return change_refuse_directory(err, r, change_given(call, 0), &why);
}
