/* SPDX-License-Identifier: Apache-2.0 */
/* A session and the settings file stay in step. */
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "../authority/scene.h"
#include "permission/rules/keeper.h"

enum { PATH_BYTES = 160 };

struct world {
    struct scene scene;
    char dir[PATH_BYTES];
    char state[PATH_BYTES];
    struct authority *authority;
    struct settings_file *file;
    struct keeper *keeper;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct authority_config config = {.backend = AUTHORITY_LINUX};

    assert_non_null(world);
    scene_make(&world->scene);
    snprintf(world->dir, sizeof(world->dir), "%s/settings", world->scene.path);
    snprintf(world->state, sizeof(world->state), "%s/state", world->scene.path);
    config.state_dir = world->state;
    assert_int_equal(authority_new(&config, &world->authority, NULL), 0);
    assert_int_equal(settings_file_open(
                         &(struct settings_file_config){
                             .authority = world->authority, .dir = world->dir, .may_create = true},
                         &world->file, NULL),
                     0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    keeper_free(world->keeper);
    settings_file_free(world->file);
    authority_free(world->authority);
    scene_drop(&world->scene);
    free(world);
    return 0;
}

static void begin(struct world *world, enum permission_mode mode, bool may_save)
{
    struct keeper_config config = {.settings = world->file, .may_save = may_save};

    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        config.modes.of[i] = mode;
    keeper_free(world->keeper);
    assert_int_equal(keeper_new(&config, &world->keeper, NULL, NULL), 0);
}

static struct permission_resource file_at(const char *path)
{
    return (struct permission_resource){.group = CATALOG_FILESYSTEM_WRITE,
                                        .given = str_from(path),
                                        .resolved = str_from(path),
                                        .cwd = STR_EMPTY};
}

static enum permission_mode verdict(struct world *world, const char *path)
{
    const struct permission_resource resource = file_at(path);
    struct permission_decision decision;

