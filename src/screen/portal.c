/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of a desktop that shares it by the portal, as GNOME and KDE do: input by
 * RemoteDesktop, pictures by ScreenCast. Places are the desktop's logical ones. It asks the user
 * itself, when the screen is first used.
 */
#include "screen/backend.h"

#include <linux/input-event-codes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "screen/keys.h"
#include "screen/pause.h"
#include "screen/portalsession.h"

enum { PIXEL_BYTES = 4, CHARACTERS_BETWEEN_LOOKS = 16, FIRST_WHEEL = 4, FIRST_LEVEL_WHEEL = 6 };

struct portal {
    struct screen base;
    struct screen_held *held; /* buttons only: keys are symbols here */
    struct portalsession *session;
    uint32_t pressed[SCREEN_MAX_KEYS];
    int pressed_count;
    uint8_t *copied; /* the last picture, if it was not one piece of one monitor */
    bool has_moved;
    int x;
    int y;
};

/* SAFETY: the interface's struct is the first member. */
static struct portal *portal_of(struct screen *screen)
{
    return (struct portal *)screen;
}

static int monitors(struct screen *screen, struct screen_monitor out_monitors[SCREEN_MAX_MONITORS],
                    int *out_count, struct err *err)
{
    const struct portalsession *session = portal_of(screen)->session;
    int r = portalsession_start(portal_of(screen)->session, err);

    if (r < 0)
        return r;
    *out_count = portalsession_count(session);
    for (int i = 0; i < *out_count; i++) {
        out_monitors[i] = (struct screen_monitor){.area = portalsession_area(session, i),
                                                  .scale = portalsession_scale(session, i),
                                                  .is_primary = i == 0}; /* the portal knows none */
        snprintf(out_monitors[i].name, sizeof(out_monitors[i].name), "monitor %d", i + 1);
    }
    return 0;
}

/* It is not told: it is where we moved it, unless the user did. */
static int pointer(struct screen *screen, int *out_x, int *out_y, struct err *err)
{
    const struct portal *portal = portal_of(screen);

    if (!portal->has_moved)
        return err_set_plain(err, ERR_NOT_FOUND);
    *out_x = portal->x;
    *out_y = portal->y;
    return 0;
}

static int windows(struct screen *screen, struct json_writer *json, struct err *err)
{
    (void)screen;
    (void)json;
    return err_set(err, ERR_UNSUPPORTED,
                   "the desktop portal does not tell which windows there are");
}

/* ---- pictures ---- */

static int find_part(struct portal *portal, int index, const struct screen_area *part,
                     struct waylandpixels *out_pixels, struct err *err)
{
    const struct screen_area area = portalsession_area(portal->session, index);
    const struct screen_area inside = {part->x - area.x, part->y - area.y, part->width,
                                       part->height};
    int r = portalsession_picture(portal->session, index, out_pixels, err);

    if (r == 0)
        waylandpixels_cut(out_pixels, &area, &inside);
    return r;
}

/* On one monitor: with all of its pixels, and where they are if possible. */
static int grab_one(struct portal *portal, int index, const struct screen_area *area,
                    struct image *out_image, struct err *err)
{
    struct waylandpixels pixels;
    int r = find_part(portal, index, area, &pixels, err);

    if (r < 0)
        return r;
    waylandpixels_size(&pixels, &out_image->width, &out_image->height);
    if (!waylandpixels_has_red_first(&pixels)) {
        out_image->pixels = pixels.bytes + (size_t)pixels.part_y * pixels.stride +
                            (size_t)pixels.part_x * PIXEL_BYTES;
        out_image->stride = pixels.stride;
        return 0;
    }
    r = waylandpixels_make_room(&portal->copied, out_image->width, out_image->height, err);
    if (r < 0)
        return r;
    out_image->pixels = portal->copied;
    out_image->stride = (size_t)out_image->width * PIXEL_BYTES;
    waylandpixels_copy(&pixels, portal->copied, out_image->width, out_image->height,
                       out_image->stride);
    return 0;
}

