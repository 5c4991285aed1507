/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of a Wayland compositor that has the wlr protocols, as sway has: pictures by
 * screencopy, input by a virtual pointer and a virtual keyboard. The places of the screen are the
 * compositor's logical ones; a picture of an output with a scale has more pixels.
 *
 * A confined process makes no memory to share: what pictures and tables of keys are passed in is
 * made at the start, and only grows.
 */
#include "screen/backend.h"

#include <errno.h>
#include <linux/input-event-codes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "screen/pause.h"
#include "screen/waylandclient.h"
#include "screen/waylandkeys.h"
#include "screen/waylandpixels.h"
#include "screen/waylandprotocol.h"

enum {
    PIXEL_BYTES = 4,
    FIRST_PICTURE_BYTES = 1 << 20,
    MAX_WINDOWS = 256,
    TITLE_BYTES = 256,
    /* Clients that never had a pointer or keyboard need a moment to take the new ones. */
    NEW_DEVICES_MS = 500,
    WHEEL_STEP = 15, /* of the axis, as mice have it */
    SOURCE_WHEEL = 0,
    FRAME_IS_INVERTED = 1, /* flag: the last line comes first */
};

enum global { SHM, SEAT, LAYOUT, COPIER, POINTERS, KEYBOARDS, WINDOWS, GLOBALS };

static const struct {
    const struct wl_interface *interface;
    bool is_optional;
} globals[GLOBALS] = {
    [SHM] = {&waylandprotocol_shm, false},
    [SEAT] = {&waylandprotocol_seat, false},
    [LAYOUT] = {&waylandprotocol_layout, false},
    [COPIER] = {&waylandprotocol_copier, false},
    [POINTERS] = {&waylandprotocol_pointers, false},
    [KEYBOARDS] = {&waylandprotocol_keyboards, false},
    [WINDOWS] = {&waylandprotocol_windows, true},
};

struct output {
    uint32_t number; /* the registry's; 0: this place is free */
    struct wl_proxy *proxy;
    struct wl_proxy *place;
    struct screen_area area;
    int mode_width; /* in pixels, before it is turned */
    int mode_height;
    int transform;
    char name[SCREEN_NAME_BYTES];
};

struct window {
    struct wl_proxy *proxy;
    char title[TITLE_BYTES];
    char app[TITLE_BYTES];
    bool is_active;
    bool is_closed;
};

struct frame {
    uint32_t format;
    int width;
    int height;
    int stride;
    bool is_inverted;
    bool has_buffer;
    bool is_described; /* all kinds of buffers were named */
    bool is_done;
    bool has_failed;
};

struct wayland {
    struct screen base;
    struct waylandclient *client;
    struct screen_held *held;
    struct wl_proxy *registry;
    struct {
        uint32_t number;
        uint32_t version;
        struct wl_proxy *proxy; /* of the windows' none: bound when they are asked for */
    } globals[GLOBALS];
    struct output outputs[SCREEN_MAX_MONITORS];
    struct wl_proxy *pointer;
    struct waylandkeys *keys;
    int64_t ready_ms; /* when new devices are known to clients */
    bool has_moved;
    int x;
    int y;
    int memory_fd; /* of pictures */
    struct wl_proxy *pool;
    uint8_t *memory;
    size_t memory_bytes;
    uint8_t *turned; /* the last picture, if it had to be turned or put together */
    struct window *windows;
    size_t window_count;
    bool has_all_windows;
};

/* SAFETY: the interface's struct is the first member. */
static struct wayland *wayland_of(struct screen *screen)
{
    return (struct wayland *)screen;
}

static uint32_t now_ms(void)
{
    return (uint32_t)clock_monotonic_ms(&clock_system);
}

static void copy_name(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text != NULL ? text : "");
}

/* ---- outputs ---- */

