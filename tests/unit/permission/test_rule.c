/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "draw.h"
#include "permission/rules/rule.h"

enum { ARENA_BYTES = 1 << 20, TEXT_BYTES = 8192 };

static struct arena arena = ARENA_INIT(ARENA_BYTES);

static int reset(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static void check(enum catalog_group group, const char *text, enum rule_kind kind,
                  const char *pattern)
{
    struct err err = ERR_INIT;
    struct rule rule;

    if (rule_parse(&arena, group, str_from(text), &rule, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    if (rule.kind != kind || !str_eq_c(rule.pattern, pattern) || rule.group != group ||
        rule.effect != RULE_ALLOW || rule.cwd.len != 0 || rule.expires_ms != 0 ||
        rule.note.len != 0)
        fail_msg("%s: kind %d, %.*s", text, rule.kind, STR_ARG(rule.pattern));
}

static void check_refused(enum catalog_group group, struct str text, const char *words)
{
    struct err err = ERR_INIT;
    struct rule rule = {.kind = RULE_DIR};

    if (rule_parse(&arena, group, text, &rule, &err) != ERR_INVALID_ARGUMENT ||
        strstr(err.message, words) == NULL || rule.kind != RULE_DIR)
        fail_msg("%.*s: %s", STR_ARG(text), err.message);
}

static void markers_say_what_a_pattern_is(void **state)
{
    (void)state;
    check(CATALOG_FILESYSTEM_READ, "/home/bob/*", RULE_EXACT, "/home/bob/*");
    check(CATALOG_FILESYSTEM_READ, "exact:/home/bob", RULE_EXACT, "/home/bob");
    check(CATALOG_FILESYSTEM_WRITE, "dir:/home/bob", RULE_DIR, "/home/bob");
    check(CATALOG_FILESYSTEM_WRITE, "dir:/", RULE_DIR, "/");
    check(CATALOG_FILESYSTEM_WRITE, "glob:**/.env", RULE_GLOB, "**/.env");
    check(CATALOG_FILESYSTEM_WRITE, "glob:*.{pem,key}", RULE_GLOB, "*.{pem,key}");
    check(CATALOG_SHELL, "git push *", RULE_EXACT, "git push *");
    check(CATALOG_SHELL, "exact:prefix:x", RULE_EXACT, "prefix:x");
    check(CATALOG_SHELL, "exact:exact:x", RULE_EXACT, "exact:x");
    check(CATALOG_SHELL, "prefix:git status", RULE_PREFIX, "git status");
    check(CATALOG_SHELL, "prefix:printf", RULE_PREFIX, "printf");
    check(CATALOG_SHELL, "prefix:[", RULE_PREFIX, "[");
    check(CATALOG_SHELL, "prefix:test -f", RULE_PREFIX, "test -f");
    check(CATALOG_BROWSER, "github.com", RULE_EXACT, "github.com");
    check(CATALOG_BROWSER, "host:*.github.com", RULE_HOST, "*.github.com");
    check(CATALOG_BROWSER, "host:*", RULE_HOST, "*");
    check(CATALOG_BROWSER, "*", RULE_EXACT, "*");
    check(CATALOG_COMPUTER, "*", RULE_EXACT, "*");
    check(CATALOG_COMPUTER, "screenshot", RULE_EXACT, "screenshot");
}

static void patterns_get_one_form(void **state)
{
    (void)state;
    check(CATALOG_FILESYSTEM_READ, "dir:/home//bob/./src/", RULE_DIR, "/home/bob/src");
    check(CATALOG_FILESYSTEM_READ, "/home/bob/", RULE_EXACT, "/home/bob");
    check(CATALOG_SHELL, "prefix:  git \t status ", RULE_PREFIX, "git status");
    check(CATALOG_BROWSER, "host:*.GitHub.com.", RULE_HOST, "*.github.com");
    check(CATALOG_BROWSER, "host:0x7f.1", RULE_HOST, "127.0.0.1");
    check(CATALOG_BROWSER, "host:::1", RULE_HOST, "[::1]");
    /* A command is what it is. */
    check(CATALOG_SHELL, " a  b ", RULE_EXACT, " a  b ");
    check(CATALOG_SHELL, "a\tb\x01\n", RULE_EXACT, "a\tb\x01\n");
    check(CATALOG_FILESYSTEM_READ, "/a\x1b[31m\n b", RULE_EXACT, "/a\x1b[31m\n b");
}

static void what_would_hold_for_nothing_is_refused(void **state)
{
    static char long_text[RULE_PATTERN_MAX_BYTES + 8];

    (void)state;
    check_refused(CATALOG_SHELL, STR(""), "is empty");
    check_refused(CATALOG_SHELL, STR("prefix:"), "is empty");
    check_refused(CATALOG_SHELL, STR("prefix: "), "plain words");
    check_refused(CATALOG_SHELL, STR("prefix:''"), "plain words");
    check_refused(CATALOG_SHELL, STR("prefix:git; rm"), "plain words");
    check_refused(CATALOG_SHELL, STR("prefix:git\nrm"), "plain words");
    check_refused(CATALOG_SHELL, STR("prefix:(git)"), "plain words");
    check_refused(CATALOG_SHELL, STR("prefix:ls $[1]"), "bash may evaluate");
    check_refused(CATALOG_SHELL, STR("prefix:printf -v a[0]"), "bash may evaluate");
    check_refused(CATALOG_SHELL, STR("prefix:test -v $'a'"), "bash may evaluate");
    check_refused(CATALOG_SHELL, STR("Prefix:git"), "lower case");
    check_refused(CATALOG_SHELL, STR("dir:/x"), "dir: does not apply to the group shell");
    check_refused(CATALOG_SHELL, STR("dir:/x"), "exact: prefix:");
    check_refused(CATALOG_SHELL, STR("a\0b"), "NUL");
    check_refused(CATALOG_SHELL, STR("a\xff"), "UTF-8");
    check_refused(CATALOG_FILESYSTEM_READ, STR("src"), "absolute");
    check_refused(CATALOG_FILESYSTEM_READ, STR("dir:~/src"), "absolute");
    check_refused(CATALOG_FILESYSTEM_READ, STR("dir:/a/../b"), "\"..\"");
    check_refused(CATALOG_FILESYSTEM_READ, STR("/a/.."), "\"..\"");
    check_refused(CATALOG_FILESYSTEM_READ, STR("glob:src/*.c"), "must begin with");
    check_refused(CATALOG_FILESYSTEM_READ, STR("glob:{a,b/c}"), "must begin with");
    check_refused(CATALOG_FILESYSTEM_READ, STR("glob:/a/["), "never closed");
    check_refused(CATALOG_FILESYSTEM_READ, STR("GLOB:/a"), "lower case");
    check_refused(CATALOG_FILESYSTEM_READ, STR("host:x"), "does not apply to the group");
    check_refused(CATALOG_BROWSER, STR("host:*example.com"), "first label");
    check_refused(CATALOG_BROWSER, STR("*.example.com"), "first label");
    check_refused(CATALOG_BROWSER, STR("host:a.*.com"), "not a host");
    check_refused(CATALOG_BROWSER, STR("host:example.com:443"), "port");
    check_refused(CATALOG_BROWSER, STR("host:[::1]:443"), "port");
    check_refused(CATALOG_BROWSER, STR("host:*.0.0.1"), "address");
    check_refused(CATALOG_BROWSER, STR("host:m\xc3\xbcnchen.de"), "xn--");
    check_refused(CATALOG_BROWSER, STR("host:example.com/x"), "not a host");
    check_refused(CATALOG_COMPUTER, STR("screen"), "mouse-keyboard");

    memset(long_text, 'a', sizeof(long_text));
    check_refused(CATALOG_SHELL, (struct str){long_text, RULE_PATTERN_MAX_BYTES + 1}, "4096");
}

static void assert_formatted(const struct rule *rule, const char *expected)
{
    cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);

    assert_int_equal(rule_format(rule, &out), 0);
    if (!str_eq_c(buf_view(&out), expected))
        fail_msg("%s: %.*s", expected, STR_ARG(buf_view(&out)));
}

static void what_a_prompt_saves_is_literal(void **state)
{
    static const char *const commands[] = {
        "exact:a", "glob:a", "dir:a",    "prefix:git", "host:x", "Prefix:git", "EXACT:",
        "*",       "a *",    "exact: b", "plain",      "exact",  "regex:x",
    };

    (void)state;
    for (size_t i = 0; i < array_size(commands); i++) {
        cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
        struct rule rule = {.group = CATALOG_SHELL, .pattern = str_from(commands[i])};
        struct rule again;

        assert_int_equal(rule_format(&rule, &out), 0);
        assert_int_equal(rule_parse(&arena, CATALOG_SHELL, buf_view(&out), &again, NULL), 0);
        assert_int_equal(again.kind, RULE_EXACT);
        assert_true(str_eq(again.pattern, rule.pattern));
    }
    assert_formatted(&(struct rule){.group = CATALOG_SHELL, .pattern = STR("a *")}, "a *");
    assert_formatted(&(struct rule){.group = CATALOG_SHELL, .pattern = STR("exact:a")},
                     "exact:exact:a");
    assert_formatted(&(struct rule){.kind = RULE_DIR, .pattern = STR("/a")}, "dir:/a");
}

static void a_name_that_is_no_text_is_not_stored(void **state)
{
    struct rule rule = {.pattern = STR("/a\xff")};
    cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(rule_check(&rule, &err), ERR_INVALID_UTF8);
    assert_non_null(strstr(err.message, "allow it for the session"));
    assert_int_equal(rule_format(&rule, &out), ERR_INVALID_UTF8);
    assert_int_equal(out.len, 0);
}

static void all_parts_are_checked(void **state)
{
    static char note[RULE_NOTE_MAX_BYTES + 1];
    struct rule rule = {.group = CATALOG_SHELL, .pattern = STR("make"), .cwd = STR("/a/b/")};
    struct rule normal;

    (void)state;
    assert_int_equal(rule_check(&rule, NULL), 0);
    assert_int_equal(rule_normalise(&arena, &rule, &normal, NULL), 0);
    assert_str(normal.cwd, "/a/b");
    rule.cwd = STR("a");
    assert_int_equal(rule_check(&rule, NULL), ERR_INVALID_ARGUMENT);
    rule.cwd = STR("/a/../b");
    assert_int_equal(rule_check(&rule, NULL), ERR_INVALID_ARGUMENT);
    rule = (struct rule){.group = CATALOG_BROWSER, .pattern = STR("a.de"), .cwd = STR("/a")};
    assert_int_equal(rule_check(&rule, NULL), ERR_INVALID_ARGUMENT);
    memset(note, 'n', sizeof(note));
    rule = (struct rule){.pattern = STR("/a"), .note = {note, sizeof(note)}};
    assert_int_equal(rule_check(&rule, NULL), ERR_INVALID_ARGUMENT);
    rule.note.len--;
    assert_int_equal(rule_check(&rule, NULL), 0);
}

static void generated_rules_come_back_from_their_text(void **state)
{
    static const char *const pieces[] = {
        "exact:", "dir:",     "glob:", "prefix:", "host:", "/",  "/",    "a",     "b",   ".", "..",
        "*",      "**/",      " ",     "\t",      "\n",    "A",  "{",    "}",     ",",   "[", "]:",
        ":",      "\xc3\xa9", "1",     "'",       "com",   "*.", "\x1b", "Host:", "0x7", ";",
    };
    size_t parsed = 0;

    (void)state;
    draw_seed = 88172645463325252U;
    for (size_t i = 0; i < 200000; i++) {
        cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
        enum catalog_group group = (enum catalog_group)draw(CATALOG_BROWSER + 1);
        char text[64];
        struct str given = draw_text(text, 6, pieces, array_size(pieces));
        struct rule rule, again;

        arena_reset(&arena);
        if (rule_parse(&arena, group, given, &rule, NULL) < 0)
            continue;
        parsed++;
        assert_int_equal(rule_check(&rule, NULL), 0);
        assert_int_equal(rule_format(&rule, &out), 0);
        assert_int_equal(rule_parse(&arena, group, buf_view(&out), &again, NULL), 0);
        if (again.kind != rule.kind || !str_eq(again.pattern, rule.pattern))
            fail_msg("%.*s", STR_ARG(given));
    }
    assert_true(parsed > 20000);
}

TEST_MAIN(cmocka_unit_test_teardown(markers_say_what_a_pattern_is, reset),
          cmocka_unit_test_teardown(patterns_get_one_form, reset),
          cmocka_unit_test_teardown(what_would_hold_for_nothing_is_refused, reset),
          cmocka_unit_test_teardown(what_a_prompt_saves_is_literal, reset),
          cmocka_unit_test(a_name_that_is_no_text_is_not_stored),
          cmocka_unit_test_teardown(all_parts_are_checked, reset),
          cmocka_unit_test_teardown(generated_rules_come_back_from_their_text, reset))
