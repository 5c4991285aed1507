/* SPDX-License-Identifier: Apache-2.0 */
#include "backend_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_plant.h"

/* ---- the suite's view from outside ---- */

static void begin(struct suite *suite)
{
    static const char *const paths[SUITE_TREES] = {"/memory/a", "/memory/b", "/memory/outside"};
    struct backend_root **roots = calloc(SUITE_TREES, sizeof(struct backend_root *));

    assert_non_null(roots);
    assert_int_equal(authority_in_memory(&suite->backend), 0);
    for (size_t i = 0; i < SUITE_TREES; i++)
        assert_int_equal(suite->backend->ops->root_open(suite->backend, paths[i], &roots[i]), 0);
    suite->root = roots[SUITE_ROOT];
    suite->other = roots[SUITE_OTHER];
    suite->own = roots;
}

static struct backend_root *root_of(struct suite *suite, enum suite_tree tree)
{
    return ((struct backend_root **)suite->own)[tree];
}

/* Whatever a test left in a root goes; what is then still counted has leaked. */
static void end(struct suite *suite)
{
    const struct backend_ops *ops = suite->backend->ops;
    uint64_t bytes;
    uint64_t nodes;

    for (enum suite_tree tree = SUITE_ROOT; tree < SUITE_TREES; tree++) {
        struct backend_root *root = root_of(suite, tree);
        struct backend_dir *dir = NULL;
        enum authority_type type;
        struct str component;
        int error = 0;

        assert_int_equal(ops->dir_open(root, &suite_strict, STR_EMPTY, &dir), 0);
        while (ops->dir_next(dir, &component, &type, &error))
            assert_int_equal(
                ops->remove(root, &suite_strict, component, BACKEND_REMOVE_TREE, SUITE_BUDGET), 0);
        ops->dir_close(dir);
        ops->root_close(root);
    }
    memory_usage(suite->backend, &bytes, &nodes);
    ops->free(suite->backend);
    free(suite->own);
    assert_int_equal(bytes, 0);
    assert_int_equal(nodes, SUITE_TREES + 1);
}

static void plant(struct suite *suite, enum suite_tree tree, const char *name,
                  enum authority_type type, struct str content)
{
    assert_int_equal(memory_plant(root_of(suite, tree), str_from(name), type, content,
                                  type == AUTHORITY_DIRECTORY ? 0755 : 0644),
                     0);
}

static void plant_hardlink(struct suite *suite, enum suite_tree from_tree, const char *existing,
                           enum suite_tree tree, const char *name)
{
    assert_int_equal(memory_plant_hardlink(root_of(suite, from_tree), str_from(existing),
                                           root_of(suite, tree), str_from(name)),
                     0);
}

static void take(struct suite *suite, enum suite_tree tree, const char *name)
{
    assert_int_equal(memory_take(root_of(suite, tree), str_from(name)), 0);
}

static void set_mode(struct suite *suite, enum suite_tree tree, const char *name, unsigned mode)
{
    assert_int_equal(memory_set_mode(root_of(suite, tree), str_from(name), mode), 0);
}

static bool look(struct suite *suite, enum suite_tree tree, const char *name,
                 struct authority_stat *out_stat, struct buf *content)
{
    int r = memory_peek(root_of(suite, tree), str_from(name), out_stat, content);

    if (r != ERR_NOT_FOUND)
        assert_int_equal(r, 0);
    return r == 0;
}

static void limit_space(struct suite *suite, uint64_t bytes)
{
    memory_set_ceilings(suite->backend, bytes, MEMORY_MAX_NODES);
}

static const struct suite_fixture fixture = {
    .begin = begin,
    .end = end,
    .plant = plant,
    .plant_hardlink = plant_hardlink,
    .take = take,
    .set_mode = set_mode,
    .look = look,
    .limit_space = limit_space,
    .no_space_error = ERR_NO_SPACE,
    .enforces_modes = true,
};

static int setup(void **state)
{
    return suite_setup(state, &fixture);
}

/* ---- what is the memory's own ---- */

static void roots_are_kept_by_their_path(void **state)
{
    struct suite *suite = *state;
    struct backend_root *again = NULL;
    struct authority_stat about;

    suite_plant(suite, "f", "x");
    assert_int_equal(suite->ops->root_open(suite->backend, "/memory/a", &again), 0);
    assert_int_equal(suite->ops->stat(again, &suite_strict, STR("f"), &about), 0);
    suite->ops->root_close(again);
    assert_int_equal(suite->ops->stat(suite->other, &suite_strict, STR("f"), &about),
                     ERR_NOT_FOUND);
}

static void the_codes_of_refused_links_are_exact(void **state)
{
    struct suite *suite = *state;
    struct backend_file *file = NULL;

    suite_plant_link(suite, "leaving", "../outside");
    suite_plant_link(suite, "nowhere", "missing");
    assert_int_equal(suite_open(suite, &suite_following, "leaving", &file), ERR_PATH_OUTSIDE_ROOT);
    assert_int_equal(suite_write(suite, &suite_following, "nowhere", "x"), ERR_SYMLINK_REJECTED);
}

