/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"

static void allocations_are_aligned_and_do_not_overlap(void **state)
{
    enum { COUNT = 2000 };
    cleanup_arena struct arena arena = ARENA_INIT(64 << 20);
    char *blocks[COUNT];

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = i * 37 % 3000;

        blocks[i] = arena_alloc(&arena, size);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % ARENA_ALIGN, 0);
        memset(blocks[i], (int)(i & 0x7f), size);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < i * 37 % 3000; j++)
            assert_int_equal(blocks[i][j], (int)(i & 0x7f));
}

static void nothing_passes_the_ceiling(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(10000);
    /* Not a constant, or the compiler would refuse what the arena is to refuse. */
    volatile size_t huge = SIZE_MAX;
    size_t got = 0;

    (void)state;
    while (arena_alloc(&arena, 100) != NULL)
        got += 100;
    assert_in_range(got, 7000, 10000);
    assert_true(arena.held <= 10000);
    assert_null(arena_alloc(&arena, huge));
    assert_null(arena_alloc(&arena, huge - 40));
    assert_null(arena_alloc_array(&arena, huge / 2, 3));
    assert_null(arena_copy(&arena, (struct str){"", huge}));
}

static void a_reset_arena_starts_over(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);

    (void)state;
    for (int round = 0; round < 1000; round++) {
        assert_non_null(arena_alloc(&arena, 100000));
        for (int i = 0; i < 100; i++)
            assert_non_null(arena_alloc(&arena, 500));
        arena_reset(&arena);
    }
    assert_true(arena.held <= 1 << 20);
    arena_reset(&arena);
    arena_done(&arena);
    assert_non_null(arena_alloc(&arena, 1));
}

static void copies_end_with_a_nul_that_is_not_counted(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);

    (void)state;
    assert_string_equal(arena_copy(&arena, STR("name")), "name");
    assert_string_equal(arena_copy(&arena, STR_EMPTY), "");
    assert_memory_equal(arena_copy(&arena, STR("a\0b")), "a\0b", 4);
}

static void a_growing_block_counts_from_birth_and_dies_with_the_arena(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(5000);
    char *block = arena_regrow(&arena, NULL, 1000);
    size_t held;

    (void)state;
    assert_non_null(block);
    memset(block, 'x', 1000);
    assert_null(arena_regrow(&arena, block, 5000));
    block = arena_regrow(&arena, block, 3000);
    assert_non_null(block);
    assert_int_equal(block[999], 'x');
    assert_in_range(arena.held, 3000, 3100);
    assert_int_equal(arena.error, ERR_TOO_LARGE);
    arena_adopt(&arena, block);
    assert_true(arena.held >= 3000);
    assert_null(arena_regrow(&arena, NULL, 3000));
    held = arena.held;
    arena_regrow_free(&arena, arena_regrow(&arena, NULL, 100));
    arena_regrow_free(&arena, NULL);
    assert_int_equal(arena.held, held);
}

static void zeroed_memory_is_zero_where_something_was(void **state)
{
    (void)state;
    for (size_t size = 1; size < 4096; size *= 3) {
        char *used = malloc(size);
        char *zeroed;

        assert_non_null(used);
        memset(used, 'x', size);
        free(used);
        zeroed = alloc_zeroed(size);
        assert_non_null(zeroed);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(zeroed[i], 0);
        free(zeroed);
    }
}

TEST_MAIN(cmocka_unit_test(allocations_are_aligned_and_do_not_overlap),
          cmocka_unit_test(nothing_passes_the_ceiling), cmocka_unit_test(a_reset_arena_starts_over),
          cmocka_unit_test(copies_end_with_a_nul_that_is_not_counted),
          cmocka_unit_test(a_growing_block_counts_from_birth_and_dies_with_the_arena),
          cmocka_unit_test(zeroed_memory_is_zero_where_something_was))
