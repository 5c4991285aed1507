/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of an X server, by XCB: pictures through shared memory that the server makes (a
 * confined process may neither create files nor System V segments), input by XTEST.
 */
#include "screen/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xcb/randr.h>
#include <xcb/shm.h>
#include <xcb/xcb.h>
#include <xcb/xfixes.h>
#include <xcb/xtest.h>

#include "base/cleanup.h"
#include "screen/x11damage.h"
#include "screen/x11gesture.h"
#include "screen/x11keys.h"

enum {
    PIXEL_BYTES = 4,
    MAX_WINDOWS = 256,
    TITLE_BYTES = 256,
    MAX_SCREEN_BYTES = 1 << 30,
    RESOURCES_BYTES = 16 << 10,
    USUAL_DPI = 96,
};

enum atom { ATOM_CLIENTS, ATOM_ACTIVE, ATOM_NAME, ATOM_UTF8, ATOM_PID, ATOMS };

static const char *const atom_names[ATOMS] = {
    [ATOM_CLIENTS] = "_NET_CLIENT_LIST_STACKING",
    [ATOM_ACTIVE] = "_NET_ACTIVE_WINDOW",
    [ATOM_NAME] = "_NET_WM_NAME",
    [ATOM_UTF8] = "UTF8_STRING",
    [ATOM_PID] = "_NET_WM_PID",
};

struct x11 {
    struct screen base;
    xcb_connection_t *connection;
    xcb_window_t root;
    struct screen_held *held;
    struct x11keys *keys;
    struct x11damage *damage;   /* NULL: the server does not tell what is drawn */
    struct x11gesture *gesture; /* NULL: real devices cannot be told apart */
    xcb_atom_t atoms[ATOMS];
    bool has_monitors; /* RandR 1.5 */
    bool has_cursor;   /* XFixes */
    bool has_shm;      /* with descriptors, 1.2 */
    xcb_shm_seg_t segment;
    uint8_t *shared;
    size_t shared_bytes;
    xcb_get_image_reply_t *reply; /* without shared memory: holds the last picture */
};

/* SAFETY: the interface's struct is the first member. */
static struct x11 *x11_of(struct screen *screen)
{
    return (struct x11 *)screen;
}

static int lost(struct err *err)
{
    return err_set(err, ERR_CONNECTION_LOST, "the X server has closed the connection");
}

static int failed(struct x11 *x11, const char *what, struct err *err)
{
    if (xcb_connection_has_error(x11->connection) != 0)
        return lost(err);
    return err_set(err, ERR_IO, "the X server refused to %s", what);
}

/* Everything that was sent has been done when this returns. */
static int settle(struct x11 *x11, struct err *err)
{
    free(xcb_get_input_focus_reply(x11->connection, xcb_get_input_focus(x11->connection), NULL));
    return xcb_connection_has_error(x11->connection) != 0 ? lost(err) : 0;
}

/* ---- what there is ---- */

static xcb_get_property_reply_t *get_property(struct x11 *x11, xcb_window_t window, xcb_atom_t name,
                                              xcb_atom_t type, uint32_t words)
{
    return xcb_get_property_reply(
        x11->connection, xcb_get_property(x11->connection, 0, window, name, type, 0, words), NULL);
}

static int root_area(struct x11 *x11, struct screen_area *out_area, struct err *err)
{
    cleanup_free xcb_get_geometry_reply_t *geometry =
        xcb_get_geometry_reply(x11->connection, xcb_get_geometry(x11->connection, x11->root), NULL);

    if (geometry == NULL)
        return failed(x11, "tell its size", err);
    *out_area = (struct screen_area){.width = geometry->width, .height = geometry->height};
    return 0;
}

static void name_monitor(struct x11 *x11, xcb_atom_t atom, char out_name[SCREEN_NAME_BYTES])
{
    cleanup_free xcb_get_atom_name_reply_t *reply =
        xcb_get_atom_name_reply(x11->connection, xcb_get_atom_name(x11->connection, atom), NULL);
    size_t len = reply != NULL ? (size_t)xcb_get_atom_name_name_length(reply) : 0;

    if (len >= SCREEN_NAME_BYTES)
        len = SCREEN_NAME_BYTES - 1;
    if (len > 0)
        memcpy(out_name, xcb_get_atom_name_name(reply), len);
    out_name[len] = '\0';
}

