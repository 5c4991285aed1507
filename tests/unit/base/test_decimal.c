/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

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
    {{STR_LITERAL("1e-9999999999999999999"), STR_LITERAL("1e-99999999999999999999")}},
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
    {{STR_LITERAL("1e9999999999999999999"), STR_LITERAL("1e99999999999999999999")}},
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
        {STR_LITERAL("0"), true},         {STR_LITERAL("-0.0"), true},
        {STR_LITERAL("1.0"), true},       {STR_LITERAL("1e3"), true},
        {STR_LITERAL("1.5e1"), true},     {STR_LITERAL("1500e-2"), true},
        {STR_LITERAL("1.5"), false},      {STR_LITERAL("1e-1"), false},
        {STR_LITERAL("1.55e1"), false},   {STR_LITERAL("100e-3"), false},
        {STR_LITERAL("0e-5"), true},      {STR_LITERAL("123456789012345678901"), true},
        {STR_LITERAL("1e999999"), true},  {STR_LITERAL("1e-999999"), false},
        {STR_LITERAL("10.010"), false},   {STR_LITERAL("10.0e-1"), true},
        {STR_LITERAL("10.00e-2"), false}, {STR_LITERAL("20.5e1"), true},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++)
        if (decimal_is_integer(number(cases[i].text)) != cases[i].is_integer)
            fail_msg("%.*s", STR_ARG(cases[i].text));
    arena_done(&arena);
}

TEST_MAIN(cmocka_unit_test(order_is_exact_at_any_length),
          cmocka_unit_test(integers_are_told_by_value_not_spelling))
