/* SPDX-License-Identifier: Apache-2.0 */
/* A signature of a URL, as Daytona's client makes it, is for one method, one path and a time. */
#include "programs/sandboxd/daytona/signature.h"

#include "test.h"

#define KEY   STR("secret key")
#define UNTIL INT64_C(1800000060)

static const struct signature right = {
    STR_LITERAL("GET"), STR_LITERAL("/home/user/a b.txt"), STR_LITERAL("1800000060"),
    STR_LITERAL("v1_MXs42U_AeTzVpWgoiW6E7YVwwy0oZIOGsyMR2PsfX9Q")};

static void the_clients_signatures_are_valid(void **state)
{
    const struct signature upload = {STR("POST"), STR("gr\xc3\xbcn:5"), STR("1800000060"),
                                     STR("v1_mn50XOlYUiVpZyboB4Pwx8lKP6C2aTxlUeVZoXMC4Rg")};

    (void)state;
    assert_true(signature_is_valid(&right, KEY, UNTIL - 1));
    assert_true(signature_is_valid(&upload, KEY, 0));
}

static void it_ends_unless_it_lasts(void **state)
{
    struct signature lasting = right;

    (void)state;
    assert_false(signature_is_valid(&right, KEY, UNTIL));
    assert_false(signature_is_valid(&right, KEY, UNTIL + 1));
    lasting.expires = STR("0");
    assert_false(signature_is_valid(&lasting, KEY, UNTIL));
    lasting.text = STR("v1_juPYP6fLrQ3TMH1kOZmwW1i1_9nqYksfv0jwYiZbv7s");
    assert_true(signature_is_valid(&lasting, KEY, UNTIL));
}

static void nothing_else_is_signed(void **state)
{
    static const char *const times[] = {"",
                                        "1800000061",
                                        "01800000060",
                                        "+1800000060",
                                        "0",
                                        "1800000060 ",
                                        "-1",
                                        "99999999999999999999",
                                        "x",
                                        "1800000060.0",
                                        "1800000060:0x",
                                        "00"};
    struct signature other = right;

    (void)state;
    assert_false(signature_is_valid(&right, STR("secret kez"), 0));
    assert_false(signature_is_valid(&right, STR(""), 0));
    other.method = STR("POST");
    assert_false(signature_is_valid(&other, KEY, 0));
    other = right;
    other.path = STR("/home/user/a b.txt/");
    assert_false(signature_is_valid(&other, KEY, 0));
    other.path = STR("");
    assert_false(signature_is_valid(&other, KEY, 0));
    other = right;
    for (size_t i = 0; i < array_size(times); i++) {
        other.expires = str_from(times[i]);
        assert_false(signature_is_valid(&other, KEY, 0));
    }
}

/* What the client signed for a path must not be read as a shorter path and another time. */
static void a_colon_moves_nothing(void **state)
{
    struct signature other = {STR("POST"), STR("gr\xc3\xbcn"), STR("5:1800000060"),
                              STR("v1_mn50XOlYUiVpZyboB4Pwx8lKP6C2aTxlUeVZoXMC4Rg")};

    (void)state;
    assert_false(signature_is_valid(&other, KEY, 0));
    other.method = STR("POST:gr\xc3\xbcn");
    other.path = STR("5");
    other.expires = STR("1800000060");
    assert_true(signature_is_valid(&other, KEY, 0)); /* so the method must be ours, as it is */
}

static void no_changed_character_passes(void **state)
{
    char text[64];

    (void)state;
    for (size_t i = 0; i < right.text.len; i++)
        for (int c = 0; c < 256; c++) {
            struct signature other = right;

            memcpy(text, right.text.ptr, right.text.len);
            if (text[i] == (char)c)
                continue;
            text[i] = (char)c;
            other.text = (struct str){text, right.text.len};
            assert_false(signature_is_valid(&other, KEY, 0));
        }
    for (size_t len = 0; len < right.text.len; len++) {
        struct signature other = right;

        other.text = str_slice(right.text, 0, len);
        assert_false(signature_is_valid(&other, KEY, 0));
    }
}

TEST_MAIN(cmocka_unit_test(the_clients_signatures_are_valid),
          cmocka_unit_test(it_ends_unless_it_lasts), cmocka_unit_test(nothing_else_is_signed),
          cmocka_unit_test(a_colon_moves_nothing), cmocka_unit_test(no_changed_character_passes))
