/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/waylandprotocol.h"

#include <stddef.h>

#include "base/cleanup.h"

/*
 * A message is its name, its arguments (i int, u uint, f fixed, s string, o object, n new object,
 * a array, h descriptor; a digit: the version that it came with; ?: may be null), and the
 * interfaces of its objects, where libwayland must know them.
 */
static const struct wl_interface *no_types[8];

/* clang-format off */
#define MESSAGE(name, arguments) {name, arguments, no_types}

#define INTERFACE(id, interface_name, interface_version, requests, request_count, events, event_count) \
    const struct wl_interface waylandprotocol_##id = { \
        interface_name, interface_version, request_count, requests, event_count, events}

static const struct wl_message callback_events[] = {MESSAGE("done", "u")};
INTERFACE(callback, "wl_callback", 1, NULL, 0, callback_events, 1);

static const struct wl_message registry_requests[] = {MESSAGE("bind", "usun")};
static const struct wl_message registry_events[] = {
    MESSAGE("global", "usu"), MESSAGE("global_remove", "u")};
INTERFACE(registry, "wl_registry", 1, registry_requests, 1, registry_events, 2);

static const struct wl_message seat_events[] = {MESSAGE("capabilities", "u"), MESSAGE("name", "2s")};
INTERFACE(seat, "wl_seat", 2, NULL, 0, seat_events, 2);

static const struct wl_message output_events[] = {
    MESSAGE("geometry", "iiiiissi"), MESSAGE("mode", "uiii"), MESSAGE("done", "2"),
    MESSAGE("scale", "2i"), MESSAGE("name", "4s"), MESSAGE("description", "4s")};
INTERFACE(output, "wl_output", 4, NULL, 0, output_events, 6);

static const struct wl_message buffer_requests[] = {MESSAGE("destroy", "")};
static const struct wl_message buffer_events[] = {MESSAGE("release", "")};
INTERFACE(buffer, "wl_buffer", 1, buffer_requests, 1, buffer_events, 1);

static const struct wl_message pool_requests[] = {
    MESSAGE("create_buffer", "niiiiu"), MESSAGE("destroy", ""), MESSAGE("resize", "i")};
INTERFACE(pool, "wl_shm_pool", 1, pool_requests, 3, NULL, 0);

static const struct wl_message shm_requests[] = {MESSAGE("create_pool", "nhi")};
static const struct wl_message shm_events[] = {MESSAGE("format", "u")};
INTERFACE(shm, "wl_shm", 1, shm_requests, 1, shm_events, 1);

static const struct wl_message place_requests[] = {MESSAGE("destroy", "")};
static const struct wl_message place_events[] = {
    MESSAGE("logical_position", "ii"), MESSAGE("logical_size", "ii"), MESSAGE("done", ""),
    MESSAGE("name", "2s"), MESSAGE("description", "2s")};
INTERFACE(place, "zxdg_output_v1", 3, place_requests, 1, place_events, 5);

static const struct wl_message layout_requests[] = {
    MESSAGE("destroy", ""), MESSAGE("get_xdg_output", "no")};
INTERFACE(layout, "zxdg_output_manager_v1", 3, layout_requests, 2, NULL, 0);

static const struct wl_message frame_requests[] = {
    MESSAGE("copy", "o"), MESSAGE("destroy", ""), MESSAGE("copy_with_damage", "2o")};
static const struct wl_message frame_events[] = {
    MESSAGE("buffer", "uuuu"), MESSAGE("flags", "u"), MESSAGE("ready", "uuu"),
    MESSAGE("failed", ""), MESSAGE("damage", "2uuuu"), MESSAGE("linux_dmabuf", "3uuu"),
    MESSAGE("buffer_done", "3")};
INTERFACE(frame, "zwlr_screencopy_frame_v1", 3, frame_requests, 3, frame_events, 7);

static const struct wl_message copier_requests[] = {
    MESSAGE("capture_output", "nio"), MESSAGE("capture_output_region", "nioiiii"),
    MESSAGE("destroy", "")};
INTERFACE(copier, "zwlr_screencopy_manager_v1", 3, copier_requests, 3, NULL, 0);

static const struct wl_message pointer_requests[] = {
    MESSAGE("motion", "uff"), MESSAGE("motion_absolute", "uuuuu"), MESSAGE("button", "uuu"),
    MESSAGE("axis", "uuf"), MESSAGE("frame", ""), MESSAGE("axis_source", "u"),
    MESSAGE("axis_stop", "uu"), MESSAGE("axis_discrete", "uufi"), MESSAGE("destroy", "")};
INTERFACE(pointer, "zwlr_virtual_pointer_v1", 1, pointer_requests, 9, NULL, 0);

static const struct wl_message pointers_requests[] = {
    MESSAGE("create_virtual_pointer", "?on"), MESSAGE("destroy", "")};
INTERFACE(pointers, "zwlr_virtual_pointer_manager_v1", 1, pointers_requests, 2, NULL, 0);

static const struct wl_message keyboard_requests[] = {
    MESSAGE("keymap", "uhu"), MESSAGE("key", "uuu"), MESSAGE("modifiers", "uuuu"),
    MESSAGE("destroy", "")};
INTERFACE(keyboard, "zwp_virtual_keyboard_v1", 1, keyboard_requests, 4, NULL, 0);

static const struct wl_message keyboards_requests[] = {MESSAGE("create_virtual_keyboard", "on")};
INTERFACE(keyboards, "zwp_virtual_keyboard_manager_v1", 1, keyboards_requests, 1, NULL, 0);

static const struct wl_message window_requests[] = {
    MESSAGE("set_maximized", ""), MESSAGE("unset_maximized", ""), MESSAGE("set_minimized", ""),
    MESSAGE("unset_minimized", ""), MESSAGE("activate", "o"), MESSAGE("close", ""),
    MESSAGE("set_rectangle", "oiiii"), MESSAGE("destroy", "")};
static const struct wl_message window_events[] = {
    MESSAGE("title", "s"), MESSAGE("app_id", "s"), MESSAGE("output_enter", "o"),
    MESSAGE("output_leave", "o"), MESSAGE("state", "a"), MESSAGE("done", ""),
    MESSAGE("closed", "")};
INTERFACE(window, "zwlr_foreign_toplevel_handle_v1", 1, window_requests, 8, window_events, 7);

/* libwayland makes the object of a new window when the event comes, and needs its interface. */
static const struct wl_interface *new_window[] = {&waylandprotocol_window};
static const struct wl_message windows_requests[] = {MESSAGE("stop", "")};
static const struct wl_message windows_events[] = {
    {"toplevel", "n", new_window}, MESSAGE("finished", "")};
INTERFACE(windows, "zwlr_foreign_toplevel_manager_v1", 1, windows_requests, 1, windows_events, 2);
/* clang-format on */
