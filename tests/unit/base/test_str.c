/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

static void equality_is_by_bytes_and_length(void **state)
{
    (void)state;
    assert_true(str_eq(STR(""), STR_EMPTY));
    assert_true(str_eq(STR("a\0b"), STR("a\0b")));
    assert_false(str_eq(STR("a\0b"), STR("a\0c")));
    assert_false(str_eq(STR("a"), STR("ab")));
    assert_true(str_eq_c(STR("abc"), "abc"));
    assert_true(str_eq_nocase(STR("Content-TYPE"), STR("content-type")));
    assert_false(str_eq_nocase(STR("a["), STR("a{")));
}

static void order_is_by_bytes_then_length(void **state)
{
    (void)state;
    assert_true(str_compare(STR("a"), STR("b")) < 0);
    assert_true(str_compare(STR("ab"), STR("a")) > 0);
    assert_true(str_compare(STR("a"), STR("ab")) < 0);
    assert_int_equal(str_compare(STR("ab"), STR("ab")), 0);
    assert_true(str_compare(STR("\x7f"), STR("\x80")) < 0);
}

static void prefixes_and_suffixes(void **state)
{
    (void)state;
    assert_true(str_starts_with(STR("root-evil"), STR("root")));
    assert_true(str_starts_with(STR("x"), STR("")));
    assert_false(str_starts_with(STR("roo"), STR("root")));
    assert_true(str_ends_with(STR("a.json"), STR(".json")));
    assert_false(str_ends_with(STR("json"), STR(".json")));
}

static void slices_stay_inside(void **state)
{
    (void)state;
    assert_str(str_slice(STR("abcdef"), 2, 3), "cde");
    assert_str(str_slice(STR("abc"), 1, SIZE_MAX), "bc");
    assert_str(str_slice(STR("abc"), SIZE_MAX, SIZE_MAX), "");
    assert_str(str_trim(STR(" \t\r\n a b \n")), "a b");
    assert_str(str_trim(STR(" \n")), "");
}

static void cut_yields_every_part_once(void **state)
{
    struct str rest = STR("a,,b,");
    struct str part;

    (void)state;
    assert_true(str_cut(&rest, ',', &part));
    assert_str(part, "a");
    assert_true(str_cut(&rest, ',', &part));
    assert_str(part, "");
    assert_true(str_cut(&rest, ',', &part));
    assert_str(part, "b");
    assert_true(str_cut(&rest, ',', &part));
    assert_str(part, "");
    assert_false(str_cut(&rest, ',', &part));

    rest = STR_EMPTY;
    assert_true(str_cut(&rest, ',', &part));
    assert_str(part, "");
    assert_false(str_cut(&rest, ',', &part));
}

static void find_sees_past_nul_bytes(void **state)
{
    (void)state;
    assert_int_equal(str_find(STR("a\0needle"), STR("needle")), 2);
    assert_int_equal(str_find(STR("abc"), STR("")), 0);
    assert_true(str_find(STR("ab"), STR("abc")) == SIZE_MAX);
    assert_true(str_has_nul(STR("a\0")));
    assert_false(str_has_nul(STR("")));
}

static void integers_are_read_whole_or_not_at_all(void **state)
{
    static const struct {
        struct str text;
        bool is_valid;
        int64_t number;
    } cases[] = {
        {STR_LITERAL("0"), true, 0},
        {STR_LITERAL("-0"), true, 0},
        {STR_LITERAL("007"), true, 7},
        {STR_LITERAL("9223372036854775807"), true, INT64_MAX},
        {STR_LITERAL("-9223372036854775808"), true, INT64_MIN},
        {STR_LITERAL("9223372036854775808"), false, 0},
        {STR_LITERAL("-9223372036854775809"), false, 0},
        {STR_LITERAL("99999999999999999999999"), false, 0},
        {STR_LITERAL(""), false, 0},
        {STR_LITERAL("-"), false, 0},
        {STR_LITERAL("+1"), false, 0},
        {STR_LITERAL(" 1"), false, 0},
        {STR_LITERAL("1 "), false, 0},
        {STR_LITERAL("1a"), false, 0},
        {STR_LITERAL("1\0"), false, 0},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        int64_t number = 42;

        assert_int_equal(str_to_int64(cases[i].text, &number), cases[i].is_valid);
        assert_true(number == (cases[i].is_valid ? cases[i].number : 42));
    }
}

