/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/portalsession.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "screen/pause.h"
#include "screen/portalbus.h"
#include "screen/portalresults.h"
#include "screen/portalvideo.h"
#include "screen/sdbus.h"

enum {
    ANSWER_MS = 15000,    /* how long a call waits for the user */
    QUESTION_MS = 120000, /* how long the question stays open */
    PICTURE_MS = 10000,   /* for the first one */
    LOOK_MS = 50,
    MONITORS = 1,
    CURSOR_IN_PICTURE = 2,
    UNTIL_REVOKED = 2,
    FIRST_VERSION_WITH_TOKENS = 2,
    HANDLE_BYTES = 32,
};

enum state { IDLE, ASKING, STARTED };

struct portalsession {
    struct screen_around around;
    struct portalbus *bus;
    struct portalvideo *video;
    int epoll_fd; /* of both */
    int token_fd; /* -1: it is not kept */
    enum state state;
    bool is_over; /* the desktop has ended it */
    unsigned handles;
    char request[PORTALBUS_PATH_BYTES]; /* the one that we wait for; "": none */
    bool has_answer;
    int answer_error;
    struct portalresults answer;
    char path[PORTALBUS_PATH_BYTES]; /* "": there is none */
    int64_t deadline_ms;             /* of the question */
    bool is_question_told;
};

static int64_t now_ms(void)
{
    return clock_monotonic_ms(&clock_system);
}

static void tell_question(struct portalsession *session, bool is_open)
{
    if (session->is_question_told == is_open)
        return;
    session->is_question_told = is_open;
    if (session->around.tell_question != NULL)
        session->around.tell_question(session->around.data, is_open);
}

/* ---- what the portal says ---- */

static void on_response(void *data, const char *path, sd_bus_message *message)
{
    struct portalsession *session = data;

    if (session->request[0] == '\0' || path == NULL || strcmp(path, session->request) != 0)
        return;
    session->request[0] = '\0';
    session->answer_error = portalresults_read(message, &session->answer, NULL);
    session->has_answer = true;
    tell_question(session, false);
}

static void on_closed(void *data, const char *path)
{
    struct portalsession *session = data;

    if (session->path[0] != '\0' && path != NULL && strcmp(path, session->path) == 0) {
        session->path[0] = '\0';
        session->is_over = true;
        tell_question(session, false);
    }
}

static int ended(struct err *err)
{
    return err_set(err, ERR_CONNECTION_LOST,
                   "the desktop has ended the sharing of the screen; the next call asks again");
}

static int hear(struct portalsession *session, struct err *err)
{
    int r = portalbus_hear(session->bus, err);

    portalvideo_hear(session->video);
    if (portalvideo_has_ended(session->video))
        session->is_over = true;
    return r;
}

/* Waits at most so long for something, and hears it. */
static int step(struct portalsession *session, int64_t end_ms, struct err *err)
{
    struct pollfd ready = {.fd = session->epoll_fd, .events = POLLIN};
    int64_t left_ms = end_ms - now_ms();
    int r = hear(session, err);

    if (r < 0)
        return r;
    if (session->is_over)
        return ended(err);
    if (left_ms <= 0)
        return err_set(err, ERR_TIMED_OUT, "the desktop portal does not answer");
    (void)poll(&ready, 1, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);
    return 0;
}

/* ---- requests ---- */

static void close_path(struct portalsession *session, char *path, const char *interface)
{
    sd_bus_message *message;

    if (path[0] == '\0')
        return;
    message = portalbus_message(session->bus, path, interface, "Close");
    path[0] = '\0';
    (void)portalbus_call(session->bus, message, 0, "", NULL, NULL);
}

static void close_session(struct portalsession *session)
{
    close_path(session, session->request, "org.freedesktop.portal.Request");
    close_path(session, session->path, "org.freedesktop.portal.Session");
    session->has_answer = false;
    session->state = IDLE;
    tell_question(session, false);
}

