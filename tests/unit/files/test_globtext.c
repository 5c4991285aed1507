/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "files/globtext.h"

enum { MAX_BYTES = 1000 };

static void assert_becomes(const char *given, const char *expected)
{
    cleanup_buf struct buf out = BUF_INIT(MAX_BYTES);
    struct err err = ERR_INIT;
    const char *text;

    if (globtext_rewrite(str_from(given), &out, &err) < 0)
        fail_msg("%s: %s", given, err.message);
    assert_int_equal(buf_terminate(&out, &text), 0);
    assert_string_equal(text, expected);
}

static void assert_refused(const char *given, const char *words)
{
    cleanup_buf struct buf out = BUF_INIT(MAX_BYTES);
    struct err err = ERR_INIT;

    assert_int_equal(globtext_rewrite(str_from(given), &out, &err), ERR_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, words));
}

static void the_authoritys_own_syntax_stays(void **state)
{
    static const char *const globs[] = {"*.ts", "src/**/*.ts", "{a,b/c}",   "a?c",       "/top",
                                        "**",   "\\[x\\]",     "a\\{1..3}", "(group)/x", "a,b"};

    (void)state;
    for (size_t i = 0; i < array_size(globs); i++)
        assert_becomes(globs[i], globs[i]);
}

static void slashes_and_dots_are_cleaned(void **state)
{
    (void)state;
    assert_becomes("./src/*.ts", "src/*.ts");
    assert_becomes("././src//./a", "src/a");
    assert_becomes("./*.ts", "/*.ts");
    assert_becomes("src/", "src/**");
    assert_becomes("./src/", "src/**");
    assert_becomes("src/.", "src/**");
    assert_becomes("/src/*.ts", "src/*.ts");
    assert_becomes("/a.ts", "/a.ts");
    assert_becomes("./", "**");
    assert_becomes("/", "**");
    assert_becomes(".", "**");
    assert_becomes(".github/**", ".github/**");
    assert_becomes("../x", "../x"); /* which the authority refuses */
}

static void parentheses_become_braces(void **state)
{
    (void)state;
    assert_becomes("@(a|b).ts", "{a,b}.ts");
    assert_becomes("src/@(a|b|c/d)", "src/{a,b,c/d}");
    assert_becomes("?(un)likely", "{,un}likely");
    assert_becomes("@(a|@(b|c))", "{a,{b,c}}");
    assert_becomes("@(a,b|c)", "{a\\,b,c}");
    assert_becomes("@(a", "@(a");
    assert_becomes("a|b", "a|b");
    assert_refused("+(a|b)", "+( is not supported");
    assert_refused("!(a)", "!( is not supported");
}

static void ranges_are_written_out(void **state)
{
    (void)state;
    assert_becomes("{a..c}", "{a,b,c}");
    assert_becomes("{3..1}.txt", "{3,2,1}.txt");
    assert_becomes("{08..10}", "{08,09,10}");
    assert_becomes("{-1..1}", "{-1,0,1}");
    assert_becomes("x/{a..b}/{1..2}", "x/{a,b}/{1,2}");
    assert_becomes("{a..bc}", "{a..bc}");
    assert_becomes("{,..}", "{,..}");
    assert_refused("{1..1000}", "more than 256");
    assert_refused("{-99999999999999999..99999999999999999}", "more than 256");
}

static void brackets_are_a_class_or_a_name(void **state)
{
    (void)state;
    assert_becomes("app/[slug]/*", "app/{\\[slug\\],[slug]}/*");
    assert_becomes("[a,b].ts", "{\\[a\\,b\\].ts,[a,b].ts}");
    assert_becomes("x,[ab]", "{x\\,\\[ab\\],x\\,[ab]}");
    assert_becomes("[!a]", "{\\[!a\\],[!a]}");
    assert_becomes("{[a],b}", "{{\\[a\\],b},{[a],b}}");
    assert_becomes("{[a]/x,b}", "{[a]/x,b}"); /* it spans a slash */
    assert_becomes("[open", "[open");
    assert_becomes("[[...slug]]", "{\\[\\[...slug\\]\\],[[...slug]\\]}");
}

static void only_plain_names_are_literal(void **state)
{
    (void)state;
    assert_true(globtext_is_literal(STR("src/a.ts")));
    assert_false(globtext_is_literal(STR("src/*.ts")));
    assert_false(globtext_is_literal(STR("src/[a]")));
    assert_false(globtext_is_literal(STR("src/@(a|b)")));
}

TEST_MAIN(cmocka_unit_test(the_authoritys_own_syntax_stays),
          cmocka_unit_test(slashes_and_dots_are_cleaned),
          cmocka_unit_test(parentheses_become_braces), cmocka_unit_test(ranges_are_written_out),
          cmocka_unit_test(brackets_are_a_class_or_a_name),
          cmocka_unit_test(only_plain_names_are_literal))
