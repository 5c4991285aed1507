/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/image.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>
#include <webp/encode.h>

#include "base/cleanup.h"

enum {
    PIXEL_BYTES = 4,
    AT_ONCE = 16, /* bytes */
    QUALITY = 85,
    /* For PNG: the second costs a third of the default's time for a tenth more bytes. */
    PNG_LEVEL = 2,
};

void image_fit(int width, int height, int max_side, int *out_width, int *out_height)
{
    int longer = width > height ? width : height;

    *out_width = width;
    *out_height = height;
    if (max_side <= 0 || longer <= max_side)
        return;
    *out_width = (int)(((int64_t)width * max_side * 2 + longer) / (2 * (int64_t)longer));
    *out_height = (int)(((int64_t)height * max_side * 2 + longer) / (2 * (int64_t)longer));
    if (*out_width < 1)
        *out_width = 1;
    if (*out_height < 1)
        *out_height = 1;
}

/* ---- scaling: each new pixel is the mean of what it covers, in 1/256 of a pixel ---- */

struct span {
    int first;
    int count;
    uint32_t begin; /* weight of the first, of 256 */
    uint32_t end;   /* of the last */
    float share;    /* of a weight in all of them */
};

static void make_span(int at, int from, int to, struct span *out_span)
{
    uint64_t begin = (uint64_t)at * (uint64_t)from * 256 / (uint64_t)to;
    uint64_t end = (uint64_t)(at + 1) * (uint64_t)from * 256 / (uint64_t)to;
    int last = (int)((end + 255) / 256) - 1;

    out_span->first = (int)(begin / 256);
    out_span->count = (last < from ? last : from - 1) - out_span->first + 1;
    out_span->begin = 256 - (uint32_t)(begin % 256);
    out_span->end = end % 256 == 0 ? 256 : (uint32_t)(end % 256);
    if (out_span->count == 1)
        out_span->begin = out_span->end = (uint32_t)(end - begin);
    out_span->share = 1.0F / (float)(end - begin);
}

static uint32_t weight_of(const struct span *span, int index)
{
    if (index == 0)
        return span->begin;
    return index == span->count - 1 ? span->end : 256;
}

/*
 * The mean of some lines, for a few of their bytes. A weight times a byte has 16 bits, of which a
 * processor multiplies twice as many at once as of 32.
 */
static inline void flatten_part(const struct image *image, const struct span *rows, size_t at,
                                size_t count, float *restrict out_line)
{
    const uint8_t *line = image->pixels + (size_t)rows->first * image->stride + at;
    uint32_t sums[AT_ONCE] = {0};

    for (int i = 0; i < rows->count; i++, line += image->stride) {
        uint16_t weight = (uint16_t)weight_of(rows, i);

        for (size_t c = 0; c < count; c++)
            sums[c] += (uint16_t)(weight * line[c]);
    }
    for (size_t c = 0; c < count; c++)
        out_line[at + c] = (float)(int32_t)sums[c] * rows->share;
}

/* Lines come first, since a compiler can do many of their bytes at once. */
static void flatten(const struct image *image, const struct span *rows, float *out_line)
{
    size_t count = (size_t)image->width * PIXEL_BYTES;
    size_t at = 0;

    for (; at + AT_ONCE <= count; at += AT_ONCE)
        flatten_part(image, rows, at, AT_ONCE, out_line);
    flatten_part(image, rows, at, count - at, out_line);
}

/* The four values of a pixel, which a processor can do at once. */
typedef float pixel_values __attribute__((vector_size(PIXEL_BYTES * sizeof(float))));

static void narrow(const float *line, const struct span *columns, int width, uint8_t *out_row)
{
    for (int x = 0; x < width; x++, out_row += PIXEL_BYTES) {
        const struct span *span = &columns[x];
        const float *from = line + (size_t)span->first * PIXEL_BYTES;
        pixel_values sums = {0};

        for (int i = 0; i < span->count; i++, from += PIXEL_BYTES) {
            pixel_values values;

            memcpy(&values, from, sizeof(values));
            sums += values * (float)weight_of(span, i);
        }
        sums = sums * span->share + 0.5F;
        for (int c = 0; c < 3; c++)
            out_row[c] = (uint8_t)(int32_t)sums[c];
        out_row[3] = 255;
    }
}

static int scale(const struct image *image, int width, int height, uint8_t *out_pixels)
{
    cleanup_free struct span *columns = calloc((size_t)width, sizeof(*columns));
    cleanup_free float *line = malloc((size_t)image->width * PIXEL_BYTES * sizeof(*line));

    if (columns == NULL || line == NULL)
        return ERR_NO_MEMORY;
    for (int x = 0; x < width; x++)
        make_span(x, image->width, width, &columns[x]);
    for (int y = 0; y < height; y++) {
        struct span rows;

        make_span(y, image->height, height, &rows);
        flatten(image, &rows, line);
        narrow(line, columns, width, out_pixels + (size_t)y * (size_t)width * PIXEL_BYTES);
    }
    return 0;
}

