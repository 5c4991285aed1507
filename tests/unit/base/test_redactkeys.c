/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/err.h"
#include "base/redactkeys.h"

enum { ROOM = 1 << 20 };

/* Pieces of keys, so that no file of ours contains something of that shape. */
#define LETTERS "aB3dE5gH7jK9mN1pQ3sT"

static void becomes(const char *text, const char *expected)
{
    cleanup_buf struct buf out = BUF_INIT(ROOM);

    assert_int_equal(redact_keys(str_from(text), &out), 0);
    assert_int_equal(buf_append_char(&out, '\0'), 0);
    assert_string_equal(out.data, expected);
}

static void stays(const char *text)
{
    becomes(text, text);
}

static void keys_of_services_are_hidden(void **state)
{
    (void)state;
    becomes("my gh"
            "p_" LETTERS LETTERS ".",
            "my [REDACTED:github-token:1].");
    becomes("github"
            "_pat_" LETTERS "_" LETTERS,
            "[REDACTED:github-token:1]");
    becomes("gl"
            "pat-" LETTERS,
            "[REDACTED:gitlab-token:1]");
    becomes("(xo"
            "xb-123456789012-" LETTERS ")",
            "([REDACTED:slack-token:1])");
    becomes("key=s"
            "k-ant-" LETTERS LETTERS,
            "key=[REDACTED:api-key:1]");
    becomes("s"
            "k_live_" LETTERS,
            "[REDACTED:stripe-key:1]");
    becomes("AK"
            "IA1234567890ABCDEF",
            "[REDACTED:aws-key:1]");
    becomes("AI"
            "za" LETTERS "123456789012345",
            "[REDACTED:google-key:1]");
    becomes("g"
            "w_" LETTERS,
            "[REDACTED:gatehouse-key:1]");
    becomes("ey"
            "JhbGciOiJI.ey"
            "JzdWIiOiIx.c2lnbmF0dXJl, then",
            "[REDACTED:token:1], then");
    becomes("Authorization: Bearer " LETTERS, "Authorization: Bearer [REDACTED:token:1]");
    becomes("https://ann:hunter2@example.org/x", "https://ann:[REDACTED:password:1]@example.org/x");
}

static void the_same_key_has_the_same_number(void **state)
{
    (void)state;
    becomes("g"
            "w_" LETTERS " g"
            "w_other" LETTERS " g"
            "w_" LETTERS,
            "[REDACTED:gatehouse-key:1] [REDACTED:gatehouse-key:2] [REDACTED:gatehouse-key:1]");
}

static void words_stay(void **state)
{
    (void)state;
    stays("");
    stays("Password: must have 8 characters. Basic plan, cookies: yes, token: string");
    stays("Bearer of good news, bearer authentication-is-explained-below");
    stays("sk-learn-is-a-library-for-machine-learning task-force sk-12");
    stays("gw_config risk_assessment sess_ion sess_of_the_day_and_night");
    stays("AKIA ASIAN AKIA1234567890ABCDEF0 AIzawa eyJ.eyJ.x eyJhbGciOiJI.eyJz");
    stays("http://127.0.0.1:8080/a@b http://[::1]:80/ http://user@host:80/ see://x: a@b");
    stays("x"
          "AK"
          "IA1234567890ABCDEF"); /* inside another word */
    stays("-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----");
}

static void private_keys_are_hidden_as_a_whole(void **state)
{
    (void)state;
    becomes("a -----BEGIN RSA PRIVATE "
            "KEY-----\nMIIE+/=\n-----END RSA PRIVATE "
            "KEY----- b",
            "a [REDACTED:private-key:1] b");
    becomes("{\"k\":\"-----BEGIN PRIVATE "
            "KEY-----\\nMIIE\\\\nabc\\n-----END PRIVATE "
            "KEY-----\\n\"}",
            "{\"k\":\"[REDACTED:private-key:1]\\n\"}");
    /* One that is cut. */
    becomes("\"-----BEGIN PRIVATE "
            "KEY-----\\nMIIE\\\"x\"",
            "\"[REDACTED:private-key:1]\\\"x\"");
}

static void json_stays_json(void **state)
{
    (void)state;
    becomes("{\"a\":\"one\\ng"
            "w_" LETTERS "\\\"two\"}",
            "{\"a\":\"one\\n[REDACTED:gatehouse-key:1]\\\"two\"}");
    becomes("\"\\u003cg"
            "w_" LETTERS "\\u003e\"",
            "\"\\u003c[REDACTED:gatehouse-key:1]\\u003e\"");
    stays("\"http://a:b\\\"c@d\"");
}

static void many_keys_are_hidden_too(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(ROOM);
    cleanup_buf struct buf out = BUF_INIT(ROOM);

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(buf_printf(&text,
                                    "g"
                                    "w_" LETTERS "%d ",
                                    i),
                         0);
    assert_int_equal(redact_keys(buf_view(&text), &out), 0);
    assert_int_equal(str_find(buf_view(&out), STR(LETTERS)), SIZE_MAX);
    assert_true(str_find(buf_view(&out), STR("[REDACTED:gatehouse-key:64]")) != SIZE_MAX);
    assert_true(str_find(buf_view(&out), STR("[REDACTED:gatehouse-key:100]")) != SIZE_MAX);
}

static void a_full_buffer_is_an_error(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(10);

    (void)state;
    assert_int_equal(redact_keys(STR("longer than ten"), &out), ERR_TOO_LARGE);
}

TEST_MAIN(cmocka_unit_test(keys_of_services_are_hidden),
          cmocka_unit_test(the_same_key_has_the_same_number), cmocka_unit_test(words_stay),
          cmocka_unit_test(private_keys_are_hidden_as_a_whole), cmocka_unit_test(json_stays_json),
          cmocka_unit_test(many_keys_are_hidden_too), cmocka_unit_test(a_full_buffer_is_an_error))
