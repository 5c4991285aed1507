/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/x11gesture.h"

#include <stdlib.h>
#include <string.h>
#include <xcb/xinput.h>
#include <xkbcommon/xkbcommon-keysyms.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

enum {
    ESCAPES = 3,
    ESCAPES_MS = 2000, /* from the first to the last */
    CORNER_MS = 1000,
    CORNER_PIXELS = 2,
    LOOK_MS = 100, /* between two looks where the pointer is */
    MAX_DEVICES = 256,
    MAX_SYMBOLS = 16,
};

struct x11gesture {
    xcb_connection_t *connection;
    uint8_t opcode; /* of the extension */
    bool is_known[MAX_DEVICES];
    bool is_ours[MAX_DEVICES]; /* made by XTEST */
    uint32_t escape_ms[ESCAPES];
    unsigned escapes;
    bool has_moved; /* by a real device, since the last look */
    int64_t looked_ms;
    int64_t corner_since_ms; /* 0: it is not in one */
};

static void find_devices(struct x11gesture *gesture)
{
    cleanup_free xcb_input_xi_query_device_reply_t *reply = xcb_input_xi_query_device_reply(
        gesture->connection, xcb_input_xi_query_device(gesture->connection, XCB_INPUT_DEVICE_ALL),
        NULL);
    xcb_input_xi_device_info_iterator_t each;

    if (reply == NULL)
        return;
    for (each = xcb_input_xi_query_device_infos_iterator(reply); each.rem > 0;
         xcb_input_xi_device_info_next(&each)) {
        struct str name = {xcb_input_xi_device_info_name(each.data),
                           (size_t)xcb_input_xi_device_info_name_length(each.data)};

        if (each.data->deviceid >= MAX_DEVICES)
            continue;
        gesture->is_known[each.data->deviceid] = true;
        gesture->is_ours[each.data->deviceid] = str_find(name, STR("XTEST")) != SIZE_MAX;
    }
}

/* What cannot be told is taken for our own: it must not stop anything. */
static bool is_real(struct x11gesture *gesture, uint16_t device)
{
    if (device >= MAX_DEVICES)
        return false;
    if (!gesture->is_known[device])
        find_devices(gesture);
    return gesture->is_known[device] && !gesture->is_ours[device];
}

static bool is_escape(struct x11gesture *gesture, uint32_t code)
{
    cleanup_free xcb_get_keyboard_mapping_reply_t *reply = NULL;
    const xcb_keysym_t *symbols;

    if (code > UINT8_MAX)
        return false;
    reply = xcb_get_keyboard_mapping_reply(
        gesture->connection, xcb_get_keyboard_mapping(gesture->connection, (uint8_t)code, 1), NULL);
    if (reply == NULL || xcb_get_keyboard_mapping_keysyms_length(reply) < 1)
        return false;
    symbols = xcb_get_keyboard_mapping_keysyms(reply);
    return symbols[0] == XKB_KEY_Escape;
}

static bool take_key(struct x11gesture *gesture, const xcb_input_raw_key_press_event_t *event)
{
    if (!is_real(gesture, event->sourceid))
        return false;
    if (!is_escape(gesture, event->detail)) {
        gesture->escapes = 0;
        return false;
    }
    if (gesture->escapes == ESCAPES) {
        memmove(gesture->escape_ms, gesture->escape_ms + 1,
                (ESCAPES - 1) * sizeof(gesture->escape_ms[0]));
        gesture->escapes--;
    }
    gesture->escape_ms[gesture->escapes++] = event->time;
    return gesture->escapes == ESCAPES && event->time - gesture->escape_ms[0] <= ESCAPES_MS;
}

