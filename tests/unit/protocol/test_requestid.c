/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "protocol/requestid.h"

/* The same however the message was cut. */
static void assert_id(struct str text, const char *wanted)
{
    for (size_t step = 1; step <= text.len; step++) {
        struct requestid scan;

        requestid_init(&scan);
        for (size_t at = 0; at < text.len; at += step)
            requestid_feed(&scan, str_slice(text, at, step));
        assert_true(str_eq_c(requestid_end(&scan), wanted));
    }
}

#define finds(text, wanted) assert_id(STR(text), wanted)
#define finds_none(text)    assert_id(STR(text), "")

static void an_id_is_found_wherever_it_stands(void **state)
{
    (void)state;
    finds("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}", "7");
    finds(" { \"method\" : \"ping\" , \"id\" : -7 } ", "-7");
    finds("{\"method\":\"tools/call\",\"params\":{\"a\":[{\"b\":1}]},\"id\":\"a b\"}", "\"a b\"");
    finds("{\"id\":\"\\u0041\\\"\\\\\",\"method\":\"x\"}", "\"A\\\"\\\\\"");
    finds("{\"id\":\"\",\"method\":\"x\"}", "\"\"");
}

static void what_the_parser_refuses_does_not_hide_it(void **state)
{
    static char deep[2000];
    size_t len = 0;

    (void)state;
    finds("{\"method\":\"x\",\"params\":{\"a\":\"\\ud800\"},\"id\":1}", "1");
    finds("{\"method\":\"x\",\"params\":{\"a\":\"\xff\x01\"},\"id\":1}", "1");
    finds("{\"method\":\"x\",\"params\":{\"a\":NaN,\"a\":+1,},\"id\":1}", "1");
    finds("{\"method\":\"\\ud800\",\"id\":1}", "1");
    finds("{\"method\":\"x\",\"id\":1,}", "1");
    finds("{\"method\":\"x\",\"id\":1} and more", "1");
    finds("{\"method\":\"x\",\"id\":1 \"params\":{}}", "1");
    finds("{\"id\":1,\"method\":\"x\",\"params\":{\"a\":\"cut o", "1");
    len += (size_t)snprintf(deep, sizeof(deep), "{\"method\":\"x\",\"params\":");
    memset(deep + len, '[', 400);
    memset(deep + len + 400, ']', 400);
    len += 800;
    len += (size_t)snprintf(deep + len, sizeof(deep) - len, ",\"id\":1}");
    assert_id((struct str){deep, len}, "1");
}

static void only_the_outermost_object_counts(void **state)
{
    (void)state;
    finds("{\"method\":\"x\",\"params\":{\"id\":2},\"id\":1}", "1");
    finds_none("{\"method\":\"x\",\"params\":{\"id\":2}}");
    finds_none("{\"method\":\"x\",\"params\":{\"a\":\"}\\\",\\\"id\\\":2\"}}");
    finds_none("{\"method\":\"x\",\"params\":\"\\\",\\\"id\\\":2,\\\"\"}");
    finds_none("{\"id\":1,\"params\":{\"method\":\"x\"}}");
    finds_none("[{\"id\":1,\"method\":\"x\"}]");
    finds_none("\"id\":1,\"method\":\"x\"");
    finds_none("");
}

static void who_does_not_wait_gets_no_id(void **state)
{
    (void)state;
    finds_none("{\"method\":\"notifications/x\",\"params\":\"\\ud800\"}");
    finds_none("{\"id\":1,\"result\":\"\\ud800\"}");
    finds_none("{\"id\":1,\"method\":7}");
    finds_none("{\"id\":1,\"method\":\"");
}

static void an_id_that_is_in_doubt_is_none(void **state)
{
    static char text[1000];

    (void)state;
    finds_none("{\"id\":1,\"id\":2,\"method\":\"x\"}");
    finds_none("{\"method\":\"x\",\"id\":12");
    finds_none("{\"method\":\"x\",\"id\":\"12");
    finds_none("{\"method\":\"x\",\"id\":null}");
    finds_none("{\"method\":\"x\",\"id\":1.5}");
    finds_none("{\"method\":\"x\",\"id\":[1]}");
    finds_none("{\"method\":\"x\",\"id\":\"\\ud800\"}");
    finds_none("{\"method\":\"x\",\"id\":\"\xff\"}");
    finds_none("{\"method\":\"x\",\"id\":\"\n\"}");
    finds_none("{\"method\":\"x\",\"id\":1x}");
    finds_none("{\"method\":\"x\",\"params\":[},\"id\":1}");
    finds_none("{\"method\":\"x\" \"id\":1}");
    finds_none("{\"method\":\"x\",\"id\" 1}");
    finds_none("{\"method\":\"x\",\"id\":}");
    finds_none("{\"method\":\"x\",id:1}");
    for (size_t bytes = JSONRPC_MAX_ID_BYTES - 2; bytes <= JSONRPC_MAX_ID_BYTES + 3; bytes++) {
        size_t len = (size_t)snprintf(text, sizeof(text), "{\"method\":\"x\",\"id\":\"");

        memset(text + len, 'a', bytes);
        len += bytes;
        len += (size_t)snprintf(text + len, sizeof(text) - len, "\"}");
        if (bytes > JSONRPC_MAX_ID_BYTES - 2) {
            assert_id((struct str){text, len}, "");
        } else {
            struct requestid scan;

            requestid_init(&scan);
            requestid_feed(&scan, (struct str){text, len});
            assert_int_equal(requestid_end(&scan).len, bytes + 2);
        }
    }
}

TEST_MAIN(cmocka_unit_test(an_id_is_found_wherever_it_stands),
          cmocka_unit_test(what_the_parser_refuses_does_not_hide_it),
          cmocka_unit_test(only_the_outermost_object_counts),
          cmocka_unit_test(who_does_not_wait_gets_no_id),
          cmocka_unit_test(an_id_that_is_in_doubt_is_none))
