/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/host.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "screen/keys.h"
#include "screen/pause.h"

enum {
    KEPT_IMAGES = 16,
    REST_MS = 1000, /* without a request, before borrowed keys are given back */
    IDLE_MS = 1 << 30,
    DRAG_STEP_PIXELS = 12,
    DRAG_STEP_MS = 4,
    DRAG_MAX_STEPS = 60,
    DRAG_HOLD_MS = 40, /* before the first step and after the last: toolkits want a moment */
    MAX_BUTTON = 3,
    SCROLL_BUTTON = 4, /* up; then down, left, right */
    MAX_CLICKS = 3,
    MAX_HOLD_MS = 10000,
    KNOWN_MS = 1000, /* before a picture is compared again though nothing was drawn */
};

/* An image that was handed out: what it shows, and its size. */
struct shown {
    uint32_t number;
    struct screen_area area;
    int width;
    int height;
};

/* The last look. */
struct looked {
    struct screen_request request;
    uint32_t last; /* image */
    uint64_t fingerprint;
    int64_t at_ms; /* 0: there is none */
};

struct screen_host {
    struct screen *screen;
    struct looked looked;
    struct shown shown[KEPT_IMAGES];
    uint32_t last; /* number of the last image */
    struct screen_host_stop stop;
    int front_fd; /* whose request is being done; -1: nobody's */
};

/* ---- what the display sends ---- */

static void stop_input(struct screen_host *host)
{
    if (host->stop.held->is_stopped)
        return;
    host->stop.held->is_stopped = true;
    host->screen->ops->release_all(host->screen);
    if (host->stop.on_stop != NULL)
        host->stop.on_stop(host->stop.data);
}

/* What the display has sent. *inout_wait_ms becomes shorter if it has to be looked at earlier. */
static int take_events(struct screen_host *host, int *inout_wait_ms, struct err *err)
{
    bool is_stopped = false;
    int wait_ms = -1;
    int r = host->screen->ops->events(host->screen, &is_stopped, &wait_ms, err);

    if (is_stopped)
        stop_input(host);
    if (wait_ms >= 0 && wait_ms < *inout_wait_ms)
        *inout_wait_ms = wait_ms;
    return r;
}

/* ---- coordinates ---- */

static const struct shown *find_shown(const struct screen_host *host, uint32_t number)
{
    const struct shown *shown = &host->shown[number % KEPT_IMAGES];

    return number > 0 && shown->number == number ? shown : NULL;
}

static int find_monitor(const struct screen_host *host, int number, struct screen_area *out_area,
                        struct err *err)
{
    struct screen_monitor monitors[SCREEN_MAX_MONITORS];
    int count = 0;
    int r = host->screen->ops->monitors(host->screen, monitors, &count, err);

    if (r < 0)
        return r;
    if (number < 0 || number > count)
        return err_set(err, ERR_INVALID_ARGUMENT, "there is no monitor %d; there %s %d", number,
                       count == 1 ? "is" : "are", count);
    for (int i = 0; i < count; i++)
        if (number == 0 ? monitors[i].is_primary : i + 1 == number)
            *out_area = monitors[i].area;
    return 0;
}

static int find_screen(const struct screen_host *host, struct screen_area *out_area,
                       struct err *err)
{
    struct screen_monitor monitors[SCREEN_MAX_MONITORS];
    int count = 0;
    int r = host->screen->ops->monitors(host->screen, monitors, &count, err);
    int right = 0;
    int bottom = 0;

    for (int i = 0; i < count && r == 0; i++) {
        const struct screen_area *area = &monitors[i].area;

        right = area->x + area->width > right ? area->x + area->width : right;
        bottom = area->y + area->height > bottom ? area->y + area->height : bottom;
    }
    *out_area = (struct screen_area){.width = right, .height = bottom};
    return r;
}

