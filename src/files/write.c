/* SPDX-License-Identifier: Apache-2.0 */
/* write_file, append_file and create_directory. */
#include "files/change.h"

#include "base/utf8.h"

static int end_with_path(const struct tool_call *call, enum encoding encoding, struct buf *out)
{
    const struct change_field fields[] = {
        {STR("path"), change_given(call, 0)},
        {STR("encoding"), str_from(encoding_name(encoding))},
    };

    return change_end(call, fields, encoding == ENCODING_UTF_8 ? 1 : 2, out);
}

int change_refuse_write(const struct tool_call *call, size_t index, int code, const struct err *why,
                        struct err *err)
{
    const struct tool_resource *resource = &call->resources[index];
    struct str given = change_given(call, index);

    if (code == ERR_ROOT_PROTECTED ||
        (code == ERR_NOT_REGULAR_FILE && resource->about.type == AUTHORITY_DIRECTORY))
        return change_fail(err, code, given,
                           "is a directory: give the path of the file to create in it");
    if (code == ERR_NOT_REGULAR_FILE)
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
static int end_write(const struct tool_call *call, int result, enum encoding encoding,
                     const struct err *why, struct buf *out, struct err *err)
{
    if (result == 0)
        return end_with_path(call, encoding, out);
    change_give_up(call);
    return change_refuse_write(call, 0, result, why, err);
}

int tool_write_file(struct tool_call *call, struct buf *out, struct err *err)
{
    struct str content = change_text(call, STR("content"));
    const struct authority_stat *seen = &call->resources[0].about;
    struct err why = ERR_INIT;
    struct str old;
    int r = change_check_size(call, change_given(call, 0), content.len, err);

    if (r < 0)
        return r;
    change_begin(call);
    r = undo_write(call->box->undo, tool_name(call, 0), seen, content, call->cancel, &old, &why);
    if (r == 0 && (old.ptr != NULL || seen->inode == 0))
        change_show(call, 0, old.ptr != NULL ? old : STR_EMPTY, content);
    return end_write(call, r, ENCODING_UTF_8, &why, out, err);
}

/* What the file's first bytes, or all of them, show; UTF-8 if they cannot be read. */
static enum encoding look_at_bytes(const struct tool_call *call, uint64_t wanted, uint64_t size)
{
    const struct authority_read_options options = {.max_bytes = wanted, .cancel = call->cancel};
    cleanup_buf struct buf bytes = BUF_INIT((size_t)wanted);
    enum encoding encoding;

    if (authority_read_bytes(call->box->config.files, tool_name(call, 0), &options, &bytes, NULL) <
        0)
        return ENCODING_UTF_8;
    encoding = encoding_guess(buf_view(&bytes), bytes.len == size);
    if (encoding_is_wide(encoding))
        return size % 2 == 0 ? encoding : ENCODING_UTF_8;
    return encoding == ENCODING_BINARY || encoding == ENCODING_UTF_8 ||
                   encoding_is_damaged_utf_8(buf_view(&bytes))
               ? ENCODING_UTF_8
               : encoding;
}

/*
 * ASCII is the same in every encoding but UTF-16, which shows at the beginning, without a mark only
 * if all the rest is text too; else it may show anywhere. What is no text, or cannot be read, is
 * appended to as if it were UTF-8.
 */
static enum encoding encoding_of_file(const struct tool_call *call, struct str content,
                                      uint64_t size)
{
    enum encoding encoding;

    if (!utf8_is_ascii(content))
        return look_at_bytes(call, size, size);
    encoding = look_at_bytes(call, ENCODING_LOOK_BYTES, size);
    if (!encoding_is_wide(encoding))
        return ENCODING_UTF_8;
    return encoding_without_mark(encoding) == encoding ? look_at_bytes(call, size, size) : encoding;
}

int change_encode_appended(const struct tool_call *call, struct change_appended *out_appended,
                           struct err *err)
{
    struct str content = change_text(call, STR("content"));
    struct authority_stat about;
    int r = authority_stat(call->box->config.files, tool_name(call, 0), &about, NULL);

    if (r < 0 || about.type != AUTHORITY_FILE)
        about.size = 0;
    r = change_check_size(call, change_given(call, 0), about.size + content.len, err);
    out_appended->encoding = ENCODING_UTF_8;
    out_appended->bytes = content;
    if (r == 0 && about.size > 0)
        out_appended->encoding = encoding_of_file(call, content, about.size);
    if (r < 0 || out_appended->encoding == ENCODING_UTF_8)
        return r;
    buf_init(&out_appended->encoded, 2 * content.len);
    /* The file has its mark. */
    r = change_encode(call, 0, encoding_without_mark(out_appended->encoding), content,
                      &out_appended->encoded, err);
    if (r < 0)
        return r;
    out_appended->bytes = buf_view(&out_appended->encoded);
    return change_check_size(call, change_given(call, 0), about.size + out_appended->bytes.len,
                             err);
}

int tool_append_file(struct tool_call *call, struct buf *out, struct err *err)
{
    const struct authority_write_options options = {.make_parents = true, .cancel = call->cancel};
    struct authority_scope *files = call->box->config.files;
    cleanup_appended struct change_appended appended = {.bytes = STR_EMPTY};
    struct err why = ERR_INIT;
    int r = change_encode_appended(call, &appended, err);

    if (r < 0)
        return r;
    change_begin(call);
    r = undo_will_write(call->box->undo, tool_name(call, 0), call->cancel, &why);
    if (r == 0)
        r = authority_append(files, tool_name(call, 0), appended.bytes, &options, &why);
    if (r == 0)
        change_show(call, 0, STR_EMPTY, change_text(call, STR("content")));
    return end_write(call, r, appended.encoding, &why, out, err);
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
        return end_with_path(call, ENCODING_UTF_8, out);
    change_give_up(call);
    return change_refuse_directory(err, r, change_given(call, 0), &why);
}
