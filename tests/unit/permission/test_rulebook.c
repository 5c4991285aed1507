/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "permission/rules/rulebook.h"

enum { ARENA_BYTES = 16 << 20, NOW_MS = 1000000, MOST = 16 };

static struct arena arena = ARENA_INIT(ARENA_BYTES);
static struct rule rules[MOST];
static size_t rule_count;
static struct rulebook *book;

static int reset(void **state)
{
    (void)state;
    rulebook_unref(book);
    book = NULL;
    rule_count = 0;
    arena_done(&arena);
    return 0;
}

static struct rule *add(enum rule_effect effect, enum catalog_group group, const char *text)
{
    struct rule *rule = &rules[rule_count++];
    struct err err = ERR_INIT;

    if (rule_parse(&arena, group, str_from(text), rule, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    rule->effect = effect;
    return rule;
}

static void compile(void)
{
    rulebook_unref(book);
    book = NULL;
    assert_int_equal(rulebook_new(rules, rule_count, &book, NULL), 0);
}

static const struct rule *find_in(enum rule_effect effect, enum catalog_group group,
                                  const char *resource, const char *cwd)
{
    return rulebook_find(book, effect, group, str_from(resource), str_from(cwd), NOW_MS);
}

static void check(enum rule_effect effect, enum catalog_group group, const char *resource,
                  bool is_found)
{
    if ((find_in(effect, group, resource, "/w") != NULL) != is_found)
        fail_msg("%s: %s", resource, is_found ? "no rule" : "a rule");
}

/* One rule of both effects in turn. */
static void check_one(enum rule_effect effect, enum catalog_group group, const char *text,
                      const char *resource, bool is_found)
{
    rule_count = 0;
    add(effect, group, text);
    compile();
    check(effect, group, resource, is_found);
    check(effect == RULE_ALLOW ? RULE_DENY : RULE_ALLOW, group, resource, false);
    for (int other = 0; other <= CATALOG_BROWSER; other++)
        if (other != (int)group)
            check(effect, (enum catalog_group)other, resource, false);
}

static void check_both(enum catalog_group group, const char *text, const char *resource,
                       bool is_found)
{
    check_one(RULE_ALLOW, group, text, resource, is_found);
    check_one(RULE_DENY, group, text, resource, is_found);
}

static void files_are_matched_by_whole_components(void **state)
{
    (void)state;
    check_both(CATALOG_FILESYSTEM_READ, "/a/b", "/a/b", true);
    check_both(CATALOG_FILESYSTEM_READ, "/a/b", "/a/b/", true);
    check_both(CATALOG_FILESYSTEM_READ, "/a/b", "//a/./b", true);
    check_both(CATALOG_FILESYSTEM_READ, "/a/b", "/a/B", false);
    check_both(CATALOG_FILESYSTEM_READ, "/a/b", "/a", false);
    check_both(CATALOG_FILESYSTEM_READ, "/a/b*", "/a/bc", false);
    check_both(CATALOG_FILESYSTEM_READ, "/a/b", "a/b", false);
    check_both(CATALOG_FILESYSTEM_READ, "dir:/a/b", "/a/b", true);
    check_both(CATALOG_FILESYSTEM_READ, "dir:/a/b", "/a/b/c/d", true);
    check_both(CATALOG_FILESYSTEM_READ, "dir:/a/b", "/a/bc", false);
    check_both(CATALOG_FILESYSTEM_READ, "dir:/a/b", "/a", false);
    check_both(CATALOG_FILESYSTEM_READ, "dir:/a/b", "/a/b/../c", false);
    check_both(CATALOG_FILESYSTEM_READ, "dir:/", "/", true);
    check_both(CATALOG_FILESYSTEM_READ, "dir:/", "/x", true);
    check_both(CATALOG_FILESYSTEM_READ, "dir:/", "", false);
    check_both(CATALOG_FILESYSTEM_READ, "/", "/", true);
}

static void a_denied_folder_is_denied_with_all_in_it(void **state)
{
    (void)state;
    check_one(RULE_ALLOW, CATALOG_FILESYSTEM_READ, "/a/b", "/a/b/c", false);
    check_one(RULE_DENY, CATALOG_FILESYSTEM_READ, "/a/b", "/a/b/c", true);
    check_one(RULE_DENY, CATALOG_FILESYSTEM_READ, "/a/b", "/a/bc", false);
}

static void globs_of_every_shape_are_found(void **state)
{
    static const struct {
        const char *pattern, *path;
        bool is_found;
    } cases[] = {
        {"glob:/a/*.c", "/a/x.c", true},
        {"glob:/a/*.c", "/a/b/x.c", false},
        {"glob:/a/*.c", "/b/x.c", false},
        {"glob:/a/**/x", "/a/x", true},
        {"glob:/a/**/x", "/a/b/c/x/below", true},
        {"glob:/a/**/x", "/x", false},
        {"glob:**/.env", "/.env", true},
        {"glob:**/.env", "/a/b/.env/c", true},
        {"glob:**/.env", "/a/b/.envx", false},
        {"glob:.env", "/a/.env", true},
        {"glob:**/*.pem", "/a/b/k.pem", true},
        {"glob:**/*.pem", "/a/b/.pem", true},
        {"glob:**/*.pem", "/a/k.pem/x", true},
        {"glob:**/*.pem", "/a/b/kpem", false},
        {"glob:**/*.tar.gz", "/a/x.tar.gz", true},
        {"glob:**/*.tar.gz", "/a/x.gz", false},
        {"glob:*_key", "/a/my_key", true},
        {"glob:id_*", "/a/id_rsa", true},
        {"glob:*.{pem,key}", "/a/x.key", true},
        {"glob:*.{pem,key}", "/a/x.kex", false},
        {"glob:/{a,b}/c", "/b/c/d", true},
        {"glob:/a/[bc]/d", "/a/c/d", true},
        {"glob:/a/\\*", "/a/*", true},
        {"glob:/a/\\*", "/a/b", false},
        {"glob:**", "/", true},
        {"glob:/a/**", "/a", true},
        {"glob:/a/**", "/a/b", true},
        {"glob:/a/b", "/a/b/c", true},
        {"glob:?.x", "/q/y.x", true},
        {"glob:/*/b/**/*.x/*y*", "/a/b/c/d.x/zyz", true},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++)
        check_both(CATALOG_FILESYSTEM_WRITE, cases[i].pattern, cases[i].path, cases[i].is_found);
}

static void a_prefix_is_whole_words_of_a_plain_command(void **state)
{
    static const char *const compound[] = {
        "git x; rm -rf ~", "git x|y",         "git x & y", "git x && y",  "git $(rm x)",
        "git `rm x`",      "git <(rm x)",     "git >(x)",  "git x\nrm y", "git x > /etc/passwd",
        "git \"$(rm x)\"", "git ${ (rm x) }", "git ';'",
    };

    (void)state;
    check_both(CATALOG_SHELL, "prefix:git status", "git status", true);
    check_both(CATALOG_SHELL, "prefix:git status", "git status -s", true);
    check_both(CATALOG_SHELL, "prefix:git status", "git  status\t-s", true);
    check_both(CATALOG_SHELL, "prefix:git status", "git statusx", false);
    check_both(CATALOG_SHELL, "prefix:git status", "git status-x", false);
    check_both(CATALOG_SHELL, "prefix:git status", "git", false);
    check_both(CATALOG_SHELL, "prefix:git status", "Git status", false);
    check_both(CATALOG_SHELL, "prefix:git status", "agit status", false);
    check_both(CATALOG_SHELL, "prefix:git", "", false);
    for (size_t i = 0; i < array_size(compound); i++) {
        check_one(RULE_ALLOW, CATALOG_SHELL, "prefix:git", compound[i], false);
        check_one(RULE_DENY, CATALOG_SHELL, "prefix:git", compound[i], true);
    }
    /* Quotes are part of a word for what allows. */
    check_one(RULE_ALLOW, CATALOG_SHELL, "prefix:git", "'git' x", false);
}

static void a_prefix_allows_nothing_that_bash_may_evaluate(void **state)
{
    static const struct {
        const char *rule;
        const char *command;
        bool is_allowed;
    } cases[] = {
        {"prefix:ls", "ls $[$'a[\\x24\\x28touch x\\x29]']", false},
        {"prefix:ls", "ls a[0] $HOME *", true},
        {"prefix:printf", "printf -v a[\\$\\(touch\\ x\\)] x", false},
        {"prefix:printf", "printf '%s' x", true},
        {"prefix:'printf'", "'printf' -v a[0] x", false},
        {"prefix:[", "[ -v a[0] ]", false},
        {"prefix:[", "[ -f x ]", true},
        {"prefix:test -f", "test -f x", true},
        {"prefix:test -f", "test -f x*", false},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        check_one(RULE_ALLOW, CATALOG_SHELL, cases[i].rule, cases[i].command, cases[i].is_allowed);
        check_one(RULE_DENY, CATALOG_SHELL, cases[i].rule, cases[i].command, true);
    }
    /* As a whole it is what was consented to. */
    check_one(RULE_ALLOW, CATALOG_SHELL, "printf -v a[0] x", "printf -v a[0] x", true);
}

static void a_compound_command_is_allowed_only_as_a_whole(void **state)
{
    (void)state;
    check_both(CATALOG_SHELL, "make && make install", "make && make install", true);
    check_both(CATALOG_SHELL, "make && make install", "make && make install x", false);
    check_one(RULE_ALLOW, CATALOG_SHELL, "a  b", "a b", false);
    check_both(CATALOG_SHELL, "ls *", "ls x", false);
}

static void a_denied_prefix_is_found_in_disguise(void **state)
{
    static const char *const denied[] = {
        "git push;ls",  "git push|x",     "git push\nx",   "git push&",          "git push>x",
        "git 'push'",   "g\\it pu\"sh\"", "ls; git push",  "cd a && git push x", "x $(git push)",
        "x `git push`", "(git push)",     "x <(git push)", "a|git  push",
    };
    static const char *const others[] = {"git pushx;ls", "git stash; push", "echo git push",
                                         "git; push"};

    (void)state;
    for (size_t i = 0; i < array_size(denied); i++)
        check_one(RULE_DENY, CATALOG_SHELL, "prefix:git push", denied[i], true);
    for (size_t i = 0; i < array_size(others); i++)
        check_one(RULE_DENY, CATALOG_SHELL, "prefix:git push", others[i], false);
}

static void a_denied_prefix_is_found_behind_what_may_stand_before_a_program(void **state)
{
    static const char *const denied[] = {
        "PATH=$PATH touch a",
        "X='a b' touch a",
        "X=\"a;b\" touch a",
        "X=$'a\\'b c' touch a",
        "X=${Y:-a b} touch a",
        "X+=1 touch a",
        "X[0]=1 touch a",
        "{ touch a; }",
        "if true; then touch a; fi",
        "while touch a; do :; done",
        "for i in a; do touch $i; done",
        "! touch a",
        "f() { touch a; }; f",
        "function f { touch a; }; f",
        ">/dev/null touch a",
        "2>/dev/null touch a",
        "{fd}>x touch a",
        ">&2 touch a",
        "&>x touch a",
        ">|x touch a",
        "<x >y touch a",
        "X=\\> touch a",
        "/usr//bin/touch a",
        "ls; /usr/bin/../bin/touch a",
        "../bin/touch a",
        "command touch a",
        "command -p touch a",
        "exec touch a",
        "exec -a x touch a",
        "eval touch a",
        "eval 'touch a'",
        "time -p touch a",
        "timeout 5 touch a",
        "timeout -s KILL 5 touch a",
        "/usr/bin/timeout 5 touch a",
        "env -C / touch a",
        "env 'X=a b' touch a",
        "sudo -i touch a",
        "sudo -u root -- touch a",
        "sudo nice -n 10 touch a",
        "nice -n 10 sudo touch a",
        "echo a | xargs -I {} touch {}",
        "find . -exec touch a ;",
        "sh -c 'touch a'",
        "bash -lc \"touch a\"",
        "su root -c 'touch a'",
        "stdbuf -oL touch a",
        "busybox touch a",
        "flock /tmp/l touch a",
        "touch\\\n a",
        "to\\\nuch a",
    };
    static const char *const others[] = {
        "echo touch a",       "X=touch make",     "git commit -m touch",
        "ls sudo touch",      "sh -c 'ls touch'", "\"my prog\" touch",
        "make touch",         "sudo ls touch",    "timeout 5 make touch",
        "find . -name touch", "touchx a",         "/touch/x a",
    };

    (void)state;
    for (size_t i = 0; i < array_size(denied); i++) {
        check_one(RULE_DENY, CATALOG_SHELL, "prefix:touch", denied[i], true);
        check_one(RULE_ALLOW, CATALOG_SHELL, "prefix:touch", denied[i], false);
    }
    for (size_t i = 0; i < array_size(others); i++)
        check_one(RULE_DENY, CATALOG_SHELL, "prefix:touch", others[i], false);
    check_one(RULE_DENY, CATALOG_SHELL, "prefix:git push", "git \\\n push", true);
    check_one(RULE_DENY, CATALOG_SHELL, "prefix:git push", "git 2>x push", true);
    check_one(RULE_DENY, CATALOG_SHELL, "prefix:/usr//bin/touch", "/usr/./bin/touch a", true);
    check_one(RULE_DENY, CATALOG_SHELL, "prefix:/usr/bin/touch", "/bin/touch a", false);
    check_one(RULE_DENY, CATALOG_SHELL, "prefix:sudo", "ls; /bin/sudo -n x", true);
    check_one(RULE_DENY, CATALOG_SHELL, "prefix:sudo apt", "sudo apt install x", true);
}

static void a_denied_command_is_found_with_other_blanks_and_quotes(void **state)
{
    (void)state;
    check_one(RULE_DENY, CATALOG_SHELL, "rm -rf /", "rm  -rf '/'", true);
    check_one(RULE_DENY, CATALOG_SHELL, "rm -rf /", "rm -rf / x", false);
    check_one(RULE_DENY, CATALOG_SHELL, "rm -rf /", "rm -rf", false);
    check_one(RULE_DENY, CATALOG_SHELL, "make; install", "make install", false);
    check_one(RULE_DENY, CATALOG_SHELL, ";", "ls", false);
}

static void a_rule_may_want_a_directory(void **state)
{
    struct rule *rule;

    (void)state;
    rule = add(RULE_ALLOW, CATALOG_SHELL, "prefix:make");
    rule->cwd = STR("/w/a");
    rule = add(RULE_DENY, CATALOG_SHELL, "make clean");
    rule->cwd = STR("/w/a");
    rule = add(RULE_ALLOW, CATALOG_SHELL, "ls");
    rule->cwd = STR("/");
    compile();
    assert_non_null(find_in(RULE_ALLOW, CATALOG_SHELL, "make x", "/w/a"));
    assert_non_null(find_in(RULE_ALLOW, CATALOG_SHELL, "make x", "/w/a/b"));
    assert_null(find_in(RULE_ALLOW, CATALOG_SHELL, "make x", "/w"));
    assert_null(find_in(RULE_ALLOW, CATALOG_SHELL, "make x", "/w/ab"));
    assert_null(find_in(RULE_ALLOW, CATALOG_SHELL, "make x", ""));
    assert_null(find_in(RULE_ALLOW, CATALOG_SHELL, "make x", "/w/a/../b"));
    assert_non_null(find_in(RULE_DENY, CATALOG_SHELL, "make clean", "/w/a"));
    assert_null(find_in(RULE_DENY, CATALOG_SHELL, "make clean", "/w"));
    /* What is not known may be there. */
    assert_non_null(find_in(RULE_DENY, CATALOG_SHELL, "make clean", ""));
    assert_non_null(find_in(RULE_ALLOW, CATALOG_SHELL, "ls", "/x"));
    assert_null(find_in(RULE_ALLOW, CATALOG_SHELL, "ls", ""));
}

static void hosts_are_matched_by_whole_labels(void **state)
{
    (void)state;
    check_both(CATALOG_BROWSER, "github.com", "github.com", true);
    check_both(CATALOG_BROWSER, "github.com", "GitHub.com.:443", true);
    check_both(CATALOG_BROWSER, "github.com", "api.github.com", false);
    check_both(CATALOG_BROWSER, "host:github.com", "github.com", true);
    check_both(CATALOG_BROWSER, "host:github.com", "evilgithub.com", false);
    check_both(CATALOG_BROWSER, "host:github.com", "github.com.evil.org", false);
    check_both(CATALOG_BROWSER, "host:*.github.com", "api.github.com", true);
    check_both(CATALOG_BROWSER, "host:*.github.com", "a.b.github.com", true);
    check_both(CATALOG_BROWSER, "host:*.github.com", "github.com", false);
    check_both(CATALOG_BROWSER, "host:*.github.com", "evil-github.com", false);
    check_both(CATALOG_BROWSER, "host:*.github.com", "github.com.evil.org", false);
    check_both(CATALOG_BROWSER, "host:*", "anything.example", true);
    check_both(CATALOG_BROWSER, "host:*", "127.0.0.1", true);
    check_both(CATALOG_BROWSER, "host:*", "[::1]", true);
    check_both(CATALOG_BROWSER, "host:*", "*", false);
    check_both(CATALOG_BROWSER, "*", "*", true);
    check_both(CATALOG_BROWSER, "*", "github.com", false);
    check_both(CATALOG_BROWSER, "host:127.0.0.1", "0x7f.1", true);
    check_both(CATALOG_BROWSER, "host:[::1]", "::1", true);
    check_both(CATALOG_BROWSER, "host:*", "not a host", false);
}

static void a_rule_that_names_the_host_is_found_before_one_for_all(void **state)
{
    static const char *const named[] = {"127.0.0.1", "*.local", "example.com"};
    static const char *const hosts[] = {"127.1", "a.local", "example.com"};

    (void)state;
    rule_count = 0;
    add(RULE_ALLOW, CATALOG_BROWSER, "host:*");
    for (size_t i = 0; i < array_size(named); i++) {
        char text[32];

        snprintf(text, sizeof(text), "host:%s", named[i]);
        add(RULE_ALLOW, CATALOG_BROWSER, text);
    }
    compile();
    for (size_t i = 0; i < array_size(named); i++) {
        const struct rule *found = find_in(RULE_ALLOW, CATALOG_BROWSER, hosts[i], "");

        assert_non_null(found);
        assert_true(str_eq_c(found->pattern, named[i]));
    }
    check(RULE_ALLOW, CATALOG_BROWSER, "127.0.0.2", true);
    check(RULE_ALLOW, CATALOG_BROWSER, "local", true);
}

static void the_screen_is_seen_or_used_or_both(void **state)
{
    (void)state;
    rule_count = 0;
    add(RULE_DENY, CATALOG_COMPUTER, "*");
    add(RULE_ALLOW, CATALOG_COMPUTER, "screenshot");
    compile();
    check(RULE_DENY, CATALOG_COMPUTER, "*", true);
    check(RULE_DENY, CATALOG_COMPUTER, "screenshot", true);
    check(RULE_DENY, CATALOG_COMPUTER, "mouse-keyboard", true);
    check(RULE_ALLOW, CATALOG_COMPUTER, "screenshot", true);
    check(RULE_ALLOW, CATALOG_COMPUTER, "mouse-keyboard", false);
    check(RULE_ALLOW, CATALOG_COMPUTER, "*", false);
}

static void expired_rules_are_passed_over(void **state)
{
    static const char *const texts[] = {"/a/b", "dir:/a", "glob:**/b", "glob:/a/*", "glob:?"};

    (void)state;
    for (size_t i = 0; i < array_size(texts); i++) {
        struct rule *rule;

        rule_count = 0;
        rule = add(RULE_DENY, CATALOG_FILESYSTEM_READ, texts[i]);
        rule->expires_ms = NOW_MS;
        compile();
        check(RULE_DENY, CATALOG_FILESYSTEM_READ, "/a/b", false);
        assert_non_null(rulebook_find(book, RULE_DENY, CATALOG_FILESYSTEM_READ, STR("/a/b"),
                                      STR_EMPTY, INT64_MIN));
        rule->expires_ms = NOW_MS + 1;
        compile();
        check(RULE_DENY, CATALOG_FILESYSTEM_READ, "/a/b", true);
        /* The same again, which ended before or ends never: the longest counts, in any order. */
        add(RULE_DENY, CATALOG_FILESYSTEM_READ, texts[i])->expires_ms = 1;
        compile();
        check(RULE_DENY, CATALOG_FILESYSTEM_READ, "/a/b", true);
        rules[0].expires_ms = 1;
        rules[1].expires_ms = 0;
        compile();
        check(RULE_DENY, CATALOG_FILESYSTEM_READ, "/a/b", true);
    }
}

static void one_expired_rule_does_not_hide_another(void **state)
{
    (void)state;
    add(RULE_DENY, CATALOG_FILESYSTEM_READ, "dir:/a")->expires_ms = 1;
    add(RULE_DENY, CATALOG_FILESYSTEM_READ, "glob:**/b")->expires_ms = 1;
    add(RULE_DENY, CATALOG_FILESYSTEM_READ, "glob:/**/b");
    compile();
    assert_ptr_equal(find_in(RULE_DENY, CATALOG_FILESYSTEM_READ, "/a/b", ""), rulebook_at(book, 2));
}

static void what_may_not_be_read_may_not_be_changed(void **state)
{
    (void)state;
    add(RULE_DENY, CATALOG_FILESYSTEM_READ, "dir:/r");
    add(RULE_DENY, CATALOG_FILESYSTEM_WRITE, "glob:*.lock");
    compile();
    assert_true(rulebook_denies_path(book, CATALOG_FILESYSTEM_READ, STR("/r/x"), NOW_MS));
    assert_true(rulebook_denies_path(book, CATALOG_FILESYSTEM_WRITE, STR("/r/x"), NOW_MS));
    assert_false(rulebook_denies_path(book, CATALOG_FILESYSTEM_READ, STR("/a.lock"), NOW_MS));
    assert_true(rulebook_denies_path(book, CATALOG_FILESYSTEM_WRITE, STR("/a.lock/x"), NOW_MS));
    assert_false(rulebook_denies_path(book, CATALOG_FILESYSTEM_WRITE, STR("/a"), NOW_MS));
    assert_true(rulebook_denies_path(book, CATALOG_FILESYSTEM_READ, STR("a"), NOW_MS));
    assert_true(rulebook_denies_path(book, CATALOG_FILESYSTEM_READ, STR("/a/../b"), NOW_MS));
    assert_true(rulebook_denies_path(book, CATALOG_FILESYSTEM_READ, STR("/a\0b"), NOW_MS));
    assert_true(rulebook_has_denials(book, CATALOG_FILESYSTEM_READ));
    assert_false(rulebook_has_denials(book, CATALOG_SHELL));
    rule_count = 0;
    add(RULE_ALLOW, CATALOG_FILESYSTEM_WRITE, "dir:/r");
    compile();
    assert_false(rulebook_has_denials(book, CATALOG_FILESYSTEM_WRITE));
    add(RULE_DENY, CATALOG_FILESYSTEM_READ, "dir:/r");
    compile();
    assert_true(rulebook_has_denials(book, CATALOG_FILESYSTEM_WRITE));
}

static void rules_are_copied_and_brought_into_form(void **state)
{
    char pattern[] = "/a//b/";
    struct rule rule = {.kind = RULE_DIR, .pattern = {pattern, 6}, .note = STR("why")};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(rulebook_new(&rule, 1, &book, &err), 0);
    memset(pattern, 'x', sizeof(pattern));
    assert_int_equal(rulebook_count(book), 1);
    assert_str(rulebook_at(book, 0)->pattern, "/a/b");
    assert_str(rulebook_at(book, 0)->note, "why");
    check(RULE_ALLOW, CATALOG_FILESYSTEM_READ, "/a/b/c", true);
    /* Bytes that are no text can be here, though not in the settings. */
    rulebook_unref(book);
    book = NULL;
    rule = (struct rule){.pattern = STR("/a\xff")};
    assert_int_equal(rulebook_new(&rule, 1, &book, &err), 0);
    check(RULE_ALLOW, CATALOG_FILESYSTEM_READ, "/a\xff", true);
}

static void a_bad_rule_is_named(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    add(RULE_DENY, CATALOG_FILESYSTEM_READ, "/a");
    rules[rule_count++] = (struct rule){.kind = RULE_DIR, .pattern = STR("b")};
    assert_int_equal(rulebook_new(rules, rule_count, &book, &err), ERR_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "rule 2: a path in a rule must be absolute"));
    assert_int_equal(rulebook_new(rules, RULEBOOK_MAX_RULES + 1, &book, &err), ERR_TOO_LARGE);
    assert_null(book);
}

static void an_empty_book_has_no_rules(void **state)
{
    (void)state;
    compile();
    assert_int_equal(rulebook_count(book), 0);
    for (int group = 0; group <= CATALOG_BROWSER; group++) {
        check(RULE_DENY, (enum catalog_group)group, "/a", false);
        check(RULE_ALLOW, (enum catalog_group)group, "*", false);
    }
}

static void what_rules_name_has_a_ceiling(void **state)
{
    enum { COUNT = 600, DEPTH = 2000 };
    static char paths[COUNT][2 * DEPTH];
    static struct rule deep[COUNT];
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        memset(paths[i], 'a', sizeof(paths[i]));
        for (size_t at = 0; at < sizeof(paths[i]); at += 2)
            paths[i][at] = '/';
        paths[i][1] = (char)('b' + i % 24);
        paths[i][3] = (char)('b' + i / 24);
        deep[i] = (struct rule){.kind = RULE_DIR, .pattern = {paths[i], sizeof(paths[i])}};
    }
    assert_int_equal(rulebook_new(deep, COUNT, &book, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "rule "));
    assert_null(book);
    assert_int_equal(rulebook_new(deep, 10, &book, &err), 0);
}