/* What the request's coordinates count: the pixels of an image with this size, of this area. */
static int find_space(const struct screen_host *host, const struct screen_request *request,
                      struct shown *out_space, struct err *err)
{
    const struct shown *shown = find_shown(host, request->image != 0 ? request->image : host->last);
    bool has_size = request->image_width > 0 && request->image_height > 0;
    int r;

    if (request->image != 0 && shown == NULL)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "image s%u is not known any more: take another screenshot", request->image);
    if (shown != NULL &&
        (request->image != 0 || !has_size ||
         (shown->width == request->image_width && shown->height == request->image_height))) {
        *out_space = *shown;
        return 0;
    }
    *out_space = (struct shown){.width = request->image_width, .height = request->image_height};
    r = has_size ? find_monitor(host, 0, &out_space->area, err)
                 : find_screen(host, &out_space->area, err);
    if (!has_size) {
        out_space->width = out_space->area.width;
        out_space->height = out_space->area.height;
    }
    return r;
}

static int scale(int at, int from, int to)
{
    int64_t scaled = ((int64_t)at * to * 2 + from) / (2 * (int64_t)from);

    return scaled >= to ? to - 1 : (int)scaled;
}

static int map_point(const struct shown *space, int x, int y, int *out_x, int *out_y,
                     struct err *err)
{
    if (x < 0 || y < 0 || x >= space->width || y >= space->height)
        return space->number != 0
                   ? err_set(err, ERR_INVALID_ARGUMENT,
                             "(%d, %d) is outside of image s%u, which has %d x %d pixels: if "
                             "another image was meant, name it with image",
                             x, y, space->number, space->width, space->height)
                   : err_set(err, ERR_INVALID_ARGUMENT,
                             "(%d, %d) is outside of the screen, which has %d x %d pixels", x, y,
                             space->width, space->height);
    *out_x = space->area.x + scale(x, space->width, space->area.width);
    *out_y = space->area.y + scale(y, space->height, space->area.height);
    return 0;
}

/* An image may show what is not there any more, and monitors may leave gaps. */
static int check_place(const struct screen_host *host, int x, int y, struct err *err)
{
    struct screen_monitor monitors[SCREEN_MAX_MONITORS];
    int count = 0;
    int r = host->screen->ops->monitors(host->screen, monitors, &count, err);

    if (r < 0)
        return r;
    for (int i = 0; i < count; i++) {
        const struct screen_area *area = &monitors[i].area;

        if (x >= area->x && y >= area->y && x < area->x + area->width && y < area->y + area->height)
            return 0;
    }
    return err_set(err, ERR_INVALID_ARGUMENT,
                   "no monitor is there, at (%d, %d) of the screen: take another screenshot", x, y);
}

static int find_point(const struct screen_host *host, const struct shown *space, int x, int y,
                      int out_point[2], struct err *err)
{
    int r = map_point(space, x, y, &out_point[0], &out_point[1], err);

    return r == 0 ? check_place(host, out_point[0], out_point[1], err) : r;
}

/* ---- pictures ---- */

static int clamp(int64_t value, int low, int high)
{
    return value < low ? low : value > high ? high : (int)value;
}

/* The part of the region that is on the image it is about, in pixels of the screen. */
static int find_region(const struct screen_host *host, const struct screen_request *request,
                       struct screen_area *out_area, struct err *err)
{
    struct shown space = {0};
    int r = find_space(host, request, &space, err);
    int left;
    int top;
    int right;
    int bottom;

    if (r < 0)
        return r;
    left = clamp(request->x, 0, space.width);
    top = clamp(request->y, 0, space.height);
    right = clamp((int64_t)request->x + request->width, 0, space.width);
    bottom = clamp((int64_t)request->y + request->height, 0, space.height);
    if (request->width <= 0 || request->height <= 0 || left >= right || top >= bottom)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "the region is empty or outside of the %s, which has %d x %d pixels",
                       space.number != 0 ? "last image" : "screen", space.width, space.height);
    left = space.area.x + (int)((int64_t)left * space.area.width / space.width);
    top = space.area.y + (int)((int64_t)top * space.area.height / space.height);
    right =
        space.area.x + (int)(((int64_t)right * space.area.width + space.width - 1) / space.width);
    bottom = space.area.y +
             (int)(((int64_t)bottom * space.area.height + space.height - 1) / space.height);
    *out_area = (struct screen_area){left, top, right - left, bottom - top};
    return 0;
}

