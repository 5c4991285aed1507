/* SPDX-License-Identifier: Apache-2.0 */
/* Malformed settings, and what a session sees of changes. */
#include "settings_world.h"

/* ---- malformed ---- */

static const char broken[] = "{\"permissions\":{\"filesystemRead\":\"allow\"},"
                             "\"resourcePermissions\":{\"shell\":{\"deny\":[\"rm\"]}";

static void a_malformed_file_is_put_aside_and_caps_the_modes(void **state)
{
    struct world *world = *state;
    char name[SETTINGS_FILE_NAME_BYTES];
    char path[PATH_BYTES + SETTINGS_FILE_NAME_BYTES + 2];

    plant(world, "settings.json", broken, 0600);
    open_it(world);
    load(world);
    assert_true(world->findings.is_set_aside);
    assert_true(world->findings.is_created);
    assert_non_null(strstr(world->findings.why, "line"));
    snprintf(name, sizeof(name), "%s", world->findings.set_aside);
    assert_memory_equal(name, "settings.json.malformed-", 24);
    assert_string_equal(content(world, name), broken);
    assert_int_equal(world->settings.modes.of[CATALOG_FILESYSTEM_READ], PERMISSION_ASK);
    assert_int_equal(world->settings.modes.of[CATALOG_SHELL], PERMISSION_DENY);

    /* A start later it is not forgotten, and what is added meanwhile is kept. */
    assert_int_equal(add(world, "ls"), 0);
    open_it(world);
    load(world);
    assert_true(world->findings.is_set_aside);
    assert_false(world->findings.is_created);
    assert_string_equal(world->findings.why, "");
    assert_string_equal(world->findings.set_aside, name);
    assert_int_equal(world->settings.rule_count, 1);
    assert_int_equal(world->settings.modes.of[CATALOG_FILESYSTEM_READ], PERMISSION_ASK);

    /* Until the user has done something about it. */
    snprintf(path, sizeof(path), "%s/%s", world->dir, name);
    assert_int_equal(unlink(path), 0);
    load(world);
    assert_false(world->findings.is_set_aside);
    assert_int_equal(world->settings.modes.of[CATALOG_FILESYSTEM_READ], PERMISSION_ALLOW);
}

static void every_malformed_file_is_kept(void **state)
{
    struct world *world = *state;
    int fd;

    open_it(world);
    for (size_t i = 1; i <= 3; i++) {
        plant(world, "settings.json", broken, 0600);
        load(world);
        assert_int_equal(count_files(world, "settings.json.malformed-"), i);
    }
    /* One that is far too large, too. */
    plant(world, "settings.json", "", 0600);
    fd = openat(world->scene.fd, "settings/settings.json", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, SETTINGS_MAX_BYTES + 1), 0);
    close(fd);
    load(world);
    assert_int_equal(count_files(world, "settings.json.malformed-"), 4);
}

static void nobody_but_a_start_moves_a_malformed_file(void **state)
{
    struct world *world = *state;

    open_it(world);
    load(world);
    plant(world, "settings.json", broken, 0600);
    assert_int_equal(settings_file_reload(world->file, &world->arena, &world->settings,
                                          &world->findings, &world->err),
                     ERR_SETTINGS);
    assert_non_null(strstr(world->err.message, "is malformed"));
    assert_int_equal(add(world, "ls"), ERR_SETTINGS);
    assert_int_equal(try_open(world, true, true), 0);
    assert_int_equal(try_load(world), ERR_SETTINGS);
    assert_int_equal(try_open(world, false, false), 0);
    assert_int_equal(try_load(world), ERR_SETTINGS);
    assert_string_equal(content(world, "settings.json"), broken);
    assert_int_equal(count_files(world, "settings.json.malformed-"), 0);
}

static int start(void *data)
{
    struct world *world = data;
    struct settings_file_config config = {.dir = world->dir, .may_create = true};
    cleanup_arena struct arena arena = ARENA_INIT(SETTINGS_ARENA_BYTES);
    struct settings_file *file;

    CHECK(new_authority(world, &config.authority) == 0);
    CHECK(settings_file_open(&config, &file, NULL) == 0);
    CHECK(settings_file_load(file, &arena, &world->settings, &world->findings, NULL) == 0);
    CHECK(world->findings.is_set_aside);
    settings_file_free(file);
    authority_free(config.authority);
    return 0;
}

static void of_many_starts_one_puts_it_aside(void **state)
{
    struct world *world = *state;
    struct child children[WRITERS];

    plant(world, "settings.json", broken, 0600);
    for (int i = 0; i < WRITERS; i++)
        children[i] = start_child(start, world);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(end_child(&children[i]), 0);
    assert_int_equal(count_files(world, "settings.json.malformed-"), 1);
    assert_int_equal(count_files(world, "settings.json"), 3);
}

/* ---- watching ---- */

static void a_session_sees_what_others_change(void **state)
{
    struct world *world = *state;
    struct pollfd waiting = {.events = POLLIN};
    struct writer writer = {world, 1};
    struct child child;
    bool is_timed;

    open_it(world);
    load(world);
    assert_int_equal(settings_file_watch(world->file, &waiting.fd, &is_timed, &world->err), 0);
    assert_false(is_timed);
    assert_false(settings_file_changed(world->file));
    assert_int_equal(poll(&waiting, 1, 0), 0);

    child = start_child(write_rules, &writer);
    assert_int_equal(end_child(&child), 0);
    assert_int_equal(poll(&waiting, 1, PATIENCE_MS), 1);
    assert_true(settings_file_changed(world->file));
    load(world);
    assert_int_equal(world->settings.rule_count, RULES_EACH);
    while (poll(&waiting, 1, 0) == 1)
        assert_false(settings_file_changed(world->file));

    /* Something else in there does not concern it; a file aside does. */
    plant(world, "other", "x", 0600);
    assert_int_equal(poll(&waiting, 1, PATIENCE_MS), 1);
    assert_false(settings_file_changed(world->file));
    plant(world, "settings.json.malformed-by-hand", "x", 0600);
    assert_true(settings_file_changed(world->file));
    load(world);
    assert_true(world->findings.is_set_aside);
    assert_false(settings_file_changed(world->file));

    /* A malformed one is a change once. */
    plant(world, "settings.json", broken, 0600);
    assert_true(settings_file_changed(world->file));
    assert_int_equal(settings_file_reload(world->file, &world->arena, &world->settings,
                                          &world->findings, &world->err),
                     ERR_SETTINGS);
    assert_false(settings_file_changed(world->file));
}

TEST_MAIN(CASE(a_malformed_file_is_put_aside_and_caps_the_modes),
          CASE(every_malformed_file_is_kept), CASE(nobody_but_a_start_moves_a_malformed_file),
          CASE(of_many_starts_one_puts_it_aside), CASE(a_session_sees_what_others_change))