/* Across monitors, which may have different scales: one pixel for each logical place. */
static int grab_several(struct portal *portal, const struct screen_area *area,
                        struct image *out_image, struct err *err)
{
    size_t stride = (size_t)area->width * PIXEL_BYTES;
    int r = waylandpixels_make_room(&portal->copied, area->width, area->height, err);

    for (int i = 0; i < portalsession_count(portal->session) && r == 0; i++) {
        const struct screen_area monitor = portalsession_area(portal->session, i);
        const struct screen_area part = waylandpixels_common(area, &monitor);
        struct waylandpixels pixels;

        if (part.width <= 0 || part.height <= 0)
            continue;
        r = find_part(portal, i, &part, &pixels, err);
        if (r == 0)
            waylandpixels_copy(&pixels,
                               portal->copied + (size_t)(part.y - area->y) * stride +
                                   (size_t)(part.x - area->x) * PIXEL_BYTES,
                               part.width, part.height, stride);
    }
    *out_image = (struct image){portal->copied, area->width, area->height, stride};
    return r;
}

/* The desktop draws the pointer, or does not; it cannot be chosen for a picture. */
static int grab(struct screen *screen, const struct screen_area *area, bool has_cursor,
                struct image *out_image, struct err *err)
{
    struct portal *portal = portal_of(screen);
    int r = portalsession_start(portal->session, err);

    (void)has_cursor;
    if (r < 0)
        return r;
    for (int i = 0; i < portalsession_count(portal->session); i++) {
        const struct screen_area monitor = portalsession_area(portal->session, i);
        const struct screen_area part = waylandpixels_common(area, &monitor);

        if (part.width == area->width && part.height == area->height)
            return grab_one(portal, i, area, out_image, err);
    }
    return grab_several(portal, area, out_image, err);
}

/* ---- mouse ---- */

static int move(struct screen *screen, int x, int y, struct err *err)
{
    struct portal *portal = portal_of(screen);
    const struct screen_area place = {x, y, 1, 1};
    int r = portalsession_start(portal->session, err);

    for (int i = 0; i < portalsession_count(portal->session) && r == 0; i++) {
        const struct screen_area monitor = portalsession_area(portal->session, i);
        const struct screen_area part = waylandpixels_common(&place, &monitor);

        if (part.width <= 0 || part.height <= 0)
            continue;
        portal->has_moved = true;
        portal->x = x;
        portal->y = y;
        return portalsession_notify(portal->session, PORTALSESSION_POINTER,
                                    "NotifyPointerMotionAbsolute", err, "udd",
                                    portalsession_node(portal->session, i), (double)(x - monitor.x),
                                    (double)(y - monitor.y));
    }
    return r < 0 ? r : err_set(err, ERR_INVALID_ARGUMENT, "no monitor is at (%d, %d)", x, y);
}

static int turn_wheel(struct portal *portal, unsigned which, struct err *err)
{
    bool is_back = which == FIRST_WHEEL || which == FIRST_LEVEL_WHEEL; /* up, left */

    return portalsession_notify(portal->session, PORTALSESSION_POINTER, "NotifyPointerAxisDiscrete",
                                err, "ui", (uint32_t)(which >= FIRST_LEVEL_WHEEL),
                                is_back ? -1 : 1);
}

static int press_button(struct portal *portal, unsigned which, bool is_down, struct err *err)
{
    static const int codes[FIRST_WHEEL] = {0, BTN_LEFT, BTN_MIDDLE, BTN_RIGHT};

    portal->held->buttons[which] = is_down;
    return portalsession_notify(portal->session, PORTALSESSION_POINTER, "NotifyPointerButton", err,
                                "iu", codes[which], (uint32_t)is_down);
}

static int button(struct screen *screen, unsigned which, bool is_down, struct err *err)
{
    struct portal *portal = portal_of(screen);
    int r = portalsession_start(portal->session, err);

    if (r < 0)
        return r;
    if (which < FIRST_WHEEL)
        return press_button(portal, which, is_down, err);
    return is_down ? turn_wheel(portal, which, err) : 0;
}