static void sizes_take_decimal_and_binary_units(void **state)
{
    static const struct {
        struct str text;
        bool is_valid;
        uint64_t bytes;
    } cases[] = {
        {STR_LITERAL("512"), true, 512},
        {STR_LITERAL("512B"), true, 512},
        {STR_LITERAL("512KB"), true, 512000},
        {STR_LITERAL("512 KiB"), true, 524288},
        {STR_LITERAL("1MiB"), true, 1048576},
        {STR_LITERAL("2mb"), true, 2000000},
        {STR_LITERAL("3G"), true, 3000000000},
        {STR_LITERAL("9223372036854775807"), true, INT64_MAX},
        {STR_LITERAL("9223372036854775807K"), false, 0},
        {STR_LITERAL("-1"), false, 0},
        {STR_LITERAL("KB"), false, 0},
        {STR_LITERAL(""), false, 0},
        {STR_LITERAL("1.5MB"), false, 0},
        {STR_LITERAL("1 MBs"), false, 0},
        {STR_LITERAL("1XB"), false, 0},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        uint64_t bytes = 42;

        assert_int_equal(str_to_bytes(cases[i].text, &bytes), cases[i].is_valid);
        assert_true(bytes == (cases[i].is_valid ? cases[i].bytes : 42));
    }
}

static void common_prefixes_end_where_the_first_byte_differs(void **state)
{
    char a[600];
    char b[600];

    (void)state;
    memset(a, 'x', sizeof(a));
    for (size_t at = 0; at < sizeof(a); at++) {
        memcpy(b, a, sizeof(b));
        b[at] = '\xff';
        assert_int_equal(str_common_prefix((struct str){a, sizeof(a)}, (struct str){b, sizeof(b)}),
                         at);
        assert_int_equal(str_common_prefix((struct str){a, sizeof(a)}, (struct str){a, at}), at);
    }
    assert_int_equal(str_common_prefix(STR_EMPTY, STR("a")), 0);
}

static void common_suffixes_begin_behind_the_last_byte_that_differs(void **state)
{
    char a[600];
    char b[600];

    (void)state;
    memset(a, 'x', sizeof(a));
    for (size_t at = 0; at < sizeof(a); at++) {
        memcpy(b, a, sizeof(b));
        b[sizeof(b) - 1 - at] = '\xff';
        assert_int_equal(str_common_suffix((struct str){a, sizeof(a)}, (struct str){b, sizeof(b)}),
                         at);
        assert_int_equal(str_common_suffix((struct str){a, sizeof(a)}, (struct str){a, at}), at);
    }
    assert_int_equal(str_common_suffix(STR_EMPTY, STR("a")), 0);
}

/* Every byte beside every other, at every place of texts around the eight that are looked at
 * together. */
static void case_is_ignored_for_letters_of_ascii_alone(void **state)
{
    (void)state;
    for (size_t len = 1; len <= 18; len++) {
        for (size_t at = 0; at<len; at += len> 9 ? 3 : 1) {
            char a[18], b[18];

            memset(a, 'x', sizeof(a));
            memset(b, 'X', sizeof(b));
            for (int c = 0; c < 256; c++) {
                for (int d = 0; d < 256; d++) {
                    bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
                    bool is_same = c == d || (is_letter && (c ^ d) == 0x20);

                    a[at] = (char)c;
                    b[at] = (char)d;
                    assert_int_equal(str_eq_nocase((struct str){a, len}, (struct str){b, len}),
                                     is_same);
                }
            }
        }
    }
}

static void distance_counts_changed_bytes(void **state)
{
    char longest[STR_DISTANCE_BYTES + 1];

    (void)state;
    memset(longest, 'a', sizeof(longest));
    assert_int_equal(str_distance(STR_EMPTY, STR_EMPTY), 0);
    assert_int_equal(str_distance(STR("abc"), STR_EMPTY), 3);
    assert_int_equal(str_distance(STR("filePaht"), STR("filePath")), 2);
    assert_int_equal(str_distance(STR("kitten"), STR("sitting")), 3);
    assert_int_equal(str_distance((struct str){longest, STR_DISTANCE_BYTES}, STR("a")), 254);
    assert_true(str_distance((struct str){longest, sizeof(longest)}, STR("a")) == SIZE_MAX);
}

TEST_MAIN(cmocka_unit_test(case_is_ignored_for_letters_of_ascii_alone),
          cmocka_unit_test(common_prefixes_end_where_the_first_byte_differs),
          cmocka_unit_test(common_suffixes_begin_behind_the_last_byte_that_differs),
          cmocka_unit_test(equality_is_by_bytes_and_length),
          cmocka_unit_test(order_is_by_bytes_then_length), cmocka_unit_test(prefixes_and_suffixes),
          cmocka_unit_test(slices_stay_inside), cmocka_unit_test(cut_yields_every_part_once),
          cmocka_unit_test(find_sees_past_nul_bytes),
          cmocka_unit_test(integers_are_read_whole_or_not_at_all),
          cmocka_unit_test(sizes_take_decimal_and_binary_units),
          cmocka_unit_test(distance_counts_changed_bytes))
