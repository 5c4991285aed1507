/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interfaces of Wayland that we speak, as tables for libwayland: what of each is needed, up to
 * the version that is named here. Debian packages no description of the wlr protocols.
 */
#ifndef SCREEN_WAYLANDPROTOCOL_H
#define SCREEN_WAYLANDPROTOCOL_H

#include <wayland-util.h>

enum { DISPLAY_SYNC, DISPLAY_GET_REGISTRY };

extern const struct wl_interface waylandprotocol_callback; /* one event */

extern const struct wl_interface waylandprotocol_registry;
enum { REGISTRY_BIND };
enum { REGISTRY_GLOBAL, REGISTRY_GLOBAL_REMOVE };

extern const struct wl_interface waylandprotocol_seat; /* only named in requests of others */

extern const struct wl_interface waylandprotocol_output;
enum { OUTPUT_GEOMETRY, OUTPUT_MODE, OUTPUT_DONE, OUTPUT_SCALE, OUTPUT_NAME, OUTPUT_DESCRIPTION };

extern const struct wl_interface waylandprotocol_shm;
enum { SHM_CREATE_POOL };

extern const struct wl_interface waylandprotocol_pool;
enum { POOL_CREATE_BUFFER, POOL_DESTROY, POOL_RESIZE };

extern const struct wl_interface waylandprotocol_buffer;
enum { BUFFER_DESTROY };

extern const struct wl_interface waylandprotocol_layout; /* zxdg_output_manager_v1 */
enum { LAYOUT_DESTROY, LAYOUT_GET_PLACE };

extern const struct wl_interface waylandprotocol_place; /* zxdg_output_v1 */
enum { PLACE_DESTROY };
enum { PLACE_POSITION, PLACE_SIZE, PLACE_DONE, PLACE_NAME, PLACE_DESCRIPTION };

extern const struct wl_interface waylandprotocol_copier; /* zwlr_screencopy_manager_v1 */
enum { COPIER_CAPTURE, COPIER_CAPTURE_REGION };

extern const struct wl_interface waylandprotocol_frame; /* zwlr_screencopy_frame_v1 */
enum { FRAME_COPY, FRAME_DESTROY };
enum {
    FRAME_BUFFER,
    FRAME_FLAGS,
    FRAME_READY,
    FRAME_FAILED,
    FRAME_DAMAGE,
    FRAME_DMABUF,
    FRAME_BUFFER_DONE
};

extern const struct wl_interface waylandprotocol_pointers; /* zwlr_virtual_pointer_manager_v1 */
enum { POINTERS_CREATE };

extern const struct wl_interface waylandprotocol_pointer; /* zwlr_virtual_pointer_v1 */
enum {
    POINTER_MOTION,
    POINTER_MOTION_ABSOLUTE,
    POINTER_BUTTON,
    POINTER_AXIS,
    POINTER_FRAME,
    POINTER_AXIS_SOURCE,
    POINTER_AXIS_STOP,
    POINTER_AXIS_DISCRETE,
};

extern const struct wl_interface waylandprotocol_keyboards; /* zwp_virtual_keyboard_manager_v1 */
enum { KEYBOARDS_CREATE };

extern const struct wl_interface waylandprotocol_keyboard; /* zwp_virtual_keyboard_v1 */
enum { KEYBOARD_KEYMAP, KEYBOARD_KEY, KEYBOARD_MODIFIERS };

extern const struct wl_interface waylandprotocol_windows; /* zwlr_foreign_toplevel_manager_v1 */
enum { WINDOWS_STOP };
enum { WINDOWS_NEW, WINDOWS_FINISHED };

extern const struct wl_interface waylandprotocol_window; /* zwlr_foreign_toplevel_handle_v1 */
enum { WINDOW_DESTROY = 7 };
enum {
    WINDOW_TITLE,
    WINDOW_APP,
    WINDOW_ENTER,
    WINDOW_LEAVE,
    WINDOW_STATE,
    WINDOW_DONE,
    WINDOW_CLOSED
};
enum { WINDOW_IS_ACTIVATED = 2 }; /* among the numbers of its state */

#endif
