/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/encoding.h"
#include "base/err.h"
#include "base/utf8.h"
#include "draw.h"

enum { TEXT_MAX = 1 << 20, ROUNDS = 300 };

static void expect_guess(struct str bytes, enum encoding wanted)
{
    if (encoding_guess(bytes, true) != wanted)
        fail_msg("%.*s: %s instead of %s", STR_ARG(bytes),
                 encoding_name(encoding_guess(bytes, true)), encoding_name(wanted));
}

static void encodings_are_guessed(void **state)
{
    (void)state;
    expect_guess(STR(""), ENCODING_UTF_8);
    expect_guess(STR("plain\n"), ENCODING_UTF_8);
    expect_guess(STR("caf\xC3\xA9\n"), ENCODING_UTF_8);
    expect_guess(STR("\xEF\xBB\xBFmarked"), ENCODING_UTF_8);
    expect_guess(STR("caf\xE9 au lait\n"), ENCODING_LATIN_1);
    expect_guess(STR("\x93quoted\x94 text\n"), ENCODING_WINDOWS_1252);
    expect_guess(STR("\xFF\xFEh\0i\0"), ENCODING_UTF_16LE);
    expect_guess(STR("\xFE\xFF\0h\0i"), ENCODING_UTF_16BE);
    expect_guess(STR("\xFF\xFE\0\0h\0\0\0"), ENCODING_BINARY); /* UTF-32 */
    expect_guess(STR("\xFF\xFEh"), ENCODING_BINARY);
    expect_guess(STR("with\0zero"), ENCODING_BINARY);
    expect_guess(STR("\x7F"
                     "ELF and text \xE9"),
                 ENCODING_BINARY);
    expect_guess(STR("undefined in Windows \x81\n"), ENCODING_BINARY);
    expect_guess(STR("\xE9\xE8\xE7\xE6 few\n"), ENCODING_BINARY);
}

static void utf_16_needs_no_mark(void **state)
{
    (void)state;
    expect_guess(STR("h\0i\0!\0\n\0"), ENCODING_UTF_16LE_BARE);
    expect_guess(STR("\0h\0i\0!\0\n"), ENCODING_UTF_16BE_BARE);
    expect_guess(STR("\xE9\0t\0\xE9\0\xAC\x20"), ENCODING_UTF_16LE_BARE);   /* été€ */
    expect_guess(STR("o\0k\0 \0\x3D\xD8\x00\xDE"), ENCODING_UTF_16LE_BARE); /* ok 😀 */
    expect_guess(STR("\0o\0k\0 \xD8\x3D\xDE\x00"), ENCODING_UTF_16BE_BARE);
    /* Whatever comes first: Ā has its zero where others have none. */
    expect_guess(STR("\0\1h\0i\0!\0"), ENCODING_UTF_16LE_BARE);
    expect_guess(STR("\1\0\0h\0i\0!"), ENCODING_UTF_16BE_BARE);
    assert_int_equal(encoding_guess(STR("h\0i\0!\0\n\0x"), false), ENCODING_UTF_16LE_BARE);
    assert_int_equal(encoding_guess(STR("h\0i\0!\0\n\0\x3D\xD8"), false), ENCODING_UTF_16LE_BARE);
}

static void what_only_looks_like_utf_16_stays_binary(void **state)
{
    (void)state;
    expect_guess(STR("h\0i\0\n\0"), ENCODING_BINARY);                     /* too short to tell */
    expect_guess(STR("h\0i\0!\0\n\0x"), ENCODING_BINARY);                 /* half a unit */
    expect_guess(STR("h\0i\0!\0\x3D\xD8"), ENCODING_BINARY);              /* half a pair */
    expect_guess(STR("h\0i\0\x00\xDE!\0a\0"), ENCODING_BINARY);           /* the other half */
    expect_guess(STR("h\0i\0\0\0!\0a\0b\0"), ENCODING_BINARY);            /* U+0000 */
    expect_guess(STR("h\0i\0\x01\0!\0a\0b\0"), ENCODING_BINARY);          /* a control character */
    expect_guess(STR("h\0i\0\x85\0!\0a\0b\0"), ENCODING_BINARY);          /* one of Latin-1 */
    expect_guess(STR("h\0\0\0i\0\0\0!\0\0\0"), ENCODING_BINARY);          /* UTF-32 */
    expect_guess(STR("\x05\0\0\0\x07\0\0\0\x09\0\0\0"), ENCODING_BINARY); /* numbers */
    expect_guess(STR("text\0more\0text\0"), ENCODING_BINARY);
    expect_guess(STR("a\0b\0\0c\0d"), ENCODING_BINARY);                 /* text in either order */
    expect_guess(STR("\0h\0i\xFF\xFE\0!\0a"), ENCODING_BINARY);         /* no character */
    expect_guess(STR("\x4E\x01\x4E\x02\x4E\x03\0\n"), ENCODING_BINARY); /* too few zeros */
}

