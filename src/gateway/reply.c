/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/reply.h"

#include "base/err.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/printable.h"
#include "base/redact.h"

enum {
    ARENA_FACTOR = 24, /* 16 bytes a value, and the shortest value takes two characters */
    MAX_REPLY_DEPTH = 16,
    MAX_ERROR_RESULT_BYTES = 64 << 10, /* errors are short */
};

static bool is_key(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= 0x20 || text.ptr[i] >= 0x7f)
            return false;
    return text.len > 0 && text.len <= SECRET_MAX_BYTES;
}

static const struct json_value *parse_reply(struct arena *arena, struct str body)
{
    const struct json_limits limits = {GATEWAY_MAX_REPLY_BYTES, MAX_REPLY_DEPTH};
    const struct json_value *document;

    return json_parse(arena, body, limits, &document, NULL) == 0 ? document : NULL;
}

/* Whether a body has the member, in this version. */
static bool has_extensions(const struct json_value *body)
{
    const struct json_value *extensions = json_get(body, STR(GATEWAY_EXTENSIONS));
    int64_t version = 0;

    return extensions != NULL && json_get_int(extensions, STR("gatehouse"), &version) &&
           version == 1;
}

int gateway_init_parse(struct str body, struct gateway_init_reply *out_reply)
{
    cleanup_arena struct arena arena = ARENA_INIT(GATEWAY_MAX_REPLY_BYTES * ARENA_FACTOR);
    const struct json_value *reply = parse_reply(&arena, body);
    const struct json_value *inner;
    const struct json_value *key;
    bool is_ok = false;
    int r;

    if (reply == NULL)
        return ERR_GATEWAY_ANSWER;
    inner = json_get(reply, STR("data"));
    if (inner != NULL)
        reply = inner;
    if (!json_get_bool(reply, STR("ok"), &is_ok) || !is_ok)
        return ERR_GATEWAY_ANSWER;
    key = json_get(reply, STR("sessionKey"));
    if (key != NULL && key->type != JSON_NULL &&
        (key->type != JSON_STRING || !is_key(json_str(key))))
        return ERR_GATEWAY_ANSWER;
    *out_reply = (struct gateway_init_reply){.has_extensions = has_extensions(reply)};
    if (key == NULL || key->type == JSON_NULL)
        return 0;
    r = secret_set(&out_reply->key, json_str(key));
    out_reply->has_key = r == 0;
    return r;
}

/* Must run before anything is cut: half of a key would not be recognised. */
static int hide_key(struct str text, const struct secret *key, struct buf *out)
{
    struct str known = secret_reveal(key); /* to find it, and nothing else */
    size_t at = known.len > 0 ? str_find(text, known) : SIZE_MAX;
    int r = 0;

    while (at != SIZE_MAX && r == 0) {
        r = buf_append_str(out, str_slice(text, 0, at));
        if (r == 0)
            r = buf_append_str(out, STR(REDACT_MARK));
        text = str_slice(text, at + known.len, text.len);
        at = str_find(text, known);
    }
    return r == 0 ? buf_append_str(out, text) : r;
}

void gateway_error_parse(struct str body, const struct secret *key,
                         char out_text[GATEWAY_ERROR_BYTES])
{
    cleanup_buf struct buf hidden = BUF_INIT(GATEWAY_MAX_REPLY_BYTES * sizeof(REDACT_MARK));
    cleanup_buf struct buf shown = BUF_INIT(GATEWAY_ERROR_BYTES);
    cleanup_arena struct arena arena = ARENA_INIT(GATEWAY_MAX_REPLY_BYTES * ARENA_FACTOR);
    const struct json_value *reply = parse_reply(&arena, body);
    struct str text = STR_EMPTY;
    size_t used;

    if (reply != NULL && !json_get_str(reply, STR("message"), &text))
        json_get_str(reply, STR("error"), &text);
    if (hide_key(text, key, &hidden) < 0 ||
        redact_cut(buf_view(&hidden), GATEWAY_ERROR_BYTES - 1, &shown, &used) < 0)
        buf_clear(&shown); /* rather no words than all of them */
    printable_cut(buf_view(&shown), PRINTABLE_ASCII, out_text,
                  GATEWAY_ERROR_BYTES - PRINTABLE_CUT_BYTES);
}

/* The text of the first block that has one. */
static struct str first_text(const struct json_value *result)
{
    const struct json_value *content = json_get(result, STR("content"));
    struct str text = STR_EMPTY;

