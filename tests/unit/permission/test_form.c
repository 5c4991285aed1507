/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "permission/rules/form.h"

static void check_path(const char *given, bool may_go_back, const char *expected)
{
    struct path_name room;
    struct str path;
    bool is_formed = form_path(str_from(given), may_go_back, &room, &path);

    if (is_formed != (expected != NULL) || (is_formed && !str_eq_c(path, expected)))
        fail_msg("%s", given);
}

static void paths_have_one_form(void **state)
{
    struct path_name room;
    struct str path;

    (void)state;
    check_path("/", false, "");
    check_path("//", false, "");
    check_path("/a/b", false, "a/b");
    check_path("/a//./b/", false, "a/b");
    check_path("/a/..b/.c", false, "a/..b/.c");
    check_path("/a/B ", false, "a/B ");
    check_path("", false, NULL);
    check_path("a", false, NULL);
    check_path("~/a", false, NULL);
    check_path("/a/../b", false, NULL);
    check_path("/a/..", false, NULL);
    check_path("/a/../b", true, "b");
    check_path("/../b", true, NULL);
    assert_false(form_path(STR("/a\0b"), true, &room, &path));
}

static void check_host(const char *given, const char *expected)
{
    struct form_host host;
    bool is_formed = form_host(str_from(given), &host);

    if (is_formed != (expected != NULL) ||
        (is_formed && !str_eq_c((struct str){host.text, host.len}, expected)))
        fail_msg("%s", given);
}

static void hosts_have_one_form(void **state)
{
    struct form_host host;
    char longest[FORM_HOST_MAX_BYTES + 2];

    (void)state;
    check_host("GitHub.COM", "github.com");
    check_host("github.com.", "github.com");
    check_host("github.com:8443", "github.com");
    check_host("github.com.:80", "github.com");
    check_host("localhost", "localhost");
    check_host("xn--mnchen-3ya.de", "xn--mnchen-3ya.de");
    check_host("a_b.example", "a_b.example");
    check_host("", NULL);
    check_host(".", NULL);
    check_host("a..b", NULL);
    check_host("github.com..", NULL);
    check_host(".github.com", NULL);
    check_host("m\xc3\xbcnchen.de", NULL);
    check_host("github.com/x", NULL);
    check_host("https://github.com", NULL);
    check_host("user@github.com", NULL);
    check_host("github.com%2eevil", NULL);
    check_host("*.github.com", NULL);
    check_host("github.com:", NULL);
    check_host("github.com:80:80", NULL);
    check_host("git hub.com", NULL);
    assert_false(form_host(STR("github.com\0.evil"), &host));

    memset(longest, 'a', sizeof(longest));
    for (size_t i = 60; i < sizeof(longest); i += 60)
        longest[i] = '.';
    assert_true(form_host((struct str){longest, FORM_HOST_MAX_BYTES}, &host));
    assert_false(form_host((struct str){longest, FORM_HOST_MAX_BYTES + 1}, &host));
    assert_false(form_host((struct str){longest + 1, 0}, &host));
    memset(longest, 'a', sizeof(longest));
    assert_true(form_host((struct str){longest, FORM_LABEL_MAX_BYTES}, &host));
    assert_false(form_host((struct str){longest, FORM_LABEL_MAX_BYTES + 1}, &host));
}

/* As browsers do: another spelling of an address is no way around a rule. */
static void addresses_have_one_form(void **state)
{
    (void)state;
    check_host("127.0.0.1", "127.0.0.1");
    check_host("127.1", "127.0.0.1");
    check_host("0x7f.1", "127.0.0.1");
    check_host("0X7F.0.0.1", "127.0.0.1");
    check_host("0177.0.0.1", "127.0.0.1");
    check_host("2130706433", "127.0.0.1");
    check_host("127.0.0.1.:80", "127.0.0.1");
    check_host("256.0.0.1", NULL);
    check_host("1.2.3.4.5", NULL);
    check_host("example.0x7f", NULL);
    check_host("::1", "[::1]");
    check_host("[::1]", "[::1]");
    check_host("[0:0:0:0:0:0:0:1]:443", "[::1]");
    check_host("[2001:DB8::A]", "[2001:db8::a]");
    check_host("[::ffff:127.0.0.1]", "127.0.0.1");
    check_host("::ffff:7f00:1", "127.0.0.1");
    check_host("[::1", NULL);
    check_host("[::1]x", NULL);
    check_host("[::1]:", NULL);
    check_host("[]", NULL);
    check_host("[::1%25eth0]", NULL);
}

