/* SPDX-License-Identifier: Apache-2.0 */
/* What the tools share: arguments, words, results. */
#include "tools/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { RESULT_FRAME_BYTES = 256 }; /* around the object, in both its forms */

int64_t tool_int(const struct tool_call *call, struct str key, int64_t fallback)
{
    const struct json_value *value = json_get(call->arguments, key);
    char text[64];
    double number;

    if (value == NULL)
        return fallback;
    if (value->type == JSON_INT)
        return value->integer;
    if (value->type != JSON_NUMBER)
        return fallback;
    if (value->size >= sizeof(text))
        return json_str(value).ptr[0] == '-' ? INT64_MIN : INT64_MAX;
    memcpy(text, value->text, value->size);
    text[value->size] = '\0';
    number = strtod(text, NULL);
    if (number >= 0x1p62)
        return INT64_MAX;
    return number <= -0x1p62 ? INT64_MIN : (int64_t)number;
}

void tool_report(const struct tool_call *call, uint64_t done, uint64_t total, const char *what)
{
    if (call->progress != NULL)
        call->progress(call->progress_data, done, total, what);
}

int tool_write_path(struct buf *out, struct str path)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("path"));
    json_write_str(&w, path);
    json_end_object(&w);
    return json_writer_finish(&w);
}

const char *tool_show(struct str name, char out_text[TOOL_SHOWN_BYTES])
{
    const size_t ellipsis = sizeof("…");
    struct str shown = utf8_cut(name, TOOL_SHOWN_BYTES - ellipsis);

    snprintf(out_text, TOOL_SHOWN_BYTES, "%.*s%s", STR_ARG(shown), shown.len < name.len ? "…" : "");
    return out_text;
}

int tool_write_result(struct buf *out, struct str text, struct str structured, bool is_error)
{
    /* Escaping once more makes it a little longer; what is reserved and not used costs nothing. */
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

int tool_write_error(const struct err *err, struct buf *out)
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
    /* Only as text: clients hold structuredContent against the schema of a result that went well.
     */
    return r == 0 ? tool_write_result(out, buf_view(&object), STR_EMPTY, true) : r;
}
