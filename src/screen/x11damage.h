/* SPDX-License-Identifier: Apache-2.0 */
/* Whether something was drawn on the screen, as the extension DAMAGE tells it. */
#ifndef SCREEN_X11DAMAGE_H
#define SCREEN_X11DAMAGE_H

#include <stdbool.h>
#include <xcb/xcb.h>

struct x11damage;

/* NULL: the server lacks the extension, or there is no memory. */
struct x11damage *x11damage_new(xcb_connection_t *connection, xcb_window_t root);
void x11damage_free(struct x11damage *damage);

/* An event of the connection. */
void x11damage_take(struct x11damage *damage, const xcb_generic_event_t *event);

/*
 * Whether something was drawn since this was last true, as far as events were taken. True as well
 * if nobody has watched until now. What a picture that is asked for afterwards does not show, the
 * next call tells.
 */
bool x11damage_has_changed(struct x11damage *damage);
/* Ends watching: the server draws faster without it. */
void x11damage_rest(struct x11damage *damage);

#endif
