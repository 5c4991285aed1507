/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "permission/permission.h"

enum { ARENA_BYTES = 1 << 20, TEXT_BYTES = 4096, NOW_MS = 5000, MOST = 8 };

static struct arena arena = ARENA_INIT(ARENA_BYTES);
static struct clock clock_of_test;
static struct permission *permission;
static struct rule rules[MOST];
static size_t rule_count;

static int set_up(void **state)
{
    static const char *const protected_dirs[] = {"/s", NULL};
    struct permission_config config = {
        .modes = {.of = {PERMISSION_ASK, PERMISSION_ASK, PERMISSION_ASK, PERMISSION_ALLOW}},
        .protected_dirs = protected_dirs,
        .clock = &clock_of_test,
    };

    (void)state;
    clock_fake_init(&clock_of_test, NOW_MS);
    rule_count = 0;
    return permission_new(&config, &permission, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    permission_free(permission);
    arena_done(&arena);
    return 0;
}

static struct rule *add(enum rule_effect effect, enum catalog_group group, const char *text)
{
    struct rule *rule = &rules[rule_count++];

    assert_int_equal(rule_parse(&arena, group, str_from(text), rule, NULL), 0);
    rule->effect = effect;
    return rule;
}

static void check(enum catalog_group group, const char *given, const char *resolved,
                  const char *cwd, const char *expected)
{
    struct permission_resource resource = {.group = group,
                                           .given = str_from(given),
                                           .resolved = str_from(resolved),
                                           .cwd = str_from(cwd)};
    cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
    cleanup_rulebook struct rulebook *book = NULL;
    const char *text;

    assert_int_equal(rulebook_new(rules, rule_count, &book, NULL), 0);
    permission_set_book(permission, book);
    assert_int_equal(permission_explain(permission, &resource, &out), 0);
    assert_int_equal(buf_terminate(&out, &text), 0);
    assert_string_equal(text, expected);
}

static void every_step_is_told_up_to_the_one_that_decides(void **state)
{
    struct permission_resource once = {.given = STR("/w/b")};

    (void)state;
    check(CATALOG_FILESYSTEM_READ, "a", "", "",
          "filesystemRead \"a\"\n"
          "1. form: invalid: \"a\" is not an absolute path\n"
          "So: deny (malformed)\n");
    check(CATALOG_FILESYSTEM_READ, "/w/a", "/s/x", "",
          "filesystemRead \"/w/a\", which leads to \"/s/x\"\n"
          "1. form: usable\n"
          "2. protected directories: it is in \"/s\", which no tool may access\n"
          "So: deny (protected)\n");
    assert_int_equal(permission_allow_for_session(permission, &once), 0);
    check(CATALOG_FILESYSTEM_READ, "/w/b", "", "",
          "filesystemRead \"/w/b\"\n"
          "1. form: usable\n"
          "2. protected directories: it is in none\n"
          "3. deny rules: none matches\n"
          "4. mode of the group: ask\n"
          "5. allow rules: none matches\n"
          "6. allowed for this session: yes\n"
          "So: allow (session-rule)\n");
    check(CATALOG_COMPUTER, "*", "", "",
          "computer \"*\"\n"
          "1. form: usable\n"
          "2. protected directories: it is in none\n"
          "3. deny rules: none matches\n"
          "4. mode of the group: allow\n"
          "So: allow (mode)\n");
}

static void the_rule_that_decides_is_named(void **state)
{
    struct rule *rule = add(RULE_ALLOW, CATALOG_SHELL, "prefix:make");

    (void)state;
    rule->cwd = STR("/w");
    rule->note = STR("builds");
    rule->expires_ms = NOW_MS + 1000;
    add(RULE_DENY, CATALOG_FILESYSTEM_READ, "glob:**/.env");
    check(CATALOG_SHELL, "make x", "", "/w/a",
          "shell \"make x\" in \"/w/a\"\n"
          "1. form: usable\n"
          "2. protected directories: it is in none\n"
          "3. deny rules: none matches\n"
          "4. mode of the group: ask\n"
          "5. allow rules: prefix:\"make\" in \"/w\" (\"builds\") matches, until "
          "1970-01-01T00:00:06.000Z\n"
          "So: allow (allow-rule)\n");
    check(CATALOG_FILESYSTEM_WRITE, "/w/.env", "", "",
          "filesystemWrite \"/w/.env\"\n"
          "1. form: usable\n"
          "2. protected directories: it is in none\n"
          "3. deny rules: glob:\"**/.env\" matches for reading, which changing requires\n"
          "So: deny (deny-rule)\n");
    check(CATALOG_FILESYSTEM_READ, "/w/.env", "/w/x", "",
          "filesystemRead \"/w/.env\", which leads to \"/w/x\"\n"
          "1. form: usable\n"
          "2. protected directories: it is in none\n"
          "3. deny rules: glob:\"**/.env\" matches the name as it was given\n"
          "So: deny (deny-rule)\n");
}

static void rules_that_nearly_hold_are_named(void **state)
{
    (void)state;
    add(RULE_ALLOW, CATALOG_FILESYSTEM_READ, "/w/link");
    add(RULE_DENY, CATALOG_FILESYSTEM_READ, "dir:/w")->expires_ms = 1000;
    check(CATALOG_FILESYSTEM_READ, "/w/link", "/w/x", "",
          "filesystemRead \"/w/link\", which leads to \"/w/x\"\n"
          "1. form: usable\n"
          "2. protected directories: it is in none\n"
          "3. deny rules: none matches; dir:\"/w\" matched until 1970-01-01T00:00:01.000Z\n"
          "4. mode of the group: ask\n"
          "5. allow rules: \"/w/link\" matches the name as it was given, but not where it "
          "leads\n"
          "6. allowed for this session: no\n"
          "So: ask (mode)\n");
}

static void a_mode_that_another_denies_is_told(void **state)
{
    struct permission_modes modes = permission_modes(permission);

    (void)state;
    modes.of[CATALOG_FILESYSTEM_READ] = PERMISSION_DENY;
    permission_set_modes(permission, &modes);
    check(CATALOG_FILESYSTEM_WRITE, "/w", "", "",
          "filesystemWrite \"/w\"\n"
          "1. form: usable\n"
          "2. protected directories: it is in none\n"
          "3. deny rules: none matches\n"
          "4. mode of the group: deny, since reading is denied\n"
          "So: deny (mode)\n");
}

static void names_do_not_steer_the_terminal(void **state)
{
    (void)state;
    check(CATALOG_COMPUTER, "\x1b[2J\n\"\\\xff\xc3\xa9\xe2\x80\xae", "", "",
          "computer \"\\x1b[2J\\n\\\"\\\\\\xff\xc3\xa9\\u{202e}\"\n"
          "1. form: invalid: the resources are \"screenshot\", \"mouse-keyboard\" and \"*\", which "
          "is both\n"
          "So: deny (malformed)\n");
}

static void check_form(enum catalog_group group, const char *given, const char *resolved,
                       const char *cwd, const char *expected)
{
    const struct permission_resource resource = {.group = group,
                                                 .given = str_from(given),
                                                 .resolved = str_from(resolved),
                                                 .cwd = str_from(cwd)};
    cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
    struct str rest;
    struct str line;

    assert_int_equal(permission_explain(permission, &resource, &out), 0);
    rest = buf_view(&out);
    assert_true(str_cut(&rest, '\n', &line) && str_cut(&rest, '\n', &line));
    assert_true(str_starts_with(line, STR("1. form: invalid: ")));
    if (!str_eq_c(str_slice(line, strlen("1. form: invalid: "), line.len), expected))
        fail_msg("%.*s", STR_ARG(line));
    assert_str(rest, "So: deny (malformed)\n");
}

static void what_is_wrong_with_a_form_is_told_and_which_is_usable(void **state)
{
    (void)state;
    check_form(CATALOG_FILESYSTEM_READ, "/w/../a//b", "", "",
               "\"/w/../a//b\" contains \"..\", which depends on symbolic links; without links it "
               "is \"/a/b\"");
    check_form(
        CATALOG_FILESYSTEM_READ, "/w/a", "/w/..", "",
        "\"/w/..\" contains \"..\", which depends on symbolic links; without links it is \"/\"");
    check_form(CATALOG_FILESYSTEM_WRITE, "/w/../../..", "/w", "",
               "\"/w/../../..\" leads above /, or is too long");
    check_form(CATALOG_SHELL, "", "", "", "the command is empty");
    check_form(CATALOG_SHELL, "ls", "", "w", "\"w\" is not an absolute path");
    check_form(CATALOG_BROWSER, "https://Example.com/", "", "",
               "\"https://Example.com/\" is more than a host; the host is \"example.com\"");
    check_form(CATALOG_BROWSER, "me:x@example.com:80?q", "", "",
               "\"me:x@example.com:80?q\" is more than a host; the host is "
               "\"example.com\"");
    check_form(CATALOG_BROWSER, "a..b", "", "", "\"a..b\" is not a host name");
    check_form(CATALOG_COMPUTER, "screen", "", "",
               "the resources are \"screenshot\", \"mouse-keyboard\" and \"*\", which is both");
}

static void what_does_not_fit_leaves_nothing_behind(void **state)
{
    struct permission_resource resource = {.given = STR("/w/b")};
    cleanup_buf struct buf out = BUF_INIT(60);

    (void)state;
    assert_int_equal(buf_append_str(&out, STR("before")), 0);
    assert_int_equal(permission_explain(permission, &resource, &out), ERR_TOO_LARGE);
    assert_str(buf_view(&out), "before");
}

static void hosts_that_need_a_rule_of_their_own_are_told(void **state)
{
    struct permission_modes modes = permission_modes(permission);

    (void)state;
    modes.of[CATALOG_BROWSER] = PERMISSION_ALLOW;
    permission_set_modes(permission, &modes);
    check(
        CATALOG_BROWSER, "192.168.1.1", "", "",
        "browser \"192.168.1.1\"\n"
        "1. form: usable\n"
        "2. protected directories: it is in none\n"
        "3. deny rules: none matches\n"
        "4. mode of the group: allow\n"
        "5. this machine and private networks: the mode and rules for \"*\" do not include it; it "
        "needs a rule of its own, or your answer\n"
        "So: ask (no rule of its own)\n");
    modes.of[CATALOG_BROWSER] = PERMISSION_ASK;
    permission_set_modes(permission, &modes);
    add(RULE_ALLOW, CATALOG_BROWSER, "host:*");
    check(CATALOG_BROWSER, PERMISSION_LOCAL_BROWSER, "", "",
          "browser \"local-browser\"\n"
          "1. form: usable\n"
          "2. protected directories: it is in none\n"
          "3. deny rules: none matches\n"
          "4. mode of the group: ask\n"
          "5. allow rules: host:\"*\" matches\n"
          "6. the user's own browser: the mode and rules for \"*\" do not include it; it needs a "
          "rule "
          "of its own, or your answer, or --browser-default local\n"
          "So: ask (no rule of its own)\n");
    check(CATALOG_BROWSER, "example.com", "", "",
          "browser \"example.com\"\n"
          "1. form: usable\n"
          "2. protected directories: it is in none\n"
          "3. deny rules: none matches\n"
          "4. mode of the group: ask\n"
          "5. allow rules: host:\"*\" matches\n"
          "So: allow (allow-rule)\n");
    add(RULE_ALLOW, CATALOG_BROWSER, "host:localhost");
    check(CATALOG_BROWSER, "localhost", "", "",
          "browser \"localhost\"\n"
          "1. form: usable\n"
          "2. protected directories: it is in none\n"
          "3. deny rules: none matches\n"
          "4. mode of the group: ask\n"
          "5. allow rules: host:\"localhost\" matches\n"
          "So: allow (allow-rule)\n");
}

#define explains(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

TEST_MAIN(explains(every_step_is_told_up_to_the_one_that_decides),
          explains(the_rule_that_decides_is_named), explains(rules_that_nearly_hold_are_named),
          explains(a_mode_that_another_denies_is_told), explains(names_do_not_steer_the_terminal),
          explains(what_is_wrong_with_a_form_is_told_and_which_is_usable),
          explains(hosts_that_need_a_rule_of_their_own_are_told),
          explains(what_does_not_fit_leaves_nothing_behind))
