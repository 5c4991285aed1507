/* SPDX-License-Identifier: Apache-2.0 */
#include "files/change.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum {
    BINARY_LOOK_BYTES = 8 << 10, /* a NUL in there means that it is no text */
};

struct str change_text(const struct tool_call *call, struct str key)
{
    struct str text = STR_EMPTY;

    (void)json_get_str(call->arguments, key, &text);
    return text;
}

/* ---- errors ---- */

int change_fail(struct err *err, int code, struct str given, const char *format, ...)
{
    char what[ERR_MESSAGE_BYTES];
    char name[TOOL_SHOWN_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return err_set(err, code, "%s: %s", tool_show(given.len > 0 ? given : STR("the root"), name),
                   what);
}

int change_refuse(struct err *err, int code, struct str given, const struct err *why)
{
    if (code == ERR_NOT_FOUND)
        return change_fail(err, code, given, "not found; use list_files to see what exists");
    if (code == ERR_DENIED_BY_POLICY &&
        (why->message[0] == '\0' || strcmp(why->message, err_text(code)) == 0))
        return change_fail(err, code, given, TOOL_DENIED_BEHIND);
    return change_fail(err, code, given, "%s",
                       why->message[0] != '\0' ? why->message : err_text(code));
}

int change_check_size(const struct tool_call *call, struct str given, uint64_t size,
                      struct err *err)
{
    uint64_t limit = call->box->config.max_file_bytes;

    if (size <= limit)
        return 0;
    return change_fail(err, ERR_TOO_LARGE, given,
                       "%" PRIu64 " bytes exceed the limit of %" PRIu64 "; nothing was changed",
                       size, limit);
}

/* ---- reading ---- */

bool change_is_same(const struct authority_stat *a, const struct authority_stat *b)
{
    return a->type == b->type && a->device == b->device && a->inode == b->inode &&
           a->size == b->size && a->modified_ms == b->modified_ms &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

static bool is_binary(struct str bytes)
{
    return str_has_nul(str_slice(bytes, 0, BINARY_LOOK_BYTES)) || !utf8_is_valid(bytes);
}

static int take_piece(void *data, struct str piece)
{
    return buf_append_str(data, piece);
}

int change_read(const struct tool_call *call, size_t index, struct buf *out,
                struct authority_stat *out_stat, struct err *err)
{
    const struct authority_read_options options = {.cancel = call->cancel};
    struct authority_scope *files = call->box->config.files;
    struct str given = change_given(call, index);
    struct err why = ERR_INIT;
    struct authority_stat about;
    int r = authority_stat(files, tool_name(call, index), &about, &why);

    if (r < 0)
        return change_refuse(err, r, given, &why);
    if (about.type == AUTHORITY_DIRECTORY)
        return change_fail(err, ERR_NOT_REGULAR_FILE, given, "is a directory");
    r = change_check_size(call, given, about.size, err);
    if (r < 0)
        return r;
    buf_clear(out);
    r = authority_read_pieces(files, tool_name(call, index), &options, &about, take_piece, out,
                              &why);
    /* It has grown since, beyond the buffer's limit. */
    if (r == ERR_TOO_LARGE)
        return change_check_size(call, given, about.size, err) < 0
                   ? ERR_TOO_LARGE
                   : change_refuse(err, r, given, &why);
    if (r < 0)
        return change_refuse(err, r, given, &why);
    if (is_binary(buf_view(out)))
        return change_fail(err, ERR_INVALID_UTF8, given,
                           "is a binary file and cannot be edited as text");
    *out_stat = about;
    return 0;
}

/* ---- the log and the result ---- */

void change_begin(const struct tool_call *call)
{
    undo_open(call->box->undo, call->tool->name);
}

void change_give_up(const struct tool_call *call)
{
    struct undo_note note;

    undo_did_not(call->box->undo);
    undo_close(call->box->undo, &note);
}

void change_write_note(struct json_writer *w, const struct undo_note *note)
{
    if (!note->is_lost)
        return;
    json_put_bool(w, STR("undoable"), false);
    json_put_str_lossy(w, STR("note"), str_from(note->text));
}

int change_end(const struct tool_call *call, const struct change_field *fields, size_t count,
               struct buf *out)
{
    struct undo_note note;
    struct json_writer w;

    undo_did(call->box->undo);
    undo_close(call->box->undo, &note);
    json_writer_init(&w, out);
    json_begin_object(&w);
    for (size_t i = 0; i < count; i++)
        json_put_str_lossy(&w, fields[i].key, fields[i].value);
    change_write_note(&w, &note);
    json_end_object(&w);
    return json_writer_finish(&w);
}
