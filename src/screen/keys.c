/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/keys.h"

#include <xkbcommon/xkbcommon-keysyms.h>
#include <xkbcommon/xkbcommon.h>

#include "base/cleanup.h"
#include "base/utf8.h"

static const struct {
    struct str name;
    uint32_t symbol;
} names[] = {
    {STR_LITERAL("alt"), XKB_KEY_Alt_L},
    {STR_LITERAL("alt_l"), XKB_KEY_Alt_L},
    {STR_LITERAL("alt_r"), XKB_KEY_Alt_R},
    {STR_LITERAL("altgr"), XKB_KEY_ISO_Level3_Shift},
    {STR_LITERAL("arrow_down"), XKB_KEY_Down},
    {STR_LITERAL("arrow_left"), XKB_KEY_Left},
    {STR_LITERAL("arrow_right"), XKB_KEY_Right},
    {STR_LITERAL("arrow_up"), XKB_KEY_Up},
    {STR_LITERAL("audio_forward"), XKB_KEY_XF86AudioForward},
    {STR_LITERAL("audio_mute"), XKB_KEY_XF86AudioMute},
    {STR_LITERAL("audio_next"), XKB_KEY_XF86AudioNext},
    {STR_LITERAL("audio_pause"), XKB_KEY_XF86AudioPause},
    {STR_LITERAL("audio_play"), XKB_KEY_XF86AudioPlay},
    {STR_LITERAL("audio_prev"), XKB_KEY_XF86AudioPrev},
    {STR_LITERAL("audio_random"), XKB_KEY_XF86AudioRandomPlay},
    {STR_LITERAL("audio_repeat"), XKB_KEY_XF86AudioRepeat},
    {STR_LITERAL("audio_rewind"), XKB_KEY_XF86AudioRewind},
    {STR_LITERAL("audio_stop"), XKB_KEY_XF86AudioStop},
    {STR_LITERAL("audio_vol_down"), XKB_KEY_XF86AudioLowerVolume},
    {STR_LITERAL("audio_vol_up"), XKB_KEY_XF86AudioRaiseVolume},
    {STR_LITERAL("backspace"), XKB_KEY_BackSpace},
    {STR_LITERAL("caps"), XKB_KEY_Caps_Lock},
    {STR_LITERAL("capslock"), XKB_KEY_Caps_Lock},
    {STR_LITERAL("cmd"), XKB_KEY_Super_L},
    {STR_LITERAL("command"), XKB_KEY_Super_L},
    {STR_LITERAL("context_menu"), XKB_KEY_Menu},
    {STR_LITERAL("control"), XKB_KEY_Control_L},
    {STR_LITERAL("control_l"), XKB_KEY_Control_L},
    {STR_LITERAL("control_r"), XKB_KEY_Control_R},
    {STR_LITERAL("ctrl"), XKB_KEY_Control_L},
    {STR_LITERAL("del"), XKB_KEY_Delete},
    {STR_LITERAL("delete"), XKB_KEY_Delete},
    {STR_LITERAL("down"), XKB_KEY_Down},
    {STR_LITERAL("end"), XKB_KEY_End},
    {STR_LITERAL("enter"), XKB_KEY_Return},
    {STR_LITERAL("esc"), XKB_KEY_Escape},
    {STR_LITERAL("escape"), XKB_KEY_Escape},
    {STR_LITERAL("home"), XKB_KEY_Home},
    {STR_LITERAL("ins"), XKB_KEY_Insert},
    {STR_LITERAL("insert"), XKB_KEY_Insert},
    {STR_LITERAL("kp_enter"), XKB_KEY_KP_Enter},
    {STR_LITERAL("left"), XKB_KEY_Left},
    {STR_LITERAL("left_control"), XKB_KEY_Control_L},
    {STR_LITERAL("menu"), XKB_KEY_Menu},
    {STR_LITERAL("meta"), XKB_KEY_Super_L},
    {STR_LITERAL("minus"), XKB_KEY_minus},
    {STR_LITERAL("next"), XKB_KEY_Page_Down},
    {STR_LITERAL("num_lock"), XKB_KEY_Num_Lock},
    {STR_LITERAL("numpad_*"), XKB_KEY_KP_Multiply},
    {STR_LITERAL("numpad_+"), XKB_KEY_KP_Add},
    {STR_LITERAL("numpad_-"), XKB_KEY_KP_Subtract},
    {STR_LITERAL("numpad_."), XKB_KEY_KP_Decimal},
    {STR_LITERAL("numpad_/"), XKB_KEY_KP_Divide},
    {STR_LITERAL("numpad_enter"), XKB_KEY_KP_Enter},
    {STR_LITERAL("numpad_lock"), XKB_KEY_Num_Lock},
    {STR_LITERAL("option"), XKB_KEY_Alt_L},
    {STR_LITERAL("pagedown"), XKB_KEY_Page_Down},
    {STR_LITERAL("pageup"), XKB_KEY_Page_Up},
    {STR_LITERAL("pgdn"), XKB_KEY_Page_Down},
    {STR_LITERAL("pgup"), XKB_KEY_Page_Up},
    {STR_LITERAL("plus"), XKB_KEY_plus},
    {STR_LITERAL("print"), XKB_KEY_Print},
    {STR_LITERAL("printscreen"), XKB_KEY_Print},
    {STR_LITERAL("prior"), XKB_KEY_Page_Up},
    {STR_LITERAL("return"), XKB_KEY_Return},
    {STR_LITERAL("right"), XKB_KEY_Right},
    {STR_LITERAL("right_alt"), XKB_KEY_Alt_R},
    {STR_LITERAL("right_control"), XKB_KEY_Control_R},
    {STR_LITERAL("right_shift"), XKB_KEY_Shift_R},
    {STR_LITERAL("scroll_lock"), XKB_KEY_Scroll_Lock},
    {STR_LITERAL("shift"), XKB_KEY_Shift_L},
    {STR_LITERAL("shift_l"), XKB_KEY_Shift_L},
    {STR_LITERAL("shift_r"), XKB_KEY_Shift_R},
    {STR_LITERAL("space"), XKB_KEY_space},
    {STR_LITERAL("spacebar"), XKB_KEY_space},
    {STR_LITERAL("super"), XKB_KEY_Super_L},
    {STR_LITERAL("super_l"), XKB_KEY_Super_L},
    {STR_LITERAL("tab"), XKB_KEY_Tab},
    {STR_LITERAL("up"), XKB_KEY_Up},
    {STR_LITERAL("win"), XKB_KEY_Super_L},
    {STR_LITERAL("windows"), XKB_KEY_Super_L},
};