/* ---- encoding ---- */

static int encode_jpeg(const struct image *image, struct buf *out, struct err *err)
{
    tjhandle encoder = tjInitCompress();
    unsigned char *bytes = NULL;
    unsigned long len = 0;
    int r;

    if (encoder == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (tjCompress2(encoder, image->pixels, image->width, (int)image->stride, image->height,
                    TJPF_BGRX, &bytes, &len, TJSAMP_420, QUALITY, TJFLAG_FASTDCT) == 0)
        r = buf_append(out, bytes, len);
    else
        r = err_set(err, ERR_INTERNAL, "cannot encode a JPEG image: %s", tjGetErrorStr2(encoder));
    tjFree(bytes);
    tjDestroy(encoder);
    return r;
}

struct png_output {
    struct buf *out;
    int error;
};

static void write_png_bytes(png_structp png, png_bytep bytes, size_t len)
{
    struct png_output *output = png_get_io_ptr(png);

    if (output->error == 0)
        output->error = buf_append(output->out, bytes, len);
    if (output->error < 0)
        png_error(png, "no memory");
}

static void flush_png(png_structp png)
{
    (void)png;
}

/* Libpng leaves by longjmp(), so that nothing here may need a clean-up. */
static int write_png(png_structp png, png_infop info, const struct image *image,
                     struct png_output *output)
{
    if (setjmp(png_jmpbuf(png)) != 0)
        return output->error < 0 ? output->error : ERR_INTERNAL;
    png_set_write_fn(png, output, write_png_bytes, flush_png);
    png_set_compression_level(png, PNG_LEVEL);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
    png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8,
                 PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    png_set_bgr(png);
    png_set_filler(png, 0, PNG_FILLER_AFTER);
    for (int y = 0; y < image->height; y++)
        png_write_row(png, image->pixels + (size_t)y * image->stride);
    png_write_end(png, info);
    return 0;
}

static int encode_png(const struct image *image, struct buf *out, struct err *err)
{
    struct png_output output = {.out = out};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    int r = info != NULL ? write_png(png, info, image, &output) : ERR_NO_MEMORY;

    png_destroy_write_struct(&png, &info);
    return r == 0 ? 0 : err_set(err, r, "cannot encode a PNG image: %s", err_text(r));
}

static int encode_webp(const struct image *image, struct buf *out, struct err *err)
{
    uint8_t *bytes = NULL;
    size_t len = WebPEncodeBGRA(image->pixels, image->width, image->height, (int)image->stride,
                                QUALITY, &bytes);
    int r = len > 0 ? buf_append(out, bytes, len)
                    : err_set(err, ERR_INTERNAL, "cannot encode a WebP image");

    WebPFree(bytes);
    return r;
}

static int encode(const struct image *image, enum screen_format format, struct buf *out,
                  struct err *err)
{
    switch (format) {
    case SCREEN_JPEG:
        return encode_jpeg(image, out, err);
    case SCREEN_PNG:
        return encode_png(image, out, err);
    case SCREEN_WEBP:
        return encode_webp(image, out, err);
    case SCREEN_FORMATS:
        break;
    }
    return err_set_plain(err, ERR_INVALID_ARGUMENT);
}

int image_encode(const struct image *image, int width, int height, enum screen_format format,
                 struct buf *out, struct err *err)
{
    cleanup_free uint8_t *pixels = NULL;
    struct image scaled = {.width = width, .height = height};
    int r;

    /* The fourth byte of a pixel is transparency to WebP, and scaling sets it. */
    if (width == image->width && height == image->height && format != SCREEN_WEBP)
        return encode(image, format, out, err);
    scaled.stride = (size_t)width * PIXEL_BYTES;
    pixels = malloc(scaled.stride * (size_t)height);
    if (pixels == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = scale(image, width, height, pixels);
    if (r < 0)
        return err_set_plain(err, r);
    scaled.pixels = pixels;
    return encode(&scaled, format, out, err);
}

uint64_t image_fingerprint(const struct image *image)
{
    uint64_t sum = 1469598103934665603ULL; /* FNV-1a, of whole pixels */

    for (int y = 0; y < image->height; y++) {
        const uint8_t *line = image->pixels + (size_t)y * image->stride;

        for (int x = 0; x < image->width; x++) {
            uint32_t pixel;

            memcpy(&pixel, line + (size_t)x * PIXEL_BYTES, sizeof(pixel));
            sum = (sum ^ (pixel & 0xFFFFFF)) * 1099511628211ULL;
        }
    }
    return sum;
}
