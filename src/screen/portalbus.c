/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/portalbus.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "screen/sdbus.h"

#define NAME   "org.freedesktop.portal.Desktop"
#define DAEMON "org.freedesktop.DBus"

enum { NAME_BYTES = 256, CALL_USEC = PORTALBUS_WAIT_MS * 1000, MATCH_BYTES = 512 };

struct portalbus {
    sd_bus *bus;
    const struct portalbus_listener *listener;
    void *data;
    char owner[NAME_BYTES];  /* of the name: ":1.7" */
    char sender[NAME_BYTES]; /* we, as a part of paths: "1_9" */
    struct portalbus_offer offer;
    bool has_gone;
};

static void unref_message(sd_bus_message **message)
{
    (void)sdbus.sd_bus_message_unref(*message);
}
#define cleanup_message cleanup_with(unref_message)

static int lost(struct err *err)
{
    return err_set(err, ERR_CONNECTION_LOST, "the desktop portal has gone; try again");
}

static int unsuitable(struct err *err)
{
    return err_set(err, ERR_INVALID_ARGUMENT,
                   "the desktop portal's answer is not what its interface says");
}

/* ---- calls ---- */

static bool is_from(sd_bus_message *message, const char *sender)
{
    const char *from = sdbus.sd_bus_message_get_sender(message);

    return from != NULL && strcmp(from, sender) == 0;
}

static int send_call(struct portalbus *bus, sd_bus_message *message, const char *to,
                     const char *type, sd_bus_message **out_reply, struct err *err)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    cleanup_message sd_bus_message *reply = NULL;
    int r = sdbus.sd_bus_call(bus->bus, message, CALL_USEC, &error, &reply);
    const char *found;

    if (r == -ENOTCONN || r == -ECONNRESET || r == -EPIPE) {
        sdbus.sd_bus_error_free(&error);
        return lost(err);
    }
    if (r < 0) {
        (void)err_set(err, r == -ETIMEDOUT ? ERR_TIMED_OUT : ERR_IO,
                      r == -ETIMEDOUT ? "the desktop portal does not answer (%.100s)"
                                      : "the desktop portal refused (%.100s)",
                      error.name != NULL ? error.name : "no reason given");
        sdbus.sd_bus_error_free(&error);
        return r == -ETIMEDOUT ? ERR_TIMED_OUT : ERR_IO;
    }
    found = sdbus.sd_bus_message_get_signature(reply, 1);
    if (!is_from(reply, to) || found == NULL || strcmp(found, type) != 0)
        return unsuitable(err);
    if (out_reply != NULL)
        *out_reply = steal_ptr(&reply);
    return 0;
}

sd_bus_message *portalbus_message(struct portalbus *bus, const char *path, const char *interface,
                                  const char *member)
{
    sd_bus_message *message = NULL;

    (void)sdbus.sd_bus_message_new_method_call(bus->bus, &message, bus->owner, path, interface,
                                               member);
    return message;
}

