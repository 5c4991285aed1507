/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a keyboard as the bytes that a terminal sends for them. */
#ifndef SHELL_KEYS_H
#define SHELL_KEYS_H

#include "base/str.h"

/* "enter", "ctrl-c", "pageup", …; empty when there is none of that name. */
struct str key_bytes(struct str name);

#endif