    permission_decide(keeper_permission(world->keeper), &resource, &decision);
    return decision.verdict;
}

static int save(struct world *world, const char *path, enum rule_effect effect)
{
    const struct permission_resource resource = file_at(path);

    return keeper_save(world->keeper, &resource, 1, effect, NULL);
}

static void spoil_settings(struct world *world)
{
    char path[2 * PATH_BYTES];
    FILE *file;

    snprintf(path, sizeof(path), "%s/settings.json", world->dir);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("{", file);
    fclose(file);
}

static void what_is_saved_holds_now_and_for_the_next(void **state)
{
    struct world *world = *state;

    begin(world, PERMISSION_ASK, true);
    assert_true(keeper_saves(world->keeper));
    assert_int_equal(verdict(world, "/r/a"), PERMISSION_ASK);
    assert_int_equal(save(world, "/r/a", RULE_ALLOW), 0);
    assert_int_equal(save(world, "/r/b*", RULE_DENY), 0);
    /* Again is no error. */
    assert_int_equal(save(world, "/r/a", RULE_ALLOW), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(verdict(world, "/r/a"), PERMISSION_ALLOW);
        assert_int_equal(verdict(world, "/r/b*"), PERMISSION_DENY);
        assert_int_equal(verdict(world, "/r/bc"), PERMISSION_ASK);
        begin(world, PERMISSION_ASK, false);
    }
}

static void what_cannot_be_written_holds_for_the_session(void **state)
{
    struct world *world = *state;

    begin(world, PERMISSION_ALLOW, false);
    assert_false(keeper_saves(world->keeper));
    assert_int_equal(save(world, "/r/a", RULE_DENY), ERR_UNSUPPORTED);
    assert_int_equal(verdict(world, "/r/a"), PERMISSION_DENY);
    assert_int_equal(keeper_refresh(world->keeper, NULL), 0);
    assert_int_equal(verdict(world, "/r/a"), PERMISSION_DENY);
    begin(world, PERMISSION_ALLOW, false);
    assert_int_equal(verdict(world, "/r/a"), PERMISSION_ALLOW);
}

static void rules_that_cannot_be_read_any_more_hold_and_nothing_happens_unasked(void **state)
{
    struct world *world = *state;
    const struct rule rule = {.group = CATALOG_FILESYSTEM_WRITE,
                              .effect = RULE_DENY,
                              .kind = RULE_EXACT,
                              .pattern = STR("/r/a"),
                              .cwd = STR_EMPTY,
                              .note = STR_EMPTY};

    begin(world, PERMISSION_ALLOW, true);
    assert_int_equal(settings_file_add_rule(world->file, &rule, NULL), 0);
    assert_int_equal(keeper_refresh(world->keeper, NULL), 0);
    assert_int_equal(verdict(world, "/r/a"), PERMISSION_DENY);
    assert_int_equal(verdict(world, "/r/b"), PERMISSION_ALLOW);
    spoil_settings(world);
    assert_true(keeper_refresh(world->keeper, NULL) < 0);
    assert_int_equal(verdict(world, "/r/a"), PERMISSION_DENY);
    assert_int_equal(verdict(world, "/r/b"), PERMISSION_ASK);
    /* What the user denies now holds, though the file takes nothing. */
    assert_true(save(world, "/r/c", RULE_DENY) < 0);
    assert_int_equal(verdict(world, "/r/c"), PERMISSION_DENY);
}

static void who_waited_in_vain_does_not_wait_for_each_rule(void **state)
{
    struct world *world = *state;
    const struct settings_file_config config = {
        .authority = world->authority, .dir = world->dir, .may_create = true, .wait_ms = 1};
    const struct permission_resource both[] = {file_at("/r/a"), file_at("/r/b")};
    struct err err = ERR_INIT;
    char path[PATH_BYTES + 32];
    int lock;

    settings_file_free(world->file);
    assert_int_equal(settings_file_open(&config, &world->file, NULL), 0);
    begin(world, PERMISSION_ALLOW, true);
    snprintf(path, sizeof(path), "%s/settings.json.lock", world->dir);
    lock = open(path, O_RDWR | O_CLOEXEC);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(keeper_save(world->keeper, both, 2, RULE_DENY, &err), ERR_BUSY);
    assert_int_equal(err.code, ERR_BUSY);
    assert_int_equal(verdict(world, "/r/a"), PERMISSION_DENY);
    assert_int_equal(verdict(world, "/r/b"), PERMISSION_DENY);
    assert_int_equal(verdict(world, "/r/c"), PERMISSION_ALLOW);
    close(lock);
}

static void the_filter_speaks_of_names_below_the_root(void **state)
{
    struct world *world = *state;
    char rule[AUTHORITY_RULE_BYTES];
    struct authority_filter filter;

    begin(world, PERMISSION_ALLOW, true);
    assert_int_equal(keeper_filter(world->keeper, "/r", NULL, &filter), 0);
    assert_false(filter.is_active(filter.data));
    assert_int_equal(save(world, "/r/sub/a", RULE_DENY), 0);
    assert_true(filter.is_active(filter.data));
    /* Denied to writers: others may look. */
    assert_true(filter.denies(filter.data, STR("sub/a"), true));
    assert_false(filter.denies(filter.data, STR("sub/a"), false));
    assert_false(filter.denies(filter.data, STR("sub/ab"), true));
    assert_false(filter.denies(filter.data, STR("sub"), true));
    filter.tell(filter.data, STR("sub/a/b"), true, rule);
    assert_string_equal(rule, "/r/sub/a");
    filter.tell(filter.data, STR("sub/ab"), true, rule);
    assert_string_equal(rule, "");
    assert_int_equal(keeper_filter(world->keeper, "/", NULL, &filter), 0);
    assert_true(filter.denies(filter.data, STR("r/sub/a"), true));
}

static void the_filter_knows_the_root_by_the_name_it_was_given(void **state)
{
    struct world *world = *state;
    struct authority_filter filter;

    begin(world, PERMISSION_ALLOW, true);
    assert_int_equal(save(world, "/link/a", RULE_DENY), 0);
    assert_int_equal(save(world, "/r/b", RULE_DENY), 0);
    assert_int_equal(keeper_filter(world->keeper, "/r", "/home/../link//", &filter), 0);
    assert_true(filter.denies(filter.data, STR("a"), true));
    assert_true(filter.denies(filter.data, STR("b"), true));
    assert_false(filter.denies(filter.data, STR("c"), true));
    assert_int_equal(keeper_filter(world->keeper, "/r", "/r", &filter), 0);
    assert_false(filter.denies(filter.data, STR("a"), true));
    assert_true(filter.denies(filter.data, STR("b"), true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_saved_holds_now_and_for_the_next, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_holds_for_the_session, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            rules_that_cannot_be_read_any_more_hold_and_nothing_happens_unasked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_waited_in_vain_does_not_wait_for_each_rule, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_filter_speaks_of_names_below_the_root, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_filter_knows_the_root_by_the_name_it_was_given, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
