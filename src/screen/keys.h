/* SPDX-License-Identifier: Apache-2.0 */
/* Names of keys, as agents write them, and the characters of a text, as key symbols. */
#ifndef SCREEN_KEYS_H
#define SCREEN_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/*
 * "enter", "ctrl", "F5", "numpad_7", or one character; without regard to case, unless it is one
 * character. 0: there is no such key.
 */
uint32_t keys_symbol(struct str name);

/* ERR_INVALID_ARGUMENT: the text, which is valid UTF-8, has a character that no key types. */
int keys_check_text(struct str text, struct err *err);

/* Takes the next character off a text, which must be valid UTF-8. 0: it cannot be typed. */
uint32_t keys_next(struct str *text);

#endif
