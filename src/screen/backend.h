/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screen with its pointer and keyboard, behind one interface. Coordinates are places of the whole
 * screen: pixels, or several pixels each where the display has a scale of its own. A backend is
 * used by one thread. ERR_CONNECTION_LOST: the display has gone.
 */
#ifndef SCREEN_BACKEND_H
#define SCREEN_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/jsonwrite.h"
#include "base/str.h"
#include "screen/image.h"

enum { SCREEN_MAX_MONITORS = 16, SCREEN_NAME_BYTES = 64 };

struct screen_area {
    int x;
    int y;
    int width;
    int height;
};

struct screen_monitor {
    struct screen_area area;
    bool is_primary;
    double scale; /* how much larger than usual things are drawn */
    char name[SCREEN_NAME_BYTES];
};

/* Where the conversation with the front end is. */
enum screen_exchange {
    SCREEN_BETWEEN,    /* two requests */
    SCREEN_IN_REQUEST, /* a part of it was read */
    SCREEN_AT_WORK,    /* the front end waits for the reply */
    SCREEN_IN_REPLY,   /* a part of it was sent */
};

/* What is pressed or changed, in memory that outlives the process, so that the next one can undo
 * it. */
struct screen_held {
    uint8_t keys[256];
    uint8_t buttons[8];
    uint8_t borrowed[256]; /* keys that have another symbol for a while */
    bool is_stopped;       /* by the user: no more input */
    enum screen_exchange exchange;
};

struct screen;

struct screen_ops {
    const char *name; /* "x11" */
    /* The display asks the user by itself when it is first used: until then it is left alone. */
    bool asks_first;
    int (*monitors)(struct screen *screen, struct screen_monitor out_monitors[SCREEN_MAX_MONITORS],
                    int *out_count, struct err *err);
    /* ERR_NOT_FOUND: the display does not tell. */
    int (*pointer)(struct screen *screen, int *out_x, int *out_y, struct err *err);
    /* One object for each window that a person sees, the topmost first. */
    int (*windows)(struct screen *screen, struct json_writer *json, struct err *err);
    /*
     * Whether something may have been drawn since this was last true; the first time it is. Looks
     * at what `events` took. Always true, or NULL: the display does not tell.
     */
    bool (*has_changed)(struct screen *screen);
    /* The pixels are valid until the next call. They may be more than the area has places. */
    int (*grab)(struct screen *screen, const struct screen_area *area, bool has_cursor,
                struct image *out_image, struct err *err);
    int (*move)(struct screen *screen, int x, int y, struct err *err);
    /* Button 1 to 3; 4 to 7 scroll up, down, left, right. */
    int (*button)(struct screen *screen, unsigned button, bool is_down, struct err *err);
    int (*type)(struct screen *screen, struct str text, struct err *err);
    /* Taps the last, while the others are down. */
    int (*press)(struct screen *screen, const uint32_t *symbols, int count, unsigned hold_ms,
                 struct err *err);
    /* Called when nothing was asked for a moment: returns what was borrowed. */
    void (*rest)(struct screen *screen);
    void (*release_all)(struct screen *screen);
    /* To be polled for reading. */
    int (*descriptor)(struct screen *screen);
    /*
     * Takes what the display has sent, without waiting. *out_is_stopped is set if the user made the
     * gesture that stops an agent. *out_wait_ms is set if it must be called again after that time.
     */
    int (*events)(struct screen *screen, bool *out_is_stopped, int *out_wait_ms, struct err *err);
    void (*close)(struct screen *screen);
};

struct screen {
    const struct screen_ops *ops;
};

/* `held` may have entries of an earlier process; they are released. */

/* What a backend needs from the program. */
struct screen_around {
    /*
     * Opens the file where a desktop's permission is kept, so that the user is asked once. -1:
     * nowhere. May be NULL.
     */
    int (*open_token)(void *data);
    /* A question of the desktop is open or not any more; may be NULL. */
    void (*tell_question)(void *data, bool is_open);
    void *data;
};

/* For $DISPLAY. */
int screen_open_x11(struct screen_held *held, struct screen **out_screen, struct err *err);
/* For $WAYLAND_DISPLAY. */
int screen_open_wayland(struct screen_held *held, struct screen **out_screen, struct err *err);
/* By the desktop portal, on the user's session bus. */
int screen_open_portal(struct screen_held *held, const struct screen_around *around,
                       struct screen **out_screen, struct err *err);

enum { SCREEN_WHY_BYTES = 1024 };

/*
 * The first of them that can be used. *out_why says which and why, or why none, for people; an
 * error says it shorter.
 */
int screen_open(struct screen_held *held, const struct screen_around *around,
                struct screen **out_screen, char out_why[SCREEN_WHY_BYTES], struct err *err);

#endif