static int find_area(const struct screen_host *host, const struct screen_request *request,
                     struct screen_area *out_area, struct err *err)
{
    if (request->width != 0 || request->height != 0)
        return find_region(host, request, out_area, err);
    return find_monitor(host, request->monitor, out_area, err);
}

/* Once more if it fails: the screen may have got another size in between. */
static int grab_area(const struct screen_host *host, const struct screen_request *request,
                     struct screen_area *out_area, struct image *out_image, struct err *err)
{
    int r = ERR_IO;

    for (int tries = 0; tries < 2 && r == ERR_IO; tries++) {
        r = find_area(host, request, out_area, err);
        if (r == 0)
            r = host->screen->ops->grab(host->screen, out_area, request->has_cursor != 0, out_image,
                                        err);
    }
    return r;
}

static int grab(struct screen_host *host, const struct screen_request *request,
                struct screen_reply *out_reply, struct buf *out_image, struct err *err)
{
    struct screen_area area = {0};
    struct image image = {0};
    struct shown shown;
    int r = grab_area(host, request, &area, &image, err);

    if (r < 0)
        return r;
    shown = (struct shown){.number = host->last + 1, .area = area};
    image_fit(image.width, image.height, request->max_side, &shown.width, &shown.height);
    r = image_encode(&image, shown.width, shown.height, (enum screen_format)request->format,
                     out_image, err);
    if (r < 0)
        return r;
    host->last = shown.number;
    host->shown[shown.number % KEPT_IMAGES] = shown;
    out_reply->image = shown.number;
    out_reply->width = shown.width;
    out_reply->height = shown.height;
    return 0;
}

/* The same place as last time, not long ago: not every program that draws says so. */
static bool is_known(const struct screen_host *host, const struct screen_request *request)
{
    const struct looked *looked = &host->looked;

    return looked->at_ms != 0 && looked->last == host->last && request->has_cursor == 0 &&
           memcmp(&looked->request, request, sizeof(*request)) == 0 &&
           clock_monotonic_ms(&clock_system) - looked->at_ms < KNOWN_MS;
}

/* Waits until the display says that something was drawn, or so long. Returns 1 or 0. */
static int wait_for_change(struct screen_host *host, unsigned ms, struct err *err)
{
    int64_t end_ms = clock_monotonic_ms(&clock_system) + ms;

    while (true) {
        int64_t left_ms = end_ms - clock_monotonic_ms(&clock_system);
        int wait_ms = left_ms > 0 ? (int)left_ms : 0;
        struct pollfd ready = {
            .fd = host->screen->ops->descriptor(host->screen),
            .events = POLLIN,
        };
        int r = take_events(host, &wait_ms, err);

        if (r < 0)
            return r;
        if (host->screen->ops->has_changed(host->screen))
            return 1;
        if (left_ms <= 0)
            return 0;
        (void)poll(&ready, 1, wait_ms);
    }
}

static int look(struct screen_host *host, const struct screen_request *request,
                struct screen_reply *out_reply, struct err *err)
{
    struct screen_area area = {0};
    struct image image = {0};
    int r = 1;

    if (host->screen->ops->has_changed != NULL)
        r = wait_for_change(host, is_known(host, request) ? request->ms : 0, err);
    if (r == 0 && is_known(host, request)) {
        out_reply->fingerprint = host->looked.fingerprint;
        out_reply->is_same = 1;
        return 0;
    }
    host->looked.at_ms = 0;
    if (r >= 0)
        r = grab_area(host, request, &area, &image, err);
    if (r < 0)
        return r;
    out_reply->fingerprint = image_fingerprint(&image);
    host->looked = (struct looked){
        .request = *request,
        .last = host->last,
        .fingerprint = out_reply->fingerprint,
        .at_ms = clock_monotonic_ms(&clock_system),
    };
    return 0;
}

