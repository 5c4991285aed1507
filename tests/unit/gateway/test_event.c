/* SPDX-License-Identifier: Apache-2.0 */
/* The events of the stream, and the bodies of both sides. */
#include "test.h"

#include <stdio.h>

#include "base/err.h"
#include "base/jsonwrite.h"
#include "gateway/event.h"
#include "gateway/reply.h"

enum { ARENA_BYTES = 1 << 20, TEXT_BYTES = 32 << 20, LARGE_BYTES = 16 << 20 };

static struct gateway_event read_event(struct arena *arena, const char *data)
{
    struct gateway_event event;

    assert_int_equal(gateway_event_parse(arena, STR("message"), str_from(data), &event), 0);
    return event;
}

static void both_shapes_of_a_call_are_one_struct(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct gateway_event event;
    struct str path;

    (void)state;
    event =
        read_event(&arena, "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"gw_1\","
                           "\"toolCall\":{\"name\":\"read_file\",\"arguments\":{\"filePath\":"
                           "\"a\"}}}}");
    assert_int_equal(event.kind, GATEWAY_EVENT_CALL);
    assert_int_equal(event.call.shape, GATEWAY_SHAPE_RESULT);
    assert_str(event.call.id, "gw_1");
    assert_str(event.call.name, "read_file");
    assert_true(json_get_str(event.call.arguments, STR("filePath"), &path));
    assert_str(path, "a");
    assert_int_equal(event.call.agent.len, 0);

    /* What an agent writes into the arguments does not count. */
    event =
        read_event(&arena, "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"gw_1\","
                           "\"toolCall\":{\"name\":\"read_file\",\"arguments\":{\"agent\":"
                           "\"other\"},\"agent\":\"another\"},\"agent\":\"ci\"}}");
    assert_str(event.call.agent, "ci");
    event =
        read_event(&arena, "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"gw_1\","
                           "\"toolCall\":{\"name\":\"read_file\"},\"agent\":7}}");
    assert_int_equal(event.kind, GATEWAY_EVENT_CALL);
    assert_int_equal(event.call.agent.len, 0);

    event =
        read_event(&arena, "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"gw_2\","
                           "\"operation\":\"search-files\",\"args\":{\"query\":\"x\"}}}");
    assert_int_equal(event.kind, GATEWAY_EVENT_CALL);
    assert_int_equal(event.call.shape, GATEWAY_SHAPE_DATA);
    assert_str(event.call.name, "search_files");
    assert_true(json_get_str(event.call.arguments, STR("query"), &path));

    event =
        read_event(&arena, "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"gw_3\","
                           "\"operation\":\"new-one\"}}");
    assert_str(event.call.name, "new-one");
    assert_int_equal(event.call.arguments->type, JSON_OBJECT);
    assert_int_equal(event.call.arguments->size, 0);

    event = read_event(&arena, "{\"type\":\"gateway-disconnect\"}");
    assert_int_equal(event.kind, GATEWAY_EVENT_DISCONNECT);
}

static void what_is_not_understood_is_ignored(void **state)
{
    static const char *const texts[] = {
        "",
        "hello",
        "{",
        "[]",
        "null",
        "{\"type\":7}",
        "{\"type\":\"something-new\",\"payload\":{}}",
        "{\"type\":\"filesystem-request\"}",
        "{\"type\":\"filesystem-request\",\"payload\":[]}",
        "{\"type\":\"filesystem-request\",\"payload\":{\"toolCall\":{\"name\":\"x\"}}}",
        "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":7}}",
        "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"\"}}",
        "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"..\"}}",
        "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"a b\"}}",
        "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"a\\r\\nX: y\"}}",
        "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"\\u00e4\"}}",
        "{\"type\":\"gateway-disconnect\",\"type\":\"gateway-disconnect\"}",
    };
    struct gateway_event event;

    (void)state;
    for (size_t i = 0; i < array_size(texts); i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);

        event = read_event(&arena, texts[i]);
        if (event.kind != GATEWAY_EVENT_NONE)
            fail_msg("%s was understood", texts[i]);
    }
    /* A name makes it another kind of event. */
    assert_int_equal(
        gateway_event_parse(NULL, STR("ready"), STR("{\"type\":\"gateway-disconnect\"}"), &event),
        0);
    assert_int_equal(event.kind, GATEWAY_EVENT_NONE);
}

