/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the sandbox service: what was written is there after it was opened again. */
#include "store/sandboxstore.h"

#include <stdio.h>

#include "test.h"

struct scene {
    char directory[64];
    struct sandboxstore *store;
    size_t count;
    struct sandboxstore_sandbox last;
    struct sandboxstore_layer layer;
    char env[64];
};

static void set_up(struct scene *scene)
{
    snprintf(scene->directory, sizeof(scene->directory), "%s/gatehouse-store-XXXXXX",
             test_quick_directory());
    assert_non_null(mkdtemp(scene->directory));
    assert_int_equal(sandboxstore_open(scene->directory, &scene->store, NULL), 0);
}

static void open_again(struct scene *scene)
{
    sandboxstore_close(scene->store);
    scene->store = NULL;
    assert_int_equal(sandboxstore_open(scene->directory, &scene->store, NULL), 0);
}

static void tear_down(struct scene *scene)
{
    static const char *const names[] = {"sandboxes.db", "sandboxes.db-wal", "sandboxes.db-shm"};
    char path[128];

    sandboxstore_close(scene->store);
    for (size_t i = 0; i < array_size(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", scene->directory, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(scene->directory), 0);
}

#define cleanup_scene cleanup_with(tear_down)

static void take_sandbox(void *data, const struct sandboxstore_sandbox *sandbox)
{
    struct scene *scene = data;

    scene->count++;
    scene->last = *sandbox;
}

static void a_sandbox_is_saved_changed_and_removed(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    struct sandboxstore_sandbox sandbox = {.id = "one",
                                           .owner = "somebody",
                                           .created_s = 5,
                                           .active_s = 6,
                                           .is_ephemeral = true,
                                           .image = "abc",
                                           .memory_mb = 64};

    (void)state;
    set_up(&scene);
    assert_int_equal(sandboxstore_save(scene.store, &sandbox), 0);
    sandbox.is_running = true;
    sandbox.active_s = 9;
    assert_int_equal(sandboxstore_save(scene.store, &sandbox), 0);
    open_again(&scene);
    assert_int_equal(sandboxstore_each(scene.store, take_sandbox, &scene), 0);
    assert_int_equal(scene.count, 1);
    assert_string_equal(scene.last.id, "one");
    assert_string_equal(scene.last.owner, "somebody");
    assert_string_equal(scene.last.image, "abc");
    assert_int_equal(scene.last.created_s, 5);
    assert_int_equal(scene.last.active_s, 9);
    assert_int_equal(scene.last.memory_mb, 64);
    assert_true(scene.last.is_ephemeral && scene.last.is_running);
    assert_int_equal(sandboxstore_remove(scene.store, STR("one")), 0);
    assert_int_equal(sandboxstore_remove(scene.store, STR("one")), ERR_NOT_FOUND);
}

static void take_network(void *data, struct str id, struct str text)
{
    struct scene *scene = data;

    scene->count++;
    assert_true(str_eq(id, STR("one")));
    snprintf(scene->env, sizeof(scene->env), "%.*s", STR_ARG(text));
}

static void a_network_goes_with_its_sandbox(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    const struct sandboxstore_sandbox sandbox = {.id = "one"};

    (void)state;
    set_up(&scene);
    assert_true(sandboxstore_save_network(scene.store, STR("one"), STR("x")) < 0);
    assert_int_equal(sandboxstore_save(scene.store, &sandbox), 0);
    assert_int_equal(sandboxstore_save_network(scene.store, STR("one"), STR("203.0.113.7/32")), 0);
    open_again(&scene);
    assert_int_equal(sandboxstore_each_network(scene.store, take_network, &scene), 0);
    assert_int_equal(scene.count, 1);
    assert_string_equal(scene.env, "203.0.113.7/32");
    assert_int_equal(sandboxstore_remove(scene.store, STR("one")), 0);
    assert_int_equal(sandboxstore_each_network(scene.store, take_network, &scene), 0);
    assert_int_equal(scene.count, 1);
}

static void a_key_is_found_by_its_digest_until_its_tenant_goes(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    const struct sandboxstore_tenant tenant = {.id = "t", .name = "team", .max_sandboxes = 3};
    const struct sandboxstore_key key = {.id = "k", .tenant = "t", .prefix = "sbk_abc"};
    const struct sandboxstore_key stray = {.id = "s", .tenant = "none"};
    const unsigned char digest[SHA256_BYTES] = {1, 2, 3};
    const unsigned char other[SHA256_BYTES] = {9};
    struct sandboxstore_tenant found;
    char owner[SANDBOXSTORE_ID_BYTES];

    (void)state;
    set_up(&scene);
    assert_int_equal(sandboxstore_add_tenant(scene.store, &tenant), 0);
    assert_int_equal(sandboxstore_add_tenant(scene.store, &tenant), ERR_ALREADY_EXISTS);
    assert_int_equal(sandboxstore_add_key(scene.store, &key, digest), 0);
    assert_true(sandboxstore_add_key(scene.store, &stray, other) < 0); /* of no tenant */
    open_again(&scene);
    assert_int_equal(sandboxstore_find_key(scene.store, digest, owner), 0);
    assert_string_equal(owner, "t");
    assert_int_equal(sandboxstore_find_key(scene.store, other, owner), ERR_UNAUTHORIZED);
    assert_int_equal(sandboxstore_get_tenant(scene.store, STR("t"), &found), 0);
    assert_string_equal(found.name, "team");
    assert_int_equal(found.max_sandboxes, 3);
    assert_int_equal(sandboxstore_remove_key(scene.store, STR("other"), STR("k")), ERR_NOT_FOUND);
    assert_int_equal(sandboxstore_remove_tenant(scene.store, STR("t")), 0);
    assert_int_equal(sandboxstore_find_key(scene.store, digest, owner), ERR_UNAUTHORIZED);
    assert_int_equal(sandboxstore_get_tenant(scene.store, STR("t"), &found), ERR_NOT_FOUND);
}

static void take_layer(void *data, const struct sandboxstore_layer *layer)
{
    struct scene *scene = data;

    scene->count++;
    scene->layer = *layer;
    snprintf(scene->env, sizeof(scene->env), "%.*s", STR_ARG(layer->env));
}

static void a_layer_keeps_what_it_was_made_of(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    struct sandboxstore_layer layer = {.key = "k",
                                       .parent = "p",
                                       .owner = "o",
                                       .has_files = true,
                                       .workdir = "/srv",
                                       .env = STR_LITERAL("{\"A\":\"b\"}")};

    (void)state;
    set_up(&scene);
    assert_int_equal(sandboxstore_save_layer(scene.store, &layer), 0);
    layer.is_image = true;
    layer.used_s = 7;
    assert_int_equal(sandboxstore_save_layer(scene.store, &layer), 0);
    open_again(&scene);
    assert_int_equal(sandboxstore_each_layer(scene.store, take_layer, &scene), 0);
    assert_int_equal(scene.count, 1);
    assert_string_equal(scene.layer.parent, "p");
    assert_string_equal(scene.layer.owner, "o");
    assert_string_equal(scene.layer.workdir, "/srv");
    assert_string_equal(scene.env, "{\"A\":\"b\"}");
    assert_int_equal(scene.layer.used_s, 7);
    assert_true(scene.layer.has_files && scene.layer.is_image && !scene.layer.is_system);
    layer.is_system = true;
    assert_int_equal(sandboxstore_save_layer(scene.store, &layer), 0);
    assert_int_equal(sandboxstore_save_layer(scene.store, &layer), 0);
    assert_int_equal(sandboxstore_each_layer(scene.store, take_layer, &scene), 0);
    assert_true(scene.layer.is_system);
    assert_string_equal(scene.layer.missing, "");
    snprintf(layer.missing, sizeof(layer.missing), "node:22");
    assert_int_equal(sandboxstore_save_layer(scene.store, &layer), 0);
    assert_int_equal(sandboxstore_save_layer(scene.store, &layer), 0);
    open_again(&scene);
    assert_int_equal(sandboxstore_each_layer(scene.store, take_layer, &scene), 0);
    assert_string_equal(scene.layer.missing, "node:22");
    assert_int_equal(sandboxstore_remove_layer(scene.store, STR("k")), 0);
    assert_int_equal(sandboxstore_remove_layer(scene.store, STR("k")), ERR_NOT_FOUND);
}

static void take_name(void *data, const struct sandboxstore_name *name)
{
    struct sandboxstore_name *out = data;

    *out = *name;
}

static void a_name_stands_for_one_image(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    struct sandboxstore_name name = {.name = ""};

    (void)state;
    set_up(&scene);
    assert_int_equal(sandboxstore_save_name(scene.store, STR("n:*"), STR("one")), 0);
    assert_int_equal(sandboxstore_save_name(scene.store, STR("n:*"), STR("two")), 0);
    open_again(&scene);
    assert_int_equal(sandboxstore_each_name(scene.store, take_name, &name), 0);
    assert_string_equal(name.name, "n:*");
    assert_string_equal(name.image, "two");
    assert_int_equal(sandboxstore_remove_name(scene.store, STR("n:*")), 0);
    assert_int_equal(sandboxstore_remove_name(scene.store, STR("n:*")), ERR_NOT_FOUND);
}

static void take_snapshot(void *data, const struct sandboxstore_snapshot *snapshot)
{
    struct sandboxstore_snapshot *out = data;

    *out = *snapshot;
}

static void a_snapshots_name_is_its_owners(void **state)
{
    cleanup_scene struct scene scene = {.count = 0};
    struct sandboxstore_snapshot found = {0};
    struct sandboxstore_snapshot snapshot = {.id = "1",
                                             .owner = "o",
                                             .name = "n",
                                             .from = "node:22",
                                             .image = "k",
                                             .cpu = 2,
                                             .memory_gb = 3,
                                             .disk_gb = 4,
                                             .created_s = 5};

    (void)state;
    set_up(&scene);
    assert_int_equal(sandboxstore_add_snapshot(scene.store, &snapshot), 0);
    snapshot.id[0] = '2';
    assert_int_equal(sandboxstore_add_snapshot(scene.store, &snapshot), ERR_ALREADY_EXISTS);
    open_again(&scene);
    assert_int_equal(sandboxstore_each_snapshot(scene.store, take_snapshot, &found), 0);
    assert_string_equal(found.id, "1");
    assert_string_equal(found.owner, "o");
    assert_string_equal(found.name, "n");
    assert_string_equal(found.from, "node:22");
    assert_string_equal(found.image, "k");
    assert_int_equal(
        found.cpu * 1000 + found.memory_gb * 100 + found.disk_gb * 10 + found.created_s, 2345);
    snapshot.owner[0] = 'p';
    assert_int_equal(sandboxstore_add_snapshot(scene.store, &snapshot), 0);
    assert_int_equal(sandboxstore_remove_snapshot(scene.store, STR("1")), 0);
    assert_int_equal(sandboxstore_remove_snapshot(scene.store, STR("1")), ERR_NOT_FOUND);
}

TEST_MAIN(cmocka_unit_test(a_sandbox_is_saved_changed_and_removed),
          cmocka_unit_test(a_network_goes_with_its_sandbox),
          cmocka_unit_test(a_key_is_found_by_its_digest_until_its_tenant_goes),
          cmocka_unit_test(a_layer_keeps_what_it_was_made_of),
          cmocka_unit_test(a_name_stands_for_one_image),
          cmocka_unit_test(a_snapshots_name_is_its_owners))
