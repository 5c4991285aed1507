/* SPDX-License-Identifier: Apache-2.0 */
/* Names of keys as a browser's events have them, on a US keyboard. */
#ifndef BROWSER_KEYS_H
#define BROWSER_KEYS_H

#include <stdbool.h>

#include "base/str.h"

enum { KEY_ALT = 1, KEY_CONTROL = 2, KEY_META = 4, KEY_SHIFT = 8 };

struct browser_key {
    char key[24];
    char code[24];
    char text[8]; /* what it types; or empty */
    int windows;  /* Windows' virtual key code */
    int modifier; /* KEY_*, if it is one */
};

/* "Enter", "a", "A", "ArrowLeft", "F5", "ctrl": in any case, with the usual other names. */
bool browser_key_find(struct str name, struct browser_key *out_key);

#endif