static void hear_output(void *data, struct wl_proxy *from, uint32_t event, union wl_argument *args)
{
    enum { TRANSFORM = 7, MODE_IS_CURRENT = 1 };
    struct output *output = data;

    (void)from;
    if (event == OUTPUT_GEOMETRY)
        output->transform = args[TRANSFORM].i;
    else if (event == OUTPUT_NAME)
        copy_name(output->name, sizeof(output->name), args[0].s);
    else if (event == OUTPUT_MODE && (args[0].u & MODE_IS_CURRENT) != 0) {
        output->mode_width = args[1].i;
        output->mode_height = args[2].i;
    }
}

static void hear_place(void *data, struct wl_proxy *from, uint32_t event, union wl_argument *args)
{
    struct output *output = data;

    (void)from;
    if (event == PLACE_POSITION) {
        output->area.x = args[0].i;
        output->area.y = args[1].i;
    } else if (event == PLACE_SIZE) {
        output->area.width = args[0].i;
        output->area.height = args[1].i;
    } else if (event == PLACE_NAME && output->name[0] == '\0') {
        copy_name(output->name, sizeof(output->name), args[0].s);
    }
}

static struct wl_proxy *bind_global(struct wayland *wayland, uint32_t number, uint32_t version,
                                    const struct wl_interface *interface)
{
    uint32_t known = (uint32_t)interface->version;
    union wl_argument args[4] = {{.u = number}, {.s = interface->name}, {.u = 0}, {.o = NULL}};

    version = version < known ? version : known;
    args[2].u = version;
    return waylandclient_make(wayland->client, wayland->registry, REGISTRY_BIND, interface, version,
                              args);
}

/* Its place needs a manager that may be announced later. */
static void find_place(struct wayland *wayland, struct output *output)
{
    static const struct waylandclient_listener listener = {hear_place};
    struct wl_proxy *layout = wayland->globals[LAYOUT].proxy;
    union wl_argument args[2];

    if (layout == NULL || output->place != NULL)
        return;
    args[0].o = NULL;
    /* SAFETY: libwayland takes its proxies as objects here; its own headers cast so. */
    args[1].o = (struct wl_object *)output->proxy;
    output->place = waylandclient_make(
        wayland->client, layout, LAYOUT_GET_PLACE, &waylandprotocol_place,
        wayland->globals[LAYOUT].version < (uint32_t)waylandprotocol_place.version
            ? wayland->globals[LAYOUT].version
            : (uint32_t)waylandprotocol_place.version,
        args);
    if (output->place != NULL)
        waylandclient_listen(wayland->client, output->place, &listener, output);
}

static void add_output(struct wayland *wayland, uint32_t number, uint32_t version)
{
    static const struct waylandclient_listener listener = {hear_output};

    for (int i = 0; i < SCREEN_MAX_MONITORS; i++) {
        struct output *output = &wayland->outputs[i];

        if (output->number != 0)
            continue;
        *output = (struct output){.number = number};
        output->proxy = bind_global(wayland, number, version, &waylandprotocol_output);
        if (output->proxy == NULL)
            return;
        waylandclient_listen(wayland->client, output->proxy, &listener, output);
        find_place(wayland, output);
        return;
    }
}

static void remove_output(struct wayland *wayland, uint32_t number)
{
    for (int i = 0; i < SCREEN_MAX_MONITORS; i++) {
        struct output *output = &wayland->outputs[i];

        if (output->number != number)
            continue;
        if (output->place != NULL)
            waylandclient_send_last(wayland->client, output->place, PLACE_DESTROY);
        if (output->proxy != NULL)
            waylandclient_forget(wayland->client, output->proxy);
        *output = (struct output){0};
    }
}

static void hear_registry(void *data, struct wl_proxy *from, uint32_t event,
                          union wl_argument *args)
{
    struct wayland *wayland = data;

    (void)from;
    if (event == REGISTRY_GLOBAL_REMOVE) {
        remove_output(wayland, args[0].u);
        return;
    }
    if (strcmp(args[1].s, waylandprotocol_output.name) == 0)
        add_output(wayland, args[0].u, args[2].u);
    for (int i = 0; i < GLOBALS; i++) {
        if (strcmp(args[1].s, globals[i].interface->name) != 0 || wayland->globals[i].number != 0)
            continue;
        wayland->globals[i].number = args[0].u;
        wayland->globals[i].version = args[2].u;
        if (i != WINDOWS)
            wayland->globals[i].proxy =
                bind_global(wayland, args[0].u, args[2].u, globals[i].interface);
        for (int j = 0; j < SCREEN_MAX_MONITORS && i == LAYOUT; j++)
            if (wayland->outputs[j].number != 0)
                find_place(wayland, &wayland->outputs[j]);
    }
}

