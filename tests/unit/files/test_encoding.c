/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/err.h"
#include "base/utf8.h"
#include "draw.h"
#include "files/encoding.h"

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
    static const enum encoding encodings[] = {ENCODING_UTF_8, ENCODING_UTF_16LE, ENCODING_UTF_16BE,
                                              ENCODING_LATIN_1, ENCODING_WINDOWS_1252};

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

TEST_MAIN(cmocka_unit_test(encodings_are_guessed),
          cmocka_unit_test(the_end_of_a_beginning_may_be_cut), cmocka_unit_test(text_is_decoded),
          cmocka_unit_test(what_an_encoding_lacks_is_named), cmocka_unit_test(any_text_comes_back))