/* Text around a number. */
struct frame {
    const char *before, *behind;
};

static struct str framed(const struct frame *frame, int number)
{
    char text[64];
    int len = snprintf(text, sizeof(text), "%s%d%s", frame->before, number, frame->behind);

    return (struct str){arena_copy(&arena, (struct str){text, (size_t)len}), (size_t)len};
}

static void many_rules_are_all_found(void **state)
{
    static const struct frame patterns[] = {
        {"/var/u", "/f"}, {"dir:/srv/d", ""},      {"glob:**/n", ""},
        {"glob:*.e", ""}, {"glob:/opt/h", "/*.c"},
    };
    static const struct frame names[] = {
        {"/var/u", "/f"}, {"/srv/d", "/x"}, {"/q/n", ""}, {"/q/y.e", ""}, {"/opt/h", "/z.c"},
    };
    enum { COUNT = 10000, FORMS = array_size(names) };
    static struct rule many[COUNT];

    (void)state;
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(rule_parse(&arena, CATALOG_FILESYSTEM_READ,
                                    framed(&patterns[i % FORMS], i), &many[i], NULL),
                         0);
    assert_int_equal(rulebook_new(many, COUNT, &book, NULL), 0);
    for (int i = 0; i < COUNT; i++) {
        assert_ptr_equal(rulebook_find(book, RULE_ALLOW, CATALOG_FILESYSTEM_READ,
                                       framed(&names[i % FORMS], i), STR_EMPTY, NOW_MS),
                         rulebook_at(book, (size_t)i));
        assert_null(rulebook_find(book, RULE_ALLOW, CATALOG_FILESYSTEM_READ,
                                  framed(&names[i % FORMS], i + 1), STR_EMPTY, NOW_MS));
    }
}

