/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is and what is not JSON, by example: each row a document that a lenient
 * reader somewhere accepts, or a strict one wrongly refuses.
 */
#include "test.h"

#include "base/json.h"

#define S STR_LITERAL

static const struct str refused[] = {
    /* nothing, or too much */
    S(""), S(" "), S("\n\n"), S("\xEF\xBB\xBF"), S("\xEF\xBB\xBF{}"), S("\xEF\xBB{}"),
    S("1 2"), S("{}{}"), S("[]]"), S("{}}"), S("[] x"), S("\"a\" \"b\""), S("null null"),
    S("[1]\0"), S("\0"), S("{}\0"), S("1\0"), S("[],"), S("{},"), S("[]#"), S("{}/**/"),
    S("{}//"), S("# a\n1"), S("/*c*/1"), S("1;"), S("--- 1"),
    /* words */
    S("nul"), S("nulll"), S("Null"), S("NULL"), S("tru"), S("truee"), S("True"), S("TRUE"),
    S("fals"), S("falsee"), S("False"), S("undefined"), S("NaN"), S("nan"), S("Infinity"),
    S("-Infinity"), S("inf"), S("-inf"), S("-NaN"), S("yes"), S("n"), S("t"), S("f"), S("a"),
    S("[nul]"), S("[tru, 1]"), S("truefalse"), S("[true false]"), S("'a'"), S("`a`"),
    /* numbers */
    S("-"), S("+"), S("+1"), S("++1"), S("--1"), S("-+1"), S("01"), S("-01"), S("00"), S("-00"),
    S("007"), S("0x10"), S("0X1F"), S("0b1"), S("0o7"), S("1."), S("-1."), S(".1"), S("-.1"),
    S("."), S("1..2"), S("1.2.3"), S("0.e1"), S("1.e1"), S("1e"), S("1E"), S("1e+"), S("1e-"),
    S("1e1.5"), S("1e1e1"), S("e1"), S("1eE2"), S("0e"), S("0e+"), S("1 000"), S("1,000"),
    S("1_000"), S("1a"), S("1f"), S("1L"), S("0.1f"), S("$1"), S("1%"), S("- 1"), S("1 e5"),
    S("1e 5"), S("1. 5"), S("[-]"), S("[1.]"), S("[.5]"), S("[01]"), S("[1e]"), S("[0x1]"),
    S("[+1]"), S("\xEF\xBC\x91"), S("\xD9\xA1"), S("1\xC2\xA0"), S("\xE2\x88\x92" "1"),
    /* strings */
    S("\""), S("\"a"), S("a\""), S("\"\\\""), S("\"\\"), S("\"\\\\"), S("\"\\a\""), S("\"\\'\""),
    S("\"\\0\""), S("\"\\x41\""), S("\"\\v\""), S("\"\\U0041\""), S("\"\\ \""), S("\"\\\n\""),
    S("\"\\N\""), S("\"\\u\""), S("\"\\u1\""), S("\"\\u12\""), S("\"\\u123\""), S("\"\\u123"),
    S("\"\\u123g\""), S("\"\\u 123\""), S("\"\\u+123\""), S("\"\\u-123\""), S("\"\\u{41}\""),
    S("\"\\uD800\""), S("\"\\uDBFF\""), S("\"\\uDC00\""), S("\"\\uDFFF\""), S("\"\\uD800x\""),
    S("\"\\uD800\\n\""), S("\"\\uD800\\u0041\""), S("\"\\uD800\\uD800\""), S("\"\\uDC00\\uD800\""),
    S("\"\\uD800\\u\""), S("\"\\uD800\\uDC0\""), S("\"\\uD800\\\""), S("\"\\uD83D\\uDE0\""),
    S("\"\\\xC3\xA4\""), S("\"\\u00\xC3\xA4\""),
    S("\"a\nb\""), S("\"a\tb\""), S("\"a\rb\""), S("\"a\0b\""), S("\"\x01\""), S("\"\x1F\""),
    S("\"0123456789abcdef\n\""), S("\"0123456789abcde\x1F\""),
    /* UTF-8 */
    S("\"\x80\""), S("\"\xBF\""), S("\"\xC0\xAF\""), S("\"\xC1\xBF\""), S("\"\xC3\""),
    S("\"\xC3(\""), S("\"\xE0\x9F\xBF\""), S("\"\xE2\x82\""), S("\"\xE2(\xA1\""),
    S("\"\xED\xA0\x80\""), S("\"\xED\xBF\xBF\""), S("\"\xED\xA0\xBD\xED\xB8\x80\""),
    S("\"\xF0\x8F\xBF\xBF\""), S("\"\xF4\x90\x80\x80\""), S("\"\xF5\x80\x80\x80\""),
    S("\"\xF8\x88\x80\x80\x80\""), S("\"\xFE\""), S("\"\xFF\""), S("\"\xF0\x9F\x98\""),
    S("{\"\xC0\x80\":1}"), S("[\"\\n\xFF\"]"), S("\xC3\xA4"), S("[\xE2\x82\xAC]"), S("\xFF"),
    S("\xFE\xFF\0\"\0a\0\""), S("\"\0a\0\"\0"), S("\"0123456789abcde\xFF\""),
    /* arrays */
    S("["), S("]"), S("[1"), S("[1,"), S("[1,]"), S("[,1]"), S("[,]"), S("[1,,2]"), S("[1 2]"),
    S("[1;2]"), S("[1:2]"), S("[\"a\":1]"), S("[1}"), S("[}"), S("[[]"), S("[[1]"), S("[1,\n"),
    S("[\"a\","), S("[1,2"), S("(1)"), S("<1>"), S("[1,2,,]"), S("[ , ]"), S("[...]"), S("[*]"),
    S("[a]"), S("['a']"), S("[\x0C]"), S("[\x0B" "1]"), S("[\xC2\xA0]"), S("[\xE2\x80\xA8]"),
    /* objects */
    S("{"), S("}"), S("{]"), S("{1}"), S("{\"a\"}"), S("{\"a\":}"), S("{\"a\":1"), S("{\"a\":1,"),
    S("{\"a\":1,}"), S("{,\"a\":1}"), S("{,}"), S("{\"a\":1,,\"b\":2}"), S("{\"a\" 1}"),
    S("{\"a\"::1}"), S("{\"a\":1 \"b\":2}"), S("{\"a\",1}"), S("{\"a\":1:2}"), S("{a:1}"),
    S("{'a':1}"), S("{1:1}"), S("{null:1}"), S("{true:1}"), S("{[]:1}"), S("{{}:1}"), S("{:1}"),
    S("{\"a\":1]"), S("{\"a\":1}}"), S("{\"a\":1;\"b\":2}"), S("{\"a\"=1}"), S("{\"a\"=>1}"),
    S("{\"a\":\"b\",}"), S("{\"a\":{}"), S("{\"a\":[}"), S("{\"a\":1,\"b\"}"), S("{\"a\":1,2}"),
    S("{\"a\":1,\"b\":}"), S("{\"a"), S("{\"a\\"), S("{\"a\":/**/1}"), S("{\"a\":1,//\n\"b\":2}"),
    S("{\"a\":NaN}"), S("{\"a\":+1}"), S("{\"a\":.5}"), S("{\"a\":'x'}"), S("{\"a\":b}"),
    S("{\"a\":1}#"), S("{\"__proto__\":1,\"__proto__\":2}"), S("{\"a\":\"\\uD800\"}"),
};

