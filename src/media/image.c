/* SPDX-License-Identifier: Apache-2.0 */
#include "media/image.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/library.h"

#define LIBRARY "libvips.so.42"
#define HEIF    "libheif.so.1"

enum {
    MAX_PIXELS = 100 * 1000 * 1000,
    MAX_THREADS = 4,
    MAX_COORD = 10000000, /* libvips's: "as large as it becomes" */
    SUFFIX_BYTES = 64,
    PROBE_SIDE = 16,
    USUAL_QUALITY = 80,
};

/* Of libvips's interface: numbers that do not change within a major version. */
enum { ACCESS_RANDOM = 0, ACCESS_SEQUENTIAL = 1 };
enum { FAIL_ON_ERROR = 2 };
enum { SIZE_BOTH = 0, SIZE_DOWN = 2, SIZE_FORCE = 3 };
enum { INTERESTING_NONE = 0, INTERESTING_CENTRE = 1 };

/* Opaque here. */
struct image;

/* As libvips and GLib declare them; gboolean is an int. Lists of options end with NULL. */
static struct {
    int (*vips_init)(const char *name);
    void (*vips_cache_set_max)(int max);
    void (*vips_concurrency_set)(int threads);
    int (*vips_concurrency_get)(void);
    void (*vips_operation_block_set)(const char *name, int is_blocked);
    const char *(*vips_error_buffer)(void);
    struct image *(*vips_image_new_from_buffer)(const void *bytes, size_t len, const char *options,
                                                ...);
    int (*vips_image_write_to_buffer)(struct image *in, const char *suffix, void **out,
                                      size_t *out_len, ...);
    int (*vips_image_get_width)(const struct image *image);
    int (*vips_image_get_height)(const struct image *image);
    int (*vips_image_get_orientation)(struct image *image);
    int (*vips_image_hasalpha)(struct image *image);
    int (*vips_thumbnail_buffer)(void *bytes, size_t len, struct image **out, int width, ...);
    int (*vips_autorot)(struct image *in, struct image **out, ...);
    int (*vips_crop)(struct image *in, struct image **out, int left, int top, int width, int height,
                     ...);
    int (*vips_black)(struct image **out, int width, int height, ...);
    int (*vips_version)(int part);
    void *(*g_module_open)(const char *name, int flags);
    void *(*g_log_set_default_handler)(void (*handler)(const char *, int, const char *, void *),
                                       void *data);
    void (*g_object_unref)(void *object);
    void (*g_free)(void *memory);
} library;

#define FUNCTIONS(X)                                                                               \
    X(vips_init)                                                                                   \
    X(vips_cache_set_max)                                                                          \
    X(vips_concurrency_set)                                                                        \
    X(vips_concurrency_get)                                                                        \
    X(vips_operation_block_set)                                                                    \
    X(vips_error_buffer)                                                                           \
    X(vips_image_new_from_buffer)                                                                  \
    X(vips_image_write_to_buffer)                                                                  \
    X(vips_image_get_width)                                                                        \
    X(vips_image_get_height)                                                                       \
    X(vips_image_get_orientation)                                                                  \
    X(vips_image_hasalpha)                                                                         \
    X(vips_thumbnail_buffer)                                                                       \
    X(vips_autorot)                                                                                \
    X(vips_crop)                                                                                   \
    X(vips_black)                                                                                  \
    X(vips_version)                                                                                \
    X(g_module_open)                                                                               \
    X(g_log_set_default_handler)                                                                   \
    X(g_object_unref)                                                                              \
    X(g_free)

/* ---- loading ---- */

/*
 * The reader of AVIF is a module beside the library in some releases. The others there, of
 * ImageMagick and poppler among them, are not loaded.
 */
static void load_avif_module(void)
{
    char path[PATH_MAX];
    const char *slash;
    Dl_info place;
    void *found;

    memcpy(&found, &library.vips_init, sizeof(found));
    if (dladdr(found, &place) == 0 || (slash = strrchr(place.dli_fname, '/')) == NULL)
        return;
    if (snprintf(path, sizeof(path), "%.*s/vips-modules-%d.%d/vips-heif.so",
                 (int)(slash - place.dli_fname), place.dli_fname, library.vips_version(0),
                 library.vips_version(1)) < (int)sizeof(path))
        (void)library.g_module_open(path, 0);
}

