/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/keys.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "protocol/nearname.h"

static const struct {
    const char *name;
    const char *key;
    const char *code;
    int windows;
    int modifier;
    const char *text;
} named[] = {
    /* In lower case, without '_'. */
    {"enter", "Enter", "Enter", 13, 0, "\r"},
    {"return", "Enter", "Enter", 13, 0, "\r"},
    {"tab", "Tab", "Tab", 9, 0, ""},
    {"escape", "Escape", "Escape", 27, 0, ""},
    {"esc", "Escape", "Escape", 27, 0, ""},
    {"backspace", "Backspace", "Backspace", 8, 0, ""},
    {"delete", "Delete", "Delete", 46, 0, ""},
    {"del", "Delete", "Delete", 46, 0, ""},
    {"insert", "Insert", "Insert", 45, 0, ""},
    {"home", "Home", "Home", 36, 0, ""},
    {"end", "End", "End", 35, 0, ""},
    {"ins", "Insert", "Insert", 45, 0, ""},
    {"kpenter", "Enter", "NumpadEnter", 13, 0, "\r"},
    {"numpadenter", "Enter", "NumpadEnter", 13, 0, "\r"},
    {"pgup", "PageUp", "PageUp", 33, 0, ""},
    {"pgdn", "PageDown", "PageDown", 34, 0, ""},
    {"prior", "PageUp", "PageUp", 33, 0, ""},
    {"next", "PageDown", "PageDown", 34, 0, ""},
    {"pageup", "PageUp", "PageUp", 33, 0, ""},
    {"pagedown", "PageDown", "PageDown", 34, 0, ""},
    {"arrowleft", "ArrowLeft", "ArrowLeft", 37, 0, ""},
    {"arrowup", "ArrowUp", "ArrowUp", 38, 0, ""},
    {"arrowright", "ArrowRight", "ArrowRight", 39, 0, ""},
    {"arrowdown", "ArrowDown", "ArrowDown", 40, 0, ""},
    {"left", "ArrowLeft", "ArrowLeft", 37, 0, ""},
    {"up", "ArrowUp", "ArrowUp", 38, 0, ""},
    {"right", "ArrowRight", "ArrowRight", 39, 0, ""},
    {"down", "ArrowDown", "ArrowDown", 40, 0, ""},
    {"space", " ", "Space", 32, 0, " "},
    {"spacebar", " ", "Space", 32, 0, " "},
    {"plus", "+", "Equal", 187, 0, "+"},
    {"minus", "-", "Minus", 189, 0, "-"},
    {"controll", "Control", "ControlLeft", 17, KEY_CONTROL, ""},
    {"shiftl", "Shift", "ShiftLeft", 16, KEY_SHIFT, ""},
    {"altl", "Alt", "AltLeft", 18, KEY_ALT, ""},
    {"superl", "Meta", "MetaLeft", 91, KEY_META, ""},
    {"super", "Meta", "MetaLeft", 91, KEY_META, ""},
    {"win", "Meta", "MetaLeft", 91, KEY_META, ""},
    {"windows", "Meta", "MetaLeft", 91, KEY_META, ""},
    {"printscreen", "PrintScreen", "PrintScreen", 44, 0, ""},
    {"print", "PrintScreen", "PrintScreen", 44, 0, ""},
    {"control", "Control", "ControlLeft", 17, KEY_CONTROL, ""},
    {"ctrl", "Control", "ControlLeft", 17, KEY_CONTROL, ""},
    {"controlormeta", "Control", "ControlLeft", 17, KEY_CONTROL, ""},
    {"shift", "Shift", "ShiftLeft", 16, KEY_SHIFT, ""},
    {"alt", "Alt", "AltLeft", 18, KEY_ALT, ""},
    {"option", "Alt", "AltLeft", 18, KEY_ALT, ""},
    {"meta", "Meta", "MetaLeft", 91, KEY_META, ""},
    {"command", "Meta", "MetaLeft", 91, KEY_META, ""},
    {"cmd", "Meta", "MetaLeft", 91, KEY_META, ""},
    {"contextmenu", "ContextMenu", "ContextMenu", 93, 0, ""},
    {"capslock", "CapsLock", "CapsLock", 20, 0, ""},
};