static const char *next_handle(struct portalsession *session, char out_handle[HANDLE_BYTES])
{
    snprintf(out_handle, HANDLE_BYTES, "gatehouse%d_%u", getpid(), session->handles++);
    return out_handle;
}

/* Sends what was filled; the answer comes later. */
static int send_request(struct portalsession *session, sd_bus_message *message, int filled,
                        struct err *err)
{
    sd_bus_message *reply = NULL;
    const char *path = NULL;
    int r = portalbus_call(session->bus, message, filled, "o", &reply, err);

    if (r < 0)
        return r;
    session->has_answer = false;
    if (sdbus.sd_bus_message_read(reply, "o", &path) <= 0 ||
        !portalbus_is_ours(session->bus, "request", path))
        r = err_set(err, ERR_INVALID_ARGUMENT, "the desktop portal answered another's request");
    else
        snprintf(session->request, sizeof(session->request), "%s", path);
    (void)sdbus.sd_bus_message_unref(reply);
    return r;
}

static int check_answer(struct portalsession *session, struct err *err)
{
    session->has_answer = false;
    if (session->answer_error < 0)
        return err_set(err, session->answer_error,
                       "the desktop portal's answer is not what its interface says");
    if (session->answer.end == PORTALRESULTS_REFUSED)
        return err_set(err, ERR_DENIED_BY_POLICY,
                       "the user refused to share the screen, in the desktop's own dialog");
    if (session->answer.end != PORTALRESULTS_DONE)
        return err_set(err, ERR_IO, "the desktop does not share the screen");
    return 0;
}

/* A request that nobody is asked about. */
static int do_request(struct portalsession *session, sd_bus_message *message, int filled,
                      struct err *err)
{
    int64_t end_ms = now_ms() + PORTALBUS_WAIT_MS;
    int r = send_request(session, message, filled, err);

    while (r == 0 && !session->has_answer)
        r = step(session, end_ms, err);
    return r == 0 ? check_answer(session, err) : r;
}

static int create(struct portalsession *session, struct err *err)
{
    char handles[2][HANDLE_BYTES];
    sd_bus_message *message =
        portalbus_message(session->bus, PORTALBUS_DESKTOP, PORTALBUS_REMOTE, "CreateSession");
    int filled = sdbus.sd_bus_message_append(
        message, "a{sv}", 2, "handle_token", "s", next_handle(session, handles[0]),
        "session_handle_token", "s", next_handle(session, handles[1]));
    int r = do_request(session, message, filled, err);

    if (r < 0)
        return r;
    if (!portalbus_is_ours(session->bus, "session", session->answer.session))
        return err_set(err, ERR_INVALID_ARGUMENT, "the desktop portal offers another's session");
    snprintf(session->path, sizeof(session->path), "%s", session->answer.session);
    return 0;
}

/* ---- the token, by which the user is asked once ---- */

static void load_token(const struct portalsession *session,
                       char out_token[PORTALRESULTS_TOKEN_BYTES])
{
    ssize_t len = session->token_fd >= 0
                      ? pread(session->token_fd, out_token, PORTALRESULTS_TOKEN_BYTES - 1, 0)
                      : 0;

    out_token[len > 0 ? len : 0] = '\0';
    for (const char *c = out_token; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~') {
            out_token[0] = '\0';
            return;
        }
}

/* It works once: the next session needs the one that this one got, or none. */
static void save_token(const struct portalsession *session)
{
    const char *token = session->answer.token;
    size_t len = strlen(token);

    if (session->token_fd >= 0 && pwrite(session->token_fd, token, len, 0) == (ssize_t)len)
        (void)!ftruncate(session->token_fd, (off_t)len);
}

