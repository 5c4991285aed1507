/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/utf8.h"
#include "search/casefold.h"

static bool has_case(const struct casefold_row *row, uint32_t code_point)
{
    for (unsigned i = 0; i < row->count; i++)
        if (row->cases[i] == code_point)
            return true;
    return false;
}

static void cases_are_those_of_unicode(void **state)
{
    static const uint32_t equal[][5] = {
        {0xF6, 0xD6},                 /* o with two dots */
        {0xDF, 0x1E9E},               /* sharp s */
        {0x3B8, 0x398, 0x3D1, 0x3F4}, /* theta */
        {0x1C6, 0x1C5, 0x1C4},        /* dz in three cases */
        {0x440, 0x420},               /* Cyrillic er */
        {0x17F, 's', 'S'},            /* long s */
        {0x212A, 'k', 'K'},           /* Kelvin */
        {0x10428, 0x10400},           /* Deseret */
        {0x1E943, 0x1E921},           /* Adlam */
        {0x4E00},                     /* an ideograph */
    };
    struct casefold table = {0};

    (void)state;
    for (size_t i = 0; i < array_size(equal); i++)
        for (size_t j = 0; j < 5 && equal[i][j] != 0; j++)
            casefold_want(&table, equal[i][j]);
    assert_int_equal(casefold_fill(&table), 0);
    for (size_t i = 0; i < array_size(equal); i++) {
        const struct casefold_row *row = casefold_get(&table, equal[i][0]);
        unsigned count = 0;

        assert_non_null(row);
        for (; count < 5 && equal[i][count] != 0; count++)
            assert_true(has_case(row, equal[i][count]));
        assert_int_equal(row->count, count);
    }
}

static void a_character_without_room_is_not_known(void **state)
{
    struct casefold table = {0};

    (void)state;
    for (uint32_t c = 0; c <= CASEFOLD_MAX_CHARACTERS; c++)
        casefold_want(&table, 0x100 + c);
    assert_int_equal(casefold_fill(&table), 0);
    assert_non_null(casefold_get(&table, 0x100));
    assert_null(casefold_get(&table, 0x100 + CASEFOLD_MAX_CHARACTERS));
}

/* These become several characters in the other case, which is not what is meant here. */
static bool is_ligature(uint32_t code_point)
{
    return code_point >= 0xFB00 && code_point <= 0xFB17;
}

static void check_and_clear(struct casefold *table)
{
    assert_int_equal(casefold_fill(table), 0);
    for (unsigned i = 0; i < table->count; i++)
        if (table->rows[i].count < 2 && !is_ligature(table->rows[i].code_point))
            fail_msg("U+%04X stands alone", table->rows[i].code_point);
    *table = (struct casefold){0};
}

/* Beyond U+3000 only some ranges are looked at: all that have a case by PCRE2 are in them. */
static void no_cased_character_is_passed_over(void **state)
{
    static const char text[] = "\\p{Changes_When_Casefolded}|\\p{Changes_When_Casemapped}";
    PCRE2_SIZE offset;
    int error;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)text, sizeof(text) - 1, PCRE2_UTF, &error, &offset, NULL);
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    struct casefold table = {0};
    size_t seen = 0;

    (void)state;
    if (code == NULL) {
        pcre2_match_data_free(match);
        skip_because("this PCRE2 does not know the property");
    }
    for (uint32_t c = 0x3000; c <= 0x10FFFF; c++) {
        char bytes[4];
        size_t len = c >= 0xD800 && c <= 0xDFFF ? 0 : utf8_encode(c, bytes);

        if (len == 0 ||
            pcre2_match(code, (PCRE2_SPTR)bytes, len, 0, PCRE2_NO_UTF_CHECK, match, NULL) < 0)
            continue;
        seen++;
        casefold_want(&table, c);
        if (table.count == CASEFOLD_MAX_CHARACTERS)
            check_and_clear(&table);
    }
    check_and_clear(&table);
    assert_true(seen > 500);
    pcre2_match_data_free(match);
    pcre2_code_free(code);
}

TEST_MAIN(cmocka_unit_test(cases_are_those_of_unicode),
          cmocka_unit_test(a_character_without_room_is_not_known),
          cmocka_unit_test(no_cased_character_is_passed_over))