TEST_MAIN(cmocka_unit_test_teardown(files_are_matched_by_whole_components, reset),
          cmocka_unit_test_teardown(a_denied_folder_is_denied_with_all_in_it, reset),
          cmocka_unit_test_teardown(globs_of_every_shape_are_found, reset),
          cmocka_unit_test_teardown(a_prefix_is_whole_words_of_a_plain_command, reset),
          cmocka_unit_test_teardown(a_prefix_allows_nothing_that_bash_may_evaluate, reset),
          cmocka_unit_test_teardown(a_compound_command_is_allowed_only_as_a_whole, reset),
          cmocka_unit_test_teardown(a_denied_prefix_is_found_in_disguise, reset),
          cmocka_unit_test_teardown(a_denied_prefix_is_found_behind_what_may_stand_before_a_program,
                                    reset),
          cmocka_unit_test_teardown(a_denied_command_is_found_with_other_blanks_and_quotes, reset),
          cmocka_unit_test_teardown(a_rule_may_want_a_directory, reset),
          cmocka_unit_test_teardown(hosts_are_matched_by_whole_labels, reset),
          cmocka_unit_test_teardown(a_rule_that_names_the_host_is_found_before_one_for_all, reset),
          cmocka_unit_test_teardown(the_screen_is_seen_or_used_or_both, reset),
          cmocka_unit_test_teardown(expired_rules_are_passed_over, reset),
          cmocka_unit_test_teardown(one_expired_rule_does_not_hide_another, reset),
          cmocka_unit_test_teardown(what_may_not_be_read_may_not_be_changed, reset),
          cmocka_unit_test_teardown(rules_are_copied_and_brought_into_form, reset),
          cmocka_unit_test_teardown(a_bad_rule_is_named, reset),
          cmocka_unit_test_teardown(an_empty_book_has_no_rules, reset),
          cmocka_unit_test_teardown(what_rules_name_has_a_ceiling, reset),
          cmocka_unit_test_teardown(many_rules_are_all_found, reset))
