/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "protocol/jsonrpc.h"

enum { ARENA_BYTES = 1 << 20 };

static int read_text(struct arena *arena, struct str text, struct jsonrpc_message *message,
                     struct str *id, struct err *err)
{
    const struct json_value *document;

    assert_int_equal(json_parse(arena, text, JSON_LIMITS_DEFAULT, &document, NULL), 0);
    return jsonrpc_read(arena, document, message, id, err);
}

/* Refused, with these words; the id that the answer will carry. */
static void refuses(const char *text, const char *id, const char *message)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct jsonrpc_message untouched = {.method = STR("as before")};
    struct err err = ERR_INIT;
    struct str got_id;

    assert_int_equal(read_text(&arena, str_from(text), &untouched, &got_id, &err),
                     ERR_INVALID_ARGUMENT);
    assert_string_equal(err.message, message);
    assert_true(str_eq_c(got_id, id));
    assert_str(untouched.method, "as before");
}

static void the_three_kinds_are_told_apart(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct jsonrpc_message message;
    struct str id;

    (void)state;
    assert_int_equal(
        read_text(&arena,
                  STR("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":{\"a\":1}}"),
                  &message, &id, NULL),
        0);
    assert_int_equal(message.kind, JSONRPC_REQUEST);
    assert_str(message.id, "7");
    assert_str(id, "7");
    assert_str(message.method, "m");
    assert_int_equal(message.params->size, 1);

    assert_int_equal(read_text(&arena, STR("{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"more\":[]}"),
                               &message, &id, NULL),
                     0);
    assert_int_equal(message.kind, JSONRPC_NOTIFICATION);
    assert_int_equal(id.len, 0);
    assert_null(message.params);

    assert_int_equal(read_text(&arena, STR("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":null}"),
                               &message, &id, NULL),
                     0);
    assert_int_equal(message.kind, JSONRPC_RESPONSE);
    assert_str(message.id, "\"x\"");
    assert_int_equal(message.result->type, JSON_NULL);
    assert_null(message.error);

    assert_int_equal(read_text(&arena, STR("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}"),
                               &message, &id, NULL),
                     0);
    assert_int_equal(message.kind, JSONRPC_RESPONSE);
    assert_int_equal(message.id.len, 0);
    assert_null(message.result);
}

static void one_id_has_one_text(void **state)
{
    static const struct {
        const char *written;
        const char *text;
    } ids[] = {
        {"0", "0"},
        {"-1", "-1"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"\"\"", "\"\""},
        {"\"a\"", "\"a\""},
        {"\"\\u0061\"", "\"a\""},
        {"\"\\/\"", "\"/\""},
        {"\"1\"", "\"1\""},
        {"\"\\u0000\"", "\"\\u0000\""},
    };

    (void)state;
    for (size_t i = 0; i < array_size(ids); i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        const struct json_value *value;
        struct str text;

        assert_int_equal(
            json_parse(&arena, str_from(ids[i].written), JSON_LIMITS_DEFAULT, &value, NULL), 0);
        assert_int_equal(jsonrpc_id_text(&arena, value, &text, NULL), 0);
        assert_true(str_eq_c(text, ids[i].text));
    }
}

static void other_ids_are_refused(void **state)
{
    static const char *const ids[][2] = {
        {"null", "an id must be a string or an integer, not null"},
        {"true", "an id must be a string or an integer, not boolean"},
        {"[1]", "an id must be a string or an integer, not array"},
        {"{}", "an id must be a string or an integer, not object"},
        {"1.5", "an id must be a string or an integer, not this number"},
        {"1.0", "an id must be a string or an integer, not this number"},
        {"1e3", "an id must be a string or an integer, not this number"},
        {"-0", "an id must be a string or an integer, not this number"},
        {"9223372036854775808", "an id must be a string or an integer, not this number"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(ids); i++) {
        char text[128];

        snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"m\"}", ids[i][0]);
        refuses(text, "", ids[i][1]);
    }
}

static void an_id_has_at_most_256_bytes_as_text(void **state)
{
    (void)state;
    for (size_t len = 253; len <= 256; len++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        char bytes[256];
        struct json_value value = {.type = JSON_STRING, .size = (uint32_t)len, .text = bytes};
        struct str text = STR("untouched");
        int r;

        memset(bytes, 'x', sizeof(bytes));
        r = jsonrpc_id_text(&arena, &value, &text, NULL);
        if (len <= 254) {
            assert_int_equal(r, 0);
            assert_int_equal(text.len, len + 2);
        } else {
            assert_int_equal(r, ERR_INVALID_ARGUMENT);
            assert_str(text, "untouched");
        }
    }
}

static void what_is_no_message_is_refused_with_its_id(void **state)
{
    (void)state;
    refuses("[]", "", "a message must be an object, not array");
    refuses("\"x\"", "", "a message must be an object, not string");
    refuses("{\"id\":1,\"method\":\"m\"}", "1", "\"jsonrpc\" is not \"2.0\"");
    refuses("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", "1", "\"jsonrpc\" is not \"2.0\"");
    refuses("{\"jsonrpc\":\"2.0 \",\"id\":1,\"method\":\"m\"}", "1", "\"jsonrpc\" is not \"2.0\"");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", "1", "\"method\" is not a name");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", "1", "\"method\" is not a name");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\",\"params\":[1]}", "\"a\"",
            "\"params\" is not an object");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":null}", "1",
            "\"params\" is not an object");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1}", "1",
            "neither a request (\"method\") nor a response (\"result\", \"error\")");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}", "1",
            "both \"result\" and \"error\"");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}", "1", "\"error\" is not an object");
    refuses("{\"jsonrpc\":\"2.0\",\"result\":1}", "", "a response without \"id\"");
}

