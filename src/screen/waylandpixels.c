/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/waylandpixels.h"

#include <stdlib.h>

enum { PIXEL_BYTES = 4 };

/* The first two have numbers of their own; the others are four characters. */
enum format { ARGB = 0, XRGB = 1, ABGR = 0x34324241, XBGR = 0x34324258 };

/* By the numbers of wl_output. An odd one swaps width and height. */
enum turn { UPRIGHT, TURN_90, TURN_180, TURN_270, MIRROR, MIRROR_90, MIRROR_180, MIRROR_270 };

bool waylandpixels_is_known(uint32_t format)
{
    return format == ARGB || format == XRGB || format == ABGR || format == XBGR;
}

bool waylandpixels_has_red_first(const struct waylandpixels *pixels)
{
    return pixels->format == ABGR || pixels->format == XBGR;
}

bool waylandpixels_is_plain(const struct waylandpixels *pixels)
{
    return pixels->transform == UPRIGHT && !pixels->is_inverted && pixels->part_width == 0 &&
           !waylandpixels_has_red_first(pixels);
}

static int seen_width(const struct waylandpixels *pixels)
{
    return pixels->transform % 2 != 0 ? pixels->height : pixels->width;
}

static int seen_height(const struct waylandpixels *pixels)
{
    return pixels->transform % 2 != 0 ? pixels->width : pixels->height;
}

void waylandpixels_size(const struct waylandpixels *pixels, int *out_width, int *out_height)
{
    *out_width = pixels->part_width > 0 ? pixels->part_width : seen_width(pixels);
    *out_height = pixels->part_width > 0 ? pixels->part_height : seen_height(pixels);
}

struct screen_area waylandpixels_common(const struct screen_area *a, const struct screen_area *b)
{
    int left = a->x > b->x ? a->x : b->x;
    int top = a->y > b->y ? a->y : b->y;
    int right = a->x + a->width < b->x + b->width ? a->x + a->width : b->x + b->width;
    int bottom = a->y + a->height < b->y + b->height ? a->y + a->height : b->y + b->height;

    return (struct screen_area){left, top, right - left, bottom - top};
}

void waylandpixels_cut(struct waylandpixels *pixels, const struct screen_area *whole,
                       const struct screen_area *inside)
{
    int64_t width = seen_width(pixels);
    int64_t height = seen_height(pixels);
    int right = (int)((inside->x + inside->width) * width / whole->width);
    int bottom = (int)((inside->y + inside->height) * height / whole->height);

    pixels->part_x = (int)(inside->x * width / whole->width);
    pixels->part_y = (int)(inside->y * height / whole->height);
    pixels->part_width = right > pixels->part_x ? right - pixels->part_x : 1;
    pixels->part_height = bottom > pixels->part_y ? bottom - pixels->part_y : 1;
}

/* The pixel that a person sees at (x, y). */
static const uint8_t *find_pixel(const struct waylandpixels *pixels, int x, int y)
{
    int width = seen_width(pixels);
    int height = seen_height(pixels);
    int column = x;
    int line = y;

    switch ((enum turn)pixels->transform) {
    case UPRIGHT:
        break;
    case TURN_90:
        column = y;
        line = width - 1 - x;
        break;
    case TURN_180:
        column = width - 1 - x;
        line = height - 1 - y;
        break;
    case TURN_270:
        column = height - 1 - y;
        line = x;
        break;
    case MIRROR:
        column = width - 1 - x;
        break;
    case MIRROR_90:
        column = y;
        line = x;
        break;
    case MIRROR_180:
        line = height - 1 - y;
        break;
    case MIRROR_270:
        column = height - 1 - y;
        line = width - 1 - x;
        break;
    }
    if (pixels->is_inverted)
        line = pixels->height - 1 - line;
    return pixels->bytes + (size_t)line * pixels->stride + (size_t)column * PIXEL_BYTES;
}

void waylandpixels_copy(const struct waylandpixels *pixels, uint8_t *to, int width, int height,
                        size_t stride)
{
    bool is_reversed = waylandpixels_has_red_first(pixels);
    int part_width;
    int part_height;

    waylandpixels_size(pixels, &part_width, &part_height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const uint8_t *from =
                find_pixel(pixels, pixels->part_x + (int)((int64_t)x * part_width / width),
                           pixels->part_y + (int)((int64_t)y * part_height / height));
            uint8_t *pixel = to + (size_t)y * stride + (size_t)x * PIXEL_BYTES;

            pixel[0] = from[is_reversed ? 2 : 0];
            pixel[1] = from[1];
            pixel[2] = from[is_reversed ? 0 : 2];
            pixel[3] = 0;
        }
}

int waylandpixels_make_room(uint8_t **inout_room, int width, int height, struct err *err)
{
    size_t line = (size_t)width * PIXEL_BYTES;

    free(*inout_room);
    *inout_room = NULL;
    if (width <= 0 || height <= 0 || (size_t)height > WAYLANDPIXELS_MAX_BYTES / line)
        return err_set(err, ERR_TOO_LARGE,
                       "%d x %d pixels are too many for a picture: ask for a smaller region", width,
                       height);
    *inout_room = calloc((size_t)height, line);
    return *inout_room != NULL ? 0 : err_set_plain(err, ERR_NO_MEMORY);
}
