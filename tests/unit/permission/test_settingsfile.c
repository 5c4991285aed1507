/* SPDX-License-Identifier: Apache-2.0 */
/* The settings on a real disk: their modes, who may change them, and what is never lost. */
#include "settings_world.h"

/* ---- a first start ---- */

static void a_first_start_makes_it_private_from_the_template(void **state)
{
    struct world *world = *state;
    mode_t before = umask(0);

    open_it(world);
    load(world);
    umask(before);
    assert_int_equal(mode_of(world->dir), 0700);
    assert_int_equal(file_mode(world), 0600);
    assert_true(world->findings.is_created);
    assert_false(world->findings.is_set_aside);
    assert_string_equal(settings_file_note(world->file), "");
    assert_int_equal(world->settings.modes.of[CATALOG_FILESYSTEM_READ], PERMISSION_ALLOW);
    assert_int_equal(world->settings.modes.of[CATALOG_SHELL], PERMISSION_DENY);
    assert_int_equal(world->settings.filesystem_dir.len, 0);
    load(world);
    assert_false(world->findings.is_created);
}

static void who_only_reads_makes_nothing(void **state)
{
    struct world *world = *state;

    assert_int_equal(try_open(world, true, true), ERR_NOT_FOUND);
    assert_int_equal(try_open(world, false, false), ERR_NOT_FOUND);
    assert_int_equal(access(world->dir, F_OK), -1);
    assert_int_equal(mkdir(world->dir, 0700), 0);
    assert_int_equal(try_open(world, true, true), 0);
    assert_int_equal(try_load(world), ERR_NOT_FOUND);
    assert_int_equal(add(world, "ls"), ERR_ACCESS_MISSING);
    assert_int_equal(try_open(world, false, false), 0);
    assert_int_equal(try_load(world), ERR_NOT_FOUND);
    assert_int_equal(count_entries(world->scene.fd, "settings"), 0);
}

static void the_default_is_in_the_home_directory(void **state)
{
    struct world *world = *state;
    const struct settings_file_config config = {.authority = world->authority, .may_create = true};
    const char *home = getenv("HOME");
    char *kept = home != NULL ? strdup(home) : NULL;
    char wanted[PATH_BYTES + 32];

    assert_int_equal(setenv("HOME", world->scene.path, 1), 0);
    assert_int_equal(settings_file_open(&config, &world->file, &world->err), 0);
    snprintf(wanted, sizeof(wanted), "%s/.n8n-gateway", world->scene.path);
    assert_string_equal(settings_file_dir(world->file), wanted);
    settings_file_free(world->file);
    world->file = NULL;
    assert_int_equal(setenv("HOME", "not/absolute", 1), 0);
    assert_int_equal(settings_file_open(&config, &world->file, &world->err), ERR_INVALID_ARGUMENT);
    assert_int_equal(kept != NULL ? setenv("HOME", kept, 1) : unsetenv("HOME"), 0);
    free(kept);
}

/* ---- who else may reach it ---- */

static void what_is_open_to_others_is_closed_and_told_of(void **state)
{
    struct world *world = *state;

    plant(world, "settings.json", "{}", 0644);
    assert_int_equal(chmod(world->dir, 0755), 0);
    open_it(world);
    assert_int_equal(mode_of(world->dir), 0700);
    assert_non_null(strstr(settings_file_note(world->file), "directory"));
    load(world);
    assert_int_equal(file_mode(world), 0600);
    assert_non_null(strstr(settings_file_note(world->file), "settings.json"));
    assert_int_equal(add(world, "ls"), 0);
    assert_int_equal(file_mode(world), 0600);
}

static void a_directory_that_serves_others_too_is_left_alone(void **state)
{
    struct world *world = *state;

    assert_int_equal(mkdir(world->dir, 0700), 0);
    assert_int_equal(chmod(world->dir, 0755), 0);
    assert_int_equal(try_open(world, true, false), ERR_PERMISSION_DENIED);
    assert_int_equal(mode_of(world->dir), 0755);
    plant(world, "settings.json", "{}", 0600);
    assert_int_equal(chmod(world->dir, 01777), 0);
    assert_int_equal(try_open(world, true, false), ERR_PERMISSION_DENIED);
    assert_int_equal(mode_of(world->dir), 01777);
}

