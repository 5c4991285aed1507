/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keyboard of an X server. A symbol that its layout lacks is given to an unused key for a
 * while: clients look the key up when they get to its event, so it is given back only when nothing
 * was typed for a moment.
 */
#ifndef SCREEN_X11KEYS_H
#define SCREEN_X11KEYS_H

#include <stdint.h>
#include <xcb/xcb.h>

#include "base/err.h"
#include "base/str.h"
#include "screen/backend.h"

struct x11keys;

int x11keys_new(xcb_connection_t *connection, xcb_window_t root, struct screen_held *held,
                struct x11keys **out_keys, struct err *err);
void x11keys_free(struct x11keys *keys);

/* The text is valid UTF-8. ERR_INVALID_ARGUMENT, and nothing is typed: a control character. */
int x11keys_type(struct x11keys *keys, struct str text, struct err *err);
int x11keys_press(struct x11keys *keys, const uint32_t *symbols, int count, unsigned hold_ms,
                  struct err *err);
/* Gives borrowed keys back. */
void x11keys_restore(struct x11keys *keys);
void x11keys_release_all(struct x11keys *keys);

#endif