static bool is_shown(const struct output *output)
{
    return output->number != 0 && output->area.width > 0 && output->area.height > 0;
}

/* From left to right, and then from top to bottom. */
static int compare_places(const void *a, const void *b)
{
    const struct screen_area *one = &((const struct screen_monitor *)a)->area;
    const struct screen_area *other = &((const struct screen_monitor *)b)->area;

    return one->x != other->x ? one->x - other->x : one->y - other->y;
}

static int monitors(struct screen *screen, struct screen_monitor out_monitors[SCREEN_MAX_MONITORS],
                    int *out_count, struct err *err)
{
    struct wayland *wayland = wayland_of(screen);
    int count = 0;
    int r = waylandclient_settle(wayland->client, err);

    if (r < 0)
        return r;
    for (int i = 0; i < SCREEN_MAX_MONITORS; i++) {
        const struct output *output = &wayland->outputs[i];
        int pixels = output->transform % 2 == 0 ? output->mode_width : output->mode_height;

        if (!is_shown(output))
            continue;
        out_monitors[count] = (struct screen_monitor){
            .area = output->area,
            .scale = pixels > 0 ? (double)pixels / output->area.width : 1,
        };
        memcpy(out_monitors[count++].name, output->name, sizeof(output->name));
    }
    if (count == 0)
        return err_set(err, ERR_IO, "the Wayland compositor has no output at the moment");
    qsort(out_monitors, (size_t)count, sizeof(*out_monitors), compare_places);
    out_monitors[0].is_primary = true; /* Wayland knows none */
    *out_count = count;
    return 0;
}

/* A client is not told where the pointer is: it is where we moved it, unless the user did. */
static int pointer(struct screen *screen, int *out_x, int *out_y, struct err *err)
{
    const struct wayland *wayland = wayland_of(screen);

    if (!wayland->has_moved)
        return err_set_plain(err, ERR_NOT_FOUND);
    *out_x = wayland->x;
    *out_y = wayland->y;
    return 0;
}

/* ---- windows ---- */

static void hear_window(void *data, struct wl_proxy *from, uint32_t event, union wl_argument *args)
{
    struct wayland *wayland = data;
    struct window *window = NULL;

    for (size_t i = 0; i < wayland->window_count; i++)
        if (wayland->windows[i].proxy == from)
            window = &wayland->windows[i];
    if (window == NULL)
        return;
    if (event == WINDOW_TITLE) {
        copy_name(window->title, sizeof(window->title), args[0].s);
    } else if (event == WINDOW_APP) {
        copy_name(window->app, sizeof(window->app), args[0].s);
    } else if (event == WINDOW_CLOSED) {
        window->is_closed = true;
    } else if (event == WINDOW_STATE) {
        const uint32_t *states = args[0].a->data;

        window->is_active = false;
        for (size_t i = 0; i < args[0].a->size / sizeof(*states); i++)
            window->is_active = window->is_active || states[i] == WINDOW_IS_ACTIVATED;
    }
}

static void hear_windows(void *data, struct wl_proxy *from, uint32_t event, union wl_argument *args)
{
    static const struct waylandclient_listener listener = {hear_window};
    struct wayland *wayland = data;
    struct wl_proxy *proxy;

    (void)from;
    if (event == WINDOWS_FINISHED) {
        wayland->has_all_windows = true;
        return;
    }
    /* SAFETY: libwayland has made a proxy for the new object. */
    proxy = (struct wl_proxy *)args[0].o;
    if (wayland->window_count == MAX_WINDOWS) {
        waylandclient_send_last(wayland->client, proxy, WINDOW_DESTROY);
        return;
    }
    wayland->windows[wayland->window_count++] = (struct window){.proxy = proxy};
    waylandclient_listen(wayland->client, proxy, &listener, wayland);
}