static void what_is_no_file_of_the_users_own_is_refused(void **state)
{
    struct world *world = *state;
    char path[PATH_BYTES + 16];
    char other[PATH_BYTES + 16];

    plant(world, "other", "{}", 0600);
    snprintf(path, sizeof(path), "%s/settings.json", world->dir);
    snprintf(other, sizeof(other), "%s/other", world->dir);
    open_it(world);

    assert_int_equal(symlink("other", path), 0);
    assert_int_equal(try_load(world), ERR_SYMLINK_REJECTED);
    assert_int_equal(add(world, "ls"), ERR_SYMLINK_REJECTED);
    assert_string_equal(content(world, "other"), "{}");
    assert_int_equal(unlink(path), 0);

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(try_load(world), ERR_NOT_REGULAR_FILE);
    assert_int_equal(unlink(path), 0);

    assert_int_equal(link(other, path), 0);
    assert_int_equal(try_load(world), ERR_HARDLINK_REJECTED);
    assert_int_equal(unlink(path), 0);

    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(try_load(world), ERR_NOT_REGULAR_FILE);
    assert_int_equal(rmdir(path), 0);
}

static void what_belongs_to_another_is_refused(void **state)
{
    struct world *world = *state;
    char path[PATH_BYTES + 16];

    if (geteuid() != 0)
        skip_because("only root can give a file away");
    plant(world, "settings.json", "{}", 0600);
    snprintf(path, sizeof(path), "%s/settings.json", world->dir);
    open_it(world);
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_int_equal(try_load(world), ERR_PERMISSION_DENIED);
    assert_int_equal(chown(world->dir, 12345, 12345), 0);
    assert_int_equal(try_open(world, true, false), ERR_PERMISSION_DENIED);
    assert_int_equal(chown(world->dir, 0, 0), 0);
}

/* ---- rules ---- */

static void rules_are_added_and_revoked_on_the_newest_content(void **state)
{
    struct world *world = *state;
    struct rule rule = shell_rule(RULE_DENY, "one");
    char id[SETTINGS_ID_BYTES];

    open_it(world);
    load(world);
    plant(world, "settings.json",
          "{\"mine\":1,\"resourcePermissions\":{\"shell\":{\"deny\":[\"by hand\"]}}}", 0600);
    assert_int_equal(add(world, "one"), 0);
    assert_int_equal(add(world, "one"), ERR_ALREADY_EXISTS);
    load(world);
    assert_int_equal(world->settings.rule_count, 2);
    assert_int_equal(world->settings.warning_count, 1);
    assert_int_equal(settings_rule_id(&rule, id), 0);
    assert_int_equal(settings_file_revoke(world->file, str_slice(str_from(id), 0, 8), &world->err),
                     0);
    assert_int_equal(settings_file_revoke(world->file, str_from(id), &world->err), ERR_NOT_FOUND);
    load(world);
    assert_int_equal(world->settings.rule_count, 1);
    assert_str(world->settings.rules[0].pattern, "by hand");
    assert_non_null(strstr(content(world, "settings.json"), "\"mine\": 1"));
}

static void a_rule_can_be_the_first_thing_ever(void **state)
{
    struct world *world = *state;

    open_it(world);
    assert_int_equal(add(world, "ls"), 0);
    load(world);
    assert_int_equal(world->settings.rule_count, 1);
    assert_true(world->settings.has_mode[CATALOG_BROWSER]);
}