    if (content == NULL)
        return text;
    json_each_item (block, content) {
        if (json_get_str(block, STR("text"), &text))
            break;
    }
    return text;
}

static int write_data(struct json_writer *writer, struct str result)
{
    const struct json_limits limits = {GATEWAY_MAX_ANSWER_BYTES, JSON_DEFAULT_MAX_DEPTH};
    cleanup_arena struct arena arena = ARENA_INIT((size_t)GATEWAY_MAX_ANSWER_BYTES * ARENA_FACTOR);
    const struct json_value *document;
    const struct json_value *structured;
    struct str words = STR_EMPTY;
    bool is_error = false;
    int r = json_parse(&arena, result, limits, &document, NULL);

    if (r < 0)
        return r == ERR_NO_MEMORY || r == ERR_TOO_LARGE ? r : ERR_INVALID_JSON;
    structured = json_get(document, STR("structuredContent"));
    json_get_bool(document, STR("isError"), &is_error);
    json_begin_object(writer);
    if (is_error) {
        if (structured == NULL || !json_get_str(structured, STR("error"), &words))
            words = first_text(document);
        json_key(writer, STR("error"));
        json_write_str(writer, words);
    } else {
        json_key(writer, STR("data"));
        if (structured != NULL)
            json_write_value(writer, structured);
        else
            json_write_str(writer, first_text(document));
    }
    json_end_object(writer);
    return 0;
}

static int finish(struct json_writer *writer, struct buf *text, size_t before)
{
    int r = json_writer_finish(writer);

    if (r == 0 && text->len - before > GATEWAY_MAX_ANSWER_BYTES)
        r = ERR_TOO_LARGE;
    if (r < 0)
        text->len = before;
    return r;
}

/*
 * The protocol has the object of an error in both forms; tools omit the second one, since other
 * clients validate it against the schema of successful results. False: nothing is missing.
 */
static bool complete_error(struct str result, struct buf *out)
{
    const struct json_limits limits = {MAX_ERROR_RESULT_BYTES, JSON_DEFAULT_MAX_DEPTH};
    cleanup_arena struct arena arena = ARENA_INIT((size_t)MAX_ERROR_RESULT_BYTES * ARENA_FACTOR);
    const struct json_value *document;
    const struct json_value *object;
    struct str text;
    struct str words;
    bool is_error = false;

    if (result.len > MAX_ERROR_RESULT_BYTES ||
        str_find(result, STR("\"isError\":true")) == SIZE_MAX ||
        json_parse(&arena, result, limits, &document, NULL) < 0 ||
        !json_get_bool(document, STR("isError"), &is_error) || !is_error ||
        json_get(document, STR("structuredContent")) != NULL)
        return false;
    text = first_text(document);
    if (json_parse(&arena, text, limits, &object, NULL) < 0 ||
        !json_get_str(object, STR("error"), &words))
        return false;
    /* It is an object with members: one more goes before its end. */
    result = str_trim(result);
    return buf_append_str(out, str_slice(result, 0, result.len - 1)) == 0 &&
           buf_append_str(out, STR(",\"structuredContent\":")) == 0 &&
           buf_append_str(out, text) == 0 && buf_append_char(out, '}') == 0;
}

int gateway_answer_write(enum gateway_shape shape, struct str result, struct buf *out)
{
    struct json_writer writer;
    cleanup_buf struct buf completed = BUF_INIT(3 * MAX_ERROR_RESULT_BYTES);
    size_t before = out->len;
    int r = 0;

    if (result.len > GATEWAY_MAX_ANSWER_BYTES)
        return ERR_TOO_LARGE;
    if (complete_error(result, &completed))
        result = buf_view(&completed);
    json_writer_init(&writer, out);
    switch (shape) {
    case GATEWAY_SHAPE_RESULT:
        json_begin_object(&writer);
        json_key(&writer, STR("result"));
        json_splice(&writer, result);
        json_end_object(&writer);
        break;
    case GATEWAY_SHAPE_DATA:
        r = write_data(&writer, result);
        break;
    }
    if (r < 0) {
        out->len = before;
        return r;
    }
    return finish(&writer, out, before);
}

int gateway_refusal_write(struct str text, struct buf *out)
{
    struct json_writer writer;
    size_t before = out->len;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, STR("error"));
    json_write_str_lossy(&writer, text);
    json_end_object(&writer);
    return finish(&writer, out, before);
}