static int select_devices(struct portalsession *session, struct err *err)
{
    char token[PORTALRESULTS_TOKEN_BYTES];
    char handle[HANDLE_BYTES];
    bool has_tokens = portalbus_offer(session->bus)->version >= FIRST_VERSION_WITH_TOKENS;
    sd_bus_message *message =
        portalbus_message(session->bus, PORTALBUS_DESKTOP, PORTALBUS_REMOTE, "SelectDevices");
    int filled = sdbus.sd_bus_message_append(message, "o", session->path);

    load_token(session, token);
    if (filled >= 0)
        filled = sdbus.sd_bus_message_open_container(message, 'a', "{sv}");
    if (filled >= 0)
        filled = sdbus.sd_bus_message_append(
            message, "{sv}{sv}", "handle_token", "s", next_handle(session, handle), "types", "u",
            (uint32_t)(PORTALSESSION_KEYBOARD | PORTALSESSION_POINTER));
    if (filled >= 0 && has_tokens)
        filled = sdbus.sd_bus_message_append(message, "{sv}", "persist_mode", "u",
                                             (uint32_t)UNTIL_REVOKED);
    if (filled >= 0 && has_tokens && token[0] != '\0')
        filled = sdbus.sd_bus_message_append(message, "{sv}", "restore_token", "s", token);
    if (filled >= 0)
        filled = sdbus.sd_bus_message_close_container(message);
    return do_request(session, message, filled, err);
}

static int select_sources(struct portalsession *session, struct err *err)
{
    char handle[HANDLE_BYTES];
    bool has_cursor = (portalbus_offer(session->bus)->cursor_modes & CURSOR_IN_PICTURE) != 0;
    sd_bus_message *message =
        portalbus_message(session->bus, PORTALBUS_DESKTOP, PORTALBUS_CAST, "SelectSources");
    int filled = sdbus.sd_bus_message_append(message, "o", session->path);

    if (filled >= 0)
        filled = sdbus.sd_bus_message_open_container(message, 'a', "{sv}");
    if (filled >= 0)
        filled = sdbus.sd_bus_message_append(message, "{sv}{sv}{sv}", "handle_token", "s",
                                             next_handle(session, handle), "types", "u",
                                             (uint32_t)MONITORS, "multiple", "b", 1);
    if (filled >= 0 && has_cursor)
        filled = sdbus.sd_bus_message_append(message, "{sv}", "cursor_mode", "u",
                                             (uint32_t)CURSOR_IN_PICTURE);
    if (filled >= 0)
        filled = sdbus.sd_bus_message_close_container(message);
    return do_request(session, message, filled, err);
}

/* ---- starting ---- */

static int ask_user(struct portalsession *session, struct err *err)
{
    char handle[HANDLE_BYTES];
    sd_bus_message *message;
    int filled;
    int r = screen_pause(0, err); /* after a stop nobody is asked any more */

    if (r == 0)
        r = create(session, err);
    if (r == 0)
        r = select_devices(session, err);
    if (r == 0)
        r = select_sources(session, err);
    if (r < 0)
        return r;
    message = portalbus_message(session->bus, PORTALBUS_DESKTOP, PORTALBUS_REMOTE, "Start");
    filled = sdbus.sd_bus_message_append(message, "osa{sv}", session->path, "", 1, "handle_token",
                                         "s", next_handle(session, handle));
    /* From here on an agent must not answer for the user. */
    tell_question(session, true);
    r = send_request(session, message, filled, err);
    if (r == 0) {
        session->state = ASKING;
        session->deadline_ms = now_ms() + QUESTION_MS;
    }
    return r;
}

static int wait_for_user(struct portalsession *session, struct err *err)
{
    int64_t end_ms = now_ms() + ANSWER_MS;
    int r = hear(session, err);

    while (r == 0 && !session->has_answer && !session->is_over && now_ms() < end_ms) {
        r = screen_pause(LOOK_MS, err); /* the user can also stop everything */
        if (r == 0)
            r = hear(session, err);
    }
    if (r < 0)
        return r;
    return session->is_over ? ended(err) : 0;
}

/* From left to right, and then from top to bottom. */
static int compare_places(const void *a, const void *b)
{
    const struct portalresults_stream *one = a;
    const struct portalresults_stream *other = b;

    if (one->area.x != other->area.x)
        return one->area.x - other->area.x;
    if (one->area.y != other->area.y)
        return one->area.y - other->area.y;
    return (one->node > other->node) - (one->node < other->node);
}

