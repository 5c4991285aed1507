/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a front end and gatehouse-screen say to each other over their socket: a request with its
 * text, then a reply with its text and its image. Both are from the same build on the same machine.
 */
#ifndef SCREEN_WIRE_H
#define SCREEN_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
    SCREEN_MAX_TEXT = 64 << 10,   /* of a request */
    SCREEN_MAX_REPLY = 256 << 10, /* text of a reply */
    SCREEN_MAX_IMAGE = 64 << 20,
    SCREEN_MAX_KEYS = 8,
    SCREEN_MAX_SCROLL = 100,
    SCREEN_MAX_SIDE = 8192,
};

enum screen_action {
    SCREEN_START, /* is there a display? */
    SCREEN_INFO,
    SCREEN_WINDOWS,
    SCREEN_GRAB,
    SCREEN_LOOK, /* a fingerprint of a region; may wait until something changes */
    SCREEN_MOVE,
    SCREEN_CLICK,
    SCREEN_BUTTON,
    SCREEN_DRAG,
    SCREEN_SCROLL,
    SCREEN_TYPE,
    SCREEN_PRESS, /* keys, in the text, one in a line: the last is tapped, the others are held */
    SCREEN_HOLD,
    SCREEN_ACTIONS
};

enum screen_format { SCREEN_JPEG, SCREEN_PNG, SCREEN_WEBP, SCREEN_FORMATS };

enum screen_direction { SCREEN_UP, SCREEN_DOWN, SCREEN_LEFT, SCREEN_RIGHT, SCREEN_DIRECTIONS };

struct screen_request {
    uint32_t action;
    /*
     * Which pixels the coordinates count: those of this image (0: see the next), else of one of
     * this size, else those of the last image, else those of the screen.
     */
    uint32_t image;
    int32_t image_width;
    int32_t image_height;
    int32_t x;
    int32_t y;
    int32_t to_x; /* drag */
    int32_t to_y;
    int32_t width; /* region; 0: the whole monitor */
    int32_t height;
    int32_t monitor; /* 0: the primary one; else counted from 1 */
    int32_t max_side;
    uint32_t format;
    uint32_t button; /* 1 left, 2 middle, 3 right */
    uint32_t count;  /* of clicks or of scroll steps */
    uint32_t direction;
    uint32_t ms; /* to hold a key, or to look at most */
    uint32_t is_down;
    uint32_t has_cursor;
    uint32_t text_len;
};

struct screen_reply {
    int32_t error; /* ERR_*, with a message in the text */
    uint32_t text_len;
    uint32_t image_len;
    uint32_t image; /* its number */
    int32_t width;
    int32_t height;
    uint64_t fingerprint;
    uint32_t is_same; /* the display says that nothing was drawn since the last look */
};

/*
 * Reads or writes everything, and waits for it. ERR_CONNECTION_LOST: the other side has closed.
 * With `deadline_ms` of the system's monotonic clock (0: none), ERR_TIMED_OUT after it.
 */
int screen_wire_read(int fd, void *room, size_t size, int64_t deadline_ms);
int screen_wire_write(int fd, const void *bytes, size_t size, int64_t deadline_ms);

#endif