static const struct str accepted[] = {
    S("0"), S("-0"), S("-1"), S("1.5"), S("0.0"), S("-0.0"), S("0e0"), S("0E+1"), S("1e-999999"),
    S("1e999999"), S("123456789123456789123456789"), S("0.00000000000000000000000001"),
    S("1E5"), S("1e05"), S("true"), S("false"), S("null"), S(" \t\r\n1\t\r\n "), S("\"\""),
    S("\"\\u0000\""), S("\"\\u007f\""), S("\"\x7f\""), S("\"\\ufffe\""), S("\"\\uFFFF\""),
    S("\"\\uD834\\uDD1E\""), S("\"\\uDBFF\\uDFFF\""), S("\"\xF4\x8F\xBF\xBF\""),
    S("\"\xEF\xBF\xBE\""), S("\"\xE2\x80\xA8\xE2\x80\xA9\""), S("\"\xEF\xBB\xBF\""),
    S("\"/\""), S("\"\\/\""), S("\"'\""), S("\"//\""), S("\"/* */\""), S("\"\\\\u0041\""),
    S("\"\\u0022\""), S("\"\\u005C\""), S("[]"), S("[ ]"), S("[[[]]]"), S("[1,\n2]"), S("[ 1 , 2 ]"),
    S("[null,true,false,0,\"\",[],{}]"), S("{}"), S("{ }"), S("{\"\":0}"), S("{\"a\":{\"a\":1}}"),
    S("{ \"a\" : 1 , \"b\" : [ ] }"), S("{\"a\\u0000\":1,\"a\":2}"), S("{\"a\":1,\"A\":2}"),
    S("{\"\xC3\xA4\":1,\"a\xCC\x88\":2}"), S("{\"__proto__\":null}"), S("[1e1,1E1,1e+1,1e-1]"),
};

static int parse(struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct json_value *document = NULL;
    struct err err = ERR_INIT;
    int r = json_parse(&arena, text, JSON_LIMITS_DEFAULT, &document, &err);

    assert_int_equal(r < 0, document == NULL);
    if (r < 0)
        assert_true(err.message[0] != '\0');
    return r;
}

static void invalid_documents_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(refused); i++)
        if (parse(refused[i]) == 0)
            fail_msg("row %zu was accepted: %.*s", i, STR_ARG(refused[i]));
}

static void valid_documents_are_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(accepted); i++)
        if (parse(accepted[i]) != 0)
            fail_msg("row %zu was refused: %.*s", i, STR_ARG(accepted[i]));
}

TEST_MAIN(cmocka_unit_test(invalid_documents_are_refused),
          cmocka_unit_test(valid_documents_are_accepted))
