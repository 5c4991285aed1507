/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels of a screen become an image file: scaled down, then encoded. */
#ifndef SCREEN_IMAGE_H
#define SCREEN_IMAGE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "screen/wire.h"

/* Four bytes a pixel: blue, green, red, and one that is ignored. */
struct image {
    const uint8_t *pixels;
    int width;
    int height;
    size_t stride; /* bytes from one line to the next */
};

/* The size with the longer side at most max_side (0: as it is), and no side below 1. */
void image_fit(int width, int height, int max_side, int *out_width, int *out_height);

/* Appends the image with this size, which must not be larger than its own. */
int image_encode(const struct image *image, int width, int height, enum screen_format format,
                 struct buf *out, struct err *err);

/* Of the visible bytes. */
uint64_t image_fingerprint(const struct image *image);

#endif
