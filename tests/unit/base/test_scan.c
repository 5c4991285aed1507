/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes: the scan of this processor finds what a byte-by-byte search finds. */
#include "test.h"

#include "base/scan.h"
#include "draw.h"

enum { ROUNDS = 20000, TEXT_MAX_BYTES = 80 };

/* Mostly plain, so that there are long ways too; the bytes around each limit. */
static char draw_byte(size_t rarity)
{
    static const unsigned char specials[] = {0, 0x0A, 0x1F, '"', '\\', 0x80, 0xA2, 0xDC, 0xFF};
    static const unsigned char plains[] = {0x20, 0x21, 0x23, 0x5B, 0x5D, 0x60, 0x7E, 0x7F};

    return (char)(draw(rarity) == 0 ? specials[draw(array_size(specials))]
                                    : plains[draw(array_size(plains))]);
}

/* In memory of exactly its size, so that a sanitizer sees a byte too far. */
static char *draw_bytes(size_t len)
{
    char *text = malloc(len > 0 ? len : 1);
    size_t rarity = 1 + draw(100);

    assert_non_null(text);
    for (size_t i = 0; i < len; i++)
        text[i] = draw_byte(rarity);
    return text;
}

static void specials_are_found_as_byte_by_byte(void **state)
{
    (void)state;
    draw_seed = 88172645463325252U;
    for (size_t round = 0; round < ROUNDS; round++) {
        cleanup_free char *text = draw_bytes(SCAN_STEP);
        uint64_t found = scan_specials(text);

        for (size_t i = 0; i < SCAN_STEP; i++) {
            if (scan_is_plain(text[i]))
                continue;
            assert_true(found != 0);
            assert_int_equal(scan_first(found), i);
            found &= found - 1;
        }
        assert_int_equal(found, 0);
    }
}

static void plain_text_ends_where_it_does_byte_by_byte(void **state)
{
    (void)state;
    draw_seed = 88172645463325252U;
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t len = draw(TEXT_MAX_BYTES);
        cleanup_free char *text = draw_bytes(len);
        char copy[TEXT_MAX_BYTES + SCAN_STEP];
        char *copied = copy;
        size_t plain = 0;

        while (plain < len && scan_is_plain(text[plain]))
            plain++;
        assert_int_equal(scan_plain(text, text + len) - text, plain);
        assert_int_equal(scan_copy_plain(text, text + len, &copied) - text, plain);
        assert_int_equal(copied - copy, plain);
        assert_memory_equal(copy, text, plain);
    }
}

TEST_MAIN(cmocka_unit_test(specials_are_found_as_byte_by_byte),
          cmocka_unit_test(plain_text_ends_where_it_does_byte_by_byte))
