/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The desktop portal on the session bus, by libsystemd. Anybody on the bus can send us anything: we
 * take only what the process says that owned the portal's name when we looked.
 */
#ifndef SCREEN_PORTALBUS_H
#define SCREEN_PORTALBUS_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "base/err.h"

#define PORTALBUS_DESKTOP "/org/freedesktop/portal/desktop"
#define PORTALBUS_REMOTE  "org.freedesktop.portal.RemoteDesktop"
#define PORTALBUS_CAST    "org.freedesktop.portal.ScreenCast"

enum { PORTALBUS_WAIT_MS = 5000, PORTALBUS_PATH_BYTES = 256 };

struct portalbus;

struct portalbus_listener {
    void (*on_response)(void *data, const char *path, sd_bus_message *message);
    void (*on_closed)(void *data, const char *path);
};

/* What the portal can do. */
struct portalbus_offer {
    uint32_t version;      /* of RemoteDesktop */
    uint32_t cursor_modes; /* of ScreenCast */
};

/* ERR_UNSUPPORTED, with the reason: there is no bus, or no portal with what we need. */
int portalbus_open(const struct portalbus_listener *listener, void *data,
                   struct portalbus **out_bus, struct err *err);
void portalbus_free(struct portalbus *bus);

int portalbus_fd(struct portalbus *bus);
/* Takes what has come, without waiting. ERR_CONNECTION_LOST: the bus or the portal has gone. */
int portalbus_hear(struct portalbus *bus, struct err *err);

const struct portalbus_offer *portalbus_offer(const struct portalbus *bus);

/* The path is one that the portal makes for us: "request" or "session" of ours. */
bool portalbus_is_ours(const struct portalbus *bus, const char *kind, const char *path);

/* A call of the portal, to be filled and sent. NULL: no memory. */
sd_bus_message *portalbus_message(struct portalbus *bus, const char *path, const char *interface,
                                  const char *member);
/*
 * Sends it, whether it is complete (`filled` >= 0) or not, and lets it go; waits for the reply,
 * which has this signature. The reply may be NULL if nobody wants it.
 */
int portalbus_call(struct portalbus *bus, sd_bus_message *message, int filled, const char *type,
                   sd_bus_message **out_reply, struct err *err);

#endif
