/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keyboard of a Wayland compositor: a virtual one with a table of keys of our own. It has the
 * keys of a US keyboard at their usual places, and a few spare ones that get the characters it
 * lacks. A new table reaches clients before the keys that are pressed after it, so that nothing
 * has to be waited for.
 */
#ifndef SCREEN_WAYLANDKEYS_H
#define SCREEN_WAYLANDKEYS_H

#include "screen/backend.h"
#include "screen/waylandclient.h"

struct waylandkeys;

/* Owns the keyboard. Call before the process is confined: it makes memory to share. */
int waylandkeys_new(struct waylandclient *client, struct wl_proxy *keyboard,
                    struct screen_held *held, struct waylandkeys **out_keys, struct err *err);
void waylandkeys_free(struct waylandkeys *keys);

/* The text is valid UTF-8. ERR_INVALID_ARGUMENT, and nothing is typed: a control character. */
int waylandkeys_type(struct waylandkeys *keys, struct str text, struct err *err);
int waylandkeys_press(struct waylandkeys *keys, const uint32_t *symbols, int count,
                      unsigned hold_ms, struct err *err);
void waylandkeys_release_all(struct waylandkeys *keys);

#endif
