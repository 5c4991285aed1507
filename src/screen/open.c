/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the display: Wayland first, since an X server beside it shows only some windows. */
#include "screen/backend.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

static int open_x11(struct screen_held *held, struct screen **out_screen, struct err *err)
{
    const char *name = getenv("DISPLAY");

    if (name == NULL || name[0] == '\0')
        return err_set(err, ERR_UNSUPPORTED, "DISPLAY is not set");
    return screen_open_x11(held, out_screen, err);
}

static const struct {
    const char *name;
    int (*open)(struct screen_held *held, struct screen **out_screen, struct err *err);
} backends[] = {
    {"Wayland", screen_open_wayland},
    {"X11", open_x11},
};

int screen_open(struct screen_held *held, struct screen **out_screen,
                char out_why[SCREEN_WHY_BYTES], struct err *err)
{
    struct err errors[array_size(backends)] = {ERR_INIT, ERR_INIT};
    int len = 0;

    out_why[0] = '\0';
    for (size_t i = 0; i < array_size(backends); i++) {
        size_t room = SCREEN_WHY_BYTES - (size_t)len;

        if (backends[i].open(held, out_screen, &errors[i]) == 0) {
            snprintf(out_why + len, room, "%s%s is used", len > 0 ? "; " : "", backends[i].name);
            return 0;
        }
        len += snprintf(out_why + len, room, "%s%s cannot be used (%.200s)", len > 0 ? "; " : "",
                        backends[i].name, errors[i].message);
    }
    return err_set(err, ERR_UNSUPPORTED, "no screen can be used: %.100s; %.100s", errors[0].message,
                   errors[1].message);
}
