/* SPDX-License-Identifier: Apache-2.0 */
#include "console/keys.h"

#include <string.h>

#include "base/utf8.h"

enum {
    CONTROL_C = 0x03,
    CONTROL_H = 0x08,
    CONTROL_U = 0x15,
    ESCAPE = 0x1B,
    DELETE = 0x7F,
    NUMBER_MAX = 9999,
    PASTE_BEGINS = 200,
    PASTE_ENDS = 201,
};

static struct key key_of(enum key_code code)
{
    return (struct key){.code = code};
}

void keys_reset(struct keys *keys)
{
    *keys = (struct keys){.state = KEYS_PLAIN};
}

bool keys_is_escape_open(const struct keys *keys)
{
    return keys->state == KEYS_ESCAPE && !keys->is_pasting;
}

struct key keys_end_escape(struct keys *keys)
{
    bool is_open = keys_is_escape_open(keys);

    keys->state = KEYS_PLAIN;
    return key_of(is_open ? KEY_ESCAPE : KEY_NONE);
}

/* ESC [ A and ESC O A are the same key, depending on the terminal's mode. */
static enum key_code arrow(char last)
{
    switch (last) {
    case 'A':
        return KEY_UP;
    case 'B':
        return KEY_DOWN;
    case 'C':
        return KEY_RIGHT;
    case 'D':
        return KEY_LEFT;
    case 'M':
        return KEY_ENTER; /* of the keypad, after ESC O */
    default:
        return KEY_NONE;
    }
}

static enum key_code end_sequence(struct keys *keys, char last)
{
    keys->state = KEYS_PLAIN;
    if (last == '~' && keys->number == PASTE_BEGINS)
        keys->is_pasting = true;
    else if (last == '~' && keys->number == PASTE_ENDS)
        keys->is_pasting = false;
    else if (!keys->is_pasting && last == '~' && keys->number == 5)
        return KEY_PAGE_UP;
    else if (!keys->is_pasting && last == '~' && keys->number == 6)
        return KEY_PAGE_DOWN;
    else if (!keys->is_pasting && keys->number < 2 && last != 'M')
        return arrow(last);
    return KEY_NONE;
}

static struct key take_in_sequence(struct keys *keys, char byte)
{
    if (byte >= '0' && byte <= '9') {
        keys->number = keys->number * 10 + (unsigned)(byte - '0');
        if (keys->number > NUMBER_MAX)
            keys->number = NUMBER_MAX;
    } else if (byte >= 0x40 && byte < DELETE) {
        return key_of(end_sequence(keys, byte));
    } else if (byte < 0x20) {
        keys->state = byte == ESCAPE ? KEYS_ESCAPE : KEYS_PLAIN;
    } else if (byte == ';') {
        keys->number = NUMBER_MAX; /* with Shift and the like it is another key */
    }
    return key_of(KEY_NONE);
}

/* The Escape before this byte was a key of its own, unless this starts a sequence. */
static struct key take_after_escape(struct keys *keys, char byte)
{
    keys->state = KEYS_PLAIN;
    keys->number = 0;
    if (byte == '[')
        keys->state = KEYS_SEQUENCE;
    else if (byte == 'O')
        keys->state = KEYS_SHIFTED;
    else if (byte == ESCAPE)
        keys->state = KEYS_ESCAPE;
    return key_of(keys_is_escape_open(keys) ? KEY_ESCAPE : KEY_NONE);
}

static struct key take_text(struct keys *keys, char byte)
{
    struct key key = {.code = KEY_TEXT};
    struct str rest;

    if (keys->text_len == 4)
        keys->text_len = 0;
    keys->text[keys->text_len++] = byte;
    rest = (struct str){keys->text, keys->text_len};
    if (utf8_is_valid(rest)) {
        memcpy(key.text, keys->text, keys->text_len);
        keys->text_len = 0;
        return key;
    }
    /* What no character can begin with is dropped. */
    if (keys->text_len == 1 && ((unsigned char)byte < 0xC2 || (unsigned char)byte > 0xF4))
        keys->text_len = 0;
    return key_of(KEY_NONE);
}

static struct key take_plain(struct keys *keys, char byte)
{
    if (byte == ESCAPE) {
        keys->text_len = 0;
        keys->state = KEYS_ESCAPE;
        return key_of(KEY_NONE);
    }
    if (keys->is_pasting)
        return key_of(KEY_NONE);
    if ((signed char)byte >= 0)
        keys->text_len = 0;
    switch (byte) {
    case '\r':
    case '\n':
        return key_of(KEY_ENTER);
    case CONTROL_C:
        return key_of(KEY_INTERRUPT);
    case CONTROL_H:
    case DELETE:
        return key_of(KEY_ERASE);
    case CONTROL_U:
        return key_of(KEY_ERASE_ALL);
    default:
        return (signed char)byte >= 0 && byte < 0x20 ? key_of(KEY_NONE) : take_text(keys, byte);
    }
}

struct key keys_take(struct keys *keys, char byte)
{
    switch (keys->state) {
    case KEYS_PLAIN:
        return take_plain(keys, byte);
    case KEYS_ESCAPE:
        return take_after_escape(keys, byte);
    case KEYS_SEQUENCE:
        return take_in_sequence(keys, byte);
    case KEYS_SHIFTED:
        keys->state = KEYS_PLAIN;
        return key_of(keys->is_pasting ? KEY_NONE : arrow(byte));
    }
    return key_of(KEY_NONE);
}
