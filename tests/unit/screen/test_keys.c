/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <xkbcommon/xkbcommon-keysyms.h>

#include "screen/keys.h"

static void names_and_their_aliases_are_keys(void **state)
{
    static const struct {
        const char *name;
        uint32_t symbol;
    } known[] = {
        {"enter", XKB_KEY_Return},
        {"Return", XKB_KEY_Return},
        {"CTRL", XKB_KEY_Control_L},
        {"cmd", XKB_KEY_Super_L},
        {"option", XKB_KEY_Alt_L},
        {"esc", XKB_KEY_Escape},
        {"pgdn", XKB_KEY_Page_Down},
        {"f1", XKB_KEY_F1},
        {"F24", XKB_KEY_F24},
        {"numpad_7", XKB_KEY_KP_7},
        {"numpad_+", XKB_KEY_KP_Add},
        {"Page_Down", XKB_KEY_Page_Down},
        {"page up", XKB_KEY_Page_Up},
        {"ArrowDown", XKB_KEY_Down},
        {"Control_L", XKB_KEY_Control_L},
        {"KP_Enter", XKB_KEY_KP_Enter},
        {"KP_7", XKB_KEY_KP_7},
        {"NumLock", XKB_KEY_Num_Lock},
        {"plus", XKB_KEY_plus},
        {"a", XKB_KEY_a},
        {"A", XKB_KEY_A},
        {"?", XKB_KEY_question},
        {" ", XKB_KEY_space},
        {"\n", XKB_KEY_Return},
        {"\xc3\xa9", XKB_KEY_eacute},
        {"\xe2\x82\xac", XKB_KEY_EuroSign},
        {"\xe6\xbc\xa2", 0x01006f22},
    };

    (void)state;
    for (size_t i = 0; i < array_size(known); i++)
        assert_int_equal(keys_symbol(str_from(known[i].name)), known[i].symbol);
}

static void what_is_no_key_is_none(void **state)
{
    static const char *const wrong[] = {"",       "ent",       "f0", "f25",  "f1x",  "numpad_10",
                                        "numpad", "pagedown2", "ab", "\x1b", "\x7f", "\xff"};

    (void)state;
    for (size_t i = 0; i < array_size(wrong); i++)
        assert_int_equal(keys_symbol(str_from(wrong[i])), 0);
}

static void a_text_is_taken_character_by_character(void **state)
{
    struct str text = STR("a\xe2\x82\xac\tb");

    (void)state;
    assert_int_equal(keys_next(&text), XKB_KEY_a);
    assert_int_equal(keys_next(&text), XKB_KEY_EuroSign);
    assert_int_equal(keys_next(&text), XKB_KEY_Tab);
    assert_int_equal(keys_next(&text), XKB_KEY_b);
    assert_int_equal(text.len, 0);
}

TEST_MAIN(cmocka_unit_test(names_and_their_aliases_are_keys),
          cmocka_unit_test(what_is_no_key_is_none),
          cmocka_unit_test(a_text_is_taken_character_by_character))