static void a_method_has_at_most_256_bytes(void **state)
{
    char name[258];
    char text[400];

    (void)state;
    memset(name, 'm', sizeof(name));
    name[257] = '\0';
    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"}", name);
    refuses(text, "1", "\"method\" is longer than 256 bytes");
}

static void messages_are_written_byte_by_byte(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(4096);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(jsonrpc_write_request(&out, STR("\"r\""), STR("m"), STR("{\"a\":1}")), 0);
    assert_str(buf_view(&out),
               "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"m\",\"params\":{\"a\":1}}");
    buf_clear(&out);
    assert_int_equal(jsonrpc_write_request(&out, STR_EMPTY, STR("n"), STR_EMPTY), 0);
    assert_str(buf_view(&out), "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}");
    buf_clear(&out);
    assert_int_equal(jsonrpc_write_error(&out, STR("1"), -32600, STR("a \"b\"\xFF"), STR("{}")), 0);
    assert_str(buf_view(&out), "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,"
                               "\"message\":\"a \\\"b\\\"\xEF\xBF\xBD\",\"data\":{}}}");
    buf_clear(&out);
    assert_int_equal(jsonrpc_write_error(&out, STR_EMPTY, -32700, STR("x"), STR_EMPTY), 0);
    assert_str(buf_view(&out),
               "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"x\"}}");
    buf_clear(&out);
    err_set_field(&err, ERR_NOT_FOUND, "path", "gone");
    assert_int_equal(jsonrpc_write_err_data(&out, &err), 0);
    assert_str(buf_view(&out),
               "{\"name\":\"not_found\",\"category\":\"operational\",\"field\":\"path\"}");
}

static void a_message_that_does_not_fit_leaves_nothing_behind(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(40);

    (void)state;
    assert_int_equal(buf_append_str(&out, STR("before")), 0);
    assert_int_equal(
        jsonrpc_write_request(&out, STR("1"), STR("m"), STR("{\"a\":\"much too long\"}")),
        ERR_TOO_LARGE);
    assert_str(buf_view(&out), "before");
}

TEST_MAIN(cmocka_unit_test(the_three_kinds_are_told_apart), cmocka_unit_test(one_id_has_one_text),
          cmocka_unit_test(other_ids_are_refused),
          cmocka_unit_test(an_id_has_at_most_256_bytes_as_text),
          cmocka_unit_test(what_is_no_message_is_refused_with_its_id),
          cmocka_unit_test(a_method_has_at_most_256_bytes),
          cmocka_unit_test(messages_are_written_byte_by_byte),
          cmocka_unit_test(a_message_that_does_not_fit_leaves_nothing_behind))
