/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to a Wayland compositor by libwayland-client, which is loaded with the first one: a
 * process that uses another display does not pay for it. Objects are libwayland's proxies; requests
 * and events are numbers with arguments (waylandprotocol.h). No call waits longer than
 * WAYLANDCLIENT_WAIT_MS; after that the connection counts as lost.
 */
#ifndef SCREEN_WAYLANDCLIENT_H
#define SCREEN_WAYLANDCLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <wayland-util.h>

#include "base/err.h"

enum { WAYLANDCLIENT_WAIT_MS = 5000 };

struct wl_proxy;
struct waylandclient;

/* Who hears the events of an object. Must outlive it. */
struct waylandclient_listener {
    void (*on_event)(void *data, struct wl_proxy *from, uint32_t event, union wl_argument *args);
};

/* For $WAYLAND_DISPLAY. ERR_UNSUPPORTED, with the reason: there is none. */
int waylandclient_open(struct waylandclient **out_client, struct err *err);
void waylandclient_free(struct waylandclient *client);

struct wl_proxy *waylandclient_display(struct waylandclient *client);
/* Poll it for reading. */
int waylandclient_fd(struct waylandclient *client);

/* A request without a new object. */
void waylandclient_send(struct waylandclient *client, struct wl_proxy *on, uint32_t request,
                        union wl_argument *args);
/* A request that destroys the object. */
void waylandclient_send_last(struct waylandclient *client, struct wl_proxy *on, uint32_t request);
/*
 * A request that makes an object; its number among the arguments is left empty. NULL: the
 * connection is lost.
 */
struct wl_proxy *waylandclient_make(struct waylandclient *client, struct wl_proxy *on,
                                    uint32_t request, const struct wl_interface *makes,
                                    uint32_t version, union wl_argument *args);
void waylandclient_listen(struct waylandclient *client, struct wl_proxy *to,
                          const struct waylandclient_listener *listener, void *data);
/* Without a word to the compositor: the interface has no request for that. */
void waylandclient_forget(struct waylandclient *client, struct wl_proxy *proxy);

/* Hears events until *is_done. ERR_TIMED_OUT, ERR_CONNECTION_LOST. */
int waylandclient_wait(struct waylandclient *client, const bool *is_done, struct err *err);
/* Everything that was sent has been done, and what it caused was heard. */
int waylandclient_settle(struct waylandclient *client, struct err *err);
/* Hears what has come, and does not wait. */
int waylandclient_hear(struct waylandclient *client, struct err *err);

#endif
