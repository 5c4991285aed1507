/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/toolresult.h"

#include "base/json.h"
#include "base/jsonwrite.h"

enum { FAILURE_BYTES = 64 << 10, FAILURE_ARENA_BYTES = 4 << 20 };

enum { RESULT_FRAME_BYTES = 256 }; /* around the object, in both its forms */

int toolresult_write(struct buf *out, struct str text, struct str structured, bool is_error)
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

int toolresult_write_error(const struct err *err, struct buf *out)
{
    cleanup_buf struct buf object = BUF_INIT(ERR_MESSAGE_BYTES * 8);
    struct json_writer w;
    int r;

    json_writer_init(&w, &object);
    json_begin_object(&w);
    json_key(&w, STR("error"));
    json_write_str_lossy(&w,
                         str_from(err->message[0] != '\0' ? err->message : err_text(err->code)));
    json_end_object(&w);
    r = json_writer_finish(&w);
    /* No structuredContent: clients hold that against the schema of a result that went well. */
    return r == 0 ? toolresult_write(out, buf_view(&object), STR_EMPTY, true) : r;
}

/* Reads {"error": "..."} from the text of a result. */
static void read_words(struct arena *arena, const struct json_value *result, struct err *err)
{
    const struct json_value *content = json_get(result, STR("content"));
    const struct json_value *told;
    struct str text;

    if (content == NULL || content->type != JSON_ARRAY || content->size == 0)
        return;
    json_each_item (item, content) {
        if (json_get_str(item, STR("text"), &text) &&
            json_parse(arena, text, JSON_LIMITS_DEFAULT, &told, NULL) == 0 &&
            json_get_str(told, STR("error"), &text))
            err_set(err, ERR_TOOL_FAILED, "%.*s", STR_ARG(text));
        return;
    }
}

/* Errors are short and marked; nothing else need be parsed. */
bool toolresult_is_error(struct str result, struct err *out_err)
{
    cleanup_arena struct arena arena = ARENA_INIT(FAILURE_ARENA_BYTES);
    const struct json_value *document;
    bool is_error = false;

    if (result.len > FAILURE_BYTES || str_find(result, STR("\"isError\":true")) == SIZE_MAX ||
        json_parse(&arena, result, JSON_LIMITS_DEFAULT, &document, NULL) < 0 ||
        !json_get_bool(document, STR("isError"), &is_error) || !is_error)
        return false;
    err_set_plain(out_err, ERR_TOOL_FAILED);
    read_words(&arena, document, out_err);
    return true;
}