static int randr_monitors(struct x11 *x11, struct screen_monitor *out_monitors)
{
    cleanup_free xcb_randr_get_monitors_reply_t *reply = xcb_randr_get_monitors_reply(
        x11->connection, xcb_randr_get_monitors(x11->connection, x11->root, 1), NULL);
    xcb_randr_monitor_info_iterator_t each;
    int count = 0;

    if (reply == NULL)
        return 0;
    for (each = xcb_randr_get_monitors_monitors_iterator(reply);
         each.rem > 0 && count < SCREEN_MAX_MONITORS; xcb_randr_monitor_info_next(&each)) {
        struct screen_monitor *monitor = &out_monitors[count];

        if (each.data->width == 0 || each.data->height == 0)
            continue;
        monitor->area =
            (struct screen_area){each.data->x, each.data->y, each.data->width, each.data->height};
        monitor->is_primary = each.data->primary != 0;
        name_monitor(x11, each.data->name, monitor->name);
        count++;
    }
    return count;
}

/* From left to right, and then from top to bottom, whichever is primary. */
static int compare_places(const void *a, const void *b)
{
    const struct screen_area *one = &((const struct screen_monitor *)a)->area;
    const struct screen_area *other = &((const struct screen_monitor *)b)->area;

    return one->x != other->x ? one->x - other->x : one->y - other->y;
}

/* The desktop says it with Xft.dpi among the server's resources; X11 itself has no scale. */
static double find_scale(struct x11 *x11)
{
    cleanup_free xcb_get_property_reply_t *reply = get_property(
        x11, x11->root, XCB_ATOM_RESOURCE_MANAGER, XCB_ATOM_STRING, RESOURCES_BYTES / PIXEL_BYTES);
    struct str text = STR_EMPTY;
    struct str line;
    char number[16];

    if (reply != NULL && reply->format == 8)
        text = (struct str){xcb_get_property_value(reply),
                            (size_t)xcb_get_property_value_length(reply)};
    while (str_cut(&text, '\n', &line)) {
        double dpi;

        if (!str_starts_with(line, STR("Xft.dpi:")))
            continue;
        snprintf(number, sizeof(number), "%.*s", STR_ARG(str_slice(line, 8, line.len)));
        dpi = strtod(number, NULL);
        return dpi * 2 >= USUAL_DPI && dpi <= USUAL_DPI * 10 ? dpi / USUAL_DPI : 1;
    }
    return 1;
}

static int monitors(struct screen *screen, struct screen_monitor out_monitors[SCREEN_MAX_MONITORS],
                    int *out_count, struct err *err)
{
    struct x11 *x11 = x11_of(screen);
    int count = x11->has_monitors ? randr_monitors(x11, out_monitors) : 0;
    double scale = find_scale(x11);
    bool has_primary = false;
    int r = 0;

    if (count == 0) {
        out_monitors[0] = (struct screen_monitor){.is_primary = true, .name = "screen"};
        r = root_area(x11, &out_monitors[0].area, err);
        count = 1;
    }
    qsort(out_monitors, (size_t)count, sizeof(*out_monitors), compare_places);
    for (int i = 0; i < count; i++) {
        has_primary = has_primary || out_monitors[i].is_primary;
        out_monitors[i].scale = scale;
    }
    if (!has_primary)
        out_monitors[0].is_primary = true;
    *out_count = count;
    return r;
}

static int pointer(struct screen *screen, int *out_x, int *out_y, struct err *err)
{
    struct x11 *x11 = x11_of(screen);
    cleanup_free xcb_query_pointer_reply_t *reply = xcb_query_pointer_reply(
        x11->connection, xcb_query_pointer(x11->connection, x11->root), NULL);

    if (reply == NULL)
        return failed(x11, "tell where the pointer is", err);
    *out_x = reply->root_x;
    *out_y = reply->root_y;
    return 0;
}

/* ---- windows ---- */

