/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/colour.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "draw.h"

enum { DRAWN_TEXTS = 20000, MAX_PIECES = 24, LONGEST = MAX_PIECES * 16, ALL_RULES = 1 << 5 };

/* Each of these has hidden, moved or disguised something on some terminal. */
static const char *const pieces[] = {
    "a",
    "word",
    " ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\"",
    "\\",
    "\\x1b",
    "\\u{202e}",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1bP1$q\x1b\\",
    "\b\b\b",
    "\x7f",
    "\x01",
    ("\xc2\x9b"
     "31m"),
    "\xc2\x85",
    "\u202e",
    "\u2066",
    "\u2069",
    "\u200f",
    "\u061c",
    "\u200b",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\ufe00",
    "\ufe0f",
    "\u180b",
    "\u180f",
    "\u00ad",
    "\u034f",
    "\u2028",
    "\u2029",
    "\u00a0",
    "\u1680",
    "\u2003",
    "\u202f",
    "\u205f",
    "\u2800",
    "\u3000",
    "\u3164",
    "\U000e0041",
    "\U0001d173",
    "\u00e4",
    "\u4e2d",
    "\U0001f600",
    "\U0010ffff",
    "\xff",
    "\xc3",
    "\xc0\xaf",
    "\xed\xa0\x80",
    "\xf4\x90\x80\x80",
    "\xe4\xb8",
    "\x80",
    "                                                                      ",
};

static bool is_lookalike(uint32_t c)
{
    static const uint32_t blanks[] = {0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003,
                                      0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009,
                                      0x200A, 0x202F, 0x205F, 0x2800, 0x3000};

    for (size_t i = 0; i < array_size(blanks); i++)
        if (c == blanks[i])
            return true;
    return false;
}

/* Said once more in other words than the module's, from the characters' own names. */
static bool is_harmful(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c <= 0x9F) ||                 /* C0, DEL, C1 */
           (c >= 0x200B && c <= 0x200F) ||                         /* zero width, LRM, RLM */
           (c >= 0x2028 && c <= 0x202E) ||                         /* separators, embeddings */
           (c >= 0x2060 && c <= 0x206F) ||                         /* joiners, isolates */
           c == 0xAD || c == 0x34F || c == 0x61C || c == 0xFEFF || /* hyphen, joiner, ALM, BOM */
           (c >= 0xFE00 && c <= 0xFE0F) || (c >= 0x180B && c <= 0x180F) || /* variations */
           c == 0x3164 || (c >= 0x1D173 && c <= 0x1D17A) || (c >= 0xE0000 && c <= 0xE0FFF);
}

static void check_output(struct str shown, unsigned rule)
{
    struct str rest = shown;

    assert_true(utf8_is_valid(shown));
    while (rest.len > 0) {
        uint32_t c;

        assert_true(utf8_next(&rest, &c));
        if (c == '\t' && (rule & PRINTABLE_TABS) != 0)
            continue;
        assert_false(is_harmful(c));
        assert_true((rule & PRINTABLE_BLANKS) != 0 || !is_lookalike(c));
        assert_true((rule & PRINTABLE_ASCII) == 0 || c < 0x80);
    }
}

static struct str drawn(char text[LONGEST])
{
    struct str result = draw_text(text, MAX_PIECES, pieces, array_size(pieces));

    /* Now and then a byte that is anything. */
    if (draw(2) == 0 && result.len > 0)
        text[draw(result.len)] = (char)draw(256);
    return result;
}