static void write_window(const struct window *window, struct json_writer *json)
{
    json_begin_object(json);
    json_put_str_lossy(json, STR("title"), str_from(window->title));
    json_put_str_lossy(json, STR("app"), str_from(window->app));
    json_put_bool(json, STR("active"), window->is_active);
    json_end_object(json);
}

/* Listens as long as it takes to hear of all: nobody may pile up what we do not read. */
static int windows(struct screen *screen, struct json_writer *json, struct err *err)
{
    static const struct waylandclient_listener listener = {hear_windows};
    struct wayland *wayland = wayland_of(screen);
    union wl_argument none[1] = {{0}};
    struct wl_proxy *manager;
    int r;

    if (wayland->globals[WINDOWS].number == 0)
        return err_set(err, ERR_UNSUPPORTED, "the Wayland compositor does not tell its windows");
    wayland->windows = calloc(MAX_WINDOWS, sizeof(*wayland->windows));
    manager = bind_global(wayland, wayland->globals[WINDOWS].number,
                          wayland->globals[WINDOWS].version, &waylandprotocol_windows);
    if (wayland->windows == NULL || manager == NULL) {
        free(steal_ptr(&wayland->windows));
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    wayland->window_count = 0;
    wayland->has_all_windows = false;
    waylandclient_listen(wayland->client, manager, &listener, wayland);
    r = waylandclient_settle(wayland->client, err);
    waylandclient_send(wayland->client, manager, WINDOWS_STOP, none);
    if (r == 0)
        r = waylandclient_wait(wayland->client, &wayland->has_all_windows, err);
    for (size_t i = 0; i < wayland->window_count; i++) {
        if (r == 0 && !wayland->windows[i].is_closed)
            write_window(&wayland->windows[i], json);
        waylandclient_send_last(wayland->client, wayland->windows[i].proxy, WINDOW_DESTROY);
    }
    waylandclient_forget(wayland->client, manager);
    free(steal_ptr(&wayland->windows));
    wayland->window_count = 0;
    return r;
}

/* ---- pictures ---- */

static void hear_frame(void *data, struct wl_proxy *from, uint32_t event, union wl_argument *args)
{
    struct frame *frame = data;

    (void)from;
    if (event == FRAME_BUFFER) {
        frame->format = args[0].u;
        frame->width = (int)args[1].u;
        frame->height = (int)args[2].u;
        frame->stride = (int)args[3].u;
        frame->has_buffer = true;
    } else if (event == FRAME_BUFFER_DONE) {
        frame->is_described = true;
    } else if (event == FRAME_FLAGS) {
        frame->is_inverted = (args[0].u & FRAME_IS_INVERTED) != 0;
    } else if (event == FRAME_READY) {
        frame->is_done = true;
    } else if (event == FRAME_FAILED) {
        frame->is_described = true;
        frame->is_done = true;
        frame->has_failed = true;
    }
}

static int make_room(struct wayland *wayland, size_t bytes, struct err *err)
{
    union wl_argument args[1];
    void *memory;

    if (bytes <= wayland->memory_bytes)
        return 0;
    if (bytes > WAYLANDPIXELS_MAX_BYTES)
        return err_set(err, ERR_TOO_LARGE, "the screen is too large for a picture");
    if (ftruncate(wayland->memory_fd, (off_t)bytes) < 0)
        return err_set_plain(err, err_from_errno(errno));
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, wayland->memory_fd, 0);
    if (memory == MAP_FAILED)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (wayland->memory != NULL)
        munmap(wayland->memory, wayland->memory_bytes);
    wayland->memory = memory;
    wayland->memory_bytes = bytes;
    args[0].i = (int32_t)bytes;
    if (wayland->pool != NULL)
        waylandclient_send(wayland->client, wayland->pool, POOL_RESIZE, args);
    return 0;
}

static int fill_frame(struct wayland *wayland, struct wl_proxy *proxy, struct frame *frame,
                      struct err *err)
{
    union wl_argument args[6] = {{0}};
    union wl_argument copy[1];
    struct wl_proxy *buffer;
    int r = make_room(wayland, (size_t)frame->stride * (size_t)frame->height, err);

