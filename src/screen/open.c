/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the display: Wayland first, since an X server beside it shows only some windows; then the
 * portal, which asks the user; then X11.
 */
#include "screen/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value != NULL && value[0] != '\0';
}

static int open_wayland(struct screen_held *held, const struct screen_around *around,
                        struct screen **out_screen, struct err *err)
{
    (void)around;
    return screen_open_wayland(held, out_screen, err);
}

/* An X server alone shows everything, and without a question. */
static int open_portal(struct screen_held *held, const struct screen_around *around,
                       struct screen **out_screen, struct err *err)
{
    const char *type = getenv("XDG_SESSION_TYPE");

    if (is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") &&
        (type == NULL || strcmp(type, "wayland") != 0))
        return err_set(err, ERR_UNSUPPORTED, "there is an X server without Wayland");
    return screen_open_portal(held, around, out_screen, err);
}

static int open_x11(struct screen_held *held, const struct screen_around *around,
                    struct screen **out_screen, struct err *err)
{
    (void)around;
    if (!is_set("DISPLAY"))
        return err_set(err, ERR_UNSUPPORTED, "DISPLAY is not set");
    return screen_open_x11(held, out_screen, err);
}

static const struct {
    const char *name;
    int (*open)(struct screen_held *held, const struct screen_around *around,
                struct screen **out_screen, struct err *err);
} backends[] = {
    {"Wayland", open_wayland},
    {"the desktop portal", open_portal},
    {"X11", open_x11},
};

int screen_open(struct screen_held *held, const struct screen_around *around,
                struct screen **out_screen, char out_why[SCREEN_WHY_BYTES], struct err *err)
{
    struct err errors[array_size(backends)] = {ERR_INIT, ERR_INIT, ERR_INIT};
    int len = 0;

    out_why[0] = '\0';
    for (size_t i = 0; i < array_size(backends); i++) {
        size_t room = SCREEN_WHY_BYTES - (size_t)len;

        if (backends[i].open(held, around, out_screen, &errors[i]) == 0) {
            snprintf(out_why + len, room, "%s%s is used", len > 0 ? "; " : "", backends[i].name);
            return 0;
        }
        len += snprintf(out_why + len, room, "%s%s cannot be used (%.200s)", len > 0 ? "; " : "",
                        backends[i].name, errors[i].message);
    }
    return err_set(err, ERR_UNSUPPORTED, "no screen can be used: %.80s; %.80s; %.80s",
                   errors[0].message, errors[1].message, errors[2].message);
}