static int open_video(struct portalsession *session, struct err *err)
{
    const struct portalresults *answer = &session->answer;
    uint32_t nodes[SCREEN_MAX_MONITORS];
    sd_bus_message *reply = NULL;
    sd_bus_message *message =
        portalbus_message(session->bus, PORTALBUS_DESKTOP, PORTALBUS_CAST, "OpenPipeWireRemote");
    int filled = sdbus.sd_bus_message_append(message, "oa{sv}", session->path, 0);
    int r = portalbus_call(session->bus, message, filled, "h", &reply, err);
    int fd = -1;

    if (r < 0)
        return r;
    if (sdbus.sd_bus_message_read(reply, "h", &fd) > 0)
        fd = dup(fd); /* the message closes its own */
    (void)sdbus.sd_bus_message_unref(reply);
    if (fd < 0)
        return err_set(err, ERR_IO, "the desktop gives no connection to PipeWire");
    for (int i = 0; i < answer->stream_count; i++)
        nodes[i] = answer->streams[i].node;
    return portalvideo_connect(session->video, fd, nodes, answer->stream_count, err);
}

/* Where the portal does not say it: as large as the picture, at the right of the others. */
static int find_places(struct portalsession *session, struct err *err)
{
    int64_t end_ms = now_ms() + PICTURE_MS;
    int right = 0;
    int r = 0;

    for (int i = 0; i < session->answer.stream_count; i++) {
        struct portalresults_stream *stream = &session->answer.streams[i];
        int width = 0;
        int height = 0;

        while (r == 0 && !portalvideo_size(session->video, i, &width, &height))
            r = step(session, end_ms, err);
        if (r < 0)
            return r == ERR_TIMED_OUT ? err_set(err, r, "the desktop sends no picture") : r;
        if (!stream->has_size) {
            stream->area.width = width;
            stream->area.height = height;
        }
        if (!stream->has_position)
            stream->area.x = right;
        right = stream->area.x + stream->area.width > right ? stream->area.x + stream->area.width
                                                            : right;
    }
    return 0;
}

static int use_answer(struct portalsession *session, struct err *err)
{
    struct portalresults *answer = &session->answer;
    struct err why = ERR_INIT;
    int r = check_answer(session, err);

    if (r < 0)
        return r;
    save_token(session);
    if (answer->stream_count == 0)
        return err_set(err, ERR_ACCESS_MISSING, "the desktop shares no monitor");
    qsort(answer->streams, (size_t)answer->stream_count, sizeof(answer->streams[0]),
          compare_places);
    r = open_video(session, &why);
    if (r == 0)
        r = find_places(session, &why);
    /* The connection to PipeWire cannot be used again: the next call begins anew. */
    return r < 0 ? err_set(err, ERR_CONNECTION_LOST, "%.200s; try again", why.message) : 0;
}

int portalsession_start(struct portalsession *session, struct err *err)
{
    int r = 0;

    if (session->is_over)
        return ended(err);
    if (session->state == STARTED)
        return 0;
    if (session->state == IDLE)
        r = ask_user(session, err);
    if (r == 0)
        r = wait_for_user(session, err);
    if (r == 0 && !session->has_answer) /* the question stays open */
        return err_set(err, ERR_TIMED_OUT,
                       "the desktop asks whether the screen may be shared: answer there, and try "
                       "again");
    if (r == 0)
        r = use_answer(session, err);
    if (r < 0) {
        close_session(session);
        return r;
    }
    session->state = STARTED;
    return 0;
}

int portalsession_hear(struct portalsession *session, int *out_wait_ms, struct err *err)
{
    int r = hear(session, err);

    if (session->state != ASKING || session->has_answer)
        return r;
    if (now_ms() >= session->deadline_ms)
        close_session(session);
    else
        *out_wait_ms = (int)(session->deadline_ms - now_ms());
    return r;
}

/* ---- what is shown ---- */

int portalsession_count(const struct portalsession *session)
{
    return session->answer.stream_count;
}

