/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "base/utf8.h"
#include "console/keys.h"
#include "draw.h"

/* The codes of all keys in the bytes, up to 16. */
static size_t take_all(struct keys *keys, struct str bytes, struct key out[16])
{
    size_t count = 0;

    for (size_t i = 0; i < bytes.len; i++) {
        struct key key = keys_take(keys, bytes.ptr[i]);

        if (key.code != KEY_NONE && count < 16)
            out[count++] = key;
    }
    return count;
}

static void sequences_stand_for_keys(void **state)
{
    static const struct {
        const char *bytes;
        enum key_code code; /* the only one, or KEY_NONE */
    } cases[] = {
        {"\r", KEY_ENTER},          {"\n", KEY_ENTER},
        {"\x03", KEY_INTERRUPT},    {"\x7f", KEY_ERASE},
        {"\x08", KEY_ERASE},        {"\x15", KEY_ERASE_ALL},
        {"\x1b[A", KEY_UP},         {"\x1bOA", KEY_UP},
        {"\x1b[B", KEY_DOWN},       {"\x1b[C", KEY_RIGHT},
        {"\x1b[D", KEY_LEFT},       {"\x1b[5~", KEY_PAGE_UP},
        {"\x1b[6~", KEY_PAGE_DOWN}, {"\x1bOM", KEY_ENTER},
        {"\x1b[1A", KEY_UP},        {"\x1b[M", KEY_NONE},
        {"\x1b[1;2A", KEY_NONE},    {"\x1b[3~", KEY_NONE},
        {"\x1b[15~", KEY_NONE},     {"\x1b[99999999999~", KEY_NONE},
        {"\x1bj", KEY_NONE},        {"\x04", KEY_NONE},
        {"\t", KEY_NONE},           {"\x1b[?1;2c", KEY_NONE},
        {"\x80", KEY_NONE},         {"\xff", KEY_NONE},
        {"\x1b[<0;1;1M", KEY_NONE},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        struct keys keys = {0};
        struct key found[16];
        size_t count = take_all(&keys, str_from(cases[i].bytes), found);

        assert_int_equal(count, cases[i].code == KEY_NONE ? 0 : 1);
        if (count == 1)
            assert_int_equal(found[0].code, cases[i].code);
        assert_false(keys_is_escape_open(&keys));
    }
}

static void characters_come_whole(void **state)
{
    struct keys keys = {0};
    struct key found[16];

    (void)state;
    assert_int_equal(take_all(&keys, STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 "), found), 5);
    assert_string_equal(found[0].text, "a");
    assert_string_equal(found[1].text, "\xc3\xa9");
    assert_string_equal(found[2].text, "\xe2\x82\xac");
    assert_string_equal(found[3].text, "\xf0\x9f\x98\x80");
    assert_string_equal(found[4].text, " ");
    /* Half a character is given up when something else comes. */
    assert_int_equal(take_all(&keys,
                              STR("\xe2\x82"
                                  "b"),
                              found),
                     1);
    assert_string_equal(found[0].text, "b");
}

static void escape_alone_is_a_key_when_nothing_follows(void **state)
{
    struct keys keys = {0};
    struct key found[16];

    (void)state;
    assert_int_equal(take_all(&keys, STR("\x1b"), found), 0);
    assert_true(keys_is_escape_open(&keys));
    assert_int_equal(keys_end_escape(&keys).code, KEY_ESCAPE);
    assert_false(keys_is_escape_open(&keys));
    assert_int_equal(keys_end_escape(&keys).code, KEY_NONE);
    assert_int_equal(take_all(&keys, STR("\x1b\x1b"), found), 1);
    assert_int_equal(found[0].code, KEY_ESCAPE);
    assert_true(keys_is_escape_open(&keys));
    keys_reset(&keys);
    assert_false(keys_is_escape_open(&keys));
}

static void what_is_pasted_means_nothing(void **state)
{
    struct keys keys = {0};
    struct key found[16];

    (void)state;
    assert_int_equal(
        take_all(&keys, STR("\x1b[200~2\r\x03\x1b\x1b[A\x1bOM\x1b[6~\xc3\xa9\x1b[201~j"), found),
        1);
    assert_string_equal(found[0].text, "j");
    assert_int_equal(take_all(&keys, STR("\x1b[200~\x1b"), found), 0);
    assert_false(keys_is_escape_open(&keys));
    keys_reset(&keys);
    assert_int_equal(take_all(&keys, STR("\r"), found), 1);
}

/* Whatever comes, a key is one of ours and its text is one character. */
static void any_bytes_are_taken(void **state)
{
    struct keys keys = {0};

    (void)state;
    draw_seed = 7;
    for (int i = 0; i < 200000; i++) {
        static const char likely[] = "\x1b[O2~;A01\r\xc3\xa9\xf0\x9f";
        char byte = draw(2) == 0 ? likely[draw(sizeof(likely) - 1)] : (char)draw(256);
        struct key key = keys_take(&keys, byte);

        assert_true(key.code <= KEY_PAGE_DOWN);
        if (key.code == KEY_TEXT) {
            assert_int_equal(utf8_count(str_from(key.text)), 1);
            assert_true(utf8_is_valid(str_from(key.text)));
        }
    }
}

TEST_MAIN(cmocka_unit_test(sequences_stand_for_keys), cmocka_unit_test(characters_come_whole),
          cmocka_unit_test(escape_alone_is_a_key_when_nothing_follows),
          cmocka_unit_test(what_is_pasted_means_nothing), cmocka_unit_test(any_bytes_are_taken))
