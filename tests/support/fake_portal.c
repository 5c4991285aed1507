/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A desktop portal without a desktop: it grants what is asked, notes all input, and shows monitors
 * of one colour by a real PipeWire. It takes a manner (how it misbehaves), the form of pixels, and
 * the monitors, each WIDTHxHEIGHT+X+Y@SCALE:RRGGBB. Commands on its input: "close" ends the
 * session, "answer" answers a question that was left open, "colour RRGGBB" paints anew.
 */
#include "fake_portal.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME   "org.freedesktop.portal.Desktop"
#define PATH   "/org/freedesktop/portal/desktop"
#define REMOTE "org.freedesktop.portal.RemoteDesktop"
#define CAST   "org.freedesktop.portal.ScreenCast"

enum { TEXT_BYTES = 256, HUGE = 200 };

static struct {
    sd_bus *bus;
    const char *manner;
    const char *pipewire; /* the path of its socket */
    char session[TEXT_BYTES];
    char client[TEXT_BYTES];
    char left_open[TEXT_BYTES]; /* the request that nobody answered yet */
    char token[TEXT_BYTES];
    int tokens;
} portal;

static bool is_manner(const char *manner)
{
    return strcmp(portal.manner, manner) == 0;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

static void expect(int r, const char *what)
{
    if (r >= 0)
        return;
    fprintf(stderr, "fake_portal: %s: %d\n", what, r);
    exit(1);
}

/* ---- requests ---- */

/* What a{sv} has for these names. */
struct asked {
    char handle[TEXT_BYTES];
    char session_handle[TEXT_BYTES];
    char token[TEXT_BYTES];
    uint32_t types;
    uint32_t persist;
    uint32_t cursor;
};

static void read_options(sd_bus_message *m, struct asked *out)
{
    const char *name;

    expect(sd_bus_message_enter_container(m, 'a', "{sv}"), "options");
    while (sd_bus_message_enter_container(m, 'e', "sv") > 0) {
        const char *text = NULL;
        uint32_t *number = NULL;
        char *to = NULL;

        expect(sd_bus_message_read(m, "s", &name), "a name");
        to = strcmp(name, "handle_token") == 0           ? out->handle
             : strcmp(name, "session_handle_token") == 0 ? out->session_handle
             : strcmp(name, "restore_token") == 0        ? out->token
                                                         : NULL;
        number = strcmp(name, "types") == 0          ? &out->types
                 : strcmp(name, "persist_mode") == 0 ? &out->persist
                 : strcmp(name, "cursor_mode") == 0  ? &out->cursor
                                                     : NULL;
        if (to != NULL) {
            expect(sd_bus_message_read(m, "v", "s", &text), "a text");
            snprintf(to, TEXT_BYTES, "%s", text);
        } else if (number != NULL) {
            expect(sd_bus_message_read(m, "v", "u", number), "a number");
        } else {
            expect(sd_bus_message_skip(m, "v"), "a value");
        }
        expect(sd_bus_message_exit_container(m), "an entry");
    }
    expect(sd_bus_message_exit_container(m), "options");
}

static void make_path(const char *kind, sd_bus_message *m, const char *token, char *out)
{
    const char *sender = sd_bus_message_get_sender(m);

    snprintf(out, TEXT_BYTES, PATH "/%s/%s/%s", kind, sender + 1, token);
    for (char *c = out; *c != '\0'; c++)
        *c = *c == '.' ? '_' : *c;
    snprintf(portal.client, sizeof(portal.client), "%s", sender);
}

static sd_bus_message *begin_response(const char *path, uint32_t end)
{
    sd_bus_message *m = NULL;

    expect(sd_bus_message_new_signal(portal.bus, &m, path, "org.freedesktop.portal.Request",
                                     "Response"),
           "a signal");
    expect(sd_bus_message_append(m, "u", end), "an end");
    return m;
}

static void send_response(sd_bus_message *m)
{
    expect(sd_bus_message_set_destination(m, portal.client), "whom to tell");
    expect(sd_bus_send(portal.bus, m, NULL), "to tell");
    sd_bus_message_unref(m);
}

static void respond(const char *path, uint32_t end)
{
    sd_bus_message *m = begin_response(path, end);

    expect(sd_bus_message_append(m, "a{sv}", 0), "results");
    send_response(m);
}

static int on_create(sd_bus_message *m, void *data, sd_bus_error *error)
{
    struct asked asked = {0};
    char request[TEXT_BYTES];
    sd_bus_message *response;

    (void)data;
    (void)error;
    read_options(m, &asked);
    make_path("request", m, asked.handle, request);
    make_path("session", m, asked.session_handle, portal.session);
    if (is_manner("foreign-request"))
        snprintf(request, sizeof(request), PATH "/request/1_9999/x");
    note("CreateSession");
    expect(sd_bus_reply_method_return(m, "o", request), "reply");
    if (is_manner("silent"))
        return 1;
    response = begin_response(request, 0);
    if (is_manner("wrong-type"))
        expect(sd_bus_message_append(response, "a{sv}", 1, "session_handle", "u", 7), "results");
    else if (is_manner("no-session"))
        expect(sd_bus_message_append(response, "a{sv}", 0), "results");
    else
        expect(sd_bus_message_append(response, "a{sv}", 1, "session_handle", "s",
                                     is_manner("foreign-session") ? PATH "/session/1_9999/x"
                                                                  : portal.session),
               "results");
    send_response(response);
    return 1;
}

static int on_select(sd_bus_message *m, void *data, sd_bus_error *error)
{
    struct asked asked = {0};
    char request[TEXT_BYTES];
    const char *session = NULL;

    (void)data;
    (void)error;
    expect(sd_bus_message_read(m, "o", &session), "a session");
    read_options(m, &asked);
    make_path("request", m, asked.handle, request);
    note("%s types=%u persist=%u cursor=%u token=%s%s", sd_bus_message_get_member(m), asked.types,
         asked.persist, asked.cursor, asked.token,
         strcmp(session, portal.session) == 0 ? "" : " of another session");
    if (strcmp(sd_bus_message_get_member(m), "SelectDevices") == 0)
        snprintf(portal.token, sizeof(portal.token), "%s", asked.token);
    expect(sd_bus_reply_method_return(m, "o", request), "reply");
    respond(request, 0);
    return 1;
}

static void append_stream(sd_bus_message *m, const struct fake_monitor *monitor)
{
    expect(sd_bus_message_open_container(m, 'r', "ua{sv}"), "a stream");
    expect(sd_bus_message_append(m, "u", fake_video_node(monitor)), "a node");
    if (is_manner("no-places"))
        expect(sd_bus_message_append(m, "a{sv}", 0), "nothing");
    else
        expect(sd_bus_message_append(m, "a{sv}", 3, "position", "(ii)", monitor->x, monitor->y,
                                     "size", "(ii)",
                                     is_manner("bad-size") ? -5 : monitor->width / monitor->scale,
                                     monitor->height / monitor->scale, "source_type", "u", 1),
               "a place");
    expect(sd_bus_message_close_container(m), "a stream");
}

static void grant(const char *request)
{
    sd_bus_message *m = begin_response(request, 0);
    uint32_t devices = is_manner("no-keyboard") ? 2 : 3;

    expect(sd_bus_message_open_container(m, 'a', "{sv}"), "results");
    snprintf(portal.token, sizeof(portal.token), "token-%d", ++portal.tokens);
    expect(sd_bus_message_append(m, "{sv}{sv}", "devices", "u", devices, "restore_token", "s",
                                 portal.token),
           "devices");
    expect(sd_bus_message_open_container(m, 'e', "sv"), "an entry");
    expect(sd_bus_message_append(m, "s", "streams"), "streams");
    expect(sd_bus_message_open_container(m, 'v', "a(ua{sv})"), "streams");
    expect(sd_bus_message_open_container(m, 'a', "(ua{sv})"), "streams");
    for (int i = 0; i < (is_manner("huge")         ? HUGE
                         : is_manner("no-streams") ? 0
                                                   : fake_video_count);
         i++)
        append_stream(m, &fake_monitors[i % fake_video_count]);
    for (int i = 0; i < 4; i++)
        expect(sd_bus_message_close_container(m), "streams");
    send_response(m);
}

/* Somebody else on the bus says yes: nobody may listen. */
static void forge(const char *request)
{
    sd_bus *other = NULL;
    sd_bus_message *m = NULL;

    expect(sd_bus_open_user(&other), "another connection");
    expect(
        sd_bus_message_new_signal(other, &m, request, "org.freedesktop.portal.Request", "Response"),
        "a signal");
    expect(sd_bus_message_append(m, "ua{sv}", 0, 1, "devices", "u", 3), "results");
    expect(sd_bus_message_set_destination(m, portal.client), "whom to tell");
    expect(sd_bus_send(other, m, NULL), "to tell");
    sd_bus_message_unref(m);
    sd_bus_flush_close_unref(other);
}

static int on_start(sd_bus_message *m, void *data, sd_bus_error *error)
{
    struct asked asked = {0};
    char request[TEXT_BYTES];
    const char *session = NULL;
    const char *parent = NULL;

    (void)data;
    (void)error;
    expect(sd_bus_message_read(m, "os", &session, &parent), "a session");
    read_options(m, &asked);
    make_path("request", m, asked.handle, request);
    note("Start%s", portal.token[0] != '\0' ? " again" : "");
    expect(sd_bus_reply_method_return(m, "o", request), "reply");
    if (is_manner("forged"))
        forge(request);
    if ((is_manner("asks-later") && portal.tokens > 0) || is_manner("forged"))
        snprintf(portal.left_open, sizeof(portal.left_open), "%s", request);
    else if (is_manner("refuses"))
        respond(request, 1);
    else
        grant(request);
    return 1;
}

static int on_open(sd_bus_message *m, void *data, sd_bus_error *error)
{
    int fd = fake_video_connect(portal.pipewire);
    int r;

    (void)data;
    (void)error;
    note("OpenPipeWireRemote");
    expect(fd, "PipeWire");
    r = sd_bus_reply_method_return(m, "h", fd);
    close(fd);
    return r;
}

static int on_notify(sd_bus_message *m, void *data, sd_bus_error *error)
{
    const char *member = sd_bus_message_get_member(m);
    const char *session = NULL;
    char own[TEXT_BYTES];
    struct asked asked = {0};
    int32_t code = 0;
    uint32_t number = 0;
    double x = 0;
    double y = 0;

    (void)data;
    expect(sd_bus_message_read(m, "o", &session), "a session");
    make_path("session", m, "", own);
    if (strncmp(session, own, strlen(own)) != 0)
        return sd_bus_error_set_const(error, "org.freedesktop.DBus.Error.AccessDenied", "no");
    read_options(m, &asked);
    if (strcmp(member, "NotifyPointerMotionAbsolute") == 0) {
        expect(sd_bus_message_read(m, "udd", &number, &x, &y), "a place");
        note("move %d %g %g", fake_video_index(number), x, y);
    } else if (strcmp(member, "NotifyPointerAxisDiscrete") == 0) {
        expect(sd_bus_message_read(m, "ui", &number, &code), "a wheel");
        note("wheel %u %d", number, code);
    } else {
        expect(sd_bus_message_read(m, "iu", &code, &number), "a key");
        note("%s %d %u", strcmp(member, "NotifyPointerButton") == 0 ? "button" : "key", code,
             number);
    }
    return sd_bus_reply_method_return(m, "");
}

/* A session or a request is closed by its path, which comes and goes. */
static int on_any(sd_bus_message *m, void *data, sd_bus_error *error)
{
    const char *path = sd_bus_message_get_path(m);

    (void)data;
    (void)error;
    if (path == NULL || !sd_bus_message_is_method_call(m, NULL, "Close"))
        return 0;
    note("Close %s", strstr(path, "/session/") != NULL ? "session" : "request");
    if (strcmp(path, portal.session) == 0)
        portal.session[0] = '\0';
    return sd_bus_reply_method_return(m, "");
}

/* ---- what it offers ---- */

static int get_number(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *data, sd_bus_error *error)
{
    uint32_t number = 2; /* versions */

    (void)bus;
    (void)path;
    (void)data;
    (void)error;
    if (strcmp(property, "AvailableDeviceTypes") == 0)
        number = is_manner("no-devices") ? 0 : 7;
    else if (strcmp(property, "AvailableSourceTypes") == 0)
        number = 3;
    else if (strcmp(property, "AvailableCursorModes") == 0)
        number = 7;
    else if (strcmp(interface, CAST) == 0)
        number = 4;
    return sd_bus_message_append(reply, "u", number);
}

static const sd_bus_vtable remote[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("version", "u", get_number, 0, 0),
    SD_BUS_PROPERTY("AvailableDeviceTypes", "u", get_number, 0, 0),
    SD_BUS_METHOD("CreateSession", "a{sv}", "o", on_create, 0),
    SD_BUS_METHOD("SelectDevices", "oa{sv}", "o", on_select, 0),
    SD_BUS_METHOD("Start", "osa{sv}", "o", on_start, 0),
    SD_BUS_METHOD("NotifyPointerMotionAbsolute", "oa{sv}udd", "", on_notify, 0),
    SD_BUS_METHOD("NotifyPointerButton", "oa{sv}iu", "", on_notify, 0),
    SD_BUS_METHOD("NotifyPointerAxisDiscrete", "oa{sv}ui", "", on_notify, 0),
    SD_BUS_METHOD("NotifyKeyboardKeysym", "oa{sv}iu", "", on_notify, 0),
    SD_BUS_VTABLE_END,
};

static const sd_bus_vtable cast[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("version", "u", get_number, 0, 0),
    SD_BUS_PROPERTY("AvailableSourceTypes", "u", get_number, 0, 0),
    SD_BUS_PROPERTY("AvailableCursorModes", "u", get_number, 0, 0),
    SD_BUS_METHOD("SelectSources", "oa{sv}", "o", on_select, 0),
    SD_BUS_METHOD("OpenPipeWireRemote", "oa{sv}", "h", on_open, 0),
    SD_BUS_VTABLE_END,
};

static void offer(void)
{
    expect(sd_bus_open_user(&portal.bus), "the bus");
    expect(sd_bus_add_filter(portal.bus, NULL, on_any, NULL), "a filter");
    if (!is_manner("no-remote"))
        expect(sd_bus_add_object_vtable(portal.bus, NULL, PATH, REMOTE, remote, NULL), REMOTE);
    expect(sd_bus_add_object_vtable(portal.bus, NULL, PATH, CAST, cast, NULL), CAST);
    expect(sd_bus_request_name(portal.bus, NAME, 0), NAME);
}

/* ---- commands ---- */

static void obey(const char *command)
{
    if (strcmp(command, "close") == 0) {
        expect(sd_bus_emit_signal(portal.bus, portal.session, "org.freedesktop.portal.Session",
                                  "Closed", NULL),
               "the end");
        portal.session[0] = '\0';
        note("closed");
    } else if (strcmp(command, "answer") == 0) {
        grant(portal.left_open);
        note("answered");
    } else if (strncmp(command, "colour ", 7) == 0) {
        fake_monitors[0].colour = (unsigned)strtoul(command + 7, NULL, 16);
        note("painted");
    }
}

/* False: there will be no more. */
static bool read_commands(void)
{
    static char line[TEXT_BYTES];
    static size_t len;
    ssize_t n = read(STDIN_FILENO, line + len, 1);

    if (n <= 0)
        return false;
    if (line[len] == '\n') {
        line[len] = '\0';
        len = 0;
        obey(line);
    } else if (len + 1 < sizeof(line)) {
        len++;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    portal.manner = argv[1];
    portal.pipewire = argv[2];
    fake_video_shrinks = is_manner("shrinks");
    if (!fake_video_start(portal.pipewire, argv[3], argv + 4, argc - 4))
        return 1;
    offer();
    note("ready");
    while (true) {
        struct pollfd ready[] = {
            {.fd = sd_bus_get_fd(portal.bus), .events = POLLIN},
            {.fd = fake_video_fd(), .events = POLLIN},
            {.fd = STDIN_FILENO, .events = POLLIN},
        };

        while (sd_bus_process(portal.bus, NULL) > 0)
            ;
        fake_video_hear();
        if (poll(ready, 3, 20) > 0 && ready[2].revents != 0 && !read_commands())
            return 0;
    }
}