static void replace_old_looks_again_when_it_publishes(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *stage = NULL;

    suite_plant(suite, "f", "old");
    assert_int_equal(
        suite->ops->stage(suite->root, &suite_strict, STR("f"), BACKEND_REPLACE_OLD, 0644, &stage),
        0);
    take(suite, SUITE_ROOT, "f");
    assert_int_equal(suite->ops->stage_publish(stage, false), ERR_NOT_FOUND);
    suite_assert_missing(suite, SUITE_ROOT, "f");
}

static void times_come_from_the_clock(void **state)
{
    struct suite *suite = *state;
    struct authority_stat before;
    struct authority_stat after;
    struct clock clock;

    clock_fake_init(&clock, 4000000001234);
    memory_set_clock(suite->backend, &clock);
    assert_int_equal(suite_write(suite, &suite_strict, "f", "x"), 0);
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("f"), &before), 0);
    assert_true(before.modified_ms == 4000000001234);
    assert_int_equal(before.modified_ns / 1000000, 234);
    /* A change is seen also while the clock stands still. */
    assert_int_equal(
        suite->ops->append(suite->root, &suite_strict, STR("f"), STR("y"), false, 0644, false), 0);
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("f"), &after), 0);
    assert_true(after.changed_ns > before.changed_ns);
    assert_true(after.modified_ms == before.modified_ms);
    clock_fake_advance(&clock, 5000);
    assert_int_equal(
        suite->ops->append(suite->root, &suite_strict, STR("f"), STR("z"), false, 0644, false), 0);
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("f"), &after), 0);
    assert_true(after.modified_ms == 4000000006234);
    /* A rename is no modification. */
    clock_fake_advance(&clock, 5000);
    assert_int_equal(suite->ops->rename(suite->root, &suite_strict, STR("f"), suite->root,
                                        &suite_strict, STR("g"), false),
                     0);
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("g"), &after), 0);
    assert_true(after.modified_ms == 4000000006234);
    memory_set_clock(suite->backend, &clock_system);
}

static void the_ceiling_on_nodes_refuses_new_ones(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct backend_root *root = NULL;
    uint64_t bytes;
    uint64_t nodes;

    suite_plant(suite, "f", "old");
    memory_usage(suite->backend, &bytes, &nodes);
    memory_set_ceilings(suite->backend, MEMORY_MAX_BYTES, nodes);
    assert_int_equal(ops->mkdir(suite->root, &suite_strict, STR("d"), 0755, false), ERR_NO_SPACE);
    assert_int_equal(suite_write(suite, &suite_strict, "new", "x"), ERR_NO_SPACE);
    assert_int_equal(suite_write(suite, &suite_strict, "f", "x"), ERR_NO_SPACE);
    assert_int_equal(ops->tree_stage(suite->root, &suite_strict, STR("t"), &root), ERR_NO_SPACE);
    assert_int_equal(ops->temp_make(suite->backend, &root), ERR_NO_SPACE);
    assert_int_equal(ops->root_open(suite->backend, "/memory/new", &root), ERR_NO_SPACE);
    suite_assert_content(suite, SUITE_ROOT, "f", "old");
    /* What is there can be used, moved and removed, which makes room. */
    assert_int_equal(ops->rename(suite->root, &suite_strict, STR("f"), suite->root, &suite_strict,
                                 STR("g"), false),
                     0);
    assert_int_equal(ops->remove(suite->root, &suite_strict, STR("g"), BACKEND_REMOVE_ONE, 1), 0);
    assert_int_equal(suite_write(suite, &suite_strict, "f", "x"), 0);
}

static void an_open_file_holds_its_space_until_it_is_closed(void **state)
{
    struct suite *suite = *state;
    struct backend_file *file = NULL;
    uint64_t bytes;
    uint64_t nodes;

    suite_plant(suite, "f", "12345");
    assert_int_equal(suite_open(suite, &suite_strict, "f", &file), 0);
    assert_int_equal(
        suite->ops->remove(suite->root, &suite_strict, STR("f"), BACKEND_REMOVE_ONE, 1), 0);
    memory_usage(suite->backend, &bytes, &nodes);
    assert_int_equal(bytes, 5);
    suite->ops->file_close(file);
    memory_usage(suite->backend, &bytes, &nodes);
    assert_int_equal(bytes, 0);
}

static void a_tree_is_counted_with_its_top(void **state)
{
    struct suite *suite = *state;

    suite_plant_dir(suite, "d");
    suite_plant_dir(suite, "d/a");
    suite_plant(suite, "d/a/f", "x");
    suite_plant_dir(suite, "d/b");
    suite_plant(suite, "d/c", "x");
    assert_int_equal(
        suite->ops->remove(suite->root, &suite_strict, STR("d"), BACKEND_REMOVE_TREE, 4),
        ERR_TOO_LARGE);
    /* Nothing is gone then. */
    suite_assert_content(suite, SUITE_ROOT, "d/a/f", "x");
    assert_int_equal(suite_count(suite, SUITE_ROOT, "d"), 3);
    assert_int_equal(
        suite->ops->remove(suite->root, &suite_strict, STR("d"), BACKEND_REMOVE_TREE, 5), 0);
    suite_assert_missing(suite, SUITE_ROOT, "d");
}