int portalbus_call(struct portalbus *bus, sd_bus_message *message, int filled, const char *type,
                   sd_bus_message **out_reply, struct err *err)
{
    cleanup_message sd_bus_message *ours = message;

    if (ours == NULL || filled < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    return bus->has_gone ? lost(err) : send_call(bus, ours, bus->owner, type, out_reply, err);
}

/* ---- signals ---- */

static int hear_response(sd_bus_message *message, void *data, sd_bus_error *error)
{
    struct portalbus *bus = data;

    (void)error;
    if (is_from(message, bus->owner))
        bus->listener->on_response(bus->data, sdbus.sd_bus_message_get_path(message), message);
    return 0;
}

static int hear_closed(sd_bus_message *message, void *data, sd_bus_error *error)
{
    struct portalbus *bus = data;

    (void)error;
    if (is_from(message, bus->owner))
        bus->listener->on_closed(bus->data, sdbus.sd_bus_message_get_path(message));
    return 0;
}

static int hear_owner(sd_bus_message *message, void *data, sd_bus_error *error)
{
    struct portalbus *bus = data;

    (void)error;
    if (is_from(message, DAEMON))
        bus->has_gone = true;
    return 0;
}

static int listen_to_all(struct portalbus *bus, struct err *err)
{
    static const struct {
        const char *what;
        sd_bus_message_handler_t hear;
    } matches[] = {
        {"interface='org.freedesktop.portal.Request',member='Response'", hear_response},
        {"interface='org.freedesktop.portal.Session',member='Closed'", hear_closed},
        {"interface='" DAEMON "',member='NameOwnerChanged',arg0='" NAME "'", hear_owner},
    };

    for (size_t i = 0; i < array_size(matches); i++) {
        char match[MATCH_BYTES];

        snprintf(match, sizeof(match), "type='signal',sender='%s',%s",
                 matches[i].hear == hear_owner ? DAEMON : bus->owner, matches[i].what);
        if (sdbus.sd_bus_add_match(bus->bus, NULL, match, matches[i].hear, bus) < 0)
            return err_set(err, ERR_UNSUPPORTED, "the session bus does not let us listen");
    }
    return 0;
}

int portalbus_fd(struct portalbus *bus)
{
    return sdbus.sd_bus_get_fd(bus->bus);
}

int portalbus_hear(struct portalbus *bus, struct err *err)
{
    enum { MAX_MESSAGES = 256 }; /* who sends without end does not keep us here */
    int r = 1;

    for (int i = 0; i < MAX_MESSAGES && r > 0; i++)
        r = sdbus.sd_bus_process(bus->bus, NULL);
    return r < 0 || bus->has_gone ? lost(err) : 0;
}

/* ---- opening ---- */

static int connect_bus(struct portalbus *bus, struct err *err)
{
    int64_t end_ms = clock_monotonic_ms(&clock_system) + PORTALBUS_WAIT_MS;
    int r = sdbus.sd_bus_open_user(&bus->bus);

    if (r < 0)
        return err_set(err, ERR_UNSUPPORTED, "there is no session bus: is D-Bus running?");
    while (sdbus.sd_bus_is_ready(bus->bus) <= 0) {
        struct pollfd ready = {.fd = portalbus_fd(bus), .events = POLLIN};
        int64_t left_ms = end_ms - clock_monotonic_ms(&clock_system);

        r = sdbus.sd_bus_process(bus->bus, NULL);
        if (r < 0 || left_ms <= 0)
            return err_set(err, ERR_UNSUPPORTED, "the session bus does not answer");
        if (r == 0)
            (void)poll(&ready, 1, left_ms < 20 ? (int)left_ms : 20);
    }
    return 0;
}

/* The names of a call to the bus itself, whose reply is checked to be its own. */
static int ask_daemon(struct portalbus *bus, const char *member, bool has_flags, const char *type,
                      sd_bus_message **out_reply, struct err *err)
{
    cleanup_message sd_bus_message *message = NULL;

    if (sdbus.sd_bus_message_new_method_call(bus->bus, &message, DAEMON, "/org/freedesktop/DBus",
                                             DAEMON, member) < 0 ||
        sdbus.sd_bus_message_append(message, "s", NAME) < 0 ||
        (has_flags && sdbus.sd_bus_message_append(message, "u", 0) < 0))
        return err_set_plain(err, ERR_NO_MEMORY);
    return send_call(bus, message, DAEMON, type, out_reply, err);
}

static int find_owner(struct portalbus *bus, struct err *err)
{
    cleanup_message sd_bus_message *reply = NULL;
    const char *name = NULL;
    const char *own = NULL;
    int r;

    /* It may have to be started; if that fails, the second call says so, too. */
    (void)ask_daemon(bus, "StartServiceByName", true, "u", NULL, NULL);
    r = ask_daemon(bus, "GetNameOwner", false, "s", &reply, NULL);
    if (r < 0 || sdbus.sd_bus_message_read(reply, "s", &name) <= 0 || name[0] != ':' ||
        strlen(name) >= sizeof(bus->owner))
        return err_set(err, ERR_UNSUPPORTED, "no desktop portal is on the session bus");
    memcpy(bus->owner, name, strlen(name) + 1);
    if (sdbus.sd_bus_get_unique_name(bus->bus, &own) < 0 || own[0] != ':' ||
        strlen(own) > sizeof(bus->sender))
        return err_set(err, ERR_UNSUPPORTED, "the session bus gives us no name");
    snprintf(bus->sender, sizeof(bus->sender), "%s", own + 1);
    for (char *c = bus->sender; *c != '\0'; c++)
        *c = *c == '.' ? '_' : *c;
    return 0;
}

static int get_number(struct portalbus *bus, const char *interface, const char *name,
                      uint32_t *out_number)
{
    cleanup_message sd_bus_message *reply = NULL;
    sd_bus_message *message =
        portalbus_message(bus, PORTALBUS_DESKTOP, "org.freedesktop.DBus.Properties", "Get");
    int filled =
        message != NULL ? sdbus.sd_bus_message_append(message, "ss", interface, name) : -ENOMEM;
    int r = portalbus_call(bus, message, filled, "v", &reply, NULL);

    if (r == 0 && sdbus.sd_bus_message_read(reply, "v", "u", out_number) <= 0)
        r = ERR_INVALID_ARGUMENT;
    return r;
}

static int find_offer(struct portalbus *bus, struct err *err)
{
    enum { MONITORS = 1, KEYBOARD_AND_POINTER = 3 };
    uint32_t devices = 0;
    uint32_t sources = 0;

    if (get_number(bus, PORTALBUS_REMOTE, "version", &bus->offer.version) < 0 ||
        get_number(bus, PORTALBUS_REMOTE, "AvailableDeviceTypes", &devices) < 0 ||
        (devices & KEYBOARD_AND_POINTER) == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "the desktop portal does not offer RemoteDesktop with mouse and keyboard");
    if (get_number(bus, PORTALBUS_CAST, "AvailableSourceTypes", &sources) < 0 ||
        (sources & MONITORS) == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "the desktop portal does not offer ScreenCast of monitors");
    if (get_number(bus, PORTALBUS_CAST, "AvailableCursorModes", &bus->offer.cursor_modes) < 0)
        bus->offer.cursor_modes = 0; /* an old one */
    return 0;
}

int portalbus_open(const struct portalbus_listener *listener, void *data,
                   struct portalbus **out_bus, struct err *err)
{
    struct portalbus *bus;
    int r;

    if (!sdbus_load())
        return err_set(err, ERR_UNSUPPORTED, "%s cannot be loaded: is it installed?",
                       SDBUS_LIBRARY);
    bus = calloc(1, sizeof(*bus));
    if (bus == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    bus->listener = listener;
    bus->data = data;
    r = connect_bus(bus, err);
    if (r == 0)
        r = find_owner(bus, err);
    if (r == 0)
        r = find_offer(bus, err);
    if (r == 0)
        r = listen_to_all(bus, err);
    if (r < 0) {
        portalbus_free(bus);
        return r;
    }
    *out_bus = bus;
    return 0;
}

void portalbus_free(struct portalbus *bus)
{
    if (bus == NULL)
        return;
    (void)sdbus.sd_bus_close_unref(bus->bus);
    free(bus);
}

const struct portalbus_offer *portalbus_offer(const struct portalbus *bus)
{
    return &bus->offer;
}

bool portalbus_is_ours(const struct portalbus *bus, const char *kind, const char *path)
{
    char start[PORTALBUS_PATH_BYTES];
    int len = snprintf(start, sizeof(start), PORTALBUS_DESKTOP "/%s/%s/", kind, bus->sender);

    return len < (int)sizeof(start) && strncmp(path, start, (size_t)len) == 0 &&
           path[len] != '\0' && strlen(path) < PORTALBUS_PATH_BYTES;
}
