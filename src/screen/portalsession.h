/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of the desktop portal: the desktop asks the user, and then shows monitors and takes
 * input. It begins with the first call that needs it, not with the program, and the question can
 * outlast a call. If the desktop ends it, one call says so (ERR_CONNECTION_LOST), and this object
 * is of no more use.
 */
#ifndef SCREEN_PORTALSESSION_H
#define SCREEN_PORTALSESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "base/err.h"
#include "screen/backend.h"
#include "screen/waylandpixels.h"

/* Kinds of devices, as the portal numbers them. */
enum { PORTALSESSION_KEYBOARD = 1, PORTALSESSION_POINTER = 2 };

struct portalsession;

/* Finds the portal; asks nothing yet. ERR_UNSUPPORTED, with the reason: there is none. */
int portalsession_new(const struct screen_around *around, struct portalsession **out_session,
                      struct err *err);
/* Ends it, which releases what is pressed. */
void portalsession_free(struct portalsession *session);

/* Poll it for reading. */
int portalsession_fd(struct portalsession *session);
/* See the interface of a display. */
int portalsession_hear(struct portalsession *session, int *out_wait_ms, struct err *err);

/* Asks the user if necessary. ERR_TIMED_OUT: there is no answer yet, and it can be tried again. */
int portalsession_start(struct portalsession *session, struct err *err);

/* Once it has started: the monitors, from left to right. */
int portalsession_count(const struct portalsession *session);
struct screen_area portalsession_area(const struct portalsession *session, int index);
double portalsession_scale(const struct portalsession *session, int index);
/* The newest picture; waits for the first one. Valid until the next call. */
int portalsession_picture(struct portalsession *session, int index,
                          struct waylandpixels *out_pixels, struct err *err);

/*
 * Says something about a device: `type` and what follows are what the call has behind the session
 * and the options, as sd_bus_message_append() takes it. ERR_ACCESS_MISSING: not granted.
 */
int portalsession_notify(struct portalsession *session, uint32_t device, const char *member,
                         struct err *err, const char *type, ...);
/* The number of a monitor for calls. */
uint32_t portalsession_node(const struct portalsession *session, int index);

#endif
