/* SPDX-License-Identifier: Apache-2.0 */
#include "files/change.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "authority/names/sensitive.h"
#include "base/utf8.h"
#include "files/diff.h"

enum {
    DECODED_GROWTH = 3, /* UTF-8 is at most so many times as long as other encodings */
    /* For the audit log: nobody waits long for a diff that nobody may ever look at. */
    SHOWN_NEW_BYTES = 2 * TOOL_CHANGE_BYTES,
    SHOWN_AFTER_BYTES = 256 << 10,
    SHOWN_NOTE_BYTES = 64,
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
    /* No option helps here. */
    if (code == ERR_HARDLINK_REJECTED &&
        (why->message[0] == '\0' || strcmp(why->message, err_text(code)) == 0))
        return change_fail(
            err, code, given,
            "the file has other hard links, perhaps outside, so it is never changed, "
            "moved or copied");
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

int change_encode(const struct tool_call *call, size_t index, enum encoding encoding,
                  struct str text, struct buf *out, struct err *err)
{
    char shown[TOOL_SHOWN_BYTES];
    char character[4];
    uint32_t missing;
    int r = encoding_encode(encoding, text, out, &missing);

    if (r != ERR_INVALID_ARGUMENT)
        return r < 0 ? err_set_plain(err, r) : 0;
    tool_show((struct str){character, utf8_encode(missing, character)}, shown);
    return change_fail(err, r, change_given(call, index),
                       "the file is %s, which lacks the character '%s' (U+%04" PRIX32
                       "); nothing was changed",
                       encoding_name(encoding), shown, missing);
}

/* Replaces the bytes of a file by its text. */
static int decode(struct buf *content, enum encoding encoding)
{
    cleanup_buf struct buf text = BUF_INIT(content->max * DECODED_GROWTH);
    cleanup_buf struct buf again = BUF_INIT(content->max);
    struct decoder decoder = {.encoding = encoding};
    uint32_t missing;
    int r = encoding_decode(&decoder, buf_view(content), &text);

    if (r == 0)
        r = encoding_encode(encoding, buf_view(&text), &again, &missing);
    if (r == ERR_NO_MEMORY)
        return r;
    /* Half a character of UTF-16 would be lost. */
    if (r < 0 || !str_eq(buf_view(&again), buf_view(content)))
        return ERR_INVALID_UTF8;
    buf_done(content);
    *content = text;
    text = (struct buf)BUF_INIT(0);
    return 0;
}

static int take_piece(void *data, struct str piece)
{
    return buf_append_str(data, piece);
}

int change_read(const struct tool_call *call, size_t index, struct buf *out,
                struct change_source *out_source, struct err *err)
{
    const struct authority_read_options options = {.cancel = call->cancel};
    struct authority_scope *files = call->box->config.files;
    struct str given = change_given(call, index);
    struct err why = ERR_INIT;
    enum encoding encoding;
    struct authority_stat about;
    int r = authority_stat(files, tool_name(call, index), &about, &why);

    if (r < 0)
        return change_refuse(err, r, given, &why);
    if (about.type == AUTHORITY_DIRECTORY)
        return change_fail(err, ERR_NOT_REGULAR_FILE, given, "is a directory; use list_files");
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
    /* Where it may be read: before the user is asked about a change that fails. */
    if (r == 0 && about.links > 1)
        r = ERR_HARDLINK_REJECTED;
    if (r < 0)
        return change_refuse(err, r, given, &why);
    encoding = encoding_guess(buf_view(out), true);
    if (encoding == ENCODING_BINARY)
        return change_fail(err, ERR_INVALID_UTF8, given,
                           "is a binary file and cannot be edited as text");
    if (encoding != ENCODING_UTF_8 && !encoding_is_wide(encoding) &&
        encoding_is_damaged_utf_8(buf_view(out)))
        return change_fail(err, ERR_INVALID_UTF8, given,
                           "is UTF-8 with bytes in it that are no characters, and cannot be edited "
                           "as text");
    r = encoding == ENCODING_UTF_8 ? 0 : decode(out, encoding);
    if (r == ERR_INVALID_UTF8)
        return change_fail(err, r, given, "is not valid %s and cannot be edited as text",
                           encoding_name(encoding));
    if (r < 0)
        return err_set_plain(err, r);
    *out_source = (struct change_source){about, encoding};
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

/* ---- for the audit log ---- */

static bool touches_sensitive(const struct tool_call *call)
{
    for (size_t i = 0; i < call->resource_count; i++)
        if (tool_is_by_path(call->box, call->resources[i].resolved, sensitive_is_path) ||
            tool_is_by_path(call->box, call->resources[i].given, sensitive_is_path))
            return true;
    return false;
}

/* Ends with a whole line. */
static struct str cut_lines(struct str text, size_t max_bytes)
{
    size_t len = max_bytes;

    if (text.len <= max_bytes)
        return text;
    while (len > 0 && text.ptr[len - 1] != '\n')
        len--;
    return len > 0 ? str_slice(text, 0, len) : utf8_cut(text, max_bytes);
}

static void show_harmless(struct tool_call *call, struct str diff)
{
    cleanup_buf struct buf text = BUF_INIT(TOOL_CHANGE_BYTES);
    struct str kept = cut_lines(diff, TOOL_CHANGE_BYTES - SHOWN_NOTE_BYTES);
    int r = buf_append_str(&text, kept);

    if (r == 0 && kept.len < diff.len)
        r = buf_append_str(&text, STR("… truncated here\n"));
    if (r < 0 || !arena_copy_str(&call->arena, buf_view(&text), &call->change))
        call->change = STR_EMPTY;
}

void change_show_diff(struct tool_call *call, struct str diff)
{
    if (!touches_sensitive(call))
        show_harmless(call, diff);
}

void change_show(struct tool_call *call, size_t index, struct str before, struct str after)
{
    cleanup_buf struct buf diff = BUF_INIT(4 * (size_t)SHOWN_AFTER_BYTES);
    const struct diff_options options = {
        .name = tool_name_in_diff(call->box, change_given(call, index))};

    if (before.len == 0)
        after = cut_lines(after, SHOWN_NEW_BYTES);
    if (after.len <= SHOWN_AFTER_BYTES && !str_eq(before, after) && !touches_sensitive(call) &&
        diff_unified(before, after, &options, &diff) == 0)
        show_harmless(call, buf_view(&diff));
}
