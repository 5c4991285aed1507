/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gesture by which a user stops an agent: Escape three times within two seconds, or the pointer
 * in a corner of a monitor for a second, with real devices. XInput 2 tells which device an event is
 * from; those that XTEST has made, as ours are, do not count.
 */
#ifndef SCREEN_X11GESTURE_H
#define SCREEN_X11GESTURE_H

#include <stdbool.h>
#include <xcb/xcb.h>

#include "screen/backend.h"

struct x11gesture;

/* NULL: the server lacks XInput 2.1, or there is no memory. */
struct x11gesture *x11gesture_new(xcb_connection_t *connection, xcb_window_t root);
void x11gesture_free(struct x11gesture *gesture);

/* An event of the connection. True: it completes the gesture. */
bool x11gesture_take(struct x11gesture *gesture, const xcb_generic_event_t *event);

/*
 * After the events. True: the pointer was in a corner for long enough. *out_wait_ms as of
 * screen_ops.events.
 */
bool x11gesture_look(struct x11gesture *gesture, const struct screen_monitor *monitors, int count,
                     int x, int y, int *out_wait_ms);
/* Whether it must be told monitors and pointer now: a real device has moved it. */
bool x11gesture_wants_look(struct x11gesture *gesture, int *out_wait_ms);
/* We move the pointer ourselves. */
void x11gesture_forget(struct x11gesture *gesture);

#endif
