/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/json.h"

static struct arena arena = ARENA_INIT(1 << 20);

static const struct json_value *number(struct str text)
{
    const struct json_value *value;

    assert_int_equal(json_parse(&arena, text, JSON_LIMITS_DEFAULT, &value, NULL), 0);
    return value;
}

/* Ascending; within a row all are equal. */
static const struct {
    struct str spellings[4];
} ladder[] = {
    {{STR_LITERAL("-1e400"), STR_LITERAL("-10E399")}},
    {{STR_LITERAL("-9223372036854775809")}},
    {{STR_LITERAL("-9223372036854775808"), STR_LITERAL("-9223372036854775808.0")}},
    {{STR_LITERAL("-2"), STR_LITERAL("-2.0"), STR_LITERAL("-0.2e1"), STR_LITERAL("-200e-2")}},
    {{STR_LITERAL("-1.5")}},
    {{STR_LITERAL("-1")}},
    {{STR_LITERAL("-1e-400")}},
    {{STR_LITERAL("0"), STR_LITERAL("-0"), STR_LITERAL("0.000"), STR_LITERAL("0e99")}},
    {{STR_LITERAL("1e-99999999999999999999"), STR_LITERAL("0.1e-99999999999999999998")}},
    {{STR_LITERAL("1e-9999999999999999999"), STR_LITERAL("100e-10000000000000000001")}},
    {{STR_LITERAL("1e-900000000000000000"), STR_LITERAL("1e-0000000000900000000000000000")}},
    {{STR_LITERAL("1e-300000000000000000")}},
    {{STR_LITERAL("0.01"), STR_LITERAL("1e-2"), STR_LITERAL("0.1e-1"), STR_LITERAL("10e-3")}},
    {{STR_LITERAL("0.1")}},
    {{STR_LITERAL("0.10000000000000000000000000001")}},
    {{STR_LITERAL("1"), STR_LITERAL("1.0"), STR_LITERAL("10e-1"), STR_LITERAL("0.1e1")}},
    {{STR_LITERAL("1.05"), STR_LITERAL("105e-2"), STR_LITERAL("0.105E1")}},
    {{STR_LITERAL("9"), STR_LITERAL("9.00")}},
    {{STR_LITERAL("10"), STR_LITERAL("1e1"), STR_LITERAL("1.0e1"), STR_LITERAL("100e-1")}},
    {{STR_LITERAL("9007199254740992")}},
    {{STR_LITERAL("9007199254740993"), STR_LITERAL("9007199254740993.0")}},
    {{STR_LITERAL("9223372036854775807"), STR_LITERAL("9223372036854775807.00")}},
    {{STR_LITERAL("9223372036854775808"), STR_LITERAL("9.223372036854775808e18")}},
    {{STR_LITERAL("1e400"), STR_LITERAL("1000e397")}},
    {{STR_LITERAL("1e200000000000000000")}},
    {{STR_LITERAL("1e300000000000000000"), STR_LITERAL("0.1E+300000000000000001")}},
    {{STR_LITERAL("100e300000000000000000"), STR_LITERAL("1e300000000000000002")}},
    {{STR_LITERAL("1e900000000000000000"), STR_LITERAL("1e00900000000000000000")}},
    {{STR_LITERAL("1e9223372036854775807"), STR_LITERAL("10e9223372036854775806")}},
    {{STR_LITERAL("1e9223372036854775808"), STR_LITERAL("10e9223372036854775807")}},
    {{STR_LITERAL("1e9999999999999999999"), STR_LITERAL("0.1e10000000000000000000")}},
    {{STR_LITERAL("1e10000000000000000000"), STR_LITERAL("10e9999999999999999999")}},
    {{STR_LITERAL("1e99999999999999999999")}},
};

static void order_is_exact_at_any_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(ladder); i++)
        for (size_t j = 0; j < array_size(ladder); j++)
            for (size_t a = 0; a < 4 && ladder[i].spellings[a].len > 0; a++)
                for (size_t b = 0; b < 4 && ladder[j].spellings[b].len > 0; b++) {
                    int order = decimal_compare(number(ladder[i].spellings[a]),
                                                number(ladder[j].spellings[b]));

                    assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
                    arena_reset(&arena);
                }
    arena_done(&arena);
}