static bool write_title(struct x11 *x11, xcb_window_t window, struct json_writer *json)
{
    cleanup_free xcb_get_property_reply_t *modern = get_property(
        x11, window, x11->atoms[ATOM_NAME], x11->atoms[ATOM_UTF8], TITLE_BYTES / PIXEL_BYTES);
    cleanup_free xcb_get_property_reply_t *old = NULL;
    const xcb_get_property_reply_t *reply = modern;

    if (reply == NULL || xcb_get_property_value_length(reply) == 0) {
        old = get_property(x11, window, XCB_ATOM_WM_NAME, XCB_GET_PROPERTY_TYPE_ANY,
                           TITLE_BYTES / PIXEL_BYTES);
        reply = old;
    }
    if (reply == NULL || reply->format != 8)
        return false;
    json_put_str_lossy(
        json, STR("title"),
        (struct str){xcb_get_property_value(reply), (size_t)xcb_get_property_value_length(reply)});
    return true;
}

static uint32_t get_number(struct x11 *x11, xcb_window_t window, xcb_atom_t name)
{
    cleanup_free xcb_get_property_reply_t *reply =
        get_property(x11, window, name, XCB_GET_PROPERTY_TYPE_ANY, 1);
    uint32_t number = 0;

    if (reply != NULL && reply->format == 32 && xcb_get_property_value_length(reply) == 4)
        memcpy(&number, xcb_get_property_value(reply), sizeof(number));
    return number;
}

static void write_window(struct x11 *x11, xcb_window_t window, xcb_window_t active,
                         struct json_writer *json)
{
    cleanup_free xcb_get_window_attributes_reply_t *attributes = xcb_get_window_attributes_reply(
        x11->connection, xcb_get_window_attributes(x11->connection, window), NULL);
    cleanup_free xcb_get_geometry_reply_t *geometry =
        xcb_get_geometry_reply(x11->connection, xcb_get_geometry(x11->connection, window), NULL);
    cleanup_free xcb_translate_coordinates_reply_t *place = xcb_translate_coordinates_reply(
        x11->connection, xcb_translate_coordinates(x11->connection, window, x11->root, 0, 0), NULL);
    uint32_t pid;

    /* It may have been closed in the meantime. */
    if (attributes == NULL || geometry == NULL || place == NULL ||
        attributes->map_state != XCB_MAP_STATE_VIEWABLE)
        return;
    json_begin_object(json);
    if (!write_title(x11, window, json))
        json_put_str(json, STR("title"), STR(""));
    json_put_int(json, STR("x"), place->dst_x);
    json_put_int(json, STR("y"), place->dst_y);
    json_put_int(json, STR("width"), geometry->width);
    json_put_int(json, STR("height"), geometry->height);
    json_put_bool(json, STR("active"), window == active);
    pid = get_number(x11, window, x11->atoms[ATOM_PID]);
    if (pid != 0)
        json_put_int(json, STR("pid"), pid);
    json_end_object(json);
}

/* Without a window manager the children of the root are what is seen. Both have the topmost last.
 */
static int windows(struct screen *screen, struct json_writer *json, struct err *err)
{
    struct x11 *x11 = x11_of(screen);
    cleanup_free xcb_get_property_reply_t *list =
        get_property(x11, x11->root, x11->atoms[ATOM_CLIENTS], XCB_ATOM_WINDOW, MAX_WINDOWS);
    cleanup_free xcb_query_tree_reply_t *tree = NULL;
    xcb_window_t active = get_number(x11, x11->root, x11->atoms[ATOM_ACTIVE]);
    const xcb_window_t *found = NULL;
    int count = 0;

    if (list != NULL && list->format == 32) {
        found = xcb_get_property_value(list);
        count = xcb_get_property_value_length(list) / (int)sizeof(*found);
    }
    if (count == 0) {
        tree =
            xcb_query_tree_reply(x11->connection, xcb_query_tree(x11->connection, x11->root), NULL);
        if (tree == NULL)
            return failed(x11, "list its windows", err);
        found = xcb_query_tree_children(tree);
        count = xcb_query_tree_children_length(tree);
    }
    for (int i = count - 1; i >= 0 && count - i <= MAX_WINDOWS; i--)
        write_window(x11, found[i], active, json);
    return xcb_connection_has_error(x11->connection) != 0 ? lost(err) : 0;
}

/* ---- pictures ---- */

static void drop_shared(struct x11 *x11)
{
    if (x11->shared == NULL)
        return;
    xcb_shm_detach(x11->connection, x11->segment);
    munmap(x11->shared, x11->shared_bytes);
    x11->shared = NULL;
    x11->shared_bytes = 0;
}

