/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels as a Wayland compositor gives them: in several formats, turned, the last line first. */
#ifndef SCREEN_WAYLANDPIXELS_H
#define SCREEN_WAYLANDPIXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "screen/backend.h"

struct waylandpixels {
    const uint8_t *bytes;
    int width;
    int height;
    size_t stride;
    uint32_t format; /* of wl_shm */
    int transform;   /* of wl_output: how the picture was turned on its way to the output */
    bool is_inverted;
    /* The part that is wanted, as a person sees it; without a width, all. */
    int part_x;
    int part_y;
    int part_width;
    int part_height;
};

enum { WAYLANDPIXELS_MAX_BYTES = 512 << 20 }; /* of a picture */

/* What both areas have; without a width or height, nothing. */
struct screen_area waylandpixels_common(const struct screen_area *a, const struct screen_area *b);
/*
 * Only this part is wanted. It is given in logical places, and so is the size of what the pixels
 * show.
 */
void waylandpixels_cut(struct waylandpixels *pixels, const struct screen_area *whole,
                       const struct screen_area *inside);

/* Four bytes with eight bits a colour. */
bool waylandpixels_is_known(uint32_t format);
bool waylandpixels_has_red_first(const struct waylandpixels *pixels);
/* They can be used as they are. */
bool waylandpixels_is_plain(const struct waylandpixels *pixels);
/* Of the part, as a person sees it. */
void waylandpixels_size(const struct waylandpixels *pixels, int *out_width, int *out_height);
/*
 * Copies them as a person sees them: blue, green, red, and one byte that is ignored; with this
 * size, by the nearest pixel.
 */
void waylandpixels_copy(const struct waylandpixels *pixels, uint8_t *to, int width, int height,
                        size_t stride);
/*
 * Room for a picture of this size, all black; frees what was there. ERR_TOO_LARGE: compositors and
 * desktops say how large it is, and where their monitors are.
 */
int waylandpixels_make_room(uint8_t **inout_room, int width, int height, struct err *err);

#endif