/* Text with any characters that text has comes back from both orders; with a NUL it is binary. */
static void generated_utf_16_is_guessed(void **state)
{
    static const enum encoding encodings[] = {ENCODING_UTF_16LE_BARE, ENCODING_UTF_16BE_BARE};

    (void)state;
    draw_seed = 20261117;
    for (unsigned i = 0; i < ROUNDS; i++) {
        enum encoding encoding = encodings[i % array_size(encodings)];
        cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
        cleanup_buf struct buf bytes = BUF_INIT(TEXT_MAX);
        uint32_t missing;

        for (size_t n = 4 + draw(200); n > 0; n--) {
            /* One in five is beyond Latin-1, but not the first ones. */
            uint32_t code_point = text.len > 100 && draw(5) == 0 ? 0x100 + (uint32_t)draw(0xD000)
                                  : draw(9) == 0                 ? 0xA0 + (uint32_t)draw(0x60)
                                                                 : 0x20 + (uint32_t)draw(0x5F);
            char one[4];
            size_t len = utf8_encode(code_point, one);

            assert_int_equal(buf_append_str(&text, (struct str){one, len}), 0);
        }
        assert_int_equal(encoding_encode(encoding, buf_view(&text), &bytes, &missing), 0);
        expect_guess(buf_view(&bytes), encoding);
        for (size_t at = 0, unit = draw(bytes.len / 2) * 2; at < 2; at++)
            bytes.data[unit + at] = 0;
        expect_guess(buf_view(&bytes), ENCODING_BINARY);
    }
}

/* Of bytes drawn at random, none are UTF-16: so a binary file is not taken for text. */
static void random_bytes_are_no_utf_16(void **state)
{
    (void)state;
    draw_seed = 20261118;
    for (unsigned i = 0; i < 100 * ROUNDS; i++) {
        char bytes[64];

        for (size_t at = 0; at < sizeof(bytes); at++)
            bytes[at] = (char)(draw(3) == 0 ? 0 : draw(256));
        assert_false(encoding_is_wide(encoding_guess((struct str){bytes, sizeof(bytes)}, true)) &&
                     !encoding_has_mark((struct str){bytes, sizeof(bytes)}));
    }
}

static void damaged_utf_8_is_told_from_other_encodings(void **state)
{
    (void)state;
    assert_true(encoding_is_damaged_utf_8(STR("\xC3\xA9 \xC3\xA9 \xE9")));
    assert_false(encoding_is_damaged_utf_8(STR("\xE9\xE8 \xC3\xA9 \xE9")));
    assert_false(encoding_is_damaged_utf_8(STR("caf\xE9")));
    assert_false(encoding_is_damaged_utf_8(STR("caf\xC3\xA9")));
    assert_false(encoding_is_damaged_utf_8(STR("")));
}

static void the_end_of_a_beginning_may_be_cut(void **state)
{
    (void)state;
    assert_int_equal(encoding_guess(STR("text caf\xC3"), false), ENCODING_UTF_8);
    assert_int_equal(encoding_guess(STR("text caf\xC3"), true), ENCODING_LATIN_1);
    assert_int_equal(encoding_guess(STR("\xFF\xFEh"), false), ENCODING_UTF_16LE);
}

static void decode(enum encoding encoding, struct str bytes, struct buf *out)
{
    struct decoder decoder = {.encoding = encoding};

    buf_clear(out);
    assert_int_equal(encoding_decode(&decoder, bytes, out), 0);
}

static void text_is_decoded(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(TEXT_MAX);

    (void)state;
    decode(ENCODING_LATIN_1, STR("caf\xE9"), &out);
    assert_str(buf_view(&out), "caf\xC3\xA9");
    decode(ENCODING_WINDOWS_1252, STR("\x80 \x93x\x94"), &out);
    assert_str(buf_view(&out), "€ “x”");
    decode(ENCODING_UTF_16LE, STR("\xFF\xFEh\0\xE9\0\x3D\xD8\x00\xDE"), &out);
    assert_str(buf_view(&out), "hé😀");
    decode(ENCODING_UTF_16BE, STR("\xFE\xFF\0h\xDE\x00\0i\xD8\x3D\0j"), &out);
    assert_str(buf_view(&out), "h\xEF\xBF\xBDi\xEF\xBF\xBDj"); /* halves without their others */
    decode(ENCODING_UTF_16BE, STR("\xFE\xFF\0h\xFE\xFF"), &out);
    assert_str(buf_view(&out), "h\xEF\xBB\xBF"); /* only the first is a mark */
}