/* False: no shared memory of that size; the picture must come through the socket. */
static bool make_shared(struct x11 *x11, size_t bytes)
{
    cleanup_free xcb_shm_create_segment_reply_t *reply = NULL;
    void *memory;
    int fd;

    if (!x11->has_shm)
        return false;
    if (x11->shared_bytes >= bytes)
        return true;
    drop_shared(x11);
    x11->segment = xcb_generate_id(x11->connection);
    reply = xcb_shm_create_segment_reply(
        x11->connection, xcb_shm_create_segment(x11->connection, x11->segment, (uint32_t)bytes, 0),
        NULL);
    if (reply == NULL || reply->nfd != 1) {
        x11->has_shm = false;
        return false;
    }
    fd = xcb_shm_create_segment_reply_fds(x11->connection, reply)[0];
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) {
        xcb_shm_detach(x11->connection, x11->segment);
        x11->has_shm = false;
        return false;
    }
    x11->shared = memory;
    x11->shared_bytes = bytes;
    return true;
}

static int grab_shared(struct x11 *x11, const struct screen_area *area, uint8_t **out_pixels,
                       struct err *err)
{
    cleanup_free xcb_shm_get_image_reply_t *reply = xcb_shm_get_image_reply(
        x11->connection,
        xcb_shm_get_image(x11->connection, x11->root, (int16_t)area->x, (int16_t)area->y,
                          (uint16_t)area->width, (uint16_t)area->height, ~0U,
                          XCB_IMAGE_FORMAT_Z_PIXMAP, x11->segment, 0),
        NULL);

    if (reply == NULL)
        return failed(x11, "give a picture of itself", err);
    *out_pixels = x11->shared;
    return 0;
}

static int grab_sent(struct x11 *x11, const struct screen_area *area, uint8_t **out_pixels,
                     struct err *err)
{
    size_t bytes = (size_t)area->width * (size_t)area->height * PIXEL_BYTES;

    free(x11->reply);
    x11->reply = xcb_get_image_reply(
        x11->connection,
        xcb_get_image(x11->connection, XCB_IMAGE_FORMAT_Z_PIXMAP, x11->root, (int16_t)area->x,
                      (int16_t)area->y, (uint16_t)area->width, (uint16_t)area->height, ~0U),
        NULL);
    if (x11->reply == NULL || (size_t)xcb_get_image_data_length(x11->reply) < bytes)
        return failed(x11, "give a picture of itself", err);
    *out_pixels = xcb_get_image_data(x11->reply);
    return 0;
}

static uint8_t blend(uint32_t above, uint32_t alpha, uint8_t below)
{
    uint32_t sum = above + (255 - alpha) * below / 255; /* colours are premultiplied */

    return (uint8_t)(sum > 255 ? 255 : sum);
}

/* The picture is what is below the pointer: the server shows the pointer itself elsewhere. */
static void draw_cursor(struct x11 *x11, const struct screen_area *area, uint8_t *pixels)
{
    cleanup_free xcb_xfixes_get_cursor_image_reply_t *cursor = xcb_xfixes_get_cursor_image_reply(
        x11->connection, xcb_xfixes_get_cursor_image(x11->connection), NULL);
    const uint32_t *image;

    if (cursor == NULL || (size_t)xcb_xfixes_get_cursor_image_cursor_image_length(cursor) <
                              (size_t)cursor->width * cursor->height)
        return;
    image = xcb_xfixes_get_cursor_image_cursor_image(cursor);
    for (int y = 0; y < cursor->height; y++)
        for (int x = 0; x < cursor->width; x++) {
            uint32_t above = image[y * cursor->width + x];
            int to_x = cursor->x - cursor->xhot + x - area->x;
            int to_y = cursor->y - cursor->yhot + y - area->y;
            uint8_t *pixel;

            if (to_x < 0 || to_y < 0 || to_x >= area->width || to_y >= area->height)
                continue;
            pixel = pixels + ((size_t)to_y * (size_t)area->width + (size_t)to_x) * PIXEL_BYTES;
            for (int c = 0; c < 3; c++)
                pixel[c] = blend(above >> (8 * c) & 0xFF, above >> 24, pixel[c]);
        }
}

static int grab(struct screen *screen, const struct screen_area *area, bool has_cursor,
                struct image *out_image, struct err *err)
{
    struct x11 *x11 = x11_of(screen);
    size_t bytes = (size_t)area->width * (size_t)area->height * PIXEL_BYTES;
    uint8_t *pixels = NULL;
    int r = make_shared(x11, bytes) ? grab_shared(x11, area, &pixels, err)
                                    : grab_sent(x11, area, &pixels, err);