static void a_call_that_cannot_be_done_can_still_be_refused(void **state)
{
    static const char *const payloads[] = {
        "",
        ",\"toolCall\":7",
        ",\"toolCall\":{}",
        ",\"toolCall\":{\"name\":\"\"}",
        ",\"toolCall\":{\"name\":\"x\",\"arguments\":[]}",
        ",\"operation\":\"read-file\",\"args\":\"x\"",
    };

    (void)state;
    for (size_t i = 0; i < array_size(payloads); i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        char text[512];
        struct gateway_event event;

        snprintf(text, sizeof(text),
                 "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"gw_1\"%s}}",
                 payloads[i]);
        event = read_event(&arena, text);
        if (event.kind != GATEWAY_EVENT_BAD_CALL)
            fail_msg("%s was taken for %d", text, event.kind);
        assert_str(event.call.id, "gw_1");
        assert_int_equal(event.call.name.len, 0);
    }
}

/* Each in the place of the arguments, and whether the call's shape is n8n's. */
static void a_call_in_json_that_is_refused_can_still_be_refused(void **state)
{
    static const char *const payloads[] = {
        "\"requestId\":\"gw_1\",\"toolCall\":{\"name\":\"x\",\"arguments\":{\"a\":\"\\ud83d\"}}",
        "\"toolCall\":{\"a\":\"}\\\"{\",\"a\":[{\"requestId\":\"no\"}]},\"requestId\":\"gw_1\"",
        "\"toolCall\":nonsense , \"requestId\" : \"gw_1\" ",
        "\"requestId\":\"gw_1\",\"toolCall\":{\"text\":\"\xff\"}",
    };
    static const char *const ignored[] = {
        "\"requestId\":\"gw_1\",\"requestId\":\"gw_2\"",
        "\"requestId\":\"gw\\u005f1\",\"a\":x",
        "\"requestId\":7,\"a\":x",
        "\"a\":{\"requestId\":\"gw_1\"},\"b\":x",
        "\"requestId\":\"gw_1",
        "\"requestId",
        "\"requestId\":",
        "\"a\":x,",
        "",
    };
    static const char frame[] = "{\"type\":\"filesystem-request\",\"payload\":{%s%s";

    (void)state;
    for (size_t i = 0; i < array_size(payloads) + array_size(ignored); i++) {
        bool is_call = i < array_size(payloads);
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        char text[512];
        struct gateway_event event;

        snprintf(text, sizeof(text), frame,
                 is_call ? payloads[i] : ignored[i - array_size(payloads)], is_call ? "}}" : "");
        event = read_event(&arena, text);
        if (event.kind != (is_call ? GATEWAY_EVENT_BAD_CALL : GATEWAY_EVENT_NONE))
            fail_msg("%s was taken for %d", text, event.kind);
        if (!is_call)
            continue;
        assert_str(event.call.id, "gw_1");
        assert_int_equal(event.call.shape, GATEWAY_SHAPE_RESULT);
        assert_int_not_equal(event.why.code, 0);
    }
}

static void a_name_has_a_ceiling(void **state)
{
    (void)state;
    for (int len = GATEWAY_MAX_NAME_BYTES; len <= GATEWAY_MAX_NAME_BYTES + 1; len++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        char text[512];

        snprintf(text, sizeof(text),
                 "{\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"gw_1\","
                 "\"toolCall\":{\"name\":\"%0*d\"}}}",
                 len, 0);
        assert_int_equal(read_event(&arena, text).kind, len <= GATEWAY_MAX_NAME_BYTES
                                                            ? GATEWAY_EVENT_CALL
                                                            : GATEWAY_EVENT_BAD_CALL);
    }
}