    if (r < 0)
        return r;
    args[2].i = frame->width;
    args[3].i = frame->height;
    args[4].i = frame->stride;
    args[5].u = frame->format;
    buffer = waylandclient_make(wayland->client, wayland->pool, POOL_CREATE_BUFFER,
                                &waylandprotocol_buffer, 1, args);
    if (buffer == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    /* SAFETY: as above. */
    copy[0].o = (struct wl_object *)buffer;
    waylandclient_send(wayland->client, proxy, FRAME_COPY, copy);
    r = waylandclient_wait(wayland->client, &frame->is_done, err);
    waylandclient_send_last(wayland->client, buffer, BUFFER_DESTROY);
    return r;
}

static bool is_sound(const struct frame *frame)
{
    return frame->width > 0 && frame->height > 0 &&
           frame->width <= WAYLANDPIXELS_MAX_BYTES / PIXEL_BYTES &&
           frame->stride >= frame->width * PIXEL_BYTES &&
           frame->height <= WAYLANDPIXELS_MAX_BYTES / frame->stride;
}

/*
 * A part of one output, in its logical places; NULL: all of it. The pixels are as the output has
 * them.
 */
static int capture(struct wayland *wayland, const struct output *output,
                   const struct screen_area *part, bool has_cursor, struct frame *out_frame,
                   struct err *err)
{
    static const struct waylandclient_listener listener = {hear_frame};
    uint32_t version = wayland->globals[COPIER].version;
    union wl_argument args[7] = {{0}};
    struct frame frame = {0};
    struct wl_proxy *proxy;
    int r;

    version = version < (uint32_t)waylandprotocol_frame.version
                  ? version
                  : (uint32_t)waylandprotocol_frame.version;
    args[1].i = has_cursor;
    /* SAFETY: as above. */
    args[2].o = (struct wl_object *)output->proxy;
    if (part != NULL) {
        args[3].i = part->x;
        args[4].i = part->y;
        args[5].i = part->width;
        args[6].i = part->height;
    }
    proxy = waylandclient_make(wayland->client, wayland->globals[COPIER].proxy,
                               part != NULL ? COPIER_CAPTURE_REGION : COPIER_CAPTURE,
                               &waylandprotocol_frame, version, args);
    if (proxy == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    waylandclient_listen(wayland->client, proxy, &listener, &frame);
    r = waylandclient_wait(wayland->client, version >= 3 ? &frame.is_described : &frame.has_buffer,
                           err);
    if (r == 0 && !frame.has_failed && (!frame.has_buffer || !is_sound(&frame)))
        r = err_set(err, ERR_UNSUPPORTED, "the compositor gives no picture that we can read");
    if (r == 0 && !frame.has_failed)
        r = fill_frame(wayland, proxy, &frame, err);
    waylandclient_send_last(wayland->client, proxy, FRAME_DESTROY);
    if (r == 0 && frame.has_failed)
        r = err_set(err, ERR_IO, "the compositor refused a picture; is the output off? Try again");
    *out_frame = frame;
    return r;
}

static int capture_part(struct wayland *wayland, const struct output *output,
                        const struct screen_area *part, bool has_cursor,
                        struct waylandpixels *out_pixels, struct err *err)
{
    const struct screen_area inside = {part->x - output->area.x, part->y - output->area.y,
                                       part->width, part->height};
    struct frame frame = {0};
    /* Which part of a turned output is meant, compositors do not agree: we cut it out ourselves. */
    bool is_turned = output->transform != 0;
    int r = capture(wayland, output, is_turned ? NULL : &inside, has_cursor, &frame, err);