static void nothing_harmful_comes_out_under_any_rule(void **state)
{
    static char text[LONGEST * 8];

    (void)state;
    draw_seed = 0x9e3779b97f4a7c15U;
    for (size_t i = 0; i < DRAWN_TEXTS; i++) {
        cleanup_buf struct buf shown = BUF_INIT(sizeof(text) * 8);
        cleanup_buf struct buf again = BUF_INIT(sizeof(text) * 8);
        cleanup_buf struct buf replaced = BUF_INIT(sizeof(text) * 8);
        unsigned rule = (unsigned)draw(ALL_RULES);
        struct str given = drawn(text);

        assert_int_equal(printable_append(&shown, given, rule), 0);
        check_output(buf_view(&shown), rule);
        assert_int_equal(printable_replace(&replaced, given, rule, STR("?")), 0);
        check_output(buf_view(&replaced), rule);
        /* What is plain comes out as it is, and what came out is plain: showing it twice is no
         * harm. Only quotes are escaped again. */
        assert_int_equal(printable_is_plain(given, rule), str_eq(buf_view(&shown), given));
        if ((rule & PRINTABLE_QUOTED) == 0) {
            assert_int_equal(printable_append(&again, buf_view(&shown), rule), 0);
            assert_true(str_eq(buf_view(&again), buf_view(&shown)));
        }
    }
}

static void every_code_point_and_every_byte_is_looked_at(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        char bytes[4];
        char shown[PRINTABLE_BYTES];
        struct str given;
        size_t len;

        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        given = (struct str){bytes, utf8_encode(c, bytes)};
        len = printable_next(&given, PRINTABLE_LINE, shown);
        assert_int_equal(given.len, 0);
        assert_int_equal(shown[len], '\0');
        check_output((struct str){shown, len}, PRINTABLE_LINE);
    }
    for (unsigned byte = 0x80; byte < 0x100; byte++) {
        const char bytes[] = {(char)byte};
        struct str given = {bytes, 1};
        char shown[PRINTABLE_BYTES];
        char wanted[PRINTABLE_BYTES];

        printable_next(&given, PRINTABLE_LINE, shown);
        snprintf(wanted, sizeof(wanted), "\\x%02x", byte);
        assert_string_equal(shown, wanted);
    }
}

/* Long texts are looked at in words. */
static void a_byte_counts_the_same_wherever_it_stands(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 0x100; byte++)
        for (size_t at = 0; at < 27; at++) {
            const char alone[] = {(char)byte};
            char text[27];

            memset(text, 'z', sizeof(text));
            text[at] = (char)byte;
            assert_int_equal(printable_is_plain((struct str){text, sizeof(text)}, PRINTABLE_LINE),
                             printable_is_plain((struct str){alone, 1}, PRINTABLE_LINE));
        }
}

static void the_ceiling_holds_and_characters_stay_whole(void **state)
{
    char text[LONGEST * 8];

    (void)state;
    draw_seed = 0x2545f4914f6cdd1dU;
    for (size_t i = 0; i < DRAWN_TEXTS; i++) {
        char shown[64 + PRINTABLE_CUT_BYTES];
        cleanup_buf struct buf whole = BUF_INIT(sizeof(text) * 8);
        size_t max = draw(65);
        unsigned rule = (unsigned)draw(ALL_RULES);
        struct str given = drawn(text);
        size_t len;

        memset(shown, '#', sizeof(shown));
        len = printable_cut(given, rule, shown, max);
        assert_int_equal(shown[len], '\0');
        for (size_t k = max + PRINTABLE_CUT_BYTES; k < sizeof(shown); k++)
            assert_int_equal(shown[k], '#');
        check_output((struct str){shown, len}, rule);
        assert_int_equal(printable_append(&whole, given, rule), 0);
        if (whole.len <= max) {
            assert_true(str_eq((struct str){shown, len}, buf_view(&whole)));
        } else {
            assert_true(str_ends_with((struct str){shown, len}, STR("...")));
            assert_true(str_starts_with(buf_view(&whole), (struct str){shown, len - 3}));
        }
    }
}

/* What is escaped for a terminal is the same document to whoever reads it. */
static void json_stays_the_same_json(void **state)
{
    static const char document[] = "[\"\x7f\u202e\u00a0\\\"\\\\\U000e0041\u4e2d\"]";
    cleanup_buf struct buf shown = BUF_INIT(1024);
    cleanup_arena struct arena arena = ARENA_INIT(1 << 16);
    const struct json_value *value;
    struct str text = STR_EMPTY;

    (void)state;
    assert_int_equal(printable_append(&shown, str_from(document), PRINTABLE_JSON), 0);
    check_output(buf_view(&shown), PRINTABLE_JSON);
    assert_int_equal(json_parse(&arena, buf_view(&shown), JSON_LIMITS_DEFAULT, &value, NULL), 0);
    text = json_str(value + 1);
    assert_true(str_eq(text, STR("\x7f\u202e\u00a0\"\\\U000e0041\u4e2d")));
}

