/* SPDX-License-Identifier: Apache-2.0 */
/* Our own directories inside a granted root do not exist for anybody. */
#include "world.h"

/* The directory that holds the root, the state and all else. */
static struct authority_request request_base(struct world *world)
{
    struct authority_request request = world_request(world);

    request.root.path = world->base;
    return request;
}

static void the_state_directory_does_not_exist_for_a_scope_around_it(void **state)
{
    struct world *world = *state;
    struct authority_request request = request_base(world);
    const struct authority_remove_options all = {.is_recursive = true};
    struct authority_archive_result result;
    struct authority_stat about;
    struct authority_scope *scope;
    struct authority_watch *watch;
    cleanup_buf struct buf out = BUF_INIT(1 << 16);
    char whole[WORLD_PATH_BYTES + 16];
    int fd;

    plant_link(world, "way_in", "../state");
    for (int follows = 0; follows < 2; follows++) {
        request.limits.symlinks = follows ? AUTHORITY_SYMLINKS_IN_ROOT : AUTHORITY_SYMLINKS_REJECT;
        scope = world_open(world, &request);
        assert_refused(world, authority_stat(scope, STR("state"), &about, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_stat(scope, STR("root/../state/temp"), &about, &world->err),
                       ERR_DENIED_BY_POLICY);
        snprintf(whole, sizeof(whole), "%s/temp", world->state);
        assert_refused(world, authority_stat(scope, str_from(whole), &about, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world,
                       authority_write_bytes(scope, STR("state/x"), STR("x"), NULL, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_move(scope, STR("state"), STR("mine"), NULL, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_remove(scope, STR("state"), &all, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_watch(scope, STR("state"), &watch, &fd, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_stat(scope, STR("root/way_in/temp"), &about, &world->err),
                       follows ? ERR_DENIED_BY_POLICY : ERR_SYMLINK_REJECTED);
        buf_clear(&out);
        assert_ok(world,
                  authority_walk(scope, STR_EMPTY, NULL, world_note_entry, &out, &world->err));
        assert_true(str_find(buf_view(&out), STR("outside")) != SIZE_MAX);
        assert_true(str_find(buf_view(&out), STR("state")) == SIZE_MAX);
        assert_ok(world, authority_create_archive(scope, STR_EMPTY, STR("root/all.tar.gz"),
                                                  AUTHORITY_TAR_GZ, NULL, &result, &world->err));
        assert_int_equal(unlinkat(world->fds[WORLD_ROOT], "all.tar.gz", 0), 0);
        authority_scope_free(scope);
    }
    assert_int_equal(access(world->state, F_OK), 0);
}

static void what_holds_it_is_neither_moved_nor_removed(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    const struct authority_remove_options all = {.is_recursive = true};
    struct authority_scope *scope;
    char path[WORLD_PATH_BYTES + 32];

    plant_dir(world, WORLD_ROOT, "home");
    plant_dir(world, WORLD_ROOT, "home/own");
    plant(world, WORLD_ROOT, "home/own/key", "secret");
    plant(world, WORLD_ROOT, "home/note", "n");
    snprintf(path, sizeof(path), "%s/home/own", world->paths[WORLD_ROOT]);
    assert_int_equal(authority_protect(world->authority, path, &world->err), 0);
    scope = world_open(world, &request);
    freeze(world);
    assert_refused(world, authority_remove(scope, STR("home"), &all, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_move(scope, STR("home"), STR("elsewhere"), NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_frozen(world);
    assert_reads(world, scope, "home/note", "n");
    authority_scope_free(scope);
}

static void a_directory_that_is_not_there_yet_is_protected(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    const struct authority_mkdir_options plain = {.make_parents = true};
    struct authority_scope *scope;
    char path[WORLD_PATH_BYTES + 32];

    snprintf(path, sizeof(path), "%s/settings", world->paths[WORLD_ROOT]);
    assert_int_equal(authority_protect(world->authority, path, &world->err), 0);
    scope = world_open(world, &request);
    assert_refused(world, authority_mkdir(scope, STR("settings"), &plain, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_mkdir(scope, STR("settings/below"), &plain, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_false(is_there(world, WORLD_ROOT, "settings"));
    assert_ok(world, authority_mkdir(scope, STR("settings-of-mine"), &plain, &world->err));
    authority_scope_free(scope);
}

static void what_is_above_it_need_not_be_there_either(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    const struct authority_mkdir_options plain = {.make_parents = true};
    struct authority_scope *scope;
    char path[WORLD_PATH_BYTES + 32];

    snprintf(path, sizeof(path), "%s/.local/state/own", world->paths[WORLD_ROOT]);
    assert_int_equal(authority_protect(world->authority, path, &world->err), 0);
    /* A file where the directory would be does not stay in its place. */
    plant(world, WORLD_ROOT, "file", "f");
    snprintf(path, sizeof(path), "%s/file", world->paths[WORLD_ROOT]);
    assert_int_equal(authority_protect(world->authority, path, &world->err), 0);
    scope = world_open(world, &request);
    assert_refused(world, authority_mkdir(scope, STR(".local/state/own"), &plain, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_remove(scope, STR("file"), NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_false(is_there(world, WORLD_ROOT, ".local/state/own"));
    assert_ok(world, authority_mkdir(scope, STR(".local/state/other"), &plain, &world->err));
    authority_scope_free(scope);
}

static void a_root_inside_it_is_given_to_the_core_alone(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *scope = NULL;
    char temp[WORLD_PATH_BYTES + 8];

    snprintf(temp, sizeof(temp), "%s/temp", world->state);
    request.root.path = temp;
    assert_refused(world, authority_request_root(world->authority, &request, &scope, &world->err),
                   ERR_DENIED_BY_POLICY);
    request.root.path = world->state;
    assert_refused(world, authority_request_root(world->authority, &request, &scope, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_null(scope);
    request.root.path = temp;
    request.source = AUTHORITY_FROM_CORE;
    scope = world_open(world, &request);
    authority_scope_free(scope);
}

static void only_an_absolute_path_is_taken_and_only_so_many(void **state)
{
    struct world *world = *state;
    int r = 0;

    assert_int_equal(authority_protect(world->authority, "state", &world->err),
                     ERR_INVALID_ARGUMENT);
    for (int i = 0; r == 0 && i <= AUTHORITY_MAX_PROTECTED; i++) {
        char path[WORLD_PATH_BYTES + 32];

        /* The same one again takes no room. */
        assert_int_equal(authority_protect(world->authority, world->state, &world->err), 0);
        snprintf(path, sizeof(path), "%s/%d", world->paths[WORLD_OTHER], i);
        r = authority_protect(world->authority, path, &world->err);
    }
    assert_int_equal(r, ERR_TOO_LARGE);
}

TEST_MAIN(ON_DISK(the_state_directory_does_not_exist_for_a_scope_around_it),
          ON_DISK(what_holds_it_is_neither_moved_nor_removed),
          ON_DISK(a_directory_that_is_not_there_yet_is_protected),
          ON_DISK(what_is_above_it_need_not_be_there_either),
          ON_DISK(a_root_inside_it_is_given_to_the_core_alone),
          ON_DISK(only_an_absolute_path_is_taken_and_only_so_many))