/* Deeper than a name can say, and than a stack would bear. */
static void trees_deeper_than_any_name_are_counted_and_freed(void **state)
{
    enum { ROUNDS = 40, STEPS = 1000 };
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct backend_root *temp = NULL;
    char deep[2 * STEPS + 2] = "";
    size_t len = 0;

    assert_int_equal(ops->temp_make(suite->backend, &temp), 0);
    assert_int_equal(ops->mkdir(suite->root, &suite_strict, STR("d"), 0755, false), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        /* A new long branch, with all so far hung on its end. */
        memcpy(deep, "n", 2);
        len = 1;
        for (unsigned i = 0; i < STEPS; i++) {
            assert_int_equal(
                ops->mkdir(suite->root, &suite_strict, (struct str){deep, len}, 0755, false), 0);
            memcpy(deep + len, "/d", 3);
            len += 2;
        }
        assert_int_equal(ops->rename(suite->root, &suite_strict, STR("d"), suite->root,
                                     &suite_strict, (struct str){deep, len}, false),
                         0);
        assert_int_equal(ops->rename(suite->root, &suite_strict, STR("n"), suite->root,
                                     &suite_strict, STR("d"), false),
                         0);
    }
    assert_int_equal(
        ops->remove(suite->root, &suite_strict, STR("d"), BACKEND_REMOVE_TREE, ROUNDS * STEPS),
        ERR_TOO_LARGE);
    /* One is removed by name, the other goes with what holds it. */
    assert_int_equal(
        ops->rename(suite->root, &suite_strict, STR("d"), temp, &suite_strict, STR("d"), false), 0);
    assert_int_equal(
        ops->rename(temp, &suite_strict, STR("d"), suite->root, &suite_strict, STR("d"), false), 0);
    assert_int_equal(
        ops->remove(suite->root, &suite_strict, STR("d"), BACKEND_REMOVE_TREE, ROUNDS * STEPS + 1),
        0);
    ops->temp_drop(temp);
}

static void a_stage_does_not_follow_its_directory_into_another_root(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *stage = NULL;

    suite_plant_dir(suite, "d");
    assert_int_equal(suite->ops->stage(suite->root, &suite_strict, STR("d/f"),
                                       BACKEND_CREATE_OR_REPLACE, 0644, &stage),
                     0);
    assert_int_equal(suite->ops->rename(suite->root, &suite_strict, STR("d"), suite->other,
                                        &suite_strict, STR("d"), false),
                     0);
    assert_int_equal(suite->ops->stage_publish(stage, false), ERR_PATH_OUTSIDE_ROOT);
    assert_int_equal(suite_count(suite, SUITE_OTHER, "d"), 0);
}

static void unreadable_things_are_refused(void **state)
{
    struct suite *suite = *state;
    struct backend_file *file = NULL;
    struct backend_dir *dir = NULL;

    suite_plant(suite, "f", "x");
    suite_plant_dir(suite, "d");
    set_mode(suite, SUITE_ROOT, "f", 0200);
    set_mode(suite, SUITE_ROOT, "d", 0300);
    assert_int_equal(suite_open(suite, &suite_strict, "f", &file), ERR_PERMISSION_DENIED);
    assert_int_equal(suite->ops->dir_open(suite->root, &suite_strict, STR("d"), &dir),
                     ERR_PERMISSION_DENIED);
}

static void a_stage_in_a_dropped_tree_is_published_nowhere(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *stage = NULL;
    struct backend_root *tree = NULL;

    assert_int_equal(suite->ops->tree_stage(suite->root, &suite_strict, STR("t"), &tree), 0);
    assert_int_equal(
        suite->ops->stage(tree, &suite_strict, STR("f"), BACKEND_CREATE_NEW, 0644, &stage), 0);
    suite->ops->tree_drop(tree);
    assert_int_equal(suite->ops->stage_publish(stage, false), ERR_NOT_FOUND);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, setup, suite_teardown),

/* clang-format off */
TEST_MAIN(
    BACKEND_SUITE(ROW)
    ROW(roots_are_kept_by_their_path)
    ROW(the_codes_of_refused_links_are_exact)
    ROW(replace_old_looks_again_when_it_publishes)
    ROW(times_come_from_the_clock)
    ROW(the_ceiling_on_nodes_refuses_new_ones)
    ROW(an_open_file_holds_its_space_until_it_is_closed)
    ROW(a_tree_is_counted_with_its_top)
    ROW(trees_deeper_than_any_name_are_counted_and_freed)
    ROW(a_stage_does_not_follow_its_directory_into_another_root)
    ROW(unreadable_things_are_refused)
    ROW(a_stage_in_a_dropped_tree_is_published_nowhere)
)
/* clang-format on */