    if (r < 0)
        return r;
    if (has_cursor && x11->has_cursor && pixels != NULL)
        draw_cursor(x11, area, pixels);
    *out_image = (struct image){
        .pixels = pixels,
        .width = area->width,
        .height = area->height,
        .stride = (size_t)area->width * PIXEL_BYTES,
    };
    return 0;
}

static bool has_changed(struct screen *screen)
{
    struct x11 *x11 = x11_of(screen);

    return x11->damage == NULL || x11damage_has_changed(x11->damage);
}

/* ---- input ---- */

static int move(struct screen *screen, int x, int y, struct err *err)
{
    struct x11 *x11 = x11_of(screen);

    x11gesture_forget(x11->gesture);
    xcb_test_fake_input(x11->connection, XCB_MOTION_NOTIFY, 0, XCB_CURRENT_TIME, x11->root,
                        (int16_t)x, (int16_t)y, 0);
    return settle(x11, err);
}

static int button(struct screen *screen, unsigned which, bool is_down, struct err *err)
{
    struct x11 *x11 = x11_of(screen);

    x11->held->buttons[which] = is_down;
    xcb_test_fake_input(x11->connection, is_down ? XCB_BUTTON_PRESS : XCB_BUTTON_RELEASE,
                        (uint8_t)which, XCB_CURRENT_TIME, x11->root, 0, 0, 0);
    return settle(x11, err);
}

static int type(struct screen *screen, struct str text, struct err *err)
{
    return x11keys_type(x11_of(screen)->keys, text, err);
}

static int press(struct screen *screen, const uint32_t *symbols, int count, unsigned hold_ms,
                 struct err *err)
{
    return x11keys_press(x11_of(screen)->keys, symbols, count, hold_ms, err);
}

static void rest(struct screen *screen)
{
    struct x11 *x11 = x11_of(screen);

    x11keys_restore(x11->keys);
    x11damage_rest(x11->damage);
}

static void release_all(struct screen *screen)
{
    struct x11 *x11 = x11_of(screen);
    struct screen_held *held = x11->held;

    for (unsigned i = 1; i < array_size(held->buttons); i++)
        if (held->buttons[i])
            (void)button(screen, i, false, NULL);
    x11keys_release_all(x11->keys);
    (void)settle(x11, NULL);
}

static int descriptor(struct screen *screen)
{
    return xcb_get_file_descriptor(x11_of(screen)->connection);
}

static bool look_for_gesture(struct x11 *x11, int *out_wait_ms)
{
    struct screen_monitor found[SCREEN_MAX_MONITORS];
    int count = 0;
    int x = 0;
    int y = 0;

    return x11gesture_wants_look(x11->gesture, out_wait_ms) &&
           monitors(&x11->base, found, &count, NULL) == 0 &&
           pointer(&x11->base, &x, &y, NULL) == 0 &&
           x11gesture_look(x11->gesture, found, count, x, y, out_wait_ms);
}

static int events(struct screen *screen, bool *out_is_stopped, int *out_wait_ms, struct err *err)
{
    struct x11 *x11 = x11_of(screen);
    xcb_generic_event_t *event;

    while ((event = xcb_poll_for_event(x11->connection)) != NULL) {
        if (x11gesture_take(x11->gesture, event))
            *out_is_stopped = true;
        x11damage_take(x11->damage, event);
        free(event);
    }
    if (look_for_gesture(x11, out_wait_ms))
        *out_is_stopped = true;
    return xcb_connection_has_error(x11->connection) != 0 ? lost(err) : 0;
}

static void close_screen(struct screen *screen)
{
    struct x11 *x11 = x11_of(screen);

    if (x11->keys != NULL) {
        x11keys_restore(x11->keys);
        x11keys_free(x11->keys);
    }
    x11damage_free(x11->damage);
    x11gesture_free(x11->gesture);
    drop_shared(x11);
    free(x11->reply);
    xcb_disconnect(x11->connection);
    free(x11);
}