/* ---- keyboard ---- */

/* Waits for the reply: the portal has a thread for each call, and does not keep their order. */
static int send_key(struct portal *portal, uint32_t symbol, bool is_down, struct err *err)
{
    return portalsession_notify(portal->session, PORTALSESSION_KEYBOARD, "NotifyKeyboardKeysym",
                                err, "iu", (int32_t)symbol, (uint32_t)is_down);
}

static int press_key(struct portal *portal, uint32_t symbol, struct err *err)
{
    /* Known as pressed before it is: after an error it may be. */
    portal->pressed[portal->pressed_count++] = symbol;
    return send_key(portal, symbol, true, err);
}

/* The last first. Tries all, and tells the first error. */
static int release_keys(struct portal *portal, struct err *err)
{
    int first = 0;

    while (portal->pressed_count > 0) {
        int r = send_key(portal, portal->pressed[--portal->pressed_count], false,
                         first == 0 ? err : NULL);

        first = first < 0 ? first : r;
    }
    return first;
}

static int press(struct screen *screen, const uint32_t *symbols, int count, unsigned hold_ms,
                 struct err *err)
{
    struct portal *portal = portal_of(screen);
    int r = portalsession_start(portal->session, err);
    int released;

    if (r < 0)
        return r;
    for (int i = 0; i < count && r == 0; i++)
        r = press_key(portal, symbols[i], err);
    if (r == 0 && hold_ms > 0)
        r = screen_pause(hold_ms, err);
    released = release_keys(portal, r == 0 ? err : NULL);
    return r < 0 ? r : released;
}

static int type(struct screen *screen, struct str text, struct err *err)
{
    struct portal *portal = portal_of(screen);
    int r = keys_check_text(text, err);

    if (r == 0)
        r = portalsession_start(portal->session, err);
    for (int i = 1; text.len > 0 && r == 0; i++) {
        uint32_t symbol = keys_next(&text);
        int released;

        r = press_key(portal, symbol, err);
        released = release_keys(portal, r == 0 ? err : NULL);
        r = r < 0 ? r : released;
        if (r == 0 && i % CHARACTERS_BETWEEN_LOOKS == 0)
            r = screen_pause(0, err);
    }
    return r;
}

/* ---- the rest ---- */

static void rest(struct screen *screen)
{
    (void)screen; /* nothing is borrowed */
}

static void release_all(struct screen *screen)
{
    struct portal *portal = portal_of(screen);

    for (unsigned i = 1; i < FIRST_WHEEL; i++)
        if (portal->held->buttons[i])
            (void)press_button(portal, i, false, NULL);
    (void)release_keys(portal, NULL);
}

static int descriptor(struct screen *screen)
{
    return portalsession_fd(portal_of(screen)->session);
}

static int events(struct screen *screen, bool *out_is_stopped, int *out_wait_ms, struct err *err)
{
    *out_is_stopped = false; /* the portal shows no real devices */
    *out_wait_ms = -1;
    return portalsession_hear(portal_of(screen)->session, out_wait_ms, err);
}

static void close_screen(struct screen *screen)
{
    struct portal *portal = portal_of(screen);

    portalsession_free(portal->session);
    free(portal->copied);
    free(portal);
}

static const struct screen_ops ops = {
    .name = "portal",
    .asks_first = true,
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

int screen_open_portal(struct screen_held *held, const struct screen_around *around,
                       struct screen **out_screen, struct err *err)
{
    struct portal *portal = calloc(1, sizeof(*portal));
    int r;

    if (portal == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    portal->base.ops = &ops;
    portal->held = held;
    r = portalsession_new(around, &portal->session, err);
    if (r < 0) {
        free(portal);
        return r;
    }
    /* What an earlier process held went with its session. */
    memset(held->buttons, 0, sizeof(held->buttons));
    *out_screen = &portal->base;
    return 0;
}
