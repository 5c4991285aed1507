/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/toolresult.h"

#include "base/json.h"
#include "base/jsonwrite.h"
#include "protocol/resulttext.h"

enum { FAILURE_ARENA_BYTES = 8 << 20 }; /* of an error whose message is read */

#define TEXT_ARENA_BYTES ((size_t)1 << 31)

enum {
    RESULT_FRAME_BYTES = 256,    /* around the object, in both its forms */
    PLAIN_MAX_BYTES = 256 << 10, /* of an object that is also told as plain text */
};

/* The text as it is, or as a JSON string. */
static int write_result(struct buf *out, struct str text, bool is_quoted, struct str structured,
                        bool is_error)
{
    /* Escaping again makes it a little longer; reserving without using costs nothing. */
    size_t room = text.len + text.len / 4 + structured.len + RESULT_FRAME_BYTES;
    size_t before = out->len;
    struct json_writer w;
    int r = buf_reserve(out, room <= out->max - out->len ? room : out->max - out->len);

    if (r < 0)
        return r;
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("content"));
    json_begin_array(&w);
    json_begin_object(&w);
    json_key(&w, STR("type"));
    json_write_str(&w, STR("text"));
    json_key(&w, STR("text"));
    if (is_quoted)
        json_splice(&w, text);
    else
        json_write_str(&w, text);
    json_end_object(&w);
    json_end_array(&w);
    if (structured.len > 0) {
        json_key(&w, STR("structuredContent"));
        json_splice(&w, structured);
    }
    if (is_error) {
        json_key(&w, STR("isError"));
        json_write_bool(&w, true);
    }
    json_end_object(&w);
    r = json_writer_finish(&w);
    if (r < 0)
        out->len = before;
    return r;
}

int toolresult_write(struct buf *out, struct str text, struct str structured, bool is_error)
{
    return write_result(out, text, false, structured, is_error);
}

/* Parsing what was just written costs less than a second way to write it in every tool. */
static int write_text(struct str object, struct buf *text, bool *out_is_text)
{
    const struct json_limits limits = {JSON_MAX_BYTES, JSON_DEFAULT_MAX_DEPTH};
    cleanup_arena struct arena arena = ARENA_INIT(TEXT_ARENA_BYTES);
    const struct json_value *document;
    int r = json_parse(&arena, object, limits, &document, NULL);

    return r == 0 ? resulttext_write(document, text, out_is_text) : r;
}

/* Making and copying so much text takes longer than the rest of the call. */
static enum toolresult_form form_of(struct str object, enum toolresult_form wanted)
{
    return wanted == TOOLRESULT_BOTH && object.len > PLAIN_MAX_BYTES ? TOOLRESULT_JSON : wanted;
}

int toolresult_write_told(struct buf *out, struct str object, struct str quoted,
                          enum toolresult_form form)
{
    if (form_of(object, form) == TOOLRESULT_JSON)
        return write_result(out, object, false, object, false);
    return write_result(out, quoted, true, form != TOOLRESULT_TEXT ? object : STR_EMPTY, false);
}

int toolresult_write_object(struct buf *out, struct str object, enum toolresult_form form,
                            bool is_error)
{
    cleanup_buf struct buf text = BUF_INIT(out->max);
    bool is_text = false;
    int r = 0;

    form = form_of(object, form);
    if (form != TOOLRESULT_JSON && resulttext_may_be_text(object)) {
        r = buf_reserve(&text, object.len < out->max ? object.len : out->max);
        if (r == 0)
            r = write_text(object, &text, &is_text);
    }
    if (r < 0)
        return r;
    return toolresult_write(out, is_text ? buf_view(&text) : object,
                            form != TOOLRESULT_TEXT ? object : STR_EMPTY, is_error);
}

int toolresult_write_error(const struct err *err, enum toolresult_form form, struct buf *out)
{
    struct str message = str_from(err->message[0] != '\0' ? err->message : err_text(err->code));
    cleanup_buf struct buf object = BUF_INIT(ERR_MESSAGE_BYTES * 8);
    struct json_writer w;
    int r;

    /* No structuredContent: clients hold that against the schema of a result that went well. */
    if (form != TOOLRESULT_JSON)
        return toolresult_write(out, message, STR_EMPTY, true);
    json_writer_init(&w, &object);
    json_begin_object(&w);
    json_put_str_lossy(&w, STR("error"), message);
    json_end_object(&w);
    r = json_writer_finish(&w);
    return r == 0 ? toolresult_write(out, buf_view(&object), STR_EMPTY, true) : r;
}

/* Reads {"error": "..."}, or the exit code of a command, from the text of a result. */
static void read_object(const struct json_value *told, struct err *err)
{
    struct str text;
    int64_t exit_code;

    if (json_get_str(told, STR("error"), &text))
        err_set(err, ERR_TOOL_FAILED, "%.*s", STR_ARG(text));
    else if (json_get_int(told, STR("exitCode"), &exit_code))
        err_set(err, ERR_TOOL_FAILED, "exit code %jd", (intmax_t)exit_code);
}

/* A message is one line; the output of a command ends with a line that has its exit code. */
static void read_plain(struct str text, struct err *err)
{
    const struct str mark = STR("exitCode ");
    size_t at = str_find(text, mark);
    struct str rest = STR_EMPTY;
    int64_t exit_code;
    struct str number;

    for (size_t next = at; next != SIZE_MAX;) {
        rest = str_slice(text, at + mark.len, text.len);
        next = str_find(rest, mark);
        at += next != SIZE_MAX ? mark.len + next : 0;
    }
    number = str_slice(rest, 0, 0);
    while (number.len < rest.len && rest.ptr[number.len] >= '0' && rest.ptr[number.len] <= '9')
        number.len++;
    if (number.len > 0 && str_to_int64(number, &exit_code))
        err_set(err, ERR_TOOL_FAILED, "exit code %jd", (intmax_t)exit_code);
    else if (str_find(text, STR("\n")) == SIZE_MAX)
        err_set(err, ERR_TOOL_FAILED, "%.*s", STR_ARG(text));
}

static void read_words(struct arena *arena, const struct json_value *result, struct err *err)
{
    const struct json_value *structured = json_get(result, STR("structuredContent"));
    const struct json_value *content = json_get(result, STR("content"));
    const struct json_value *told;
    struct str text;

    if (structured != NULL) {
        read_object(structured, err);
        return;
    }
    if (content == NULL || content->type != JSON_ARRAY || content->size == 0)
        return;
    json_each_item (item, content) {
        if (!json_get_str(item, STR("text"), &text))
            return;
        if (json_parse(arena, text, JSON_LIMITS_DEFAULT, &told, NULL) == 0)
            read_object(told, err);
        else
            read_plain(text, err);
        return;
    }
}

/*
 * The mark is the last member of an error, and nothing that a client or a file said can end there.
 * So a result that went well, however long, need not be searched.
 */
bool toolresult_is_error(struct str result, struct err *out_err)
{
    const struct json_limits limits = {JSON_MAX_BYTES, JSON_DEFAULT_MAX_DEPTH};
    cleanup_arena struct arena arena = ARENA_INIT(FAILURE_ARENA_BYTES);
    const struct json_value *document;

    if (!str_ends_with(result, STR(",\"isError\":true}")))
        return false;
    err_set_plain(out_err, ERR_TOOL_FAILED);
    if (json_parse(&arena, result, limits, &document, NULL) == 0)
        read_words(&arena, document, out_err);
    return true;
}
