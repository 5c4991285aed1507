/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>

#include "base/err.h"
#include "base/map.h"

static void entries_are_found_until_removed(void **state)
{
    cleanup_map struct map map = MAP_INIT(10);
    int one = 1;
    int two = 2;

    (void)state;
    assert_null(map_get(&map, STR("one")));
    assert_null(map_remove(&map, STR("one")));
    assert_int_equal(map_add(&map, STR("one"), &one), 0);
    assert_int_equal(map_add(&map, STR("one"), &two), ERR_ALREADY_EXISTS);
    assert_ptr_equal(map_get(&map, STR("one")), &one);
    assert_int_equal(map_add(&map, STR(""), &two), 0);
    assert_ptr_equal(map_get(&map, STR("")), &two);
    assert_ptr_equal(map_remove(&map, STR("one")), &one);
    assert_null(map_get(&map, STR("one")));
    assert_int_equal(map.count, 1);
}

static void the_ceiling_holds(void **state)
{
    cleanup_map struct map map = MAP_INIT(2);
    int value = 0;

    (void)state;
    assert_int_equal(map_add(&map, STR("a"), &value), 0);
    assert_int_equal(map_add(&map, STR("b"), &value), 0);
    assert_int_equal(map_add(&map, STR("c"), &value), ERR_TOO_LARGE);
    assert_int_equal(map_add(&map, STR("b"), &value), ERR_ALREADY_EXISTS);
    assert_ptr_equal(map_remove(&map, STR("a")), &value);
    assert_int_equal(map_add(&map, STR("c"), &value), 0);
}

/* Against a plain array of flags, with a generator that is the same in every run. */
static void any_sequence_of_changes_matches_a_plain_table(void **state)
{
    enum { NAMES = 600, STEPS = 200000 };
    static char names[NAMES][8];
    bool is_in[NAMES] = {false};
    cleanup_map struct map map = MAP_INIT(NAMES);
    uint64_t seed = 88172645463325252U;
    size_t count = 0;

    (void)state;
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof(names[i]), "n%d", i);
    for (int step = 0; step < STEPS; step++) {
        size_t i;
        struct str name;

        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        i = seed % NAMES;
        name = str_from(names[i]);
        assert_ptr_equal(map_get(&map, name), is_in[i] ? names[i] : NULL);
        if ((seed >> 32) % 2 == 0) {
            assert_int_equal(map_add(&map, name, names[i]), is_in[i] ? ERR_ALREADY_EXISTS : 0);
            count += !is_in[i];
            is_in[i] = true;
        } else {
            assert_ptr_equal(map_remove(&map, name), is_in[i] ? names[i] : NULL);
            count -= is_in[i];
            is_in[i] = false;
        }
        assert_int_equal(map.count, count);
    }
}

static void a_walk_meets_every_entry_once(void **state)
{
    enum { NAMES = 100 };
    static char names[NAMES][8];
    int seen[NAMES] = {0};
    cleanup_map struct map map = MAP_INIT(NAMES);
    size_t cursor = 0;
    struct str key;
    void *value;

    (void)state;
    for (int i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof(names[i]), "%d", i);
        assert_int_equal(map_add(&map, str_from(names[i]), &seen[i]), 0);
    }
    while (map_next(&map, &cursor, &key, &value))
        ++*(int *)value;
    for (int i = 0; i < NAMES; i++)
        assert_int_equal(seen[i], 1);
}

TEST_MAIN(cmocka_unit_test(entries_are_found_until_removed), cmocka_unit_test(the_ceiling_holds),
          cmocka_unit_test(any_sequence_of_changes_matches_a_plain_table),
          cmocka_unit_test(a_walk_meets_every_entry_once))
