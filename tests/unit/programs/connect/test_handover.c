/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>

#include "programs/connect/handover.h"

enum { TEXT_BYTES = 16 << 10 };

#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define START  "{\"url\":\"https://n8n.example\",\"terms\":\"" DIGEST "\""

static void what_is_written_is_read_again(void **state)
{
    static const char *const urls[] = {"https://n8n.example", "http://127.0.0.1:5678/a/b",
                                       "https://[::1]:8443"};
    static const char *const tokens[] = {"", "gw_abc", "\"\\{}"};

    (void)state;
    for (size_t i = 0; i < array_size(urls); i++) {
        cleanup_with(saved_session_wipe) struct buf text = BUF_INIT(HANDOVER_MAX_BYTES);
        struct handover given = {.terms = DIGEST};
        struct handover got = {.token = SECRET_INIT};

        assert_int_equal(httpurl_parse(str_from(urls[i]), &given.url, NULL), 0);
        if (*tokens[i] != '\0')
            assert_int_equal(secret_set(&given.token, str_from(tokens[i])), 0);
        assert_int_equal(handover_format(&given, &text), 0);
        assert_int_equal(handover_parse(buf_view(&text), &got), 0);
        assert_true(httpurl_same_origin(&got.url, &given.url));
        assert_string_equal(got.url.path, given.url.path);
        assert_string_equal(got.terms, DIGEST);
        assert_int_equal(got.token.len, strlen(tokens[i]));
        assert_memory_equal(got.token.bytes, tokens[i], got.token.len);
    }
}

/* All that fits into a header of the gateway fits into a message. */
static void the_largest_fits(void **state)
{
    cleanup_with(saved_session_wipe) struct buf text = BUF_INIT(HANDOVER_MAX_BYTES);
    struct handover given = {.url = {.port = 443, .is_tls = true}, .terms = DIGEST};
    struct handover got = {.token = SECRET_INIT};

    (void)state;
    for (size_t i = 0; i < HTTPURL_HOST_BYTES - 1; i++)
        given.url.host[i] = i % 2 == 0 ? 'a' : '.';
    given.url.host[HTTPURL_HOST_BYTES - 2] = 'a';
    memset(given.url.path, 'p', HTTPURL_PATH_BYTES - 1);
    given.url.path[0] = '/';
    given.token.len = SECRET_MAX_BYTES;
    memset(given.token.bytes, '"', SECRET_MAX_BYTES);
    assert_int_equal(handover_format(&given, &text), 0);
    assert_int_equal(handover_parse(buf_view(&text), &got), 0);
    assert_int_equal(got.token.len, SECRET_MAX_BYTES);
    assert_string_equal(got.url.path, given.url.path);
}

static void anything_else_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "null",
        "{}",
        "{\"url\":\"https://n8n.example\"}",
        "{\"url\":\"file:///etc\",\"terms\":\"" DIGEST "\"}",
        "{\"url\":\"https://n8n.example\",\"terms\":\"" DIGEST "0\"}",
        "{\"url\":\"https://n8n.example\",\"terms\":\"x\"}",
        START ",\"token\":null}",
        START ",\"token\":\"\"}",
        START ",\"token\":\"a b\"}",
        START ",\"token\":\"a\\r\\nX: y\"}",
        START ",\"token\":\"\\u00e9\"}",
        START ",\"token\":\"a\",\"token\":\"b\"}",
        START "}x",
    };
    struct handover got = {.terms = "untouched"};
    char text[TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < array_size(texts); i++)
        if (handover_parse(str_from(texts[i]), &got) == 0)
            fail_msg("%s", texts[i]);
    snprintf(text, sizeof(text), START ",\"token\":\"%0*d\"}", SECRET_MAX_BYTES + 1, 1);
    assert_int_equal(handover_parse(str_from(text), &got), ERR_INVALID_ARGUMENT);
    snprintf(text, sizeof(text), START ",\"more\":\"%0*d\"}", HANDOVER_MAX_BYTES, 1);
    assert_true(handover_parse(str_from(text), &got) < 0);
    assert_string_equal(got.terms, "untouched");
}

static void answers_are_read_strictly(void **state)
{
    static const char *const bad[] = {
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n{",
        "HTTP/1.1 2000 OK\r\n\r\n{}",
        "HTTP/1.1 abc OK\r\n\r\n{}",
        "HTTP/1.0 200 OK\r\n\r\n{}",
    };
    struct handover_answer answer = {.pid = 7};

    (void)state;
    for (size_t i = 0; i < array_size(bad); i++)
        assert_int_equal(handover_parse_answer(str_from(bad[i]), &answer), ERR_HTTP_ANSWER);
    assert_int_equal(answer.pid, 7);
    assert_int_equal(
        handover_parse_answer(STR("HTTP/1.1 200 OK\r\n\r\n{\"status\":\"connected\"}"), &answer),
        0);
    assert_int_equal(answer.status, HANDOVER_GOOD);
    assert_string_equal(answer.words, "");
    assert_int_equal(
        handover_parse_answer(STR("HTTP/1.1 409 No\r\n\r\n{\"error\":\"a\\u001b\\nb\"}"), &answer),
        0);
    assert_int_equal(answer.status, HANDOVER_NOT_TAKEN);
    assert_string_equal(answer.words, "a  b");
}

TEST_MAIN(cmocka_unit_test(what_is_written_is_read_again), cmocka_unit_test(the_largest_fits),
          cmocka_unit_test(anything_else_is_refused), cmocka_unit_test(answers_are_read_strictly))