static void a_writer_waits_for_another_and_not_for_ever(void **state)
{
    struct world *world = *state;
    char path[PATH_BYTES + 32];
    int lock;

    open_it(world);
    load(world);
    snprintf(path, sizeof(path), "%s/settings.json.lock", world->dir);
    lock = open(path, O_RDWR | O_CLOEXEC);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(add(world, "ls"), ERR_BUSY);
    load(world); /* who reads does not wait */
    assert_int_equal(world->settings.rule_count, 0);
    /* A lock on a file that is not there any more keeps nobody away, and holds nothing together. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(add(world, "ls"), 0);
    close(lock);
}

static void many_writers_at_once_lose_nothing(void **state)
{
    struct world *world = *state;
    struct child children[WRITERS];
    struct writer writers[WRITERS];

    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){world, i};
        children[i] = start_child(write_rules, &writers[i]);
    }
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(end_child(&children[i]), 0);
    open_it(world);
    load(world);
    assert_int_equal(world->settings.rule_count, WRITERS * RULES_EACH);
    assert_int_equal(count_files(world, "settings.json"), 2);
}

/* ---- what goes wrong in the middle ---- */

static void a_writer_that_is_killed_leaves_one_whole_file(void **state)
{
    struct world *world = *state;
    size_t rules = 0;

    open_it(world);
    load(world);
    for (int i = 0; i < 20; i++) {
        struct writer writer = {world, i};
        struct child child = start_child(write_rules, &writer);
        int status;

        /* When it has added as many as the round says, in the middle of the next one. */
        do {
            load(world);
        } while (world->settings.rule_count < rules + (size_t)i % 5 + 1);
        kill(child.pid, SIGKILL);
        close(child.result_fd);
        assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
        load(world);
        assert_true(world->settings.rule_count > rules);
        rules = world->settings.rule_count;
        assert_int_equal(count_files(world, "settings.json.malformed"), 0);
    }
    assert_int_equal(add(world, "the lock of the dead is free"), 0);
    /* What they had begun goes with the next start. */
    settings_file_free(world->file);
    authority_free(world->authority);
    world->file = NULL;
    assert_int_equal(new_authority(world, &world->authority), 0);
    assert_int_equal(count_entries(world->scene.fd, "settings"), 2);
}

static int run_on_a_small_disk(void *data)
{
    struct world *world = data;
    struct settings_file_config config = {.dir = world->dir, .may_create = true};
    struct rule rule = shell_rule(RULE_DENY, "before");
    struct settings_file *file;
    cleanup_fd int dir = -1;
    char before[4096];
    struct err err = ERR_INIT;

    CHECK(mkdir(world->dir, 0700) == 0);
    if (mount_small_disk(world->dir) != 0)
        return CHILD_SKIPS;
    CHECK(chmod(world->dir, 0700) == 0);
    CHECK(new_authority(world, &config.authority) == 0);
    CHECK(settings_file_open(&config, &file, NULL) == 0);
    CHECK(settings_file_add_rule(file, &rule, NULL) == 0);
    CHECK(strlen(content(world, "settings.json")) < sizeof(before));
    memcpy(before, world->text, sizeof(before));
    dir = open(world->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(dir >= 0 && fill_disk(dir) == 0);
    rule.pattern = STR("after");
    CHECK(settings_file_add_rule(file, &rule, &err) == ERR_NO_SPACE);
    CHECK(strstr(err.message, "it is unchanged") != NULL);
    CHECK(strcmp(content(world, "settings.json"), before) == 0);
    CHECK(unlinkat(dir, "filler", 0) == 0);
    CHECK(settings_file_add_rule(file, &rule, NULL) == 0);
    settings_file_free(file);
    authority_free(config.authority);
    return 0;
}

static void a_full_disk_leaves_the_old_file_whole(void **state)
{
    struct child child;
    int line;

    require_mounts();
    child = start_child(run_on_a_small_disk, *state);
    line = end_child(&child);
    if (line == CHILD_SKIPS)
        skip_because("no small disk can be mounted here");
    assert_int_equal(line, 0);
}

TEST_MAIN(
    CASE(a_first_start_makes_it_private_from_the_template), CASE(who_only_reads_makes_nothing),
    CASE(the_default_is_in_the_home_directory), CASE(what_is_open_to_others_is_closed_and_told_of),
    CASE(a_directory_that_serves_others_too_is_left_alone),
    CASE(what_is_no_file_of_the_users_own_is_refused), CASE(what_belongs_to_another_is_refused),
    CASE(rules_are_added_and_revoked_on_the_newest_content),
    CASE(a_rule_can_be_the_first_thing_ever), CASE(a_writer_waits_for_another_and_not_for_ever),
    CASE(many_writers_at_once_lose_nothing), CASE(a_writer_that_is_killed_leaves_one_whole_file),
    CASE(a_full_disk_leaves_the_old_file_whole))
