/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the bytes of a terminal in raw mode into keys. Sequences of other keys, and everything
 * that is pasted, are consumed and ignored.
 */
#ifndef CONSOLE_KEYS_H
#define CONSOLE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum key_code {
    KEY_NONE,
    KEY_TEXT, /* a character, in UTF-8 */
    KEY_ENTER,
    KEY_ESCAPE,
    KEY_INTERRUPT, /* Ctrl-C */
    KEY_ERASE,     /* backspace */
    KEY_ERASE_ALL, /* Ctrl-U */
    KEY_UP,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
};

struct key {
    enum key_code code;
    char text[5]; /* of KEY_TEXT, NUL-terminated */
};

enum keys_state { KEYS_PLAIN, KEYS_ESCAPE, KEYS_SEQUENCE, KEYS_SHIFTED };

struct keys {
    enum keys_state state;
    unsigned number; /* of the sequence */
    bool is_pasting;
    char text[5]; /* an incomplete character */
    size_t text_len;
};

/* Drops a key that was begun. */
void keys_reset(struct keys *keys);

/* KEY_NONE if the byte does not complete a key, or one that is ignored. */
struct key keys_take(struct keys *keys, char byte);

/* Whether Escape was read and a sequence may follow; if none does, call keys_end_escape(). */
bool keys_is_escape_open(const struct keys *keys);
struct key keys_end_escape(struct keys *keys);

#endif
