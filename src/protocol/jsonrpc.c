/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/jsonrpc.h"

#include "base/jsonwrite.h"

static int refuse_length(struct err *err)
{
    return err_set(err, ERR_INVALID_ARGUMENT, "the id is longer than %d bytes",
                   JSONRPC_MAX_ID_BYTES);
}

int jsonrpc_id_text(struct arena *arena, const struct json_value *value, struct str *out_text,
                    struct err *err)
{
    /* A byte takes six at most, and the writer likes some room. */
    cleanup_buf struct buf text = BUF_INIT(8 * (size_t)JSONRPC_MAX_ID_BYTES);
    struct json_writer writer;
    char *copy;
    int r;

    if (value->type != JSON_STRING && value->type != JSON_INT)
        return err_set(err, ERR_INVALID_ARGUMENT, "an id must be a string or an integer, not %s",
                       value->type == JSON_NUMBER ? "this number" : json_type_name(value->type));
    if (value->type == JSON_STRING && value->size > JSONRPC_MAX_ID_BYTES)
        return refuse_length(err);
    json_writer_init(&writer, &text);
    json_write_value(&writer, value);
    r = json_writer_finish(&writer);
    if (r < 0)
        return err_set_plain(err, r);
    if (text.len > JSONRPC_MAX_ID_BYTES)
        return refuse_length(err);
    copy = arena_copy(arena, buf_view(&text));
    if (copy == NULL)
        return err_set_plain(err, arena->error);
    *out_text = (struct str){copy, text.len};
    return 0;
}

static int read_call(const struct json_value *document, const struct json_value *method,
                     struct jsonrpc_message *message, struct err *err)
{
    const struct json_value *params = json_get(document, STR("params"));

    if (method->type != JSON_STRING || method->size == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "\"method\" is not a name");
    if (method->size > JSONRPC_MAX_METHOD_BYTES)
        return err_set(err, ERR_INVALID_ARGUMENT, "\"method\" is longer than %d bytes",
                       JSONRPC_MAX_METHOD_BYTES);
    if (params != NULL && params->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID_ARGUMENT, "\"params\" is not an object");
    message->kind = message->id.len > 0 ? JSONRPC_REQUEST : JSONRPC_NOTIFICATION;
    message->method = json_str(method);
    message->params = params;
    return 0;
}

static int read_response(const struct json_value *document, struct jsonrpc_message *message,
                         struct err *err)
{
    message->kind = JSONRPC_RESPONSE;
    message->result = json_get(document, STR("result"));
    message->error = json_get(document, STR("error"));
    if (message->result == NULL && message->error == NULL)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "neither a request (\"method\") nor a response (\"result\", \"error\")");
    if (message->result != NULL && message->error != NULL)
        return err_set(err, ERR_INVALID_ARGUMENT, "both \"result\" and \"error\"");
    if (message->error != NULL && message->error->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID_ARGUMENT, "\"error\" is not an object");
    if (message->result != NULL && message->id.len == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "a response without \"id\"");
    return 0;
}

int jsonrpc_read(struct arena *arena, const struct json_value *document,
                 struct jsonrpc_message *out_message, struct str *out_id, struct err *err)
{
    struct jsonrpc_message message = {.id = STR_EMPTY, .method = STR_EMPTY};
    const struct json_value *id = json_get(document, STR("id"));
    const struct json_value *method = json_get(document, STR("method"));
    struct str version;
    int r;

    *out_id = STR_EMPTY;
    if (document->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID_ARGUMENT, "a message must be an object, not %s",
                       json_type_name(document->type));
    /* An error that answers something unreadable carries no id, or null. */
    if (id != NULL && !(id->type == JSON_NULL && method == NULL)) {
        r = jsonrpc_id_text(arena, id, &message.id, err);
        if (r < 0)
            return r;
        *out_id = message.id;
    }
    if (!json_get_str(document, STR("jsonrpc"), &version) || !str_eq(version, STR("2.0")))
        return err_set(err, ERR_INVALID_ARGUMENT, "\"jsonrpc\" is not \"2.0\"");
    r = method != NULL ? read_call(document, method, &message, err)
                       : read_response(document, &message, err);
    if (r < 0)
        return r;
    *out_message = message;
    return 0;
}

/* Everything or nothing: a failed append must not leave half a message. */
static int finish(struct buf *out, size_t start, struct json_writer *writer)
{
    int r;

    json_end_object(writer);
    r = json_writer_finish(writer);
    if (r < 0)
        out->len = start;
    return r;
}

static void begin(struct json_writer *writer, struct buf *out, struct str id)
{
    json_writer_init(writer, out);
    json_begin_object(writer);
    json_key(writer, STR("jsonrpc"));
    json_write_str(writer, STR("2.0"));
    if (id.len > 0) {
        json_key(writer, STR("id"));
        json_splice(writer, id);
    }
}

static void splice_member(struct json_writer *writer, struct str key, struct str finished)
{
    if (finished.len == 0)
        return;
    json_key(writer, key);
    json_splice(writer, finished);
}

int jsonrpc_write_request(struct buf *out, struct str id, struct str method, struct str params)
{
    size_t start = out->len;
    struct json_writer writer;

    begin(&writer, out, id);
    json_key(&writer, STR("method"));
    json_write_str(&writer, method);
    splice_member(&writer, STR("params"), params);
    return finish(out, start, &writer);
}

int jsonrpc_write_error(struct buf *out, struct str id, int code, struct str message,
                        struct str data)
{
    size_t start = out->len;
    struct json_writer writer;

    begin(&writer, out, id);
    json_key(&writer, STR("error"));
    json_begin_object(&writer);
    json_key(&writer, STR("code"));
    json_write_int(&writer, code);
    json_key(&writer, STR("message"));
    json_write_str_lossy(&writer, message);
    splice_member(&writer, STR("data"), data);
    json_end_object(&writer);
    return finish(out, start, &writer);
}

int jsonrpc_write_err_data(struct buf *out, const struct err *err)
{
    size_t start = out->len;
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, STR("name"));
    json_write_str(&writer, str_from(err_name(err->code)));
    json_key(&writer, STR("category"));
    json_write_str(&writer, str_from(err_category_name(err_category(err->code))));
    if (err->field[0] != '\0') {
        json_key(&writer, STR("field"));
        json_write_str_lossy(&writer, str_from(err->field));
    }
    return finish(out, start, &writer);
}