    *out_pixels = (struct waylandpixels){
        .bytes = wayland->memory,
        .width = frame.width,
        .height = frame.height,
        .stride = (size_t)frame.stride,
        .format = frame.format,
        .transform = output->transform,
        .is_inverted = frame.is_inverted,
    };
    if (r == 0 && is_turned)
        waylandpixels_cut(out_pixels, &output->area, &inside);
    if (r == 0 && !waylandpixels_is_known(frame.format))
        r = err_set(err, ERR_UNSUPPORTED, "the compositor's pixels have the unknown format %#x",
                    frame.format);
    return r;
}

/* On one output: with all of its pixels. */
static int grab_one(struct wayland *wayland, const struct output *output,
                    const struct screen_area *area, bool has_cursor, struct image *out_image,
                    struct err *err)
{
    struct waylandpixels pixels;
    int r = capture_part(wayland, output, area, has_cursor, &pixels, err);
    uint8_t *turned;
    size_t bytes;

    if (r < 0)
        return r;
    if (waylandpixels_is_plain(&pixels)) {
        *out_image = (struct image){pixels.bytes, pixels.width, pixels.height, pixels.stride};
        return 0;
    }
    bytes = (size_t)pixels.width * (size_t)pixels.height * PIXEL_BYTES;
    turned = bytes > 0 ? realloc(wayland->turned, bytes) : NULL;
    if (turned == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    wayland->turned = turned;
    waylandpixels_size(&pixels, &out_image->width, &out_image->height);
    out_image->pixels = turned;
    out_image->stride = (size_t)out_image->width * PIXEL_BYTES;
    waylandpixels_copy(&pixels, turned, out_image->width, out_image->height, out_image->stride);
    return 0;
}

/* Across outputs, which may have different scales: one pixel for each logical place. */
static int grab_several(struct wayland *wayland, const struct screen_area *area, bool has_cursor,
                        struct image *out_image, struct err *err)
{
    size_t stride = (size_t)area->width * PIXEL_BYTES;
    int r = waylandpixels_make_room(&wayland->turned, area->width, area->height, err);

    for (int i = 0; i < SCREEN_MAX_MONITORS && r == 0; i++) {
        const struct output *output = &wayland->outputs[i];
        struct screen_area part = waylandpixels_common(area, &output->area);
        struct waylandpixels pixels;

        if (!is_shown(output) || part.width <= 0 || part.height <= 0)
            continue;
        r = capture_part(wayland, output, &part, has_cursor, &pixels, err);
        if (r == 0)
            waylandpixels_copy(&pixels,
                               wayland->turned + (size_t)(part.y - area->y) * stride +
                                   (size_t)(part.x - area->x) * PIXEL_BYTES,
                               part.width, part.height, stride);
    }
    *out_image = (struct image){wayland->turned, area->width, area->height, stride};
    return r;
}

static int grab(struct screen *screen, const struct screen_area *area, bool has_cursor,
                struct image *out_image, struct err *err)
{
    struct wayland *wayland = wayland_of(screen);