static void shows(struct str text, unsigned rule, const char *wanted)
{
    cleanup_buf struct buf out = BUF_INIT(1024);
    const char *shown;

    assert_int_equal(printable_append(&out, text, rule), 0);
    assert_int_equal(buf_terminate(&out, &shown), 0);
    assert_string_equal(shown, wanted);
}

static void each_rule_keeps_what_it_says(void **state)
{
    static const struct str text = STR_LITERAL("a\t\"\\\u00a0\u00e4\n\x1b\xff\u202e\U000e0041");

    (void)state;
    shows(text, PRINTABLE_LINE, "a\\t\"\\\\u{a0}\u00e4\\n\\x1b\\xff\\u{202e}\\u{e0041}");
    shows(text, PRINTABLE_QUOTED, "a\\t\\\"\\\\\\u{a0}\u00e4\\n\\x1b\\xff\\u{202e}\\u{e0041}");
    shows(text, PRINTABLE_TABS, "a\t\"\\\\u{a0}\u00e4\\n\\x1b\\xff\\u{202e}\\u{e0041}");
    shows(text, PRINTABLE_TABS | PRINTABLE_BLANKS,
          "a\t\"\\\u00a0\u00e4\\n\\x1b\\xff\\u{202e}\\u{e0041}");
    shows(text, PRINTABLE_ASCII, "a\\t\"\\\\u{a0}\\u{e4}\\n\\x1b\\xff\\u{202e}\\u{e0041}");
    shows(STR("\x1b\n\u00a0\u202e\U000e0041"), PRINTABLE_JSON,
          "\\u001b\\u000a\\u00a0\\u202e\\udb40\\udc41");
}

static void many_blanks_become_their_number(void **state)
{
    char blanks[PRINTABLE_MOST_BLANKS + 3];
    char out[PRINTABLE_BLANKS_BYTES];
    struct str text = {blanks, PRINTABLE_MOST_BLANKS};

    (void)state;
    memset(blanks, ' ', sizeof(blanks));
    assert_int_equal(printable_blanks(&text, true, out), 0);
    assert_int_equal(text.len, PRINTABLE_MOST_BLANKS);
    blanks[1] = '\t';
    blanks[sizeof(blanks) - 1] = 'x';
    text.len = sizeof(blanks);
    assert_int_equal(printable_blanks(&text, false, out), 0);
    assert_int_equal(printable_blanks(&text, true, out), 6);
    assert_string_equal(out, "\\s{66}");
    assert_true(str_eq(text, STR("x")));
}

/* Of two loops the stricter one won: without a TERM there is no colour either. */
static void colours_need_a_terminal_that_is_named(void **state)
{
    (void)state;
    assert_true(colour_can_colour("xterm", NULL));
    assert_true(colour_can_colour("xterm", ""));
    assert_false(colour_can_colour("xterm", "1"));
    assert_true(colour_can_draw("xterm"));
    assert_false(colour_can_draw("dumb"));
    assert_false(colour_can_draw(""));
    assert_false(colour_can_draw(NULL));
    assert_false(colour_can_colour(NULL, NULL));
    assert_false(colour_is_wanted(-1));
}

TEST_MAIN(cmocka_unit_test(nothing_harmful_comes_out_under_any_rule),
          cmocka_unit_test(every_code_point_and_every_byte_is_looked_at),
          cmocka_unit_test(a_byte_counts_the_same_wherever_it_stands),
          cmocka_unit_test(the_ceiling_holds_and_characters_stay_whole),
          cmocka_unit_test(json_stays_the_same_json),
          cmocka_unit_test(each_rule_keeps_what_it_says),
          cmocka_unit_test(many_blanks_become_their_number),
          cmocka_unit_test(colours_need_a_terminal_that_is_named))
