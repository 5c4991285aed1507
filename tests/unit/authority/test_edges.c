/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where two rules meet: the authority's own names, mounts at the last component, slow answers,
 * limits on both sides of a move.
 */
#include "world.h"

#include "own_mounts.h"

static const struct authority_move_options may_replace = {.may_replace = true};

/* ---- names of the authority's own ---- */

static void what_is_not_finished_is_nobodys_to_see_or_use(void **state)
{
    static const struct str names[] = {
        STR_LITERAL(".gatehouse-abc"),
        STR_LITERAL("dir/.gatehouse-abc"),
        STR_LITERAL("dir/.gatehouse-tree/file"),
    };
    struct world *world = *state;
    struct authority_scope *scopes[] = {world->scope, world->following};
    cleanup_buf struct buf out = BUF_INIT(10000);
    struct authority_stat about;

    plant(world, WORLD_ROOT, ".gatehouse-abc", "half");
    plant_dir(world, WORLD_ROOT, "dir");
    plant(world, WORLD_ROOT, "dir/.gatehouse-abc", "half");
    plant_dir(world, WORLD_ROOT, "dir/.gatehouse-tree");
    plant(world, WORLD_ROOT, "dir/.gatehouse-tree/file", "half");
    plant(world, WORLD_ROOT, "mine", "mine");
    plant_link(world, "link", "dir/.gatehouse-abc");
    freeze(world);
    for (size_t s = 0; s < array_size(scopes); s++) {
        struct authority_scope *scope = scopes[s];

        for (size_t i = 0; i < array_size(names); i++) {
            assert_int_equal(authority_read_bytes(scope, names[i], NULL, &out, NULL),
                             ERR_DENIED_BY_POLICY);
            assert_int_equal(authority_write_bytes(scope, names[i], STR("x"), NULL, NULL),
                             ERR_DENIED_BY_POLICY);
            assert_int_equal(authority_stat(scope, names[i], &about, NULL), ERR_DENIED_BY_POLICY);
            assert_int_equal(authority_remove(scope, names[i], NULL, NULL), ERR_DENIED_BY_POLICY);
            assert_int_equal(authority_move(scope, names[i], STR("taken"), NULL, NULL),
                             ERR_DENIED_BY_POLICY);
            assert_int_equal(authority_move(scope, STR("mine"), names[i], &may_replace, NULL),
                             ERR_DENIED_BY_POLICY);
        }
        assert_true(authority_read_bytes(scope, STR("link"), NULL, &out, NULL) < 0);
    }
    assert_frozen(world);
}

static int count_entry(void *data, const struct authority_entry *entry)
{
    assert_true(str_find(entry->name, STR(".gatehouse-")) == SIZE_MAX);
    ++*(unsigned *)data;
    return 0;
}

static void what_is_not_finished_is_not_listed(void **state)
{
    struct world *world = *state;
    unsigned count = 0;

    plant(world, WORLD_ROOT, ".gatehouse-abc", "half");
    plant(world, WORLD_ROOT, ".gatehouse.txt", "an ordinary name");
    plant_dir(world, WORLD_ROOT, "dir");
    plant_dir(world, WORLD_ROOT, "dir/.gatehouse-tree");
    assert_ok(world, authority_list(world->scope, STR(""), NULL, count_entry, &count, &world->err));
    assert_int_equal(count, 2);
    count = 0;
    assert_ok(world, authority_walk(world->scope, STR(""), NULL, count_entry, &count, &world->err));
    assert_int_equal(count, 2);
}

/* ---- time ---- */

static bool answer_late(void *data, const struct authority_context *context, const char *prompt)
{
    (void)context;
    (void)prompt;
    clock_fake_advance(data, 60 * 60 * 1000);
    return true;
}

static void always_ask(void *data, const struct authority_context *context,
                       struct authority_decision *decision)
{
    (void)data;
    if (context->operation == AUTHORITY_OP_WRITE)
        decision->verdict = AUTHORITY_ASK;
}

