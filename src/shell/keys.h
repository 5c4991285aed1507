/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that a terminal sends for a key. */
#ifndef SHELL_KEYS_H
#define SHELL_KEYS_H

#include "base/str.h"

/*
 * "enter", "ctrl-c", "pageup", …, also as "Enter", "Ctrl+C", "Page_Up"; empty if there is no key of
 * that name.
 */
struct str key_bytes(struct str name);

#endif