struct screen_area portalsession_area(const struct portalsession *session, int index)
{
    return session->answer.streams[index].area;
}

uint32_t portalsession_node(const struct portalsession *session, int index)
{
    return session->answer.streams[index].node;
}

double portalsession_scale(const struct portalsession *session, int index)
{
    int width = 0;
    int height = 0;

    if (!portalvideo_size(session->video, index, &width, &height))
        return 1;
    return (double)width / session->answer.streams[index].area.width;
}

int portalsession_picture(struct portalsession *session, int index,
                          struct waylandpixels *out_pixels, struct err *err)
{
    int64_t end_ms = now_ms() + PICTURE_MS;
    int r = hear(session, err);

    if (r == 0 && session->is_over)
        r = ended(err);
    while (r == 0 && !portalvideo_picture(session->video, index, out_pixels))
        r = step(session, end_ms, err);
    return r == ERR_TIMED_OUT ? err_set(err, r, "the desktop sends no picture") : r;
}

/* ---- input ---- */

/* sd_bus_message_append() has no form that takes a list: a call has at most three values. */
static int append(sd_bus_message *message, const char *type, va_list args)
{
    int r = 0;

    for (const char *c = type; *c != '\0' && r >= 0; c++) {
        const char one[2] = {*c, '\0'};

        if (*c == 'd') {
            double place = va_arg(args, double);

            r = sdbus.sd_bus_message_append(message, one, place);
        } else {
            uint32_t number = va_arg(args, uint32_t);

            r = sdbus.sd_bus_message_append(message, one, number);
        }
    }
    return r;
}

int portalsession_notify(struct portalsession *session, uint32_t device, const char *member,
                         struct err *err, const char *type, ...)
{
    sd_bus_message *message;
    va_list args;
    int filled;

    if (session->is_over || session->state != STARTED)
        return ended(err);
    if ((session->answer.devices & device) == 0)
        return err_set(err, ERR_ACCESS_MISSING, "the user shares the screen without the %s",
                       device == PORTALSESSION_KEYBOARD ? "keyboard" : "mouse");
    message = portalbus_message(session->bus, PORTALBUS_DESKTOP, PORTALBUS_REMOTE, member);
    filled = sdbus.sd_bus_message_append(message, "oa{sv}", session->path, 0);
    va_start(args, type);
    if (filled >= 0)
        filled = append(message, type, args);
    va_end(args);
    return portalbus_call(session->bus, message, filled, "", NULL, err);
}

/* ---- opening ---- */

static const struct portalbus_listener listener = {on_response, on_closed};

static int open_all(struct portalsession *session, struct err *err)
{
    int r = portalbus_open(&listener, session, &session->bus, err);
    struct epoll_event event = {.events = EPOLLIN};

    if (r == 0)
        r = portalvideo_new(&session->video, err);
    if (r < 0)
        return r;
    session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (session->epoll_fd < 0 ||
        epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, portalbus_fd(session->bus), &event) < 0 ||
        epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, portalvideo_fd(session->video), &event) < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (session->around.open_token != NULL)
        session->token_fd = session->around.open_token(session->around.data);
    return 0;
}

int portalsession_new(const struct screen_around *around, struct portalsession **out_session,
                      struct err *err)
{
    struct portalsession *session = calloc(1, sizeof(*session));
    int r;

    if (session == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    session->around = *around;
    session->epoll_fd = -1;
    session->token_fd = -1;
    r = open_all(session, err);
    if (r < 0) {
        portalsession_free(session);
        return r;
    }
    *out_session = session;
    return 0;
}

void portalsession_free(struct portalsession *session)
{
    if (session == NULL)
        return;
    if (session->bus != NULL)
        close_session(session);
    portalvideo_free(session->video);
    portalbus_free(session->bus);
    if (session->epoll_fd >= 0)
        close(session->epoll_fd);
    if (session->token_fd >= 0)
        close(session->token_fd);
    free(session);
}

int portalsession_fd(struct portalsession *session)
{
    return session->epoll_fd;
}