    for (int i = 0; i < SCREEN_MAX_MONITORS; i++) {
        const struct output *output = &wayland->outputs[i];
        struct screen_area part = waylandpixels_common(area, &output->area);

        if (is_shown(output) && part.width == area->width && part.height == area->height)
            return grab_one(wayland, output, area, has_cursor, out_image, err);
    }
    return grab_several(wayland, area, has_cursor, out_image, err);
}

/* ---- input ---- */

static int wait_for_devices(struct wayland *wayland, struct err *err)
{
    int64_t left_ms = wayland->ready_ms - clock_monotonic_ms(&clock_system);

    return left_ms > 0 ? screen_pause((unsigned)left_ms, err) : 0;
}

static void end_event(struct wayland *wayland)
{
    union wl_argument none[1] = {{0}};

    waylandclient_send(wayland->client, wayland->pointer, POINTER_FRAME, none);
}

/* To the middle of the place: places count from the left upper corner of all outputs. */
static int move(struct screen *screen, int x, int y, struct err *err)
{
    struct wayland *wayland = wayland_of(screen);
    union wl_argument args[5];
    int left = 0;
    int top = 0;
    int right = 0;
    int bottom = 0;
    bool is_first = true;
    int r = wait_for_devices(wayland, err);

    if (r < 0)
        return r;
    for (int i = 0; i < SCREEN_MAX_MONITORS; i++) {
        const struct screen_area *area = &wayland->outputs[i].area;

        if (!is_shown(&wayland->outputs[i]))
            continue;
        left = is_first || area->x < left ? area->x : left;
        top = is_first || area->y < top ? area->y : top;
        right = is_first || area->x + area->width > right ? area->x + area->width : right;
        bottom = is_first || area->y + area->height > bottom ? area->y + area->height : bottom;
        is_first = false;
    }
    args[0].u = now_ms();
    args[1].u = 2 * (uint32_t)(x - left) + 1;
    args[2].u = 2 * (uint32_t)(y - top) + 1;
    args[3].u = 2 * (uint32_t)(right - left);
    args[4].u = 2 * (uint32_t)(bottom - top);
    waylandclient_send(wayland->client, wayland->pointer, POINTER_MOTION_ABSOLUTE, args);
    end_event(wayland);
    wayland->has_moved = true;
    wayland->x = x;
    wayland->y = y;
    return waylandclient_settle(wayland->client, err);
}

static void turn_wheel(struct wayland *wayland, unsigned which)
{
    bool is_back = which == 4 || which == 6; /* up, left */
    union wl_argument source[1] = {{.u = SOURCE_WHEEL}};
    union wl_argument args[4];

    args[0].u = now_ms();
    args[1].u = which >= 6; /* the axis: upright or level */
    args[2].f = wl_fixed_from_int(is_back ? -WHEEL_STEP : WHEEL_STEP);
    args[3].i = is_back ? -1 : 1;
    waylandclient_send(wayland->client, wayland->pointer, POINTER_AXIS_SOURCE, source);
    waylandclient_send(wayland->client, wayland->pointer, POINTER_AXIS_DISCRETE, args);
    end_event(wayland);
}

static int button(struct screen *screen, unsigned which, bool is_down, struct err *err)
{
    static const uint32_t codes[] = {0, BTN_LEFT, BTN_MIDDLE, BTN_RIGHT};
    struct wayland *wayland = wayland_of(screen);
    union wl_argument args[3];

    if (which >= array_size(codes)) {
        if (is_down)
            turn_wheel(wayland, which);
        return waylandclient_settle(wayland->client, err);
    }
    wayland->held->buttons[which] = is_down;
    args[0].u = now_ms();
    args[1].u = codes[which];
    args[2].u = is_down;
    waylandclient_send(wayland->client, wayland->pointer, POINTER_BUTTON, args);
    end_event(wayland);
    return waylandclient_settle(wayland->client, err);
}

static int type(struct screen *screen, struct str text, struct err *err)
{
    struct wayland *wayland = wayland_of(screen);
    int r = wait_for_devices(wayland, err);

    return r == 0 ? waylandkeys_type(wayland->keys, text, err) : r;
}

static int press(struct screen *screen, const uint32_t *symbols, int count, unsigned hold_ms,
                 struct err *err)
{
    struct wayland *wayland = wayland_of(screen);
    int r = wait_for_devices(wayland, err);

