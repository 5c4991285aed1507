/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "hostfs/contenttype.h"

static void assert_type(struct str content, const char *expected)
{
    struct str type = contenttype_of(content);

    if (!str_eq_c(type, expected))
        fail_msg("%.*s instead of %s", STR_ARG(type), expected);
}

static void known_beginnings_have_their_type(void **state)
{
    (void)state;
    assert_type(STR("\x89PNG\r\n\x1a\n"), "image/png");
    assert_type(STR("\xff\xd8\xff\xe0"), "image/jpeg");
    assert_type(STR("GIF89a"), "image/gif");
    assert_type(STR("RIFF\1\2\3\4WEBPVP8 "), "image/webp");
    assert_type(STR("RIFF\1\2\3\4WAVEfmt "), "audio/wav");
    assert_type(STR("\0\0\0\x1c"
                    "ftypavif"),
                "image/avif");
    assert_type(STR("%PDF-1.4"), "application/pdf");
    assert_type(STR("PK\3\4"), "application/zip");
    assert_type(STR("\x1f\x8b\x08"), "application/gzip");
    assert_type(STR("\xfd"
                    "7zXZ\0"),
                "application/x-xz");
}

static void a_beginning_that_is_cut_is_not_it(void **state)
{
    (void)state;
    assert_type(STR("\x89PN"), "application/octet-stream");
    assert_type(STR("RIFF\1\2\3\4"), "application/octet-stream");
    assert_type(STR("RIFF\1\2\3\4XXXX"), "application/octet-stream");
}

static void text_is_valid_and_has_no_controls(void **state)
{
    (void)state;
    assert_type(STR(""), "text/plain; charset=utf-8");
    assert_type(STR("a\tb\r\n"), "text/plain; charset=utf-8");
    assert_type(STR("h\xc3\xa9"), "text/plain; charset=utf-8");
    assert_type(STR("h\xc3"), "application/octet-stream");
    assert_type(STR("a\0b"), "application/octet-stream");
    assert_type(STR("\x1b[2J"), "application/octet-stream");
    assert_type(STR("  {\n \"a\": 1}"), "application/json");
    assert_type(STR("{}"), "application/json");
    assert_type(STR("{ x }"), "text/plain; charset=utf-8");
    assert_type(STR("[section]"), "text/plain; charset=utf-8");
    assert_type(STR("<!DOCTYPE html><p>"), "text/html; charset=utf-8");
    assert_type(STR("<?xml version='1.0'?>"), "application/xml");
}

/* A character may lie across the end of what is looked at. */
static void a_character_that_is_cut_by_the_limit_is_text(void **state)
{
    char text[CONTENTTYPE_BYTES + 8];

    (void)state;
    memset(text, 'a', sizeof(text));
    for (size_t at = CONTENTTYPE_BYTES - 3; at <= CONTENTTYPE_BYTES; at++) {
        memcpy(text + at, "\xf0\x9f\x98\x80", 4);
        assert_type((struct str){text, sizeof(text)}, "text/plain; charset=utf-8");
        memset(text + at, 'a', 4);
    }
    text[sizeof(text) - 1] = '\0'; /* not looked at */
    assert_type((struct str){text, sizeof(text)}, "text/plain; charset=utf-8");
    text[CONTENTTYPE_BYTES - 1] = '\0';
    assert_type((struct str){text, sizeof(text)}, "application/octet-stream");
}

TEST_MAIN(cmocka_unit_test(known_beginnings_have_their_type),
          cmocka_unit_test(a_beginning_that_is_cut_is_not_it),
          cmocka_unit_test(text_is_valid_and_has_no_controls),
          cmocka_unit_test(a_character_that_is_cut_by_the_limit_is_text))