/* Page_Down, pagedown and "page down" are one key. */
static bool is_named(struct str given, struct str name)
{
    size_t g = 0;
    size_t n = 0;

    while (true) {
        while (g < given.len && (given.ptr[g] == '_' || given.ptr[g] == ' '))
            g++;
        while (n < name.len && name.ptr[n] == '_')
            n++;
        if (g == given.len || n == name.len)
            return g == given.len && n == name.len;
        if (!str_eq_nocase(str_slice(given, g, 1), str_slice(name, n, 1)))
            return false;
        g++;
        n++;
    }
}

enum { FUNCTION_KEYS = 24, FIRST_VISIBLE = 0x20, DELETE = 0x7F, LAST_CONTROL = 0x9F };

/* The number behind a prefix, up to `max`; -1: there is none. */
static int number_after(struct str name, struct str prefix, int max)
{
    int number = 0;

    if (name.len <= prefix.len || name.len > prefix.len + 2 ||
        !str_eq_nocase(str_slice(name, 0, prefix.len), prefix))
        return -1;
    for (size_t i = prefix.len; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9')
            return -1;
        number = number * 10 + (name.ptr[i] - '0');
    }
    return number <= max ? number : -1;
}

static uint32_t symbol_of(uint32_t character)
{
    switch (character) {
    case '\n':
    case '\r':
        return XKB_KEY_Return;
    case '\t':
        return XKB_KEY_Tab;
    default:
        break;
    }
    if (character < FIRST_VISIBLE || (character >= DELETE && character <= LAST_CONTROL))
        return 0;
    return xkb_utf32_to_keysym(character);
}

uint32_t keys_next(struct str *text)
{
    uint32_t character;

    if (utf8_next(text, &character))
        return symbol_of(character);
    *text = STR_EMPTY; /* the caller checks */
    return 0;
}

int keys_check_text(struct str text, struct err *err)
{
    while (text.len > 0)
        if (keys_next(&text) == 0)
            return err_set(err, ERR_INVALID_ARGUMENT,
                           "the text has a control character, which cannot be typed: press keys "
                           "with keyboard_key_tap");
    return 0;
}

uint32_t keys_symbol(struct str name)
{
    struct str rest = name;
    uint32_t one = name.len > 0 ? keys_next(&rest) : 0;
    int number;

    if (rest.len == 0)
        return one;
    for (size_t i = 0; i < array_size(names); i++)
        if (is_named(name, names[i].name))
            return names[i].symbol;
    number = number_after(name, STR("f"), FUNCTION_KEYS);
    if (number > 0)
        return XKB_KEY_F1 + (uint32_t)number - 1;
    number = number_after(name, STR("numpad_"), 9);
    if (number < 0)
        number = number_after(name, STR("kp_"), 9);
    return number >= 0 ? XKB_KEY_KP_0 + (uint32_t)number : 0;
}
