/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/utf8.h"
#include "search/excerpt.h"

#define CUT "\xE2\x80\xA6"

static struct str view(const struct excerpt *excerpt)
{
    return (struct str){excerpt->text, excerpt->len};
}

static struct str marked(const struct excerpt *excerpt)
{
    return (struct str){excerpt->text + excerpt->match_start,
                        excerpt->match_end - excerpt->match_start};
}

static void a_short_line_is_shown_whole(void **state)
{
    struct excerpt excerpt;

    (void)state;
    excerpt_make(STR("one two three\r"), 4, 7, &excerpt);
    assert_str(view(&excerpt), "one two three");
    assert_str(marked(&excerpt), "two");
    excerpt_make(STR(""), 0, 0, &excerpt);
    assert_str(view(&excerpt), "");
    excerpt_make(STR("abc\r"), 3, 4, &excerpt);
    assert_str(view(&excerpt), "abc");
    assert_str(marked(&excerpt), "");
    excerpt_make(STR("abc"), 0, 3, &excerpt);
    assert_str(marked(&excerpt), "abc");
}

static void invalid_bytes_are_replaced(void **state)
{
    struct excerpt excerpt;

    (void)state;
    excerpt_make(STR("a\xff\xc3"
                     "b\xe2\x84 \xc3\xa9"),
                 3, 4, &excerpt);
    assert_str(view(&excerpt), "a\xEF\xBF\xBD\xEF\xBF\xBD"
                               "b\xEF\xBF\xBD\xEF\xBF\xBD \xc3\xa9");
    assert_str(marked(&excerpt), "b");
}

/* Every place of a match in a long line of long characters and broken ones. */
static void a_long_line_is_cut_around_its_match(void **state)
{
    enum { CHARACTERS = 700 };
    char line[CHARACTERS * 4 + 1];
    size_t starts[CHARACTERS + 1];
    size_t len = 0;

    (void)state;
    for (size_t i = 0; i < CHARACTERS; i++) {
        static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac",
                                                 "\xf0\x9f\x98\x80", "\xff"};
        struct str one = str_from(characters[i * 7 % 5]);

        starts[i] = len;
        memcpy(line + len, one.ptr, one.len);
        len += one.len;
    }
    starts[CHARACTERS] = len;
    for (size_t i = 0; i < CHARACTERS; i++) {
        struct excerpt excerpt;
        struct str text;
        size_t cuts;

        excerpt_make((struct str){line, len}, starts[i], starts[i + 1], &excerpt);
        text = view(&excerpt);
        cuts = str_starts_with(text, STR(CUT)) + str_ends_with(text, STR(CUT));
        assert_true(utf8_is_valid(text));
        assert_int_equal(utf8_count(text), EXCERPT_MAX_CHARACTERS + cuts);
        assert_int_equal(cuts, i <= EXCERPT_MAX_CHARACTERS / 4 ||
                                       i >= CHARACTERS - EXCERPT_MAX_CHARACTERS * 3 / 4
                                   ? 1
                                   : 2);
        assert_int_equal(utf8_count(marked(&excerpt)), 1);
        if (line[starts[i]] != '\xff')
            assert_memory_equal(marked(&excerpt).ptr, line + starts[i], starts[i + 1] - starts[i]);
    }
}

static void a_match_longer_than_the_excerpt_is_cut(void **state)
{
    char line[1000];
    struct excerpt excerpt;

    (void)state;
    memset(line, 'x', sizeof(line));
    excerpt_make((struct str){line, sizeof(line)}, 100, 900, &excerpt);
    assert_int_equal(excerpt.len, EXCERPT_MAX_CHARACTERS + 6);
    assert_int_equal(excerpt.match_start, 3 + 50);
    assert_int_equal(excerpt.match_end, 3 + EXCERPT_MAX_CHARACTERS);
}

TEST_MAIN(cmocka_unit_test(a_short_line_is_shown_whole),
          cmocka_unit_test(invalid_bytes_are_replaced),
          cmocka_unit_test(a_long_line_is_cut_around_its_match),
          cmocka_unit_test(a_match_longer_than_the_excerpt_is_cut))
