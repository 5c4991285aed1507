/* SPDX-License-Identifier: Apache-2.0 */
/* What a new rule is said to touch, in a folder in memory. The audit log is in
 * tests/e2e/test_rules.py. */
#include "test.h"

#include <stdio.h>

#include "permission/rules/rule.h"
#include "programs/rules/impact.h"

static struct authority *authority;
static struct authority_scope *scope;
static struct clock now;
static int64_t walk_takes_ms;

static void take_time(void *data, const struct authority_context *context,
                      struct authority_decision *decision)
{
    (void)data;
    (void)decision;
    if (context->operation == AUTHORITY_OP_WALK)
        clock_fake_advance(&now, walk_takes_ms);
}

static int set_up(void **state)
{
    const struct authority_config config = {.backend = AUTHORITY_MEMORY, .clock = &now};
    const struct authority_hook hook = {.id = "time", .before = take_time};
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "test"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "folder", .path = "/folder"},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "a test",
        .source = AUTHORITY_FROM_CORE,
    };

    (void)state;
    walk_takes_ms = 0;
    clock_fake_init(&now, 0);
    assert_int_equal(authority_new(&config, &authority, NULL), 0);
    assert_int_equal(authority_add_hook(authority, &hook), 0);
    assert_int_equal(authority_request_root(authority, &request, &scope, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    authority_scope_free(scope);
    authority_free(authority);
    return 0;
}

static void put(const char *name)
{
    assert_int_equal(authority_write_text(scope, str_from(name), STR("x"), NULL, NULL), 0);
}

static void put_many(unsigned count)
{
    char name[32];

    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "%u.txt", i);
        put(name);
    }
}

static struct impact_count count(enum rule_effect effect, enum catalog_group group,
                                 const char *match)
{
    struct arena arena = ARENA_INIT(1 << 20);
    struct impact_count found = {.looked_at = 0};
    struct rule rule;

    assert_int_equal(rule_parse(&arena, group, str_from(match), &rule, NULL), 0);
    rule.effect = effect;
    rule.cwd = rule.note = STR_EMPTY;
    rule.expires_ms = 0;
    assert_int_equal(impact_count_files(&rule, scope, "/folder", &now, &found, NULL), 0);
    arena_done(&arena);
    return found;
}

static void files_that_match_are_counted_among_all(void **state)
{
    struct impact_count found;

    (void)state;
    assert_int_equal(authority_mkdir(scope, STR("sub"), NULL, NULL), 0);
    put(".env");
    put("sub/.env");
    put("sub/main.c");
    found = count(RULE_DENY, CATALOG_FILESYSTEM_READ, "glob:**/.env");
    assert_int_equal(found.touched, 2);
    assert_int_equal(found.looked_at, 3);
    assert_false(found.is_partial);
    found = count(RULE_ALLOW, CATALOG_FILESYSTEM_WRITE, "dir:/folder/sub");
    assert_int_equal(found.touched, 2);
    /* An allow rule is for one path, a deny rule for all below it. */
    assert_int_equal(count(RULE_ALLOW, CATALOG_FILESYSTEM_WRITE, "/folder/sub").touched, 0);
    assert_int_equal(count(RULE_DENY, CATALOG_FILESYSTEM_WRITE, "/folder/sub").touched, 2);
    assert_int_equal(count(RULE_DENY, CATALOG_FILESYSTEM_READ, "/elsewhere/sub").touched, 0);
}

static void counting_ends_when_it_takes_too_long(void **state)
{
    struct impact_count found;

    (void)state;
    put_many(IMPACT_STRIDE);
    walk_takes_ms = IMPACT_MS;
    /* A small folder is counted whole, however slow the machine is. */
    found = count(RULE_DENY, CATALOG_FILESYSTEM_READ, "glob:*.txt");
    assert_int_equal(found.looked_at, IMPACT_STRIDE);
    assert_false(found.is_partial);
    put("one more");
    found = count(RULE_DENY, CATALOG_FILESYSTEM_READ, "glob:*.txt");
    assert_int_equal(found.looked_at, IMPACT_STRIDE);
    assert_true(found.is_partial);
    walk_takes_ms = IMPACT_MS - 1;
    assert_false(count(RULE_DENY, CATALOG_FILESYSTEM_READ, "glob:*.txt").is_partial);
}

static void counting_ends_after_so_many(void **state)
{
    struct impact_count found;

    (void)state;
    put_many(IMPACT_MAX);
    found = count(RULE_DENY, CATALOG_FILESYSTEM_READ, "glob:*.txt");
    assert_int_equal(found.touched, IMPACT_MAX);
    assert_false(found.is_partial);
    put("one more");
    found = count(RULE_DENY, CATALOG_FILESYSTEM_READ, "glob:*.txt");
    assert_int_equal(found.looked_at, IMPACT_MAX);
    assert_true(found.is_partial);
}

#define impact_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(impact_test(files_that_match_are_counted_among_all),
          impact_test(counting_ends_when_it_takes_too_long),
          impact_test(counting_ends_after_so_many))