static void a_plain_command_is_one_program(void **state)
{
    static const char *const plain[] = {"git status -s", "git log --format=%(refname)",
                                        "echo $HOME", "a {b,c}", "printf '%s' x"};
    static const char *const others[] = {
        "a | b", "a;b",   "a & b",      "a && b",     "a $(b)", "a `b`", "a <(b)", "a >(b)", "a\nb",
        "a > b", "a < b", "a \"$(b)\"", "a ${ (b) }", "a ';'",  "a\rb",  "a 2>&1", "$(a)",
    };

    (void)state;
    for (size_t i = 0; i < array_size(plain); i++)
        if (!form_is_plain_command(str_from(plain[i])))
            fail_msg("%s", plain[i]);
    for (size_t i = 0; i < array_size(others); i++)
        if (form_is_plain_command(str_from(others[i])))
            fail_msg("%s", others[i]);
    assert_false(form_is_plain_command(STR("a\0b")));
}

static void a_command_evaluates_where_a_word_may_become_a_subscript(void **state)
{
    static const char *const evaluating[] = {
        "ls $[$'a[\\x24\\x28touch x\\x29]']",
        "ls \"$[1]\"",
        "printf -v a[\\$\\(touch\\ x\\)] x",
        "printf -v $'a\\x5b0\\x5d' x",
        "printf -v a* x",
        "'printf' -v a? x",
        "p\\rintf -v a[0] x",
        "printf -v a{Y..a..2}0{Y..a..2} x",
        "[[ tmp=1,1$PWD -eq 1 ]]",
        "test -v a[0]",
        "[ -v a[0] ]",
        "read a[0]",
        "let a[0]",
        "wait -p a[0]",
        "unset a[0]",
        "declare a[0]=1",
        "export a[0]",
        "getopts x a[0]",
        "local a[0]",
        "mapfile a[0]",
        "readarray a[0]",
        "readonly a[0]",
        "typeset a[0]",
        "X=1 printf -v a[0] x",
        "time -p builtin printf -v a[0] x",
        "command printf -v a[0] x",
        "! test -v a[0]",
    };
    static const char *const others[] = {
        "",          "X=1",          "ls *",          "ls a[0]",       "ls $HOME",
        "ls {a,b}",  "ls $'a\\x5b'", "git printf [",  "printf '%s' x", "[ -f x ]",
        "test -f x", "[[ -f x ]]",   "./printf a[0]", "printf",        "npm test src/*.js",
    };

    (void)state;
    for (size_t i = 0; i < array_size(evaluating); i++)
        if (!form_evaluates(str_from(evaluating[i])))
            fail_msg("%s", evaluating[i]);
    for (size_t i = 0; i < array_size(others); i++)
        if (form_evaluates(str_from(others[i])))
            fail_msg("%s", others[i]);
}

/* Words with "/" behind each, and "!" before one that begins a command. */
static void check_words(const char *command, bool is_loose, const char *expected)
{
    char text[256];
    size_t len = 0;
    struct form_words words;
    struct str word;

    form_words_init(&words, str_from(command), is_loose);
    while (form_words_next(&words, &word)) {
        if (words.begins_command)
            text[len++] = '!';
        memcpy(text + len, word.ptr, word.len);
        len += word.len;
        text[len++] = '/';
    }
    if (!str_eq_c((struct str){text, len}, expected))
        fail_msg("%s: %.*s", command, (int)len, text);
}

static void words_are_cut_plainly_and_loosely(void **state)
{
    (void)state;
    check_words("", false, "");
    check_words("  git \t status  ", false, "!git/status/");
    check_words("git 'a b'", false, "!git/'a/b'/");
    check_words("git;rm", false, "!git;rm/");
    check_words("g'i't \"pu\\sh\" x", true, "!git/push/x/");
    check_words("git push;ls", true, "!git/push/!ls/");
    check_words("a&&b | c `d` $(e) <(f)", true, "!a/!b/!c/!d/!/!e/!f/");
    check_words("a >b", true, "!a/b/");
    check_words("a\nb", true, "!a/!b/");
    check_words("; a", true, "!a/");
    check_words("a\\\nb \\\n c", true, "!ab/c/");
    check_words("a \\\nb", false, "!a/\\\nb/");
}

TEST_MAIN(cmocka_unit_test(paths_have_one_form), cmocka_unit_test(hosts_have_one_form),
          cmocka_unit_test(addresses_have_one_form),
          cmocka_unit_test(a_plain_command_is_one_program),
          cmocka_unit_test(a_command_evaluates_where_a_word_may_become_a_subscript),
          cmocka_unit_test(words_are_cut_plainly_and_loosely))