static const struct screen_ops ops = {
    .name = "x11",
    .monitors = monitors,
    .pointer = pointer,
    .windows = windows,
    .has_changed = has_changed,
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

static bool has_extension(struct x11 *x11, xcb_extension_t *extension)
{
    const xcb_query_extension_reply_t *reply = xcb_get_extension_data(x11->connection, extension);

    return reply != NULL && reply->present != 0;
}

static bool at_least(unsigned major, unsigned minor, unsigned needs_major, unsigned needs_minor)
{
    return major > needs_major || (major == needs_major && minor >= needs_minor);
}

static void find_extensions(struct x11 *x11)
{
    xcb_connection_t *c = x11->connection;

    if (has_extension(x11, &xcb_shm_id)) {
        cleanup_free xcb_shm_query_version_reply_t *reply =
            xcb_shm_query_version_reply(c, xcb_shm_query_version(c), NULL);

        x11->has_shm = reply != NULL && at_least(reply->major_version, reply->minor_version, 1, 2);
    }
    if (has_extension(x11, &xcb_randr_id)) {
        cleanup_free xcb_randr_query_version_reply_t *reply =
            xcb_randr_query_version_reply(c, xcb_randr_query_version(c, 1, 5), NULL);

        x11->has_monitors =
            reply != NULL && at_least(reply->major_version, reply->minor_version, 1, 5);
    }
    if (has_extension(x11, &xcb_xfixes_id)) {
        cleanup_free xcb_xfixes_query_version_reply_t *reply =
            xcb_xfixes_query_version_reply(c, xcb_xfixes_query_version(c, 4, 0), NULL);

        x11->has_cursor = reply != NULL;
    }
}

static int check_pixels(struct x11 *x11, const xcb_screen_t *screen, struct err *err)
{
    const xcb_setup_t *setup = xcb_get_setup(x11->connection);
    xcb_format_iterator_t each;

    for (each = xcb_setup_pixmap_formats_iterator(setup); each.rem > 0; xcb_format_next(&each))
        if (each.data->depth == screen->root_depth && each.data->bits_per_pixel == 32 &&
            setup->image_byte_order == XCB_IMAGE_ORDER_LSB_FIRST)
            return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "the X server has %d bits a pixel; only 24 and 32 are supported",
                   screen->root_depth);
}

static void find_atoms(struct x11 *x11)
{
    xcb_intern_atom_cookie_t cookies[ATOMS];

    for (int i = 0; i < ATOMS; i++)
        cookies[i] =
            xcb_intern_atom(x11->connection, 0, (uint16_t)strlen(atom_names[i]), atom_names[i]);
    for (int i = 0; i < ATOMS; i++) {
        cleanup_free xcb_intern_atom_reply_t *reply =
            xcb_intern_atom_reply(x11->connection, cookies[i], NULL);

        x11->atoms[i] = reply != NULL ? reply->atom : XCB_ATOM_NONE;
    }
}

static int open_all(struct x11 *x11, int number, struct err *err)
{
    xcb_screen_iterator_t each;
    const char *display = getenv("DISPLAY");

    if (xcb_connection_has_error(x11->connection) != 0)
        return err_set(err, ERR_UNSUPPORTED, "there is no X server at the display \"%s\"",
                       display != NULL ? display : "");
    each = xcb_setup_roots_iterator(xcb_get_setup(x11->connection));
    while (number-- > 0 && each.rem > 1)
        xcb_screen_next(&each);
    x11->root = each.data->root;
    if (!has_extension(x11, &xcb_test_id))
        return err_set(err, ERR_UNSUPPORTED, "the X server lacks the extension XTEST");
    find_extensions(x11);
    find_atoms(x11);
    if (check_pixels(x11, each.data, err) < 0)
        return ERR_UNSUPPORTED;
    x11->damage = x11damage_new(x11->connection, x11->root);
    x11->gesture = x11gesture_new(x11->connection, x11->root);
    return x11keys_new(x11->connection, x11->root, x11->held, &x11->keys, err);
}

int screen_open_x11(struct screen_held *held, struct screen **out_screen, struct err *err)
{
    struct x11 *x11 = calloc(1, sizeof(*x11));
    int number = 0;
    int r;

    if (x11 == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    x11->base.ops = &ops;
    x11->held = held;
    x11->connection = xcb_connect(NULL, &number);
    r = open_all(x11, number, err);
    if (r < 0) {
        close_screen(&x11->base);
        return r;
    }
    release_all(&x11->base);
    *out_screen = &x11->base;
    return 0;
}