/* Its coders are modules in some releases; they are on disk, which is out of reach later. */
static void load_heif_coders(void)
{
    void *handle = dlopen(HEIF, RTLD_NOW | RTLD_LOCAL);
    void *found = handle != NULL ? dlsym(handle, "heif_init") : NULL;
    struct { /* struct heif_error, returned by value */
        int code;
        int subcode;
        const char *message;
    } (*init)(void *parameters);

    if (found == NULL)
        return;
    memcpy(&init, &found, sizeof(found));
    (void)init(NULL);
}

/* Warnings about images are nobody's business; errors come back as such. */
static void say_nothing(const char *domain, int level, const char *words, void *data)
{
    (void)domain;
    (void)level;
    (void)words;
    (void)data;
}

int image_open(struct err *err)
{
    static const char *const readers[] = {"VipsForeignLoadJpeg", "VipsForeignLoadPng",
                                          "VipsForeignLoadWebp", "VipsForeignLoadHeif",
                                          "VipsForeignLoadNsgif"};
    void *handle;

    /* There are no modules there: it loads none by itself. */
    setenv("VIPSHOME", "/nonexistent", 1);
    /* All in memory, which has a limit: no file can be made. */
    setenv("VIPS_DISC_THRESHOLD", "100g", 1);
    handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!LIBRARY_FIND(handle, FUNCTIONS) || library.vips_init("gatehouse-media") != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "images need libvips 8.13 or later, which is not installed (package "
                       "libvips42 or libvips42t64)");
    library.g_log_set_default_handler(say_nothing, NULL);
    load_avif_module();
    load_heif_coders();
    library.vips_cache_set_max(0);
    if (library.vips_concurrency_get() > MAX_THREADS)
        library.vips_concurrency_set(MAX_THREADS);
    library.vips_operation_block_set("VipsForeignLoad", 1);
    for (size_t i = 0; i < array_size(readers); i++)
        library.vips_operation_block_set(readers[i], 0);
    return 0;
}

/* ---- parts of the work ---- */

/* The first line of what the library says. */
static int refuse(int code, struct err *err)
{
    struct str rest = str_from(library.vips_error_buffer());
    struct str line = STR_EMPTY;

    (void)str_cut(&rest, '\n', &line);
    return err_set(err, code, "the image cannot be used: %.*s", STR_ARG(line));
}

static int check_pixels(int64_t width, int64_t height, struct err *err)
{
    if (width <= 0 || height <= 0 || width * height > MAX_PIXELS)
        return err_set(err, ERR_MEDIA_LIMIT, "%lld x %lld pixels are more than the limit, %d",
                       (long long)width, (long long)height, MAX_PIXELS);
    return 0;
}

static struct image *read_image(struct str bytes, int access)
{
    return library.vips_image_new_from_buffer(bytes.ptr, bytes.len, "", "access", access, "fail_on",
                                              FAIL_ON_ERROR, NULL);
}

/* Reads no more than the head; *out_format is by the content, whatever its name says. */
static int look(struct str bytes, struct image **out_image, enum media_format *out_format,
                struct err *err)
{
    enum media_format format = media_format_by_content(bytes);
    struct image *image;
    int r;

    if (format == MEDIA_NO_FORMAT)
        return err_set(err, ERR_MEDIA_FORMAT, "it is no JPEG, PNG, WebP, AVIF or GIF image");
    image = read_image(bytes, ACCESS_SEQUENTIAL);
    if (image == NULL)
        return refuse(ERR_MEDIA_FORMAT, err);
    r = check_pixels(library.vips_image_get_width(image), library.vips_image_get_height(image),
                     err);
    if (r < 0)
        return r;
    *out_image = image;
    *out_format = format;
    return 0;
}

/* As a viewer shows it. One that must be turned is decoded as a whole. */
static int turn_upright(struct str bytes, struct image **image, struct err *err)
{
    struct image *upright;
    struct image *whole;

    if (library.vips_image_get_orientation(*image) <= 1)
        return 0;
    whole = read_image(bytes, ACCESS_RANDOM);
    if (whole == NULL || library.vips_autorot(whole, &upright, NULL) != 0)
        return refuse(ERR_MEDIA_FORMAT, err);
    *image = upright;
    return 0;
}

