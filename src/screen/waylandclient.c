/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/waylandclient.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <wayland-client-core.h>

#include "base/clock.h"
#include "base/library.h"
#include "screen/waylandprotocol.h"

#define LIBRARY "libwayland-client.so.0"

/* The functions of the library that we call, by name. */
#define FUNCTIONS(X)                                                                               \
    X(wl_display_connect)                                                                          \
    X(wl_display_disconnect)                                                                       \
    X(wl_display_get_fd)                                                                           \
    X(wl_display_flush)                                                                            \
    X(wl_display_prepare_read)                                                                     \
    X(wl_display_cancel_read)                                                                      \
    X(wl_display_read_events)                                                                      \
    X(wl_display_dispatch_pending)                                                                 \
    X(wl_proxy_marshal_array_flags)                                                                \
    X(wl_proxy_add_dispatcher)                                                                     \
    X(wl_proxy_get_user_data)                                                                      \
    X(wl_proxy_get_version)                                                                        \
    X(wl_proxy_destroy)                                                                            \
    X(wl_log_set_handler_client)

static struct {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
} library;

struct waylandclient {
    struct wl_display *display;
};

/* What libwayland would print: the errors that we return say it. */
static void say_nothing(const char *format, va_list args)
{
    (void)format;
    (void)args;
}

static bool load(void)
{
    if (!LIBRARY_FIND(dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), FUNCTIONS))
        return false;
    library.wl_log_set_handler_client(say_nothing);
    return true;
}

static int lost(struct err *err)
{
    return err_set(err, ERR_CONNECTION_LOST, "the Wayland compositor has closed the connection");
}

int waylandclient_open(struct waylandclient **out_client, struct err *err)
{
    const char *name = getenv("WAYLAND_DISPLAY");
    struct waylandclient *client;

    if (name == NULL || name[0] == '\0')
        return err_set(err, ERR_UNSUPPORTED, "WAYLAND_DISPLAY is not set");
    if (!load())
        return err_set(err, ERR_UNSUPPORTED, "%s cannot be loaded: is it installed?", LIBRARY);
    client = calloc(1, sizeof(*client));
    if (client == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    client->display = library.wl_display_connect(NULL);
    if (client->display == NULL) {
        free(client);
        return err_set(err, ERR_UNSUPPORTED, "there is no Wayland compositor at \"%.64s\"", name);
    }
    *out_client = client;
    return 0;
}

void waylandclient_free(struct waylandclient *client)
{
    if (client == NULL)
        return;
    library.wl_display_disconnect(client->display);
    free(client);
}

struct wl_proxy *waylandclient_display(struct waylandclient *client)
{
    /* SAFETY: libwayland's own headers cast so: a display is a proxy. */
    return (struct wl_proxy *)client->display;
}

int waylandclient_fd(struct waylandclient *client)
{
    return library.wl_display_get_fd(client->display);
}

void waylandclient_send(struct waylandclient *client, struct wl_proxy *on, uint32_t request,
                        union wl_argument *args)
{
    (void)client;
    (void)library.wl_proxy_marshal_array_flags(on, request, NULL, library.wl_proxy_get_version(on),
                                               0, args);
}

void waylandclient_send_last(struct waylandclient *client, struct wl_proxy *on, uint32_t request)
{
    union wl_argument none[1] = {{0}};

    (void)client;
    (void)library.wl_proxy_marshal_array_flags(on, request, NULL, library.wl_proxy_get_version(on),
                                               WL_MARSHAL_FLAG_DESTROY, none);
}

struct wl_proxy *waylandclient_make(struct waylandclient *client, struct wl_proxy *on,
                                    uint32_t request, const struct wl_interface *makes,
                                    uint32_t version, union wl_argument *args)
{
    (void)client;
    return library.wl_proxy_marshal_array_flags(on, request, makes, version, 0, args);
}

static int dispatch(const void *listener, void *proxy, uint32_t event,
                    const struct wl_message *message, union wl_argument *args)
{
    const struct waylandclient_listener *to = listener;

    (void)message;
    to->on_event(library.wl_proxy_get_user_data(proxy), proxy, event, args);
    return 0;
}

void waylandclient_listen(struct waylandclient *client, struct wl_proxy *to,
                          const struct waylandclient_listener *listener, void *data)
{
    (void)client;
    (void)library.wl_proxy_add_dispatcher(to, dispatch, listener, data);
}

void waylandclient_forget(struct waylandclient *client, struct wl_proxy *proxy)
{
    (void)client;
    library.wl_proxy_destroy(proxy);
}

/* Sends, waits at most so long for something to hear, and hears it. */
static int step(struct waylandclient *client, int timeout_ms, struct err *err)
{
    struct pollfd ready = {.fd = waylandclient_fd(client), .events = POLLIN};

    while (library.wl_display_prepare_read(client->display) != 0)
        if (library.wl_display_dispatch_pending(client->display) < 0)
            return lost(err);
    if (library.wl_display_flush(client->display) < 0)
        ready.events |= POLLOUT; /* the socket is full, or closed */
    if (poll(&ready, 1, timeout_ms) <= 0 || (ready.revents & (POLLIN | POLLHUP | POLLERR)) == 0)
        library.wl_display_cancel_read(client->display);
    else if (library.wl_display_read_events(client->display) < 0)
        return lost(err);
    return library.wl_display_dispatch_pending(client->display) < 0 ? lost(err) : 0;
}

int waylandclient_wait(struct waylandclient *client, const bool *is_done, struct err *err)
{
    int64_t end_ms = clock_monotonic_ms(&clock_system) + WAYLANDCLIENT_WAIT_MS;

    while (!*is_done) {
        int64_t left_ms = end_ms - clock_monotonic_ms(&clock_system);
        int r;

        if (left_ms <= 0)
            return err_set(err, ERR_TIMED_OUT, "the Wayland compositor does not answer");
        r = step(client, (int)left_ms, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static void set_flag(void *data, struct wl_proxy *from, uint32_t event, union wl_argument *args)
{
    (void)from;
    (void)event;
    (void)args;
    *(bool *)data = true;
}

int waylandclient_settle(struct waylandclient *client, struct err *err)
{
    static const struct waylandclient_listener listener = {set_flag};
    union wl_argument args[1] = {{0}};
    struct wl_proxy *callback = waylandclient_make(
        client, waylandclient_display(client), DISPLAY_SYNC, &waylandprotocol_callback, 1, args);
    bool is_done = false;
    int r;

    if (callback == NULL)
        return lost(err);
    waylandclient_listen(client, callback, &listener, &is_done);
    r = waylandclient_wait(client, &is_done, err);
    library.wl_proxy_destroy(callback);
    /* Its answer may come later, and the object is gone: nothing would be in order any more. */
    return r == ERR_TIMED_OUT
               ? err_set(err, ERR_CONNECTION_LOST, "the Wayland compositor does not answer")
               : r;
}

int waylandclient_hear(struct waylandclient *client, struct err *err)
{
    return step(client, 0, err);
}
