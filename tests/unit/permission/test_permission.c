/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "permission/permission.h"

enum { ARENA_BYTES = 1 << 20, NOW_MS = 5000, MOST = 16 };

static struct arena arena = ARENA_INIT(ARENA_BYTES);
static struct clock clock_of_test;
static struct permission *permission;
static struct rule rules[MOST];
static size_t rule_count;

static const char *const protected_dirs[] = {"/home/bob/.n8n-gateway", NULL};

static int set_up(void **state)
{
    struct permission_config config = {
        .modes = {.of = {PERMISSION_ASK, PERMISSION_ASK, PERMISSION_ASK, PERMISSION_ASK,
                         PERMISSION_ASK}},
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

static void set_mode(enum catalog_group group, enum permission_mode mode)
{
    struct permission_modes modes = permission_modes(permission);

    modes.of[group] = mode;
    permission_set_modes(permission, &modes);
}

static struct rule *add(enum rule_effect effect, enum catalog_group group, const char *text)
{
    struct rule *rule = &rules[rule_count++];

    assert_int_equal(rule_parse(&arena, group, str_from(text), rule, NULL), 0);
    rule->effect = effect;
    return rule;
}

static void use_rules(void)
{
    cleanup_rulebook struct rulebook *book = NULL;

    assert_int_equal(rulebook_new(rules, rule_count, &book, NULL), 0);
    permission_set_book(permission, book);
}

static struct permission_resource file(enum catalog_group group, const char *given,
                                       const char *resolved)
{
    return (struct permission_resource){
        .group = group, .given = str_from(given), .resolved = str_from(resolved)};
}

static struct permission_resource command(const char *text, const char *cwd)
{
    return (struct permission_resource){
        .group = CATALOG_SHELL, .given = str_from(text), .cwd = str_from(cwd)};
}

static struct permission_resource page(const char *host)
{
    return (struct permission_resource){.group = CATALOG_BROWSER, .given = str_from(host)};
}

static void check(struct permission_resource resource, enum permission_mode verdict,
                  enum permission_source source)
{
    struct permission_decision decision;

    permission_decide(permission, &resource, &decision);
    if (decision.verdict != verdict || decision.source != source)
        fail_msg("%.*s: %s by %s", STR_ARG(resource.given), permission_mode_name(decision.verdict),
                 permission_source_name(decision.source));
}

static void the_mode_decides_where_nothing_else_does(void **state)
{
    (void)state;
    check(file(CATALOG_FILESYSTEM_READ, "/w/a", ""), PERMISSION_ASK, PERMISSION_BY_MODE);
    set_mode(CATALOG_FILESYSTEM_READ, PERMISSION_ALLOW);
    check(file(CATALOG_FILESYSTEM_READ, "/w/a", ""), PERMISSION_ALLOW, PERMISSION_BY_MODE);
    set_mode(CATALOG_FILESYSTEM_READ, PERMISSION_DENY);
    check(file(CATALOG_FILESYSTEM_READ, "/w/a", ""), PERMISSION_DENY, PERMISSION_BY_MODE);
    /* What cannot be read cannot be changed. */
    check(file(CATALOG_FILESYSTEM_WRITE, "/w/a", ""), PERMISSION_DENY, PERMISSION_BY_MODE);
}

static void set_sensitive(enum permission_mode mode)
{
    struct permission_modes modes = permission_modes(permission);

    modes.sensitive = mode;
    permission_set_modes(permission, &modes);
}

static struct permission_resource reading(const char *given, const char *resolved)
{
    struct permission_resource resource = file(CATALOG_FILESYSTEM_READ, given, resolved);

    resource.operation = PERMISSION_READS;
    return resource;
}

static void what_usually_holds_secrets_is_asked_about_where_reading_is_allowed(void **state)
{
    struct permission_resource looking = file(CATALOG_FILESYSTEM_READ, "/w/.env", "");

    (void)state;
    looking.operation = PERMISSION_LOOKS_UP;
    set_mode(CATALOG_FILESYSTEM_READ, PERMISSION_ALLOW);
    set_sensitive(PERMISSION_ASK);
    check(reading("/w/.env", ""), PERMISSION_ASK, PERMISSION_BY_MODE);
    /* Whichever of its names says so. */
    check(reading("/w/notes", "/w/.env"), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(reading("/w/.env", "/w/notes"), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(reading("/w/notes", ""), PERMISSION_ALLOW, PERMISSION_BY_MODE);
    check(looking, PERMISSION_ALLOW, PERMISSION_BY_MODE);
    set_sensitive(PERMISSION_DENY);
    check(reading("/w/.env", ""), PERMISSION_DENY, PERMISSION_BY_MODE);
    set_sensitive(PERMISSION_ALLOW);
    check(reading("/w/.env", ""), PERMISSION_ALLOW, PERMISSION_BY_MODE);
    /* It opens nothing. */
    set_mode(CATALOG_FILESYSTEM_READ, PERMISSION_DENY);
    check(reading("/w/.env", ""), PERMISSION_DENY, PERMISSION_BY_MODE);
}

static struct permission_resource changing(const char *given, const char *resolved)
{
    struct permission_resource resource = file(CATALOG_FILESYSTEM_WRITE, given, resolved);

    resource.operation = PERMISSION_CHANGES;
    return resource;
}

static void what_runs_by_itself_is_asked_about_where_changing_is_allowed(void **state)
{
    struct permission_resource other = changing("/w/.bashrc", "");
    struct permission_resource deleting = changing("/w/.git/config", "");
    struct permission_modes modes;

    (void)state;
    deleting.operation = PERMISSION_DELETES;
    set_mode(CATALOG_FILESYSTEM_READ, PERMISSION_ALLOW);
    set_mode(CATALOG_FILESYSTEM_WRITE, PERMISSION_ALLOW);
    check(changing("/w/.git/config", ""), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(changing("/w/x", "/w/.git/hooks/x"), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(changing("/w/.git/hooks/x", "/w/x"), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(changing("/w/config", ""), PERMISSION_ALLOW, PERMISSION_BY_MODE);
    check(deleting, PERMISSION_ALLOW, PERMISSION_BY_MODE);
    add(RULE_ALLOW, CATALOG_FILESYSTEM_WRITE, "/w/.git/config");
    use_rules();
    check(changing("/w/.git/config", ""), PERMISSION_ALLOW, PERMISSION_BY_ALLOW_RULE);
    check(other, PERMISSION_ASK, PERMISSION_BY_MODE);
    assert_int_equal(permission_allow_for_session(permission, &other), 0);
    check(other, PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
    modes = permission_modes(permission);
    modes.allows_autorun = true;
    permission_set_modes(permission, &modes);
    check(changing("/w/.git/hooks/x", ""), PERMISSION_ALLOW, PERMISSION_BY_MODE);
    set_mode(CATALOG_FILESYSTEM_WRITE, PERMISSION_DENY);
    check(changing("/w/.git/hooks/x", ""), PERMISSION_DENY, PERMISSION_BY_MODE);
}

static void a_rule_or_an_answer_allows_what_holds_secrets(void **state)
{
    struct permission_resource other = reading("/w/a/.env", "");

    (void)state;
    set_mode(CATALOG_FILESYSTEM_READ, PERMISSION_ALLOW);
    set_sensitive(PERMISSION_ASK);
    add(RULE_ALLOW, CATALOG_FILESYSTEM_READ, "/w/.env");
    use_rules();
    check(reading("/w/.env", ""), PERMISSION_ALLOW, PERMISSION_BY_ALLOW_RULE);
    check(other, PERMISSION_ASK, PERMISSION_BY_MODE);
    assert_int_equal(permission_allow_for_session(permission, &other), 0);
    check(other, PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
}

static void a_deny_rule_wins_in_every_mode(void **state)
{
    struct permission_resource resource = file(CATALOG_FILESYSTEM_READ, "/w/secret", "");

    (void)state;
    add(RULE_DENY, CATALOG_FILESYSTEM_READ, "/w/secret");
    add(RULE_ALLOW, CATALOG_FILESYSTEM_READ, "dir:/w");
    use_rules();
    assert_int_equal(permission_allow_for_session(permission, &resource), 0);
    for (int mode = PERMISSION_DENY; mode <= PERMISSION_ALLOW; mode++) {
        set_mode(CATALOG_FILESYSTEM_READ, (enum permission_mode)mode);
        check(resource, PERMISSION_DENY, PERMISSION_BY_DENY_RULE);
    }
    /* Nor is it changed, by whatever is said about changing. */
    set_mode(CATALOG_FILESYSTEM_WRITE, PERMISSION_ALLOW);
    check(file(CATALOG_FILESYSTEM_WRITE, "/w/secret", ""), PERMISSION_DENY,
          PERMISSION_BY_DENY_RULE);
}

static void a_command_is_denied_as_it_was_given_and_allowed_as_rules_know_it(void **state)
{
    struct permission_resource resource = command("sudo git status", "/w");
    struct permission_resource plain = command("git status", "/w");

    (void)state;
    resource.resolved = plain.given;
    add(RULE_ALLOW, CATALOG_SHELL, "git status");
    use_rules();
    check(resource, PERMISSION_ALLOW, PERMISSION_BY_ALLOW_RULE);
    add(RULE_DENY, CATALOG_SHELL, "prefix:sudo");
    use_rules();
    check(resource, PERMISSION_DENY, PERMISSION_BY_DENY_RULE);
    check(plain, PERMISSION_ALLOW, PERMISSION_BY_ALLOW_RULE);
    rule_count = 0;
    add(RULE_ALLOW, CATALOG_SHELL, "sudo git status");
    use_rules();
    check(resource, PERMISSION_ASK, PERMISSION_BY_MODE);
    rule_count = 0;
    use_rules();
    assert_int_equal(permission_allow_for_session(permission, &resource), 0);
    check(plain, PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
}

static void what_allows_counts_in_mode_ask_alone(void **state)
{
    struct permission_resource resource = file(CATALOG_FILESYSTEM_READ, "/w/a", "");

    (void)state;
    add(RULE_ALLOW, CATALOG_FILESYSTEM_READ, "dir:/w");
    use_rules();
    check(resource, PERMISSION_ALLOW, PERMISSION_BY_ALLOW_RULE);
    set_mode(CATALOG_FILESYSTEM_READ, PERMISSION_DENY);
    assert_int_equal(permission_allow_for_session(permission, &resource), 0);
    check(resource, PERMISSION_DENY, PERMISSION_BY_MODE);
    set_mode(CATALOG_FILESYSTEM_READ, PERMISSION_ALLOW);
    check(resource, PERMISSION_ALLOW, PERMISSION_BY_MODE);
}

static void a_rule_of_one_group_is_none_of_another(void **state)
{
    (void)state;
    add(RULE_ALLOW, CATALOG_FILESYSTEM_WRITE, "dir:/w");
    add(RULE_DENY, CATALOG_FILESYSTEM_WRITE, "dir:/v");
    use_rules();
    check(file(CATALOG_FILESYSTEM_READ, "/w/a", ""), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(file(CATALOG_FILESYSTEM_READ, "/v/a", ""), PERMISSION_ASK, PERMISSION_BY_MODE);
}

static void denials_hold_for_both_names_and_allowances_for_where_it_leads(void **state)
{
    (void)state;
    add(RULE_ALLOW, CATALOG_FILESYSTEM_READ, "dir:/w/open");
    add(RULE_DENY, CATALOG_FILESYSTEM_READ, "dir:/w/closed");
    use_rules();
    check(file(CATALOG_FILESYSTEM_READ, "/w/link", "/w/closed/x"), PERMISSION_DENY,
          PERMISSION_BY_DENY_RULE);
    check(file(CATALOG_FILESYSTEM_READ, "/w/closed/link", "/w/open/x"), PERMISSION_DENY,
          PERMISSION_BY_DENY_RULE);
    check(file(CATALOG_FILESYSTEM_READ, "/w/open/link", "/w/x"), PERMISSION_ASK,
          PERMISSION_BY_MODE);
    check(file(CATALOG_FILESYSTEM_READ, "/w/link", "/w/open/x"), PERMISSION_ALLOW,
          PERMISSION_BY_ALLOW_RULE);
    check(file(CATALOG_FILESYSTEM_READ, "/w/open/../closed/x", "/w/open/x"), PERMISSION_DENY,
          PERMISSION_BY_DENY_RULE);
}

static void protected_directories_are_for_nobody(void **state)
{
    (void)state;
    add(RULE_ALLOW, CATALOG_FILESYSTEM_READ, "dir:/home/bob/.n8n-gateway");
    use_rules();
    set_mode(CATALOG_FILESYSTEM_WRITE, PERMISSION_ALLOW);
    set_mode(CATALOG_SHELL, PERMISSION_ALLOW);
    check(file(CATALOG_FILESYSTEM_READ, "/home/bob/.n8n-gateway", ""), PERMISSION_DENY,
          PERMISSION_BY_PROTECTION);
    check(file(CATALOG_FILESYSTEM_WRITE, "/home/bob/.n8n-gateway/settings.json", ""),
          PERMISSION_DENY, PERMISSION_BY_PROTECTION);
    check(file(CATALOG_FILESYSTEM_READ, "/home/bob/link", "/home/bob/.n8n-gateway/x"),
          PERMISSION_DENY, PERMISSION_BY_PROTECTION);
    check(file(CATALOG_FILESYSTEM_READ, "/home/bob/.n8n-gateway/link", "/home/bob/x"),
          PERMISSION_DENY, PERMISSION_BY_PROTECTION);
    check(file(CATALOG_FILESYSTEM_READ, "/home/bob/.n8n-gateway2", ""), PERMISSION_ASK,
          PERMISSION_BY_MODE);
    check(command("ls", "/home/bob/.n8n-gateway"), PERMISSION_DENY, PERMISSION_BY_PROTECTION);
    check(command("ls", "/home/bob"), PERMISSION_ALLOW, PERMISSION_BY_MODE);
}

static void bad_protected_directories_are_refused(void **state)
{
    static const char *const relative[] = {"a", NULL};
    const char *many[PERMISSION_MAX_PROTECTED_DIRS + 2] = {NULL};
    struct permission_config config = {.protected_dirs = relative};
    struct permission *other = NULL;

    (void)state;
    assert_int_equal(permission_new(&config, &other, NULL), ERR_INVALID_ARGUMENT);
    for (size_t i = 0; i <= PERMISSION_MAX_PROTECTED_DIRS; i++)
        many[i] = "/a";
    config.protected_dirs = many;
    assert_int_equal(permission_new(&config, &other, NULL), ERR_TOO_LARGE);
    assert_null(other);
}

static void what_is_no_name_is_denied(void **state)
{
    struct permission_resource nul = {
        .group = CATALOG_SHELL, .given = STR("ls\0x"), .cwd = STR("/w")};

    (void)state;
    permission_set_modes(
        permission,
        &(struct permission_modes){.of = {PERMISSION_ALLOW, PERMISSION_ALLOW, PERMISSION_ALLOW,
                                          PERMISSION_ALLOW, PERMISSION_ALLOW}});
    check(file(CATALOG_FILESYSTEM_READ, "", ""), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(file(CATALOG_FILESYSTEM_READ, "w/a", ""), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(file(CATALOG_FILESYSTEM_READ, "w/a", "/w/a"), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(file(CATALOG_FILESYSTEM_READ, "/w/a", "a"), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(file(CATALOG_FILESYSTEM_READ, "/w/../a", ""), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(file(CATALOG_FILESYSTEM_READ, "/w/a", "/w/../a"), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(command("", "/w"), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(command("ls", "w"), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(command("ls", "/w/../v"), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(nul, PERMISSION_DENY, PERMISSION_BY_FORM);
    check(page(""), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(page("a..b"), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(page("https://a.de"), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(page("m\xc3\xbcnchen.de"), PERMISSION_DENY, PERMISSION_BY_FORM);
    check(page("*"), PERMISSION_ALLOW, PERMISSION_BY_MODE);
    check((struct permission_resource){.group = CATALOG_COMPUTER, .given = STR("x")},
          PERMISSION_DENY, PERMISSION_BY_FORM);
    nul.given = STR("/w\0a");
    assert_int_equal(permission_allow_for_session(permission, &nul), ERR_INVALID_ARGUMENT);
}

static void rules_end_when_their_time_comes(void **state)
{
    struct permission_resource resource = page("a.de");

    (void)state;
    add(RULE_ALLOW, CATALOG_BROWSER, "a.de")->expires_ms = NOW_MS + 10;
    use_rules();
    check(resource, PERMISSION_ALLOW, PERMISSION_BY_ALLOW_RULE);
    clock_fake_advance(&clock_of_test, 10);
    check(resource, PERMISSION_ASK, PERMISSION_BY_MODE);
}

/* Each operation is another thing to agree to; only reading includes looking up. */
static void a_session_remembers_the_operation(void **state)
{
    set_sensitive(PERMISSION_ASK);
    for (enum permission_operation yes = PERMISSION_LOOKS_UP; yes < PERMISSION_OPERATIONS; yes++) {
        struct permission_resource allowed = file(permission_operation_group(yes), "/w/a", "");

        (void)state;
        permission_end_session(permission);
        allowed.operation = yes;
        assert_int_equal(permission_allow_for_session(permission, &allowed), 0);
        for (enum permission_operation asked = PERMISSION_LOOKS_UP; asked < PERMISSION_OPERATIONS;
             asked++) {
            struct permission_resource resource =
                file(permission_operation_group(asked), "/w/a", "");
            bool is_allowed =
                asked == yes || (yes == PERMISSION_READS && asked == PERMISSION_LOOKS_UP);

            resource.operation = asked;
            check(resource, is_allowed ? PERMISSION_ALLOW : PERMISSION_ASK,
                  is_allowed ? PERMISSION_BY_SESSION_RULE : PERMISSION_BY_MODE);
        }
    }
}

static void who_allowed_changes_in_a_folder_allowed_undoing_them(void **state)
{
    const struct rule folder = {.group = CATALOG_FILESYSTEM_WRITE,
                                .effect = RULE_ALLOW,
                                .kind = RULE_DIR,
                                .pattern = STR("/w")};
    struct permission_resource undoing = file(CATALOG_FILESYSTEM_WRITE, "/w", "");

    (void)state;
    undoing.operation = PERMISSION_CHANGES_BELOW;
    assert_int_equal(permission_allow_scope(permission, PERMISSION_CREATES, &folder), 0);
    check(undoing, PERMISSION_ASK, PERMISSION_BY_MODE);
    assert_int_equal(permission_allow_scope(permission, PERMISSION_CHANGES, &folder), 0);
    check(undoing, PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
}

static void a_session_remembers_the_very_thing(void **state)
{
    struct permission_resource link = file(CATALOG_FILESYSTEM_WRITE, "/w/link", "/w/a");
    struct permission_resource make = command("make", "/w");
    struct permission_resource host = page("A.de:80");
    struct permission_resource gone = file(CATALOG_FILESYSTEM_WRITE, "/w/a", "");

    (void)state;
    gone.operation = PERMISSION_DELETES;
    assert_int_equal(permission_allow_for_session(permission, &link), 0);
    assert_int_equal(permission_allow_for_session(permission, &make), 0);
    assert_int_equal(permission_allow_for_session(permission, &host), 0);
    assert_int_equal(permission_allow_for_session(permission, &host), 0);
    assert_int_equal(permission_session_count(permission), 3);
    check(link, PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
    check(file(CATALOG_FILESYSTEM_WRITE, "/w/a", ""), PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
    check(file(CATALOG_FILESYSTEM_WRITE, "/w/link", ""), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(file(CATALOG_FILESYSTEM_WRITE, "/w/link", "/w/b"), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(file(CATALOG_FILESYSTEM_WRITE, "/w/a/b", ""), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(file(CATALOG_FILESYSTEM_READ, "/w/a", ""), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(gone, PERMISSION_ASK, PERMISSION_BY_MODE);
    check(make, PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
    check(command("make", "/w/"), PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
    check(command("make", "/v"), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(command("make", ""), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(command("make x", "/w"), PERMISSION_ASK, PERMISSION_BY_MODE);
    /* What is typed into it was not seen then. */
    make.is_typed = true;
    check(make, PERMISSION_ASK, PERMISSION_BY_MODE);
    assert_int_equal(permission_allow_for_session(permission, &make), ERR_INVALID_ARGUMENT);
    check(page("a.de"), PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
    check(page("b.a.de"), PERMISSION_ASK, PERMISSION_BY_MODE);
    permission_end_session(permission);
    assert_int_equal(permission_session_count(permission), 0);
    check(link, PERMISSION_ASK, PERMISSION_BY_MODE);
    assert_int_equal(permission_allow_for_session(permission, &link), 0);
    check(link, PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
}

static void a_rule_that_allows_a_command_allows_nothing_that_is_typed_into_it(void **state)
{
    struct permission_modes modes = permission_modes(permission);
    struct permission_resource log = command("git log", "/w");
    struct permission_resource make = command("make", "/w");
    struct permission_resource rm = command("rm -i x", "/w");

    (void)state;
    add(RULE_ALLOW, CATALOG_SHELL, "prefix:git log");
    add(RULE_ALLOW, CATALOG_SHELL, "make");
    add(RULE_DENY, CATALOG_SHELL, "prefix:rm");
    use_rules();
    check(log, PERMISSION_ALLOW, PERMISSION_BY_ALLOW_RULE);
    check(make, PERMISSION_ALLOW, PERMISSION_BY_ALLOW_RULE);
    log.is_typed = true;
    make.is_typed = true;
    rm.is_typed = true;
    check(log, PERMISSION_ASK, PERMISSION_BY_MODE);
    check(make, PERMISSION_ASK, PERMISSION_BY_MODE);
    check(rm, PERMISSION_DENY, PERMISSION_BY_DENY_RULE);
    modes.of[CATALOG_SHELL] = PERMISSION_ALLOW;
    permission_set_modes(permission, &modes);
    check(log, PERMISSION_ALLOW, PERMISSION_BY_MODE);
    check(rm, PERMISSION_DENY, PERMISSION_BY_DENY_RULE);
}

static void a_session_has_a_ceiling(void **state)
{
    char text[32];

    (void)state;
    for (int i = 0; i <= PERMISSION_SESSION_MAX_RULES; i++) {
        struct permission_resource resource;

        snprintf(text, sizeof(text), "/w/%d", i);
        resource = file(CATALOG_FILESYSTEM_WRITE, text, "");
        assert_int_equal(permission_allow_for_session(permission, &resource),
                         i < PERMISSION_SESSION_MAX_RULES ? 0 : ERR_BUSY);
    }
    check(file(CATALOG_FILESYSTEM_WRITE, text, ""), PERMISSION_ASK, PERMISSION_BY_MODE);
    check(file(CATALOG_FILESYSTEM_WRITE, "/w/0", ""), PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
}

static void of_several_the_gravest_counts(void **state)
{
    struct permission_resource resources[] = {
        file(CATALOG_FILESYSTEM_WRITE, "/w/open/a", ""),
        file(CATALOG_FILESYSTEM_WRITE, "/w/b", ""),
        file(CATALOG_FILESYSTEM_WRITE, "/w/c", ""),
        file(CATALOG_FILESYSTEM_WRITE, "/w/closed/d", ""),
    };
    struct permission_decision decisions[4];
    size_t index = 9;

    (void)state;
    add(RULE_ALLOW, CATALOG_FILESYSTEM_WRITE, "dir:/w/open");
    add(RULE_DENY, CATALOG_FILESYSTEM_WRITE, "dir:/w/closed");
    use_rules();
    assert_int_equal(permission_decide_all(permission, resources, 0, decisions, &index),
                     PERMISSION_DENY);
    assert_int_equal(index, 9);
    assert_int_equal(permission_decide_all(permission, resources, 1, NULL, &index),
                     PERMISSION_ALLOW);
    assert_int_equal(index, 0);
    assert_int_equal(permission_decide_all(permission, resources, 3, NULL, &index), PERMISSION_ASK);
    assert_int_equal(index, 1);
    assert_int_equal(permission_decide_all(permission, resources, 4, decisions, &index),
                     PERMISSION_DENY);
    assert_int_equal(index, 3);
    assert_int_equal(decisions[0].source, PERMISSION_BY_ALLOW_RULE);
    assert_int_equal(decisions[1].verdict, PERMISSION_ASK);
    assert_string_equal(decisions[3].rule, "dir:/w/closed");
}

static void the_rule_is_told_and_cut_to_fit(void **state)
{
    static char long_text[2 * PERMISSION_RULE_BYTES];
    struct permission_resource resource = {.group = CATALOG_SHELL};
    struct permission_decision decision;

    (void)state;
    long_text[0] = 'x';
    for (size_t i = 1; i < sizeof(long_text) - 1; i += 2)
        memcpy(long_text + i, "\xc3\xa9", 2);
    resource.given = (struct str){long_text, sizeof(long_text) - 1};
    rules[rule_count++] = (struct rule){.group = CATALOG_SHELL, .pattern = resource.given};
    add(RULE_DENY, CATALOG_SHELL, "prefix:rm");
    use_rules();
    permission_decide(permission, &resource, &decision);
    assert_int_equal(decision.source, PERMISSION_BY_ALLOW_RULE);
    /* No character is cut in two. */
    assert_int_equal(strlen(decision.rule), PERMISSION_RULE_BYTES - 1);
    assert_memory_equal(decision.rule, long_text, PERMISSION_RULE_BYTES - 1);
    resource.given = STR("rm x");
    permission_decide(permission, &resource, &decision);
    assert_string_equal(decision.rule, "prefix:rm");
    resource.given = STR("ls");
    permission_decide(permission, &resource, &decision);
    assert_string_equal(decision.rule, "");
    resource = file(CATALOG_FILESYSTEM_READ, "/home/bob/.n8n-gateway/x", "");
    permission_decide(permission, &resource, &decision);
    assert_string_equal(decision.rule, "/home/bob/.n8n-gateway");
}

static void a_book_can_be_had_and_taken_away(void **state)
{
    cleanup_rulebook struct rulebook *book = NULL;

    (void)state;
    assert_null(permission_book(permission));
    add(RULE_DENY, CATALOG_COMPUTER, "*");
    use_rules();
    book = permission_book(permission);
    assert_int_equal(rulebook_count(book), 1);
    permission_set_book(permission, NULL);
    check((struct permission_resource){.group = CATALOG_COMPUTER, .given = STR("*")},
          PERMISSION_ASK, PERMISSION_BY_MODE);
    assert_str(rulebook_at(book, 0)->pattern, "*");
}

static void every_source_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(permission_source_name(PERMISSION_BY_PROTECTION), "protected");
    assert_string_equal(permission_source_name(PERMISSION_BY_DENY_RULE), "deny-rule");
    assert_string_equal(permission_source_name(PERMISSION_BY_ALLOW_RULE), "allow-rule");
    assert_string_equal(permission_source_name(PERMISSION_BY_SESSION_RULE), "session-rule");
    assert_string_equal(permission_source_name(PERMISSION_BY_MODE), "mode");
    assert_string_equal(permission_source_name(PERMISSION_BY_USER), "user");
    assert_string_equal(permission_source_name(PERMISSION_BY_NOBODY), "nobody");
    assert_string_equal(permission_source_name(PERMISSION_BY_FORM), "malformed");
}

static void a_folder_that_makes_secrets_is_moved_as_they_are_read(void **state)
{
    struct permission_resource folder = file(CATALOG_FILESYSTEM_READ, "/w/.aws", "");

    (void)state;
    set_mode(CATALOG_FILESYSTEM_READ, PERMISSION_ALLOW);
    set_sensitive(PERMISSION_ASK);
    folder.operation = PERMISSION_READS_BELOW;
    check(folder, PERMISSION_ALLOW, PERMISSION_BY_MODE);
    folder.operation = PERMISSION_READS_SECRETS;
    check(folder, PERMISSION_ASK, PERMISSION_BY_MODE);
    set_sensitive(PERMISSION_DENY);
    check(folder, PERMISSION_DENY, PERMISSION_BY_MODE);
}

static void what_needs_a_name_is_asked_about_where_all_is_allowed(void **state)
{
    struct permission_resource here = page("127.0.0.1");
    struct permission_resource there = page("10.1.2.3");

    (void)state;
    here.needs_name = there.needs_name = true;
    set_mode(CATALOG_BROWSER, PERMISSION_DENY);
    check(here, PERMISSION_DENY, PERMISSION_BY_MODE);
    set_mode(CATALOG_BROWSER, PERMISSION_ALLOW);
    check(page("example.com"), PERMISSION_ALLOW, PERMISSION_BY_MODE);
    check(here, PERMISSION_ASK, PERMISSION_BY_MODE);
    assert_int_equal(permission_allow_for_session(permission, &here), 0);
    check(here, PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE);
    check(there, PERMISSION_ASK, PERMISSION_BY_MODE);
    permission_end_session(permission);
    add(RULE_ALLOW, CATALOG_BROWSER, "host:*");
    use_rules();
    check(here, PERMISSION_ASK, PERMISSION_BY_MODE);
    set_mode(CATALOG_BROWSER, PERMISSION_ASK);
    check(page("example.com"), PERMISSION_ALLOW, PERMISSION_BY_ALLOW_RULE);
    check(here, PERMISSION_ASK, PERMISSION_BY_MODE);
    add(RULE_ALLOW, CATALOG_BROWSER, "host:127.0.0.1");
    use_rules();
    check(here, PERMISSION_ALLOW, PERMISSION_BY_ALLOW_RULE);
    check(there, PERMISSION_ASK, PERMISSION_BY_MODE);
    set_mode(CATALOG_BROWSER, PERMISSION_ALLOW);
    check(here, PERMISSION_ALLOW, PERMISSION_BY_MODE);
    add(RULE_DENY, CATALOG_BROWSER, "host:127.0.0.1");
    use_rules();
    check(here, PERMISSION_DENY, PERMISSION_BY_DENY_RULE);
}

#define decides(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

TEST_MAIN(decides(the_mode_decides_where_nothing_else_does),
          decides(what_usually_holds_secrets_is_asked_about_where_reading_is_allowed),
          decides(what_runs_by_itself_is_asked_about_where_changing_is_allowed),
          decides(a_rule_or_an_answer_allows_what_holds_secrets),
          decides(a_folder_that_makes_secrets_is_moved_as_they_are_read),
          decides(what_needs_a_name_is_asked_about_where_all_is_allowed),
          decides(a_deny_rule_wins_in_every_mode),
          decides(a_command_is_denied_as_it_was_given_and_allowed_as_rules_know_it),
          decides(what_allows_counts_in_mode_ask_alone),
          decides(a_rule_of_one_group_is_none_of_another),
          decides(denials_hold_for_both_names_and_allowances_for_where_it_leads),
          decides(protected_directories_are_for_nobody),
          cmocka_unit_test(bad_protected_directories_are_refused),
          decides(what_is_no_name_is_denied), decides(rules_end_when_their_time_comes),
          decides(who_allowed_changes_in_a_folder_allowed_undoing_them),
          decides(a_session_remembers_the_very_thing), decides(a_session_remembers_the_operation),
          decides(a_rule_that_allows_a_command_allows_nothing_that_is_typed_into_it),
          decides(a_session_has_a_ceiling), decides(of_several_the_gravest_counts),
          decides(the_rule_is_told_and_cut_to_fit), decides(a_book_can_be_had_and_taken_away),
          cmocka_unit_test(every_source_has_a_name))