static void write_suffix(enum media_format format, uint32_t quality, bool strips,
                         char out_suffix[SUFFIX_BYTES])
{
    const char *more = strips ? ",strip=true" : "";
    unsigned q = quality != 0 ? quality : USUAL_QUALITY;

    switch (format) {
    case MEDIA_JPEG:
        snprintf(out_suffix, SUFFIX_BYTES, ".jpg[Q=%u,background=255%s]", q, more);
        return;
    case MEDIA_PNG:
        snprintf(out_suffix, SUFFIX_BYTES, ".png[compression=6%s]", more);
        return;
    case MEDIA_WEBP:
        snprintf(out_suffix, SUFFIX_BYTES, ".webp[Q=%u%s]", q, more);
        return;
    case MEDIA_AVIF:
        snprintf(out_suffix, SUFFIX_BYTES, ".avif[Q=%u,effort=1%s]", q, more);
        return;
    case MEDIA_GIF:
        snprintf(out_suffix, SUFFIX_BYTES, ".gif[effort=4%s]", more);
        return;
    case MEDIA_NO_FORMAT:
    case MEDIA_FORMAT_END:
        break;
    }
    out_suffix[0] = '\0';
}

static int write_image(struct image *image, enum media_format format, uint32_t quality, bool strips,
                       struct buf *space, struct err *err)
{
    char suffix[SUFFIX_BYTES];
    void *bytes = NULL;
    size_t len = 0;
    int r;

    write_suffix(format, quality, strips, suffix);
    if (library.vips_image_write_to_buffer(image, suffix, &bytes, &len, NULL) != 0)
        return refuse(ERR_MEDIA_FORMAT, err);
    r = buf_append(space, bytes, len);
    library.g_free(bytes);
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int shrink(struct str bytes, uint32_t width, uint32_t height, enum media_fit fit,
                  bool only_down, struct image **out_image, struct err *err)
{
    int size = fit == MEDIA_FILL ? SIZE_FORCE : only_down ? SIZE_DOWN : SIZE_BOTH;
    int interest = fit == MEDIA_COVER ? INTERESTING_CENTRE : INTERESTING_NONE;
    void *given;

    /* SAFETY: libvips reads from it; its type is older than const. */
    memcpy(&given, &bytes.ptr, sizeof(given));
    if (library.vips_thumbnail_buffer(given, bytes.len, out_image,
                                      width != 0 ? (int)width : MAX_COORD, "height",
                                      height != 0 ? (int)height : MAX_COORD, "size", size, "crop",
                                      interest, "option_string", "[fail_on=error]", NULL) != 0)
        return refuse(ERR_MEDIA_FORMAT, err);
    return 0;
}

/* ---- operations ---- */

static int finish(const struct media_request *request, struct image *image,
                  enum media_format format, struct buf *space, struct media_answer *out_answer,
                  struct err *err)
{
    int width = library.vips_image_get_width(image);
    int height = library.vips_image_get_height(image);
    int r = check_pixels(width, height, err);

    if (r == 0)
        r = write_image(image, format, request->quality, false, space, err);
    if (r < 0)
        return r;
    out_answer->format = format;
    out_answer->width = (uint32_t)width;
    out_answer->height = (uint32_t)height;
    out_answer->output_count = 1;
    out_answer->outputs[0] = buf_view(space);
    return 0;
}

/* By one side the other may become as long as it likes. */
static int check_resize(const struct media_request *request, const struct image *image,
                        struct err *err)
{
    int64_t width = library.vips_image_get_width(image);
    int64_t height = library.vips_image_get_height(image);