static void integers_are_told_by_value_not_spelling(void **state)
{
    static const struct {
        struct str text;
        bool is_integer;
    } cases[] = {
        {STR_LITERAL("0"), true},
        {STR_LITERAL("-0.0"), true},
        {STR_LITERAL("1.0"), true},
        {STR_LITERAL("1e3"), true},
        {STR_LITERAL("1.5e1"), true},
        {STR_LITERAL("1500e-2"), true},
        {STR_LITERAL("1.5"), false},
        {STR_LITERAL("1e-1"), false},
        {STR_LITERAL("1.55e1"), false},
        {STR_LITERAL("100e-3"), false},
        {STR_LITERAL("0e-5"), true},
        {STR_LITERAL("123456789012345678901"), true},
        {STR_LITERAL("1e999999"), true},
        {STR_LITERAL("1e-999999"), false},
        {STR_LITERAL("10.010"), false},
        {STR_LITERAL("10.0e-1"), true},
        {STR_LITERAL("10.00e-2"), false},
        {STR_LITERAL("20.5e1"), true},
        {STR_LITERAL("0.5e99999999999999999999"), true},
        {STR_LITERAL("50e-99999999999999999999"), false},
        {STR_LITERAL("1.25e00000000000000000000002"), true},
        {STR_LITERAL("1.25e00000000000000000000001"), false},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++)
        if (decimal_is_integer(number(cases[i].text)) != cases[i].is_integer)
            fail_msg("%.*s", STR_ARG(cases[i].text));
    arena_done(&arena);
}

/*
 * The reference: a number written out, with as many digits before and behind the
 * point as any of the numbers below needs.
 */
enum { BASE_EXPONENTS = 8, NEAR = 8, MANTISSA_DIGITS = 5, WIDTH = 64, POINT = 32 };

struct written_out {
    int sign;
    char digits[WIDTH]; /* 10^(POINT - 1) comes first */
};

enum { TEXT_BYTES = 128 };

/* Small numbers that repeat from run to run. */
static unsigned roll(unsigned sides)
{
    static uint64_t state = 88172645463325252U;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state % sides);
}

/* The mantissa has `before` digits before its point; the exponent is a small one. */
static struct written_out write_out(int sign, const char *digits, int before, int exponent)
{
    struct written_out number = {.sign = sign};
    bool is_zero = true;

    for (int i = 0; digits[i] != '\0'; i++) {
        int place = POINT - before - exponent + i;

        assert_in_range(place, 0, WIDTH - 1);
        number.digits[place] = (char)(digits[i] - '0');
        is_zero &= digits[i] == '0';
    }
    if (is_zero)
        number.sign = 0;
    return number;
}

static int compare_written_out(const struct written_out *a, const struct written_out *b)
{
    int order = memcmp(a->digits, b->digits, WIDTH);

    if (a->sign != b->sign)
        return a->sign < b->sign ? -1 : 1;
    return a->sign * ((order > 0) - (order < 0));
}

/*
 * Exponents are "base + offset". Where both numbers have the same base it is of no
 * influence, so that the reference may leave it out and a base may be as large
 * as it likes.
 */
static const struct {
    const char *sign;
    const char *front; /* of a number with two more digits, which have room for the offset */
} bases[BASE_EXPONENTS] = {
    {"", ""},
    {"-", ""},
    {"+", "9223372036854775"},
    {"-", "9223372036854775"},
    {"", "92233720368547758"},
    {"", "99999999999999999999999999999999999999999999999999"},
    {"-", "99999999999999999999999999999999999999999999999999"},
    {"+", "00000000000000000000000000000000000000000000000001"},
};

static const struct json_value *random_number(size_t base, char text[TEXT_BYTES],
                                              struct written_out *out_number)
{
    char digits[MANTISSA_DIGITS + 1] = {0};
    int count = 1 + (int)roll(MANTISSA_DIGITS);
    int before = 1 + (int)roll((unsigned)count);
    int offset = (int)roll(2 * NEAR) - NEAR;
    int sign = roll(4) == 0 ? -1 : 1;
    bool is_downward = *bases[base].sign == '-';

    for (int i = 0; i < count; i++)
        digits[i] = (char)('0' + (roll(2) == 0 ? 0 : roll(10)));
    /* No zero stands before other digits in front of the point. */
    if (before > 1 && digits[0] == '0')
        digits[0] = '1';
    /* 50 in the middle of the two digits, and below it what the offset says. */
    snprintf(text, TEXT_BYTES, "%s%.*s%s%se%s%s%02d", sign < 0 ? "-" : "", before, digits,
             before < count ? "." : "", digits + before, bases[base].sign, bases[base].front,
             50 + (is_downward ? -offset : offset));
    *out_number = write_out(sign, digits, before, offset);
    return number(str_from(text));
}

static void order_agrees_with_numbers_written_out(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        size_t base = roll(BASE_EXPONENTS);
        char texts[2][TEXT_BYTES];
        struct written_out a;
        struct written_out b;
        const struct json_value *x = random_number(base, texts[0], &a);
        const struct json_value *y = random_number(base, texts[1], &b);
        int order = decimal_compare(x, y);

        if ((order > 0) - (order < 0) != compare_written_out(&a, &b))
            fail_msg("%s and %s: %d", texts[0], texts[1], order);
        arena_reset(&arena);
    }
    arena_done(&arena);
}

TEST_MAIN(cmocka_unit_test(order_agrees_with_numbers_written_out),
          cmocka_unit_test(order_is_exact_at_any_length),
          cmocka_unit_test(integers_are_told_by_value_not_spelling))