static void a_grant_that_ends_while_somebody_is_asked_is_over(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *scope;

    request.is_interactive = true;
    request.expires_ms = WORLD_START_MS + 1000;
    scope = world_open(world, &request);
    authority_set_policy(world->authority, "ask", always_ask, NULL);
    authority_set_ask(world->authority, answer_late, &world->clock);
    freeze(world);
    assert_int_equal(authority_write_bytes(scope, STR("f"), STR("x"), NULL, NULL),
                     ERR_GRANT_EXPIRED);
    assert_frozen(world);
    authority_scope_free(scope);
}

/* ---- parents ---- */

static void parents_are_not_made_around_dots_or_denials(void **state)
{
    static const char *const denied[] = {"secret", NULL};
    const struct authority_limits limits = {.symlinks = AUTHORITY_SYMLINKS_IN_ROOT,
                                            .denied_globs = denied};
    const struct authority_write_options deep = {.make_parents = true};
    struct world *world = *state;
    struct authority_scope *scope = world_open_limited(world, &limits);

    plant_dir(world, WORLD_ROOT, "keepme");
    plant_dir(world, WORLD_ROOT, "isdir");
    freeze(world);
    assert_true(authority_write_bytes(scope, STR("secret/../ok/f"), STR("x"), &deep, NULL) < 0);
    assert_true(authority_write_bytes(scope, STR("new/../keepme/../isdir"), STR("x"), &deep, NULL) <
                0);
    assert_true(authority_write_bytes(scope, STR("a/secret/f"), STR("x"), &deep, NULL) < 0);
    assert_frozen(world);
    authority_scope_free(scope);
}

/* ---- between scopes ---- */

static struct authority_scope *open_other(struct world *world, uint64_t max_file_bytes)
{
    struct authority_request request = world_request(world);

    request.root.id = "other";
    request.root.path = world->paths[WORLD_OTHER];
    request.limits.max_file_bytes = max_file_bytes;
    return world_open(world, &request);
}

static void a_move_keeps_the_limits_of_where_it_goes(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_other(world, 10);

    plant(world, WORLD_ROOT, "large", "more than ten bytes");
    plant_dir(world, WORLD_ROOT, "dir");
    plant(world, WORLD_ROOT, "dir/large", "more than ten bytes");
    plant_dir(world, WORLD_ROOT, "links");
    plant_link(world, "links/out", "../../outside");
    freeze(world);
    assert_int_equal(authority_move_in(other, STR("f"), world->scope, STR("large"), NULL, NULL),
                     ERR_TOO_LARGE);
    assert_int_equal(authority_move_in(other, STR("d"), world->scope, STR("dir"), NULL, NULL),
                     ERR_TOO_LARGE);
    assert_int_equal(authority_move_in(other, STR("l"), world->scope, STR("links"), NULL, NULL),
                     ERR_SYMLINK_REJECTED);
    assert_frozen(world);
    authority_scope_free(other);
}

static void what_was_private_is_private_in_its_copy(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_other(world, 0);

    plant(world, WORLD_ROOT, "private", "x");
    set_mode(world, WORLD_ROOT, "private", 0600);
    plant(world, WORLD_ROOT, "tool", "x");
    set_mode(world, WORLD_ROOT, "tool", 04755);
    assert_ok(world, authority_copy(world->scope, STR("private"), STR("copy"), NULL, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "copy"), 0600);
    assert_ok(world, authority_copy(world->scope, STR("tool"), STR("copied"), NULL, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "copied"), 0755);
    assert_ok(world, authority_move_in(other, STR("moved"), world->scope, STR("private"), NULL,
                                       &world->err));
    assert_int_equal(mode_of(world, WORLD_OTHER, "moved"), 0600);
    assert_false(is_there(world, WORLD_ROOT, "private"));
    authority_scope_free(other);
}