    if (request->width == 0 && request->height == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "a resize needs a width or a height");
    if (request->fit != MEDIA_INSIDE && (request->width == 0 || request->height == 0))
        return err_set(err, ERR_INVALID_ARGUMENT, "this fit needs a width and a height");
    if (request->width == 0)
        return check_pixels(width * request->height / height + 1, request->height, err);
    if (request->height == 0)
        return check_pixels(request->width, height * request->width / width + 1, err);
    return check_pixels(request->width, request->height, err);
}

static int crop(const struct media_request *request, struct image **image, struct err *err)
{
    int64_t width = library.vips_image_get_width(*image);
    int64_t height = library.vips_image_get_height(*image);
    struct image *part;

    if (request->width == 0 || request->height == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "a crop needs a width and a height");
    if ((int64_t)request->x + request->width > width ||
        (int64_t)request->y + request->height > height)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "the part is not within the image, which has %lld x %lld pixels",
                       (long long)width, (long long)height);
    if (library.vips_crop(*image, &part, (int)request->x, (int)request->y, (int)request->width,
                          (int)request->height, NULL) != 0)
        return refuse(ERR_MEDIA_FORMAT, err);
    *image = part;
    return 0;
}

/* For somebody who looks at it: the largest of these that is small enough. */
static int fit(const struct media_request *request, struct image *original, struct buf *space,
               struct media_answer *out_answer, struct err *err)
{
    static const uint32_t sides[] = {1568, 1092, 768, 512, 256, 128};
    enum media_format format = library.vips_image_hasalpha(original) ? MEDIA_PNG : MEDIA_JPEG;
    struct image *image;

    for (size_t i = 0; i < array_size(sides); i++) {
        int r = shrink(request->inputs[0], sides[i], sides[i], MEDIA_INSIDE, true, &image, err);

        buf_clear(space);
        if (r == 0)
            r = write_image(image, format, request->quality, true, space, err);
        if (r < 0)
            return r;
        library.g_object_unref(image);
        if (space->len > request->max_bytes)
            continue;
        out_answer->format = format;
        out_answer->width = (uint32_t)library.vips_image_get_width(original);
        out_answer->height = (uint32_t)library.vips_image_get_height(original);
        out_answer->output_count = 1;
        out_answer->outputs[0] = buf_view(space);
        return 0;
    }
    return err_set(err, ERR_TOO_LARGE, "even as a small picture it is larger than the limit");
}

/* A format works if a picture comes back from it. */
static int probe(struct buf *space, struct media_answer *out_answer, struct err *err)
{
    cleanup_buf struct buf again = BUF_INIT(space->max);
    struct image *black;

    if (library.vips_black(&black, PROBE_SIDE, PROBE_SIDE, "bands", 3, NULL) != 0)
        return refuse(ERR_UNSUPPORTED, err);
    for (int i = MEDIA_JPEG; i < MEDIA_FORMAT_END; i++) {
        struct image *image = NULL;
        enum media_format format = MEDIA_NO_FORMAT;

        buf_clear(space);
        buf_clear(&again);
        if (write_image(black, (enum media_format)i, 0, false, space, NULL) == 0 &&
            look(buf_view(space), &image, &format, NULL) == 0 && format == (enum media_format)i &&
            shrink(buf_view(space), PROBE_SIDE / 2, 0, MEDIA_INSIDE, false, &image, NULL) == 0 &&
            write_image(image, MEDIA_PNG, 0, false, &again, NULL) == 0)
            out_answer->total |= 1U << i;
    }
    return out_answer->total != 0 ? 0 : refuse(ERR_UNSUPPORTED, err);
}

int image_work(const struct media_request *request, struct buf *space,
               struct media_answer *out_answer, struct err *err)
{
    enum media_format format;
    struct image *image;
    int r;

    if (request->operation == MEDIA_PROBE)
        return probe(space, out_answer, err);
    r = look(request->inputs[0], &image, &format, err);
    if (r < 0)
        return r;
    if (request->operation == MEDIA_FIT)
        return fit(request, image, space, out_answer, err);
    if (request->operation == MEDIA_RESIZE) {
        r = check_resize(request, image, err);
        if (r == 0)
            r = shrink(request->inputs[0], request->width, request->height, request->fit, false,
                       &image, err);
    } else {
        r = turn_upright(request->inputs[0], &image, err);
        if (r == 0 && request->operation == MEDIA_CROP)
            r = crop(request, &image, err);
    }
    if (request->format != MEDIA_NO_FORMAT)
        format = request->format;
    return r == 0 ? finish(request, image, format, space, out_answer, err) : r;
}