bool x11gesture_take(struct x11gesture *gesture, const xcb_generic_event_t *event)
{
    const xcb_ge_generic_event_t *generic = (const xcb_ge_generic_event_t *)event;

    if (gesture == NULL || (event->response_type & 0x7F) != XCB_GE_GENERIC ||
        generic->extension != gesture->opcode)
        return false;
    /* SAFETY: the extension and the type say which struct it is. */
    if (generic->event_type == XCB_INPUT_RAW_KEY_PRESS)
        return take_key(gesture, (const xcb_input_raw_key_press_event_t *)event);
    if (generic->event_type == XCB_INPUT_RAW_MOTION &&
        is_real(gesture, ((const xcb_input_raw_motion_event_t *)event)->sourceid))
        gesture->has_moved = true;
    return false;
}

bool x11gesture_wants_look(struct x11gesture *gesture, int *out_wait_ms)
{
    int64_t now_ms = clock_monotonic_ms(&clock_system);
    int64_t due_ms;

    if (gesture == NULL || (!gesture->has_moved && gesture->corner_since_ms == 0))
        return false;
    due_ms =
        gesture->has_moved ? gesture->looked_ms + LOOK_MS : gesture->corner_since_ms + CORNER_MS;
    if (now_ms < due_ms)
        *out_wait_ms = (int)(due_ms - now_ms);
    return now_ms >= due_ms;
}

static bool is_corner(const struct screen_area *area, int x, int y)
{
    int right = area->x + area->width - 1;
    int bottom = area->y + area->height - 1;

    return (abs(x - area->x) < CORNER_PIXELS || abs(x - right) < CORNER_PIXELS) &&
           (abs(y - area->y) < CORNER_PIXELS || abs(y - bottom) < CORNER_PIXELS);
}

bool x11gesture_look(struct x11gesture *gesture, const struct screen_monitor *monitors, int count,
                     int x, int y, int *out_wait_ms)
{
    int64_t now_ms = clock_monotonic_ms(&clock_system);
    bool is_in_corner = false;

    gesture->looked_ms = now_ms;
    gesture->has_moved = false;
    for (int i = 0; i < count; i++)
        is_in_corner = is_in_corner || is_corner(&monitors[i].area, x, y);
    if (!is_in_corner) {
        gesture->corner_since_ms = 0;
        return false;
    }
    if (gesture->corner_since_ms == 0)
        gesture->corner_since_ms = now_ms;
    *out_wait_ms = (int)(gesture->corner_since_ms + CORNER_MS - now_ms);
    return *out_wait_ms <= 0;
}

void x11gesture_forget(struct x11gesture *gesture)
{
    if (gesture == NULL)
        return;
    gesture->has_moved = false;
    gesture->corner_since_ms = 0;
}

static bool has_version(xcb_connection_t *connection)
{
    cleanup_free xcb_input_xi_query_version_reply_t *reply = xcb_input_xi_query_version_reply(
        connection, xcb_input_xi_query_version(connection, 2, 2), NULL);

    return reply != NULL &&
           (reply->major_version > 2 || (reply->major_version == 2 && reply->minor_version >= 1));
}

struct x11gesture *x11gesture_new(xcb_connection_t *connection, xcb_window_t root)
{
    const struct {
        xcb_input_event_mask_t head;
        uint32_t mask;
    } wanted = {
        .head = {.deviceid = XCB_INPUT_DEVICE_ALL_MASTER, .mask_len = 1},
        .mask = XCB_INPUT_XI_EVENT_MASK_RAW_KEY_PRESS | XCB_INPUT_XI_EVENT_MASK_RAW_MOTION,
    };
    const xcb_query_extension_reply_t *extension =
        xcb_get_extension_data(connection, &xcb_input_id);
    struct x11gesture *gesture;

    if (extension == NULL || extension->present == 0 || !has_version(connection))
        return NULL;
    gesture = calloc(1, sizeof(*gesture));
    if (gesture == NULL)
        return NULL;
    gesture->connection = connection;
    gesture->opcode = extension->major_opcode;
    find_devices(gesture);
    xcb_input_xi_select_events(connection, root, 1, &wanted.head);
    return gesture;
}

void x11gesture_free(struct x11gesture *gesture)
{
    free(gesture);
}