    return r == 0 ? waylandkeys_press(wayland->keys, symbols, count, hold_ms, err) : r;
}

static void rest(struct screen *screen)
{
    (void)screen; /* the table is our own keyboard's: nothing is borrowed */
}

static void release_all(struct screen *screen)
{
    struct wayland *wayland = wayland_of(screen);

    for (unsigned i = 1; i < array_size(wayland->held->buttons); i++)
        if (wayland->held->buttons[i])
            (void)button(screen, i, false, NULL);
    waylandkeys_release_all(wayland->keys);
    (void)waylandclient_settle(wayland->client, NULL);
}

static int descriptor(struct screen *screen)
{
    return waylandclient_fd(wayland_of(screen)->client);
}

static int events(struct screen *screen, bool *out_is_stopped, int *out_wait_ms, struct err *err)
{
    *out_is_stopped = false; /* no client sees real devices while others have the focus */
    *out_wait_ms = -1;
    return waylandclient_hear(wayland_of(screen)->client, err);
}

static void close_screen(struct screen *screen)
{
    struct wayland *wayland = wayland_of(screen);

    waylandkeys_free(wayland->keys);
    if (wayland->memory != NULL)
        munmap(wayland->memory, wayland->memory_bytes);
    if (wayland->memory_fd >= 0)
        close(wayland->memory_fd);
    free(wayland->turned);
    waylandclient_free(wayland->client);
    free(wayland);
}

static const struct screen_ops ops = {
    .name = "wayland",
    .monitors = monitors,
    .pointer = pointer,
    .windows = windows,
    .grab = grab,
    .move = move,
    .button = button,
    .type = type,
    .press = press,
    .rest = rest,
    .release_all = release_all,
    .descriptor = descriptor,
    .events = events,
    .close = close_screen,
};

/* ---- opening ---- */

static int check_globals(const struct wayland *wayland, struct err *err)
{
    for (int i = 0; i < GLOBALS; i++)
        if (wayland->globals[i].number == 0 && !globals[i].is_optional)
            return err_set(err, ERR_UNSUPPORTED, "the Wayland compositor does not offer %s",
                           globals[i].interface->name);
    return 0;
}

static int make_memory(struct wayland *wayland, struct err *err)
{
    union wl_argument args[3];
    int r;

    wayland->memory_fd = memfd_create("gatehouse-picture", MFD_CLOEXEC);
    if (wayland->memory_fd < 0)
        return err_set_plain(err, err_from_errno(errno));
    r = make_room(wayland, FIRST_PICTURE_BYTES, err);
    if (r < 0)
        return r;
    args[0].o = NULL;
    args[1].h = wayland->memory_fd;
    args[2].i = FIRST_PICTURE_BYTES;
    wayland->pool = waylandclient_make(wayland->client, wayland->globals[SHM].proxy,
                                       SHM_CREATE_POOL, &waylandprotocol_pool, 1, args);
    return wayland->pool != NULL ? 0 : err_set_plain(err, ERR_NO_MEMORY);
}

static int make_devices(struct wayland *wayland, struct err *err)
{
    union wl_argument args[2];
    struct wl_proxy *keyboard;

    /* SAFETY: as above. */
    args[0].o = (struct wl_object *)wayland->globals[SEAT].proxy;
    args[1].o = NULL;
    wayland->pointer = waylandclient_make(wayland->client, wayland->globals[POINTERS].proxy,
                                          POINTERS_CREATE, &waylandprotocol_pointer, 1, args);
    keyboard = waylandclient_make(wayland->client, wayland->globals[KEYBOARDS].proxy,
                                  KEYBOARDS_CREATE, &waylandprotocol_keyboard, 1, args);
    if (wayland->pointer == NULL || keyboard == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    wayland->ready_ms = clock_monotonic_ms(&clock_system) + NEW_DEVICES_MS;
    return waylandkeys_new(wayland->client, keyboard, wayland->held, &wayland->keys, err);
}

static int open_all(struct wayland *wayland, struct err *err)
{
    static const struct waylandclient_listener listener = {hear_registry};
    union wl_argument args[1] = {{0}};
    int r = waylandclient_open(&wayland->client, err);

    if (r < 0)
        return r;
    wayland->registry =
        waylandclient_make(wayland->client, waylandclient_display(wayland->client),
                           DISPLAY_GET_REGISTRY, &waylandprotocol_registry, 1, args);
    if (wayland->registry == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    waylandclient_listen(wayland->client, wayland->registry, &listener, wayland);
    r = waylandclient_settle(wayland->client, err);
    if (r == 0)
        r = check_globals(wayland, err);
    if (r == 0)
        r = waylandclient_settle(wayland->client, err); /* the outputs tell where they are */
    if (r == 0)
        r = make_memory(wayland, err);
    return r == 0 ? make_devices(wayland, err) : r;
}

int screen_open_wayland(struct screen_held *held, struct screen **out_screen, struct err *err)
{
    struct wayland *wayland = calloc(1, sizeof(*wayland));
    int r;

    if (wayland == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    wayland->base.ops = &ops;
    wayland->held = held;
    wayland->memory_fd = -1;
    r = open_all(wayland, err);
    if (r < 0) {
        close_screen(&wayland->base);
        return r;
    }
    release_all(&wayland->base);
    *out_screen = &wayland->base;
    return 0;
}