/* The keys with a sign: plain, with Shift. */
static const struct {
    const char *code;
    int windows;
    char plain;
    char shifted;
} signs[] = {
    {"Digit1", 49, '1', '!'},       {"Digit2", 50, '2', '@'},        {"Digit3", 51, '3', '#'},
    {"Digit4", 52, '4', '$'},       {"Digit5", 53, '5', '%'},        {"Digit6", 54, '6', '^'},
    {"Digit7", 55, '7', '&'},       {"Digit8", 56, '8', '*'},        {"Digit9", 57, '9', '('},
    {"Digit0", 48, '0', ')'},       {"Minus", 189, '-', '_'},        {"Equal", 187, '=', '+'},
    {"BracketLeft", 219, '[', '{'}, {"BracketRight", 221, ']', '}'}, {"Backslash", 220, '\\', '|'},
    {"Semicolon", 186, ';', ':'},   {"Quote", 222, '\'', '"'},       {"Backquote", 192, '`', '~'},
    {"Comma", 188, ',', '<'},       {"Period", 190, '.', '>'},       {"Slash", 191, '/', '?'},
    {"Space", 32, ' ', ' '},
};

static void put_sign(char sign, struct browser_key *key)
{
    bool is_small = sign >= 'a' && sign <= 'z';
    bool is_large = sign >= 'A' && sign <= 'Z';

    snprintf(key->key, sizeof(key->key), "%c", sign);
    snprintf(key->text, sizeof(key->text), "%c", sign);
    if (is_small || is_large) {
        char letter = (char)(is_small ? sign - 'a' + 'A' : sign);

        snprintf(key->code, sizeof(key->code), "Key%c", letter);
        key->windows = (unsigned char)letter;
        return;
    }
    for (size_t i = 0; i < array_size(signs); i++)
        if (signs[i].plain == sign || signs[i].shifted == sign) {
            snprintf(key->code, sizeof(key->code), "%s", signs[i].code);
            key->windows = signs[i].windows;
        }
}

static bool put_function_key(struct str name, struct browser_key *key)
{
    enum { F1 = 112, LAST = 24 };
    int64_t number;

    if (name.len < 2 || (name.ptr[0] != 'F' && name.ptr[0] != 'f') ||
        !str_to_int64(str_slice(name, 1, name.len), &number) || number < 1 || number > LAST)
        return false;
    snprintf(key->key, sizeof(key->key), "F%d", (int)number);
    snprintf(key->code, sizeof(key->code), "F%d", (int)number);
    key->windows = F1 + (int)number - 1;
    return true;
}

bool browser_key_find(struct str name, struct browser_key *out_key)
{
    struct browser_key key = {0};
    char text[NEARNAME_BYTES];
    struct str folded;

    /* As in "Control + A". */
    if (name.len > 1)
        name = str_trim(name);
    if (name.len == 1 && name.ptr[0] >= ' ' && name.ptr[0] < 0x7f) {
        put_sign(name.ptr[0], &key);
        *out_key = key;
        return true;
    }
    /* Others write Page_Down. */
    folded = (struct str){text, nearname_fold(name, text)};
    for (size_t i = 0; i < array_size(named); i++)
        if (str_eq_c(folded, named[i].name)) {
            snprintf(key.key, sizeof(key.key), "%s", named[i].key);
            snprintf(key.code, sizeof(key.code), "%s", named[i].code);
            snprintf(key.text, sizeof(key.text), "%s", named[i].text);
            key.windows = named[i].windows;
            key.modifier = named[i].modifier;
            *out_key = key;
            return true;
        }
    if (put_function_key(name, &key)) {
        *out_key = key;
        return true;
    }
    if (name.len == 0 || name.len >= sizeof(key.text) || utf8_count(name) != 1)
        return false;
    snprintf(key.key, sizeof(key.key), "%.*s", STR_ARG(name));
    snprintf(key.text, sizeof(key.text), "%.*s", STR_ARG(name));
    *out_key = key;
    return true;
}