static void init_gives_a_key_that_a_header_can_carry(void **state)
{
    static const struct {
        const char *body;
        int code;
        const char *key;
    } rows[] = {
        {"{\"data\":{\"ok\":true,\"sessionKey\":\"sess_1\"}}", 0, "sess_1"},
        {"{\"ok\":true,\"sessionKey\":\"sess_2\",\"more\":1}", 0, "sess_2"},
        {"{\"data\":{\"ok\":true}}", 0, ""},
        {"{\"ok\":true,\"sessionKey\":null}", 0, ""},
        {"{\"data\":{\"ok\":false}}", ERR_GATEWAY_ANSWER, ""},
        {"{\"data\":{}}", ERR_GATEWAY_ANSWER, ""},
        {"<html>", ERR_GATEWAY_ANSWER, ""},
        {"", ERR_GATEWAY_ANSWER, ""},
        {"{\"ok\":true,\"sessionKey\":7}", ERR_GATEWAY_ANSWER, ""},
        {"{\"ok\":true,\"sessionKey\":\"\"}", ERR_GATEWAY_ANSWER, ""},
        {"{\"ok\":true,\"sessionKey\":\"a\\r\\nX: y\"}", ERR_GATEWAY_ANSWER, ""},
        {"{\"ok\":true,\"sessionKey\":\"\\u00e4\"}", ERR_GATEWAY_ANSWER, ""},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        struct gateway_init_reply reply = {.key = SECRET_INIT};

        assert_int_equal(gateway_init_parse(str_from(rows[i].body), &reply), rows[i].code);
        assert_int_equal(reply.has_key, rows[i].key[0] != '\0');
        assert_true(str_eq_c(secret_reveal(&reply.key), rows[i].key));
        assert_false(reply.has_extensions);
    }
}

static void a_server_of_ours_says_so(void **state)
{
    static const char *const others[] = {
        "{\"ok\":true,\"extensions\":{\"gatehouse\":2}}",
        "{\"ok\":true,\"extensions\":{\"gatehouse\":\"1\"}}",
        "{\"ok\":true,\"extensions\":[1]}",
    };
    struct gateway_init_reply reply;

    (void)state;
    assert_int_equal(
        gateway_init_parse(
            STR("{\"data\":{\"ok\":true,\"extensions\":{\"gatehouse\":1,\"other\":2}}}"), &reply),
        0);
    assert_true(reply.has_extensions);
    for (size_t i = 0; i < array_size(others); i++) {
        assert_int_equal(gateway_init_parse(str_from(others[i]), &reply), 0);
        assert_false(reply.has_extensions);
    }
}

static void events_of_a_server_of_ours_are_read(void **state)
{
    static const struct {
        const char *data;
        enum gateway_event_kind kind;
        const char *id;
        const char *name;
    } rows[] = {
        {"{\"type\":\"gatehouse-query\",\"payload\":{\"requestId\":\"q\",\"query\":\"rules\"}}",
         GATEWAY_EVENT_QUERY, "q", "rules"},
        {"{\"type\":\"gatehouse-query\",\"payload\":{\"requestId\":\"q\",\"query\":\"rules\","
         "\"arguments\":[]}}",
         GATEWAY_EVENT_BAD_CALL, "q", ""},
        {"{\"type\":\"gatehouse-query\",\"payload\":{\"requestId\":\"q\"}}", GATEWAY_EVENT_BAD_CALL,
         "q", ""},
        {"{\"type\":\"gatehouse-cancel\",\"payload\":{\"requestId\":\"c\"}}", GATEWAY_EVENT_CANCEL,
         "c", ""},
        {"{\"type\":\"gatehouse-cancel\",\"payload\":{\"requestId\":\"\"}}", GATEWAY_EVENT_NONE, "",
         ""},
        {"{\"type\":\"gatehouse-decision\",\"payload\":{\"questionId\":\"7\",\"answer\":\"x\"}}",
         GATEWAY_EVENT_DECISION, "7", "x"},
        {"{\"type\":\"gatehouse-decision\",\"payload\":{\"questionId\":\"7\"}}", GATEWAY_EVENT_NONE,
         "", ""},
        {"{\"type\":\"gatehouse-other\",\"payload\":{\"requestId\":\"c\"}}", GATEWAY_EVENT_NONE, "",
         ""},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        cleanup_arena struct arena arena = ARENA_INIT(1 << 16);
        struct gateway_event event;

        assert_int_equal(
            gateway_event_parse(&arena, STR("message"), str_from(rows[i].data), &event), 0);
        assert_int_equal(event.kind, rows[i].kind);
        assert_true(str_eq_c(event.call.id, rows[i].id));
        assert_true(str_eq_c(event.call.name, rows[i].name));
    }
}