/* ---- what there is ---- */

/* 1, 1.5, 1.25 */
static void put_scale(struct json_writer *json, double scale)
{
    char text[16];

    snprintf(text, sizeof(text), "%.3g", scale > 0 ? scale : 1);
    json_key(json, STR("scale"));
    json_splice(json, str_from(text));
}

static int write_info(struct screen_host *host, struct buf *out_text, struct err *err)
{
    struct screen_monitor monitors[SCREEN_MAX_MONITORS];
    struct json_writer json;
    int count = 0;
    int x = 0;
    int y = 0;
    int r = host->screen->ops->monitors(host->screen, monitors, &count, err);
    int pointed = r == 0 ? host->screen->ops->pointer(host->screen, &x, &y, err) : r;

    if (pointed < 0 && pointed != ERR_NOT_FOUND)
        return pointed;
    json_writer_init(&json, out_text);
    json_begin_object(&json);
    json_put_str(&json, STR("backend"), str_from(host->screen->ops->name));
    json_key(&json, STR("monitors"));
    json_begin_array(&json);
    for (int i = 0; i < count; i++) {
        json_begin_object(&json);
        json_put_int(&json, STR("monitor"), i + 1);
        json_put_str_lossy(&json, STR("name"), str_from(monitors[i].name));
        json_put_int(&json, STR("x"), monitors[i].area.x);
        json_put_int(&json, STR("y"), monitors[i].area.y);
        json_put_int(&json, STR("width"), monitors[i].area.width);
        json_put_int(&json, STR("height"), monitors[i].area.height);
        json_put_bool(&json, STR("primary"), monitors[i].is_primary);
        put_scale(&json, monitors[i].scale);
        json_end_object(&json);
    }
    json_end_array(&json);
    if (pointed == 0) {
        json_key(&json, STR("pointer"));
        json_begin_object(&json);
        json_put_int(&json, STR("x"), x);
        json_put_int(&json, STR("y"), y);
        json_end_object(&json);
    }
    json_end_object(&json);
    r = json_writer_finish(&json);
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int check_start(struct screen_host *host, struct err *err)
{
    struct screen_monitor monitors[SCREEN_MAX_MONITORS];
    int count = 0;

    return host->screen->ops->asks_first
               ? 0
               : host->screen->ops->monitors(host->screen, monitors, &count, err);
}

static int write_windows(struct screen_host *host, struct buf *out_text, struct err *err)
{
    struct json_writer json;
    int r;
    int written;

    json_writer_init(&json, out_text);
    json_begin_object(&json);
    json_key(&json, STR("windows"));
    json_begin_array(&json);
    r = host->screen->ops->windows(host->screen, &json, err);
    json_end_array(&json);
    json_end_object(&json);
    written = json_writer_finish(&json);
    return r < 0 ? r : written < 0 ? err_set_plain(err, written) : 0;
}

/* ---- mouse ---- */

static int click(struct screen_host *host, const struct screen_request *request, struct err *err)
{
    const struct screen_ops *ops = host->screen->ops;
    int r = 0;

    for (uint32_t i = 0; i < request->count && r == 0; i++) {
        r = ops->button(host->screen, request->button, true, err);
        if (r == 0)
            r = ops->button(host->screen, request->button, false, err);
    }
    return r;
}

static int steps_between(int from_x, int from_y, int to_x, int to_y)
{
    int longer = abs(to_x - from_x) > abs(to_y - from_y) ? abs(to_x - from_x) : abs(to_y - from_y);

    return clamp(longer / DRAG_STEP_PIXELS, 4, DRAG_MAX_STEPS);
}

static int drag(struct screen_host *host, const struct screen_request *request, struct err *err)
{
    const struct screen_ops *ops = host->screen->ops;
    struct shown space = {0};
    int from[2];
    int to[2];
    int steps;
    int released;
    int r = find_space(host, request, &space, err);

    if (r == 0)
        r = find_point(host, &space, request->x, request->y, from, err);
    if (r == 0)
        r = find_point(host, &space, request->to_x, request->to_y, to, err);
    if (r == 0)
        r = ops->move(host->screen, from[0], from[1], err);
    if (r == 0)
        r = ops->button(host->screen, request->button, true, err);
    if (r < 0)
        return r;
    r = screen_pause(DRAG_HOLD_MS, err);
    steps = steps_between(from[0], from[1], to[0], to[1]);
    for (int i = 1; i <= steps && r == 0; i++) {
        r = ops->move(host->screen, from[0] + (to[0] - from[0]) * i / steps,
                      from[1] + (to[1] - from[1]) * i / steps, err);
        if (r == 0)
            r = screen_pause(i < steps ? DRAG_STEP_MS : DRAG_HOLD_MS, err);
    }
    released = ops->button(host->screen, request->button, false, r == 0 ? err : NULL);
    return r < 0 ? r : released;
}

static int scroll(struct screen_host *host, const struct screen_request *request, struct err *err)
{
    struct screen_request clicks = *request;

    clicks.button = SCROLL_BUTTON + request->direction;
    return click(host, &clicks, err);
}

static int use_mouse(struct screen_host *host, const struct screen_request *request,
                     struct err *err)
{
    struct shown space = {0};
    int point[2];
    int r = find_space(host, request, &space, err);

    if (r == 0)
        r = find_point(host, &space, request->x, request->y, point, err);
    if (r == 0)
        r = host->screen->ops->move(host->screen, point[0], point[1], err);
    if (r < 0)
        return r;
    switch (request->action) {
    case SCREEN_CLICK:
        return click(host, request, err);
    case SCREEN_BUTTON:
        return host->screen->ops->button(host->screen, request->button, request->is_down != 0, err);
    case SCREEN_SCROLL:
        return scroll(host, request, err);
    default:
        return 0;
    }
}

/* ---- keyboard ---- */

static int press(struct screen_host *host, const struct screen_request *request, struct str text,
                 struct err *err)
{
    uint32_t symbols[SCREEN_MAX_KEYS];
    struct str name;
    int count = 0;

    while (str_cut(&text, '\n', &name)) {
        uint32_t symbol = keys_symbol(name);

        if (symbol == 0)
            return err_set(err, ERR_INVALID_ARGUMENT,
                           "there is no key \"%.*s\": use a character, or a name such as enter, "
                           "tab, escape, ctrl, alt, shift, f5 or pagedown",
                           (int)(name.len < 40 ? name.len : 40), name.ptr);
        if (count == SCREEN_MAX_KEYS)
            return err_set(err, ERR_INVALID_ARGUMENT, "at most %d keys can be pressed at once",
                           SCREEN_MAX_KEYS);
        symbols[count++] = symbol;
    }
    return host->screen->ops->press(host->screen, symbols, count, request->ms, err);
}

/* ---- requests ---- */

static bool is_sound(const struct screen_request *request, struct str text)
{
    return request->action < SCREEN_ACTIONS && request->format < SCREEN_FORMATS &&
           request->direction < SCREEN_DIRECTIONS && request->button >= 1 &&
           request->button <= MAX_BUTTON && request->max_side >= 0 &&
           request->max_side <= SCREEN_MAX_SIDE && request->ms <= MAX_HOLD_MS &&
           request->count <=
               (request->action == SCREEN_SCROLL ? (uint32_t)SCREEN_MAX_SCROLL : MAX_CLICKS) &&
           utf8_is_valid(text);
}

static bool is_input(uint32_t action)
{
    return action >= SCREEN_MOVE;
}

static int say_stopped(struct err *err)
{
    return err_set(err, ERR_GRANT_REVOKED,
                   "the user has stopped mouse and keyboard: there is no more input in this "
                   "session. Ask the user, and go on in a new session");
}

int screen_host_do(struct screen_host *host, const struct screen_request *request, struct str text,
                   struct screen_reply *out_reply, struct buf *out_text, struct buf *out_image,
                   struct err *err)
{
    if (!is_sound(request, text))
        return err_set(err, ERR_INVALID_ARGUMENT, "invalid request to the screen");
    if (is_input(request->action) && host->stop.held->is_stopped)
        return say_stopped(err);
    switch ((enum screen_action)request->action) {
    case SCREEN_START:
        return check_start(host, err);
    case SCREEN_INFO:
        return write_info(host, out_text, err);
    case SCREEN_WINDOWS:
        return write_windows(host, out_text, err);
    case SCREEN_GRAB:
        return grab(host, request, out_reply, out_image, err);
    case SCREEN_LOOK:
        return look(host, request, out_reply, err);
    case SCREEN_MOVE:
    case SCREEN_CLICK:
    case SCREEN_BUTTON:
    case SCREEN_SCROLL:
        return use_mouse(host, request, err);
    case SCREEN_DRAG:
        return drag(host, request, err);
    case SCREEN_TYPE:
        return host->screen->ops->type(host->screen, text, err);
    case SCREEN_PRESS:
    case SCREEN_HOLD:
        return press(host, request, text, err);
    case SCREEN_ACTIONS:
        break;
    }
    return err_set_plain(err, ERR_INVALID_ARGUMENT);
}

static int read_request(int fd, struct screen_request *out_request, struct buf *out_text)
{
    int r = screen_wire_read(fd, out_request, sizeof(*out_request), 0);

    buf_clear(out_text);
    if (r < 0)
        return r;
    if (out_request->text_len > SCREEN_MAX_TEXT)
        return ERR_TOO_LARGE;
    r = buf_reserve(out_text, out_request->text_len);
    if (r == 0 && out_request->text_len > 0)
        r = screen_wire_read(fd, out_text->data, out_request->text_len, 0);
    out_text->len = r == 0 ? out_request->text_len : 0;
    return r;
}

static int send_reply(int fd, struct screen_reply *reply, struct str text, struct str image)
{
    int r;

    reply->text_len = (uint32_t)text.len;
    reply->image_len = (uint32_t)image.len;
    r = screen_wire_write(fd, reply, sizeof(*reply), 0);
    if (r == 0)
        r = screen_wire_write(fd, text.ptr, text.len, 0);
    return r == 0 ? screen_wire_write(fd, image.ptr, image.len, 0) : r;
}

int screen_host_refuse(int fd, const struct err *why)
{
    cleanup_buf struct buf text = BUF_INIT(SCREEN_MAX_TEXT);
    struct screen_reply reply = {.error = why->code};
    struct screen_request request;
    int r = read_request(fd, &request, &text);

    return r == 0 ? send_reply(fd, &reply, str_from(why->message), STR_EMPTY) : r;
}

int screen_host_go_on(struct screen_held *held, int fd)
{
    struct screen_reply reply = {.error = ERR_CONNECTION_LOST};
    enum screen_exchange exchange = held->exchange;

    held->exchange = SCREEN_BETWEEN;
    switch (exchange) {
    case SCREEN_BETWEEN:
        return 0;
    case SCREEN_AT_WORK:
        return send_reply(fd, &reply,
                          STR("the process with the display has ended; what was asked for may be "
                              "done in part: look, and try again"),
                          STR_EMPTY);
    case SCREEN_IN_REQUEST:
    case SCREEN_IN_REPLY:
        break;
    }
    return ERR_CONNECTION_LOST;
}

/* ---- waiting, with an eye on the display and on the user ---- */

/*
 * Waits for these events of the descriptor (-1: none), or so long. Returns 1 if they have come, 0
 * if the time is over.
 */
static int watch(struct screen_host *host, int fd, short events, unsigned ms, struct err *err)
{
    int64_t end_ms = clock_monotonic_ms(&clock_system) + ms;

    while (true) {
        int64_t left_ms = end_ms - clock_monotonic_ms(&clock_system);
        int wait_ms = left_ms > 0 ? (int)left_ms : 0;
        struct pollfd ready[] = {
            {.fd = fd, .events = events},
            {.fd = host->screen->ops->descriptor(host->screen), .events = POLLIN},
            {.fd = host->stop.fd, .events = POLLIN},
        };
        int r = take_events(host, &wait_ms, err); /* some may have been read already */

        if (r < 0)
            return r;
        if (poll(ready, array_size(ready), wait_ms) < 0)
            continue;
        if (ready[2].revents != 0) {
            stop_input(host);
            host->stop.fd = -1;
        }
        if (ready[0].revents != 0)
            return 1;
        if (left_ms <= 0)
            return 0;
    }
}

static int pause_watching(void *data, unsigned ms, struct err *err)
{
    struct screen_host *host = data;
    int r = watch(host, host->front_fd, 0, ms, err); /* that it was closed always comes */

    if (r > 0)
        return err_set(err, ERR_CANCELLED, "the front end has gone");
    return r == 0 && host->stop.held->is_stopped ? say_stopped(err) : r;
}

/* Waits for the next request. ERR_CONNECTION_LOST: the display has gone. */
static int wait_for_request(struct screen_host *host, int fd)
{
    int r = watch(host, fd, POLLIN, REST_MS, NULL);

    if (r == 0) {
        host->screen->ops->rest(host->screen);
        while (r == 0)
            r = watch(host, fd, POLLIN, IDLE_MS, NULL);
    }
    return r < 0 ? r : 0;
}

int screen_host_serve(struct screen_host *host, int fd)
{
    cleanup_buf struct buf given = BUF_INIT(SCREEN_MAX_TEXT);
    cleanup_buf struct buf text = BUF_INIT(SCREEN_MAX_REPLY);
    cleanup_buf struct buf image = BUF_INIT(SCREEN_MAX_IMAGE);

    while (true) {
        struct screen_request request;
        struct screen_reply reply = {0};
        struct err err = ERR_INIT;
        int r;

        r = wait_for_request(host, fd);
        if (r < 0)
            return r;
        host->stop.held->exchange = SCREEN_IN_REQUEST;
        r = read_request(fd, &request, &given);
        if (r < 0)
            return 0; /* the front end has gone, or talks nonsense */
        host->stop.held->exchange = SCREEN_AT_WORK;
        buf_clear(&text);
        buf_clear(&image);
        host->front_fd = fd;
        reply.error = screen_host_do(host, &request, buf_view(&given), &reply, &text, &image, &err);
        host->front_fd = -1;
        host->stop.held->exchange = SCREEN_IN_REPLY;
        if (reply.error < 0)
            r = send_reply(fd, &reply, str_from(err.message), STR_EMPTY);
        else
            r = send_reply(fd, &reply, buf_view(&text), buf_view(&image));
        if (r < 0)
            return 0;
        host->stop.held->exchange = SCREEN_BETWEEN;
        if (reply.error == ERR_CONNECTION_LOST)
            return ERR_CONNECTION_LOST;
    }
}

int screen_host_new(struct screen *screen, const struct screen_host_stop *stop,
                    struct screen_host **out_host)
{
    struct screen_host *host = calloc(1, sizeof(*host));

    if (host == NULL)
        return ERR_NO_MEMORY;
    host->screen = screen;
    host->stop = *stop;
    host->front_fd = -1;
    screen_pause_watch(pause_watching, host);
    *out_host = host;
    return 0;
}

void screen_host_free(struct screen_host *host)
{
    if (host == NULL)
        return;
    screen_pause_watch(NULL, NULL);
    host->screen->ops->release_all(host->screen);
    host->screen->ops->close(host->screen);
    free(host);
}