/* What runs as its owner is what its owner wrote. */
static void an_append_takes_set_id_bits_away(void **state)
{
    static const struct {
        const char *name;
        unsigned mode;
    } files[] = {{"user", 04755}, {"group", 02755}, {"both", 06711}, {"bare", 04600}};
    struct world *world = *state;

    for (size_t i = 0; i < array_size(files); i++) {
        plant(world, WORLD_ROOT, files[i].name, "");
        set_mode(world, WORLD_ROOT, files[i].name, files[i].mode);
        assert_ok(world, authority_append(world->scope, str_from(files[i].name), STR("x"), NULL,
                                          &world->err));
        assert_int_equal(mode_of(world, WORLD_ROOT, files[i].name), files[i].mode & 0777);
    }
}

static void a_file_is_not_moved_onto_itself_through_another_scope(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *twin = world_open(world, &request);

    plant(world, WORLD_ROOT, "f", "precious");
    freeze(world);
    assert_int_equal(authority_move_in(twin, STR("f"), world->scope, STR("f"), &may_replace, NULL),
                     ERR_INVALID_ARGUMENT);
    assert_frozen(world);
    authority_scope_free(twin);
}

/* ---- workspaces ---- */

static int path_is_hidden(void *data, const struct authority_event *event)
{
    assert_null(event->root->path);
    ++*(unsigned *)data;
    return 0;
}

static void nobody_is_told_where_a_workspace_lies(void **state)
{
    struct world *world = *state;
    const struct authority_subject subject = {.type = AUTHORITY_CORE, .id = "test"};
    struct authority_scope *temp = NULL;
    unsigned told = 0;

    assert_int_equal(authority_add_listener(world->authority, path_is_hidden, &told), 0);
    assert_ok(world, authority_create_temp(world->authority, &subject, "work", &temp, &world->err));
    assert_true(told >= 2);
    authority_remove_listener(world->authority, path_is_hidden, &told);
    authority_scope_free(temp);
}

/* ---- a file that is a mount ---- */

static void use_mounted_file(struct world *world)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    struct authority_archive_result result;
    char inside[2 * WORLD_PATH_BYTES];
    char outside[2 * WORLD_PATH_BYTES];

    snprintf(inside, sizeof(inside), "%s/d/m", world->paths[WORLD_ROOT]);
    snprintf(outside, sizeof(outside), "%s/victim", world->paths[WORLD_OUTSIDE]);
    assert_true(enter_own_mounts());
    assert_int_equal(mount(outside, inside, NULL, MS_BIND, NULL), 0);
    world_reopen(world, NULL); /* what was opened before does not see this mount */
    assert_int_equal(authority_read_bytes(world->scope, STR("d/m"), NULL, &out, NULL),
                     ERR_CROSSES_MOUNT);
    assert_int_equal(authority_append(world->scope, STR("d/m"), STR("x"), NULL, NULL),
                     ERR_CROSSES_MOUNT);
    assert_int_equal(authority_create_archive(world->scope, STR("d"), STR("a.tar.gz"),
                                              AUTHORITY_TAR_GZ, NULL, &result, NULL),
                     ERR_CROSSES_MOUNT);
    assert_content(world, WORLD_OUTSIDE, "victim", "outside");
}

static void a_file_that_is_a_mount_is_not_used(void **state)
{
    struct world *world = *state;

    require_mounts();
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/m", "");
    plant(world, WORLD_OUTSIDE, "victim", "outside");
    world_in_child(world, use_mounted_file);
    assert_content(world, WORLD_OUTSIDE, "victim", "outside");
}

TEST_MAIN(EVERYWHERE(what_is_not_finished_is_nobodys_to_see_or_use),
          EVERYWHERE(what_is_not_finished_is_not_listed),
          EVERYWHERE(a_grant_that_ends_while_somebody_is_asked_is_over),
          EVERYWHERE(parents_are_not_made_around_dots_or_denials),
          EVERYWHERE(a_move_keeps_the_limits_of_where_it_goes),
          EVERYWHERE(what_was_private_is_private_in_its_copy),
          EVERYWHERE(an_append_takes_set_id_bits_away),
          EVERYWHERE(a_file_is_not_moved_onto_itself_through_another_scope),
          EVERYWHERE(nobody_is_told_where_a_workspace_lies),
          ON_DISK(a_file_that_is_a_mount_is_not_used))