static void the_server_s_words_cannot_steer_a_terminal(void **state)
{
    const struct secret none = SECRET_INIT;
    char text[GATEWAY_ERROR_BYTES];
    char large[1000];

    (void)state;
    gateway_error_parse(STR("{\"code\":403,\"message\":\"Invalid \\u001b[31mAPI\\nkey\"}"), &none,
                        text);
    assert_string_equal(text, "Invalid \\x1b[31mAPI\\nkey");
    gateway_error_parse(STR("{\"error\":\"no\"}"), &none, text);
    assert_string_equal(text, "no");
    gateway_error_parse(STR("<html>"), &none, text);
    assert_string_equal(text, "");
    memset(large, 'a', sizeof(large));
    memcpy(large, "{\"message\":\"", 12);
    memcpy(large + sizeof(large) - 2, "\"}", 2);
    gateway_error_parse((struct str){large, sizeof(large)}, &none, text);
    assert_int_equal(strlen(text), GATEWAY_ERROR_BYTES - 1);
}

static void the_server_s_words_bring_no_key_back(void **state)
{
    struct secret key = SECRET_INIT;
    char text[GATEWAY_ERROR_BYTES];
    char body[400];

    (void)state;
    assert_int_equal(secret_set(&key, STR("zq8vN2static")), 0);
    gateway_error_parse(STR("{\"message\":\"zq8vN2static: no, zq8vN2static\"}"), &key, text);
    assert_string_equal(text, "[redacted]: no, [redacted]");
    gateway_error_parse(STR("{\"message\":\"what is gw_abcdefgh12345678?\"}"), &key, text);
    assert_string_equal(text, "what is gw_[redacted]?");
    /* Wherever it would be cut. */
    for (int before = GATEWAY_ERROR_BYTES - 24; before < GATEWAY_ERROR_BYTES; before++) {
        snprintf(body, sizeof(body), "{\"message\":\"%.*s zq8vN2static\"}", before,
                 "..............................................................................."
                 "................................................................................"
                 "....");
        gateway_error_parse(str_from(body), &key, text);
        assert_null(strstr(text, "zq"));
    }
    secret_done(&key);
}

