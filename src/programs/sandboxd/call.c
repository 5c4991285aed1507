/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/call.h"

#include <stdio.h>

#include "base/hex.h"
#include "base/rand.h"
#include "programs/sandboxd/daytona/error.h"

enum { MAX_DEPTH = 16, UUID_CHARS = 36 };

/* ---- what was sent ---- */

static bool is_dash(size_t at)
{
    return at == 8 || at == 13 || at == 18 || at == 23;
}

bool call_is_uuid(struct str text)
{
    if (text.len != UUID_CHARS)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (is_dash(i) ? text.ptr[i] != '-' : !hex_is_small(str_slice(text, i, 1)))
            return false;
    return true;
}

void call_make_uuid(char out_id[SANDBOXSTORE_ID_BYTES])
{
    unsigned char bytes[16];
    char digits[sizeof(bytes) * 2 + 1];
    size_t at = 0;

    rand_bytes(bytes, sizeof(bytes));
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* version 4: random */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    hex_text(digits, bytes, sizeof(bytes));
    for (size_t i = 0; i < UUID_CHARS; i++)
        out_id[i] = is_dash(i) ? '-' : digits[at++];
    out_id[UUID_CHARS] = '\0';
}

/* "a+b%20c" is "a b c". */
static bool decode_form(struct arena *arena, struct str encoded, struct str *out_text)
{
    char *text = arena_alloc(arena, encoded.len + 1);
    size_t len = 0;

    if (text == NULL)
        return false;
    while (encoded.len > 0) {
        bool is_plus = encoded.ptr[0] == '+';
        int byte = hex_take_percent(&encoded);

        if (byte < 0)
            return false;
        text[len++] = is_plus ? ' ' : (char)byte;
    }
    text[len] = '\0';
    *out_text = (struct str){text, len};
    return true;
}

bool call_query(const struct api_call *call, struct arena *arena, struct str name,
                struct str *out_value, int *out_error)
{
    struct str rest = call->request->query;
    struct str pair;
    bool is_found = false;

    while (str_cut(&rest, '&', &pair)) {
        struct str key = STR_EMPTY;
        struct str value;

        (void)str_cut(&pair, '=', &key);
        if (!decode_form(arena, key, &key) || !decode_form(arena, pair, &value)) {
            *out_error = ERR_INVALID_ARGUMENT;
            return false;
        }
        if (!str_eq(key, name))
            continue;
        if (is_found) { /* which of two should count? */
            *out_error = ERR_INVALID_ARGUMENT;
            return false;
        }
        *out_value = value;
        is_found = true;
    }
    return is_found;
}

int call_query_bool(const struct api_call *call, struct str name, bool fallback, bool *out_is_true)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct str value;
    int error = 0;

    if (!call_query(call, &arena, name, &value, &error)) {
        *out_is_true = fallback;
        return error;
    }
    if (!str_eq(value, STR("true")) && !str_eq(value, STR("false")))
        return ERR_INVALID_ARGUMENT;
    *out_is_true = value.len == 4;
    return 0;
}

const struct json_value *call_object(const struct api_call *call, struct arena *arena,
                                     bool may_be_empty)
{
    const struct json_limits limits = {CALL_ARENA_BYTES, MAX_DEPTH};
    struct str body = str_trim(call->request->body);
    const struct json_value *object = NULL;
    struct err err = ERR_INIT;
    char text[ERR_MESSAGE_BYTES + 64];

    if (body.len == 0 && may_be_empty)
        body = STR("{}");
    if (json_parse(arena, body, limits, &object, &err) < 0) {
        snprintf(text, sizeof(text), "the body is not valid JSON: %s", err.message);
        call_fail(call->exchange, 400, text);
        return NULL;
    }
    if (object->type != JSON_OBJECT) {
        call_fail(call->exchange, 400, "the body must be a JSON object");
        return NULL;
    }
    return object;
}

static const struct json_value *member(const struct json_value *object, struct str key)
{
    const struct json_value *value = json_get(object, key);

    return value == NULL || value->type == JSON_NULL ? NULL : value;
}

bool call_member_str(const struct json_value *object, struct str key, struct str *out_text)
{
    return member(object, key) == NULL || json_get_str(object, key, out_text);
}

bool call_member_bool(const struct json_value *object, struct str key, bool *out_is_true)
{
    return member(object, key) == NULL || json_get_bool(object, key, out_is_true);
}

bool call_member_int(const struct json_value *object, struct str key, int64_t *out_number)
{
    return member(object, key) == NULL || json_get_whole(object, key, out_number);
}

/* ---- answers ---- */

static void answer(struct exchange *exchange, int status, struct str json,
                   const struct http_field *fields, size_t field_count)
{
    exchange_answer(exchange, &(struct http_answer){.status = status,
                                                    .type = STR("application/json"),
                                                    .fields = fields,
                                                    .field_count = field_count,
                                                    .parts = &json,
                                                    .part_count = 1});
}

static int write_error(struct buf *out, int status, struct str text)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str_lossy(&json, STR("error"), text);
    json_put_int(&json, STR("code"), status);
    json_end_object(&json);
    return json_writer_finish(&json);
}

static void fail(struct exchange *exchange, int status, struct str text,
                 const struct http_field *fields, size_t field_count)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct str path = exchange_request(exchange)->path;
    int r = daytona_error_applies(path) ? daytona_error_write(&out, path, status, NULL, text)
                                        : write_error(&out, status, text);

    if (r < 0)
        exchange_answer_error(exchange, ERR_NO_MEMORY);
    else
        answer(exchange, status, buf_view(&out), fields, field_count);
}

int call_write_error(void *data, struct str path, int error, struct buf *out)
{
    (void)data;
    if (daytona_error_applies(path))
        return daytona_error_write(out, path, err_http_status(error), NULL,
                                   str_from(err_text(error)));
    return buf_printf(out, "{\"error\":\"%s\",\"code\":%d}", err_text(error),
                      err_http_status(error));
}

void call_fail(struct exchange *exchange, int status, const char *text)
{
    fail(exchange, status, str_from(text), NULL, 0);
}

void call_fail_err(struct exchange *exchange, const struct err *err)
{
    call_fail(exchange, err_http_status(err->code),
              err->message[0] != '\0' ? err->message : err_text(err->code));
}

void call_fail_restarted(struct exchange *exchange)
{
    const struct http_field field = {STR("X-Sandbox-Restarted"), STR("1")};

    fail(exchange, 409,
         STR("the sandbox was restarted: its files are kept, its processes are gone; try again"),
         &field, 1);
}

void call_answer_json(struct exchange *exchange, int status, struct str json)
{
    answer(exchange, status, json, NULL, 0);
}

void call_answer_written(struct exchange *exchange, int status, struct json_writer *json,
                         const struct buf *out)
{
    int r = json_writer_finish(json);

    if (r < 0)
        call_fail(exchange, 503, err_text(r));
    else
        call_answer_json(exchange, status, buf_view(out));
}

void call_answer_nothing(struct exchange *exchange)
{
    exchange_answer(exchange, &(struct http_answer){.status = 204});
}
