/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/utf8.h"

static void every_code_point_survives_a_round_trip(void **state)
{
    (void)state;
    for (uint32_t code_point = 0; code_point <= 0x10FFFF; code_point++) {
        char bytes[4];
        struct str text;
        uint32_t decoded;

        if (code_point >= 0xD800 && code_point <= 0xDFFF)
            continue;
        text = (struct str){bytes, utf8_encode(code_point, bytes)};
        assert_true(utf8_is_valid(text));
        assert_int_equal(utf8_count(text), 1);
        assert_true(utf8_next(&text, &decoded));
        assert_int_equal(decoded, code_point);
        assert_int_equal(text.len, 0);
    }
}

/* All two-byte strings and all three-byte ones with a lead byte, against the definition. */
static void invalid_sequences_are_exactly_those_of_the_standard(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 0x10000; i++) {
        char bytes[2] = {(char)(i >> 8), (char)(i & 0xFF)};
        unsigned a = i >> 8;
        unsigned b = i & 0xFF;
        bool is_valid =
            (a < 0x80 && b < 0x80) || (a >= 0xC2 && a <= 0xDF && b >= 0x80 && b <= 0xBF);

        assert_int_equal(utf8_is_valid((struct str){bytes, 2}), is_valid);
    }
    for (unsigned i = 0xE00000; i < 0xF00000; i++) {
        char bytes[3] = {(char)(i >> 16), (char)(i >> 8 & 0xFF), (char)(i & 0xFF)};
        unsigned b = i >> 8 & 0xFF;
        unsigned c = i & 0xFF;
        unsigned code_point = (i >> 16 & 0xF) << 12 | (b & 0x3F) << 6 | (c & 0x3F);
        bool is_valid = (b & 0xC0) == 0x80 && (c & 0xC0) == 0x80 && code_point >= 0x800 &&
                        (code_point < 0xD800 || code_point > 0xDFFF);

        assert_int_equal(utf8_is_valid((struct str){bytes, 3}), is_valid);
    }
}

static void four_byte_limits(void **state)
{
    (void)state;
    assert_true(utf8_is_valid(STR("\xF0\x90\x80\x80")));
    assert_true(utf8_is_valid(STR("\xF4\x8F\xBF\xBF")));
    assert_false(utf8_is_valid(STR("\xF0\x8F\xBF\xBF")));
    assert_false(utf8_is_valid(STR("\xF4\x90\x80\x80")));
    assert_false(utf8_is_valid(STR("\xF5\x80\x80\x80")));
    assert_false(utf8_is_valid(STR("\xF0\x90\x80")));
    assert_false(utf8_is_valid(STR("\xF0\x90\x80\x41")));
}

static void the_valid_length_ends_at_the_first_bad_byte(void **state)
{
    char text[100];

    (void)state;
    /* At every offset around the steps of the fast path. */
    for (size_t bad = 0; bad < sizeof(text); bad++) {
        memset(text, 'a', sizeof(text));
        text[bad] = (char)0xFF;
        assert_int_equal(utf8_valid_length((struct str){text, sizeof(text)}), bad);
        assert_int_equal(utf8_valid_length((struct str){text, bad}), bad);
    }
    assert_int_equal(utf8_valid_length(STR("ab\xC3")), 2);
}

static void a_bad_byte_is_taken_alone(void **state)
{
    struct str text = STR("\xE2\x82x");
    uint32_t code_point;

    (void)state;
    assert_false(utf8_next(&text, &code_point));
    assert_int_equal(code_point, 0xFFFD);
    assert_int_equal(text.len, 2);
    assert_false(utf8_next(&text, &code_point));
    assert_true(utf8_next(&text, &code_point));
    assert_int_equal(code_point, 'x');
}

static void cutting_never_splits_a_character(void **state)
{
    struct str text = STR("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};

    (void)state;
    for (size_t max = 0; max < array_size(expected); max++)
        assert_int_equal(utf8_cut(text, max).len, expected[max]);
    assert_int_equal(utf8_count(text), 4);
}

static void what_moves_or_hides_text_is_not_printable(void **state)
{
    static const uint32_t hidden[] = {0,       0x1F,    0x7F,    0x9F,   0xAD,   0x61C,  0x180B,
                                      0x180E,  0x180F,  0xFE00,  0xFE0F, 0x200B, 0x200F, 0x2028,
                                      0x202E,  0x2060,  0x2064,  0x2066, 0x206F, 0xFEFF, 0xFFF9,
                                      0xFFFB,  0xE0000, 0xE007F, 0x600,  0x6DD,  0x70F,  0x110BD,
                                      0x13430, 0x1BCA0, 0x1D159, 0x3164, 0xE0100};
    static const uint32_t shown[] = {' ',    '~',    0xA0,   0xAC,    0xAE,
                                     0x200A, 0x2010, 0x2027, 0x202F,  0x205F,
                                     0x2070, 0xFFFD, 0x606,  0xE1000, 0x10FFFF};

    (void)state;
    for (size_t i = 0; i < array_size(hidden); i++)
        assert_false(utf8_is_printable(hidden[i]));
    for (size_t i = 0; i < array_size(shown); i++)
        assert_true(utf8_is_printable(shown[i]));
}

TEST_MAIN(cmocka_unit_test(every_code_point_survives_a_round_trip),
          cmocka_unit_test(invalid_sequences_are_exactly_those_of_the_standard),
          cmocka_unit_test(four_byte_limits),
          cmocka_unit_test(the_valid_length_ends_at_the_first_bad_byte),
          cmocka_unit_test(a_bad_byte_is_taken_alone),
          cmocka_unit_test(what_moves_or_hides_text_is_not_printable),
          cmocka_unit_test(cutting_never_splits_a_character))