static void answers_have_the_shape_of_their_call(void **state)
{
    static const struct {
        enum gateway_shape shape;
        const char *result;
        const char *body;
    } rows[] = {
        {GATEWAY_SHAPE_RESULT, "{\"content\":[]}", "{\"result\":{\"content\":[]}}"},
        {GATEWAY_SHAPE_DATA, "{\"content\":[],\"structuredContent\":{\"path\":\"a\",\"n\":1.50}}",
         "{\"data\":{\"path\":\"a\",\"n\":1.50}}"},
        {GATEWAY_SHAPE_DATA, "{\"content\":[{\"type\":\"text\",\"text\":\"tree\"}]}",
         "{\"data\":\"tree\"}"},
        {GATEWAY_SHAPE_DATA,
         "{\"content\":[{\"type\":\"text\",\"text\":\"{}\"}],\"structuredContent\":{\"error\":"
         "\"gone\"},\"isError\":true}",
         "{\"error\":\"gone\"}"},
        {GATEWAY_SHAPE_DATA,
         "{\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"why\"}],"
         "\"isError\":true}",
         "{\"error\":\"why\"}"},
        /* An error has its object in both forms, whoever wrote it. */
        {GATEWAY_SHAPE_RESULT,
         "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"error\\\":\\\"why\\\"}\"}],"
         "\"isError\":true}",
         "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"error\\\":\\\"why\\\"}\"}],"
         "\"isError\":true,\"structuredContent\":{\"error\":\"why\"}}}"},
        {GATEWAY_SHAPE_DATA,
         "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"error\\\":\\\"why\\\"}\"}],"
         "\"isError\":true}",
         "{\"error\":\"why\"}"},
        /* Not where there is one, nor where it is no error, nor where its text is none. */
        {GATEWAY_SHAPE_RESULT, "{\"isError\":true,\"structuredContent\":{\"exitCode\":1}}",
         "{\"result\":{\"isError\":true,\"structuredContent\":{\"exitCode\":1}}}"},
        {GATEWAY_SHAPE_RESULT,
         "{\"content\":[{\"type\":\"text\",\"text\":\"why\"}],\"isError\":true}",
         "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"why\"}],\"isError\":true}}"},
    };
    cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        buf_clear(&out);
        assert_int_equal(gateway_answer_write(rows[i].shape, str_from(rows[i].result), &out), 0);
        assert_true(str_eq_c(buf_view(&out), rows[i].body));
    }
    buf_clear(&out);
    assert_int_equal(gateway_answer_write(GATEWAY_SHAPE_DATA, STR("{"), &out), ERR_INVALID_JSON);
    assert_int_equal(out.len, 0);
    assert_int_equal(gateway_refusal_write(STR("bad \xff \"text\""), &out), 0);
    assert_str(buf_view(&out), "{\"error\":\"bad \xef\xbf\xbd \\\"text\\\"\"}");
}

static void an_answer_that_the_server_would_not_take_is_none(void **state)
{
    const size_t around = sizeof("{\"result\":\"\"}") - 1;
    cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf result = BUF_INIT(TEXT_BYTES);

    (void)state;
    assert_int_equal(buf_reserve(&result, LARGE_BYTES), 0);
    memset(result.data, 'a', LARGE_BYTES);
    result.len = LARGE_BYTES - around + 2;
    result.data[0] = '"';
    result.data[result.len - 1] = '"';
    assert_int_equal(gateway_answer_write(GATEWAY_SHAPE_RESULT, buf_view(&result), &out), 0);
    assert_int_equal(out.len, LARGE_BYTES);
    buf_clear(&out);
    result.data[result.len - 1] = 'a';
    result.data[result.len++] = '"';
    assert_int_equal(gateway_answer_write(GATEWAY_SHAPE_RESULT, buf_view(&result), &out),
                     ERR_TOO_LARGE);
    assert_int_equal(out.len, 0);
}

TEST_MAIN(cmocka_unit_test(both_shapes_of_a_call_are_one_struct),
          cmocka_unit_test(what_is_not_understood_is_ignored),
          cmocka_unit_test(a_call_that_cannot_be_done_can_still_be_refused),
          cmocka_unit_test(a_call_in_json_that_is_refused_can_still_be_refused),
          cmocka_unit_test(a_name_has_a_ceiling),
          cmocka_unit_test(init_gives_a_key_that_a_header_can_carry),
          cmocka_unit_test(a_server_of_ours_says_so),
          cmocka_unit_test(events_of_a_server_of_ours_are_read),
          cmocka_unit_test(the_server_s_words_cannot_steer_a_terminal),
          cmocka_unit_test(the_server_s_words_bring_no_key_back),
          cmocka_unit_test(answers_have_the_shape_of_their_call),
          cmocka_unit_test(an_answer_that_the_server_would_not_take_is_none))
