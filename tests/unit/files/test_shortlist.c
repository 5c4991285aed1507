/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "search/shortlist.h"

/* A slash at the end says that it is a directory. */
static struct str name_of(const char *text, bool *out_is_directory)
{
    struct str name = str_from(text);

    *out_is_directory = str_ends_with(name, STR("/"));
    return str_slice(name, 0, name.len - (*out_is_directory ? 1 : 0));
}

static int compare(const char *a, const char *b)
{
    bool a_is_directory;
    bool b_is_directory;
    struct str left = name_of(a, &a_is_directory);
    struct str right = name_of(b, &b_is_directory);

    return shortlist_compare(left, a_is_directory, right, b_is_directory);
}

static void the_order_is_that_of_a_tree(void **state)
{
    static const char *const sorted[] = {
        "a/",
        "a/b/",
        "a/b/c",
        "a/b-/",
        "a/b-/x",
        "a/b0/",
        "a/a",
        "a/b.txt",
        "a-/",
        "a-/directory12/",
        "a-/directory12/z",
        "a-/directory13/",
        "a-/directory12.c",
        "a0/",
        "z/",
        "z/0",
        "A",
        "a.txt",
        "b",
        "b\xC3\xA4",
    };

    (void)state;
    for (size_t i = 0; i < array_size(sorted); i++)
        for (size_t k = 0; k < array_size(sorted); k++) {
            int order = compare(sorted[i], sorted[k]);

            if ((order < 0) != (i < k) || (order > 0) != (i > k))
                fail_msg("%s and %s: %d", sorted[i], sorted[k], order);
        }
}

static void the_first_are_kept_whatever_the_order(void **state)
{

    (void)state;
    for (size_t max = 0; max < 40; max += 3) {
        cleanup_shortlist struct shortlist list;
        char name[16];

        shortlist_init(&list, max);
        for (int i = 0; i < 1000; i++) {
            struct shortlist_item *item;

            /* Each number once: 331 and 1000 have no divisor in common. */
            snprintf(name, sizeof(name), "%03d", (int)((unsigned)i * 331 % 1000));
            assert_int_equal(shortlist_add(&list, str_from(name), false, &item), 0);
            if (item != NULL)
                assert_true(str_eq(shortlist_name(item), str_from(name)));
        }
        shortlist_sort(&list);
        assert_int_equal(list.count, max);
        assert_true(list.is_dropping);
        for (size_t i = 0; i < max; i++) {
            snprintf(name, sizeof(name), "%03zu", i);
            assert_true(str_eq(shortlist_name(list.items[i]), str_from(name)));
        }
    }
}

/* Before it has dropped something it cannot know better. */
static void a_list_wants_what_may_still_be_among_the_first(void **state)
{
    static const char *const names[] = {"m", "k", "z", "y", "l"};
    cleanup_shortlist struct shortlist list;

    (void)state;
    shortlist_init(&list, 2);
    assert_true(shortlist_wants(&list, STR("z"), true));
    for (size_t i = 0; i < array_size(names); i++)
        assert_int_equal(shortlist_add(&list, str_from(names[i]), false, NULL), 0);
    assert_true(list.is_dropping);
    assert_false(shortlist_wants(&list, STR("n"), false));
    assert_false(shortlist_wants(&list, STR("m"), false));
    assert_true(shortlist_wants(&list, STR("a"), false));
    /* Directories come before all files. */
    assert_true(shortlist_wants(&list, STR("n"), true));
    shortlist_sort(&list);
    assert_int_equal(list.count, 2);
    assert_str(shortlist_name(list.items[0]), "k");
    assert_str(shortlist_name(list.items[1]), "l");
}

static void a_list_that_was_never_full_drops_nothing(void **state)
{
    cleanup_shortlist struct shortlist list;

    (void)state;
    shortlist_init(&list, 2);
    assert_int_equal(shortlist_add(&list, STR("m"), false, NULL), 0);
    assert_int_equal(shortlist_add(&list, STR("k"), false, NULL), 0);
    shortlist_sort(&list);
    assert_false(list.is_dropping);
    assert_int_equal(list.count, 2);
    assert_str(shortlist_name(list.items[0]), "k");
}

/* There is a shorter way to compare those. */
static void names_without_slashes_are_sorted_like_all(void **state)
{
    static const char *const names[] = {"b", "a", "ab", "a.b", "a\xff", "a b", "B", "abc", "a-"};
    cleanup_shortlist struct shortlist list;

    (void)state;
    shortlist_init(&list, 100);
    for (size_t i = 0; i < array_size(names); i++) {
        assert_int_equal(shortlist_add(&list, str_from(names[i]), i % 2 == 0, NULL), 0);
        assert_int_equal(shortlist_add(&list, str_from(names[i]), i % 3 == 0, NULL), 0);
    }
    shortlist_sort(&list);
    for (size_t i = 1; i < list.count; i++) {
        const struct shortlist_item *a = list.items[i - 1];
        const struct shortlist_item *b = list.items[i];

        assert_true(shortlist_compare(shortlist_name(a), a->is_directory, shortlist_name(b),
                                      b->is_directory) <= 0);
    }
}

static void a_higher_rank_comes_first_whatever_the_name(void **state)
{
    cleanup_shortlist struct shortlist list;
    char name[16];

    (void)state;
    shortlist_init(&list, 5);
    for (int i = 0; i < 1000; i++) {
        int mixed = i * 7 % 1000;

        snprintf(name, sizeof(name), "n%03d", mixed);
        assert_int_equal(
            shortlist_add_ranked(&list, str_from(name), mixed % 2 == 0, mixed / 2 - 100, NULL), 0);
    }
    shortlist_sort(&list);
    assert_int_equal(list.count, 5);
    assert_true(list.is_dropping);
    /* Of the same rank, directories first. */
    assert_str(shortlist_name(list.items[0]), "n998");
    assert_str(shortlist_name(list.items[1]), "n999");
    assert_str(shortlist_name(list.items[2]), "n996");
    assert_int_equal(list.items[4]->rank, 497 - 100);
}

/* All alike: parting gets nowhere, and must not take for ever over it. */
static void equal_names_do_not_make_it_slow(void **state)
{
    cleanup_shortlist struct shortlist list;

    (void)state;
    shortlist_init(&list, 20000);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(shortlist_add(&list, STR("name"), false, NULL), 0);
    shortlist_sort(&list);
    assert_int_equal(list.count, 20000);
}

TEST_MAIN(cmocka_unit_test(the_order_is_that_of_a_tree),
          cmocka_unit_test(the_first_are_kept_whatever_the_order),
          cmocka_unit_test(a_list_wants_what_may_still_be_among_the_first),
          cmocka_unit_test(a_list_that_was_never_full_drops_nothing),
          cmocka_unit_test(names_without_slashes_are_sorted_like_all),
          cmocka_unit_test(a_higher_rank_comes_first_whatever_the_name),
          cmocka_unit_test(equal_names_do_not_make_it_slow))