static void utf_8_with_other_bytes_in_it_is_decoded(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(TEXT_MAX);
    size_t taken = 0;

    (void)state;
    assert_int_equal(encoding_decode_mixed(STR("\xE4 \xC3\xA4 \x80 \xC3"), true, &out, &taken), 0);
    assert_str(buf_view(&out), "ä ä € Ã");
    assert_int_equal(taken, 8);
    buf_clear(&out);
    assert_int_equal(encoding_decode_mixed(STR("\xE4 \xE2\x82"), false, &out, &taken), 0);
    assert_str(buf_view(&out), "ä ");
    assert_int_equal(taken, 2); /* the rest may be the beginning of a character */
}

static void what_an_encoding_lacks_is_named(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(TEXT_MAX);
    uint32_t missing = 0;

    (void)state;
    assert_int_equal(encoding_encode(ENCODING_LATIN_1, STR("é€"), &out, &missing),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(missing, 0x20AC);
    buf_clear(&out);
    assert_int_equal(encoding_encode(ENCODING_WINDOWS_1252, STR("é€"), &out, &missing), 0);
    assert_str(buf_view(&out), "\xE9\x80");
}

static uint32_t draw_code_point(enum encoding encoding)
{
    static const uint32_t of_windows[] = {0x20AC, 0x201A, 0x2122, 0x0178};
    uint32_t code_point;

    if (encoding == ENCODING_LATIN_1 || encoding == ENCODING_WINDOWS_1252) {
        if (encoding == ENCODING_WINDOWS_1252 && draw(8) == 0)
            return of_windows[draw(array_size(of_windows))];
        return draw(4) == 0 ? 0xA0 + (uint32_t)draw(0x60) : 0x20 + (uint32_t)draw(0x5F);
    }
    do
        code_point = 1 + (uint32_t)draw(draw(3) == 0 ? 0x10FFFF : 0x3000);
    while (code_point >= 0xD800 && code_point <= 0xDFFF);
    return code_point;
}

/* However the file is cut into pieces. */
static void any_text_comes_back(void **state)
{
    static const enum encoding encodings[] = {
        ENCODING_UTF_8,         ENCODING_UTF_16LE, ENCODING_UTF_16BE,    ENCODING_UTF_16LE_BARE,
        ENCODING_UTF_16BE_BARE, ENCODING_LATIN_1,  ENCODING_WINDOWS_1252};

    (void)state;
    draw_seed = 20261116;
    for (unsigned i = 0; i < ROUNDS; i++) {
        enum encoding encoding = encodings[i % array_size(encodings)];
        cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
        cleanup_buf struct buf bytes = BUF_INIT(TEXT_MAX);
        cleanup_buf struct buf back = BUF_INIT(TEXT_MAX);
        struct decoder decoder = {.encoding = encoding};
        uint32_t missing;

        for (size_t n = draw(100); n > 0; n--) {
            char one[4];
            size_t len = utf8_encode(draw_code_point(encoding), one);

            assert_int_equal(buf_append_str(&text, (struct str){one, len}), 0);
        }
        assert_int_equal(encoding_encode(encoding, buf_view(&text), &bytes, &missing), 0);
        for (size_t at = 0; at < bytes.len;) {
            size_t len = 1 + draw(7);

            assert_int_equal(encoding_decode(&decoder, str_slice(buf_view(&bytes), at, len), &back),
                             0);
            at += len;
        }
        assert_true(str_eq(buf_view(&back), buf_view(&text)));
    }
}

TEST_MAIN(cmocka_unit_test(encodings_are_guessed), cmocka_unit_test(utf_16_needs_no_mark),
          cmocka_unit_test(what_only_looks_like_utf_16_stays_binary),
          cmocka_unit_test(generated_utf_16_is_guessed),
          cmocka_unit_test(random_bytes_are_no_utf_16),
          cmocka_unit_test(damaged_utf_8_is_told_from_other_encodings),
          cmocka_unit_test(the_end_of_a_beginning_may_be_cut), cmocka_unit_test(text_is_decoded),
          cmocka_unit_test(utf_8_with_other_bytes_in_it_is_decoded),
          cmocka_unit_test(what_an_encoding_lacks_is_named), cmocka_unit_test(any_text_comes_back))
