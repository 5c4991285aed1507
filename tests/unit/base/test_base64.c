/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/base64.h"
#include "base/err.h"

static void encodes_to(struct str bytes, const char *text)
{
    cleanup_buf struct buf out = BUF_INIT(1024);

    assert_int_equal(base64_append(&out, bytes), 0);
    assert_int_equal(out.len, strlen(text));
    assert_memory_equal(buf_view(&out).ptr, text, out.len);
}

/* The vectors of RFC 4648, section 10. */
static void short_texts_are_padded(void **state)
{
    (void)state;
    encodes_to(STR(""), "");
    encodes_to(STR("f"), "Zg==");
    encodes_to(STR("fo"), "Zm8=");
    encodes_to(STR("foo"), "Zm9v");
    encodes_to(STR("foob"), "Zm9vYg==");
    encodes_to(STR("fooba"), "Zm9vYmE=");
    encodes_to(STR("foobar"), "Zm9vYmFy");
}

static void all_digits_of_the_alphabet_come_out(void **state)
{
    /* 48 bytes whose groups of six bits count from 0 to 63. */
    static const unsigned char counting[] = {
        0x00, 0x10, 0x83, 0x10, 0x51, 0x87, 0x20, 0x92, 0x8b, 0x30, 0xd3, 0x8f,
        0x41, 0x14, 0x93, 0x51, 0x55, 0x97, 0x61, 0x96, 0x9b, 0x71, 0xd7, 0x9f,
        0x82, 0x18, 0xa3, 0x92, 0x59, 0xa7, 0xa2, 0x9a, 0xab, 0xb2, 0xdb, 0xaf,
        0xc3, 0x1c, 0xb3, 0xd3, 0x5d, 0xb7, 0xe3, 0x9e, 0xbb, 0xf3, 0xdf, 0xbf,
    };

    (void)state;
    encodes_to((struct str){(const char *)counting, sizeof(counting)},
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
}

/* One byte at a time, the plain way. */
static int digit_value(char c)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(alphabet, c);

    return at == NULL ? -1 : (int)(at - alphabet);
}

static void any_bytes_of_any_length_come_back(void **state)
{
    unsigned char bytes[256];
    uint32_t seed = 1;

    (void)state;
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        cleanup_buf struct buf out = BUF_INIT(1024);
        size_t decoded = 0;

        for (size_t i = 0; i < len; i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (unsigned char)(seed >> 24);
        }
        assert_int_equal(base64_append(&out, (struct str){(const char *)bytes, len}), 0);
        assert_int_equal(out.len, (len + 2) / 3 * 4);
        for (size_t i = 0; i < out.len; i += 4) {
            uint32_t word = 0;

            for (size_t k = 0; k < 4; k++) {
                int value = digit_value(out.data[i + k]);

                if (value < 0)
                    assert_int_equal(out.data[i + k], '=');
                word = word << 6 | (value < 0 ? 0 : (uint32_t)value);
            }
            for (int shift = 16; shift >= 0 && decoded < len; shift -= 8)
                assert_int_equal(bytes[decoded++], word >> shift & 0xFF);
        }
        assert_int_equal(decoded, len);
    }
}

static void what_was_written_is_read_again(void **state)
{
    unsigned char bytes[256];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(255 - i);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        cleanup_buf struct buf text = BUF_INIT(1024);
        cleanup_buf struct buf back = BUF_INIT(1024);

        assert_int_equal(base64_append(&text, (struct str){(const char *)bytes, len}), 0);
        assert_int_equal(base64_decode(&back, buf_view(&text)), 0);
        assert_int_equal(back.len, len);
        assert_memory_equal(buf_view(&back).ptr, bytes, len);
    }
}

static void what_would_not_be_written_is_not_read(void **state)
{
    static const char *const bad[] = {
        "Z",    "Zg",   "Zg=",  "Zg==Zg==", "Zg==\n",
        "=",    "====", "A===", "Zm9v====", "Zm9v Zm9",
        "Zm-_", "Zh==", "Zm9=", "Z=9v",     "\xff\xff\xff\xff",
    };

    (void)state;
    for (size_t i = 0; i < array_size(bad); i++) {
        cleanup_buf struct buf out = BUF_INIT(1024);

        assert_int_equal(buf_append_str(&out, STR("kept")), 0);
        assert_int_equal(base64_decode(&out, str_from(bad[i])), ERR_INVALID_ARGUMENT);
        assert_str(buf_view(&out), "kept");
    }
}

static void it_is_appended_whole_or_not_at_all(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(8);

    (void)state;
    assert_int_equal(buf_append_str(&out, STR("data")), 0);
    assert_int_equal(base64_append(&out, STR("four")), ERR_TOO_LARGE);
    assert_str(buf_view(&out), "data");
    assert_int_equal(base64_append(&out, STR("one")), 0);
    assert_str(buf_view(&out), "datab25l");
}

static void urls_have_an_alphabet_of_their_own(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(64);

    (void)state;
    assert_int_equal(buf_append_str(&out, STR("+/=")), 0);
    assert_int_equal(base64_append_url(&out, STR("\xfb\xef\xff")), 0);
    assert_int_equal(base64_append_url(&out, STR("a")), 0);
    assert_int_equal(base64_append_url(&out, STR("ab")), 0);
    assert_int_equal(base64_append_url(&out, STR("")), 0);
    assert_str(buf_view(&out), "+/=--__YQYWI");
}

TEST_MAIN(cmocka_unit_test(short_texts_are_padded),
          cmocka_unit_test(all_digits_of_the_alphabet_come_out),
          cmocka_unit_test(any_bytes_of_any_length_come_back),
          cmocka_unit_test(what_was_written_is_read_again),
          cmocka_unit_test(what_would_not_be_written_is_not_read),
          cmocka_unit_test(urls_have_an_alphabet_of_their_own),
          cmocka_unit_test(it_is_appended_whole_or_not_at_all))
