/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>

#include "screen/image.h"

enum { IMAGE_BYTES = 1 << 20 };

static void sizes_fit_and_keep_their_shape(void **state)
{
    static const int rows[][5] = {
        {1920, 1080, 1024, 1024, 576}, {1080, 1920, 1024, 576, 1024}, {1024, 10, 1024, 1024, 10},
        {1500, 10, 1024, 1024, 7},     {8000, 1, 100, 100, 1},        {1920, 1080, 0, 1920, 1080},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        int width;
        int height;

        image_fit(rows[i][0], rows[i][1], rows[i][2], &width, &height);
        assert_int_equal(width, rows[i][3]);
        assert_int_equal(height, rows[i][4]);
    }
}

/* An uncompressed look at the result: a PNG cannot be read here, but equal pixels compress alike.
 */
static void encode(const struct image *image, int width, int height, enum screen_format format,
                   struct buf *out)
{
    struct err err = ERR_INIT;

    buf_clear(out);
    if (image_encode(image, width, height, format, out, &err) < 0)
        fail_msg("%s", err.message);
}

static void fill(uint8_t *pixels, size_t count, uint8_t blue, uint8_t green, uint8_t red)
{
    for (size_t i = 0; i < count; i++) {
        pixels[4 * i] = blue;
        pixels[4 * i + 1] = green;
        pixels[4 * i + 2] = red;
        pixels[4 * i + 3] = (uint8_t)i; /* ignored */
    }
}

/* Scaling one colour gives that colour, whatever the sizes are: no rounding adds up. */
static void one_colour_stays_that_colour(void **state)
{
    static const int sizes[][4] = {{7, 5, 3, 2},   {64, 64, 63, 61}, {1920, 8, 1024, 4},
                                   {300, 7, 1, 1}, {8, 4000, 2, 3},  {33, 17, 33, 16}};
    cleanup_buf struct buf scaled = BUF_INIT(IMAGE_BYTES);
    cleanup_buf struct buf plain = BUF_INIT(IMAGE_BYTES);

    (void)state;
    for (size_t i = 0; i < array_size(sizes); i++) {
        size_t count = (size_t)sizes[i][0] * (size_t)sizes[i][1];
        size_t small_count = (size_t)sizes[i][2] * (size_t)sizes[i][3];
        uint8_t *pixels = malloc(count * 4);
        uint8_t *small = malloc(small_count * 4);
        struct image image = {pixels, sizes[i][0], sizes[i][1], (size_t)sizes[i][0] * 4};
        struct image same = {small, sizes[i][2], sizes[i][3], (size_t)sizes[i][2] * 4};

        assert_non_null(pixels);
        assert_non_null(small);
        for (int value = 0; value < 256; value += 51) {
            fill(pixels, count, (uint8_t)value, 200, (uint8_t)(255 - value));
            fill(small, small_count, (uint8_t)value, 200, (uint8_t)(255 - value));
            encode(&image, sizes[i][2], sizes[i][3], SCREEN_PNG, &scaled);
            encode(&same, sizes[i][2], sizes[i][3], SCREEN_PNG, &plain);
            assert_int_equal(scaled.len, plain.len);
            assert_memory_equal(scaled.data, plain.data, plain.len);
        }
        free(pixels);
        free(small);
    }
}

static void every_format_has_its_mark(void **state)
{
    static const char *const marks[] = {"\xff\xd8\xff", "\x89PNG", "RIFF"};
    cleanup_buf struct buf out = BUF_INIT(IMAGE_BYTES);
    uint8_t pixels[16 * 16 * 4];
    const struct image image = {pixels, 16, 16, 64};

    (void)state;
    fill(pixels, 256, 10, 20, 30);
    for (int format = 0; format < SCREEN_FORMATS; format++) {
        encode(&image, 8, 8, (enum screen_format)format, &out);
        assert_memory_equal(out.data, marks[format], strlen(marks[format]));
    }
}

static void a_fingerprint_sees_each_pixel_and_not_what_is_ignored(void **state)
{
    uint8_t pixels[4 * 4 * 4];
    const struct image image = {pixels, 4, 4, 16};
    uint64_t before;

    (void)state;
    fill(pixels, 16, 1, 2, 3);
    before = image_fingerprint(&image);
    pixels[7] = 99;
    assert_true(image_fingerprint(&image) == before);
    pixels[60] = 2;
    assert_false(image_fingerprint(&image) == before);
}

TEST_MAIN(cmocka_unit_test(sizes_fit_and_keep_their_shape),
          cmocka_unit_test(one_colour_stays_that_colour),
          cmocka_unit_test(every_format_has_its_mark),
          cmocka_unit_test(a_fingerprint_sees_each_pixel_and_not_what_is_ignored))
