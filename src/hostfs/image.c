/* SPDX-License-Identifier: Apache-2.0 */
/* image: resize, crop or convert one, by gatehouse-media. */
#include "hostfs/internal.h"

#include <stdlib.h>

#include "base/jsonwrite.h"
#include "media/client.h"

static const struct str fits[MEDIA_FIT_END] = {
    [MEDIA_INSIDE] = STR_LITERAL("inside"),
    [MEDIA_COVER] = STR_LITERAL("cover"),
    [MEDIA_FILL] = STR_LITERAL("fill"),
};

/* A member that may be missing: then it stays 0. */
static int get_number(const struct hostfs_work *work, struct str key, uint32_t most,
                      uint32_t *out_number)
{
    int64_t number = 0;

    if (json_get(work->inputs, key) == NULL)
        return 0;
    if (!json_get_int(work->inputs, key, &number) || number < 0 || number > most)
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'%.*s' must be a number up to %u",
                       STR_ARG(key), most);
    *out_number = (uint32_t)number;
    return 0;
}

static int get_operation(const struct hostfs_work *work, enum media_operation *out_operation)
{
    struct str name = STR_EMPTY;

    (void)json_get_str(work->inputs, STR("op"), &name);
    if (str_eq(name, STR("resize")))
        *out_operation = MEDIA_RESIZE;
    else if (str_eq(name, STR("crop")))
        *out_operation = MEDIA_CROP;
    else if (str_eq(name, STR("formatConvert")))
        *out_operation = MEDIA_CONVERT;
    else
        return err_set(work->err, ERR_INVALID_ARGUMENT,
                       "'op' must be resize, crop or formatConvert");
    return 0;
}

static int get_fit(const struct hostfs_work *work, enum media_fit *out_fit)
{
    struct str name = STR_EMPTY;

    if (json_get(work->inputs, STR("fit")) == NULL)
        return 0;
    (void)json_get_str(work->inputs, STR("fit"), &name);
    for (int i = 0; i < MEDIA_FIT_END; i++)
        if (str_eq(name, fits[i])) {
            *out_fit = (enum media_fit)i;
            return 0;
        }
    return err_set(work->err, ERR_INVALID_ARGUMENT, "'fit' must be inside, cover or fill");
}

/* As it is named, or by the result's name; otherwise that of the input. */
static int get_format(const struct hostfs_work *work, struct str to, enum media_format *out_format)
{
    struct str name = STR_EMPTY;
    unsigned features = work->hostfs->features;

    *out_format = media_format_by_ending(to);
    if (json_get(work->inputs, STR("format")) != NULL) {
        (void)json_get_str(work->inputs, STR("format"), &name);
        *out_format = media_format_by_name(name);
        if (*out_format == MEDIA_NO_FORMAT)
            return err_set(work->err, ERR_INVALID_ARGUMENT,
                           "'format' must be jpeg, png, webp, avif or gif");
    }
    if (*out_format != MEDIA_NO_FORMAT &&
        (features & 1U << (HOSTFS_FORMAT_SHIFT + (unsigned)*out_format)) == 0)
        return err_set(work->err, ERR_UNSUPPORTED, "this host cannot write %s images",
                       media_format_name(*out_format));
    return 0;
}

static int get_request(const struct hostfs_work *work, struct str to, struct media_request *request)
{
    int r = get_operation(work, &request->operation);

    if (r == 0)
        r = get_format(work, to, &request->format);
    if (r == 0 && request->operation == MEDIA_CONVERT && request->format == MEDIA_NO_FORMAT)
        r = err_set(work->err, ERR_INVALID_ARGUMENT, "formatConvert needs a 'format'");
    if (r == 0)
        r = get_fit(work, &request->fit);
    if (r == 0)
        r = get_number(work, STR("width"), MEDIA_MAX_SIDE, &request->width);
    if (r == 0)
        r = get_number(work, STR("height"), MEDIA_MAX_SIDE, &request->height);
    if (r == 0)
        r = get_number(work, STR("x"), INT32_MAX, &request->x);
    if (r == 0)
        r = get_number(work, STR("y"), INT32_MAX, &request->y);
    if (r == 0)
        r = get_number(work, STR("quality"), MEDIA_MAX_QUALITY, &request->quality);
    return r;
}

static int write_result(const struct hostfs_work *work, struct str to,
                        const struct media_answer *answer)
{
    struct json_writer json;

    json_writer_init(&json, work->out);
    json_begin_object(&json);
    json_put_str(&json, STR("path"), to);
    json_put_int(&json, STR("sizeBytes"), (int64_t)answer->outputs[0].len);
    json_put_int(&json, STR("width"), answer->width);
    json_put_int(&json, STR("height"), answer->height);
    json_put_str(&json, STR("format"), str_from(media_format_name(answer->format)));
    json_end_object(&json);
    return json_writer_finish(&json);
}

int hostfs_image(const struct hostfs_work *work)
{
    cleanup_buf struct buf image = BUF_INIT((size_t)work->hostfs->max_file_bytes);
    cleanup_buf struct buf space = BUF_INIT(MEDIA_MAX_BYTES);
    cleanup_free struct media_request *request = calloc(1, sizeof(*request));
    cleanup_free struct media_answer *answer = calloc(1, sizeof(*answer));
    struct str path;
    struct str to;
    int r = hostfs_get_path(work, STR("path"), &path);

    if (request == NULL || answer == NULL)
        return ERR_NO_MEMORY;
    if (r == 0)
        r = hostfs_get_path(work, STR("to"), &to);
    if (r == 0)
        r = get_request(work, to, request);
    if (r == 0)
        r = hostfs_read_whole(work, path, &image);
    if (r < 0)
        /* cppcheck-suppress memleak ; it is freed by its cleanup */
        return r;
    request->input_count = 1;
    request->inputs[0] = buf_view(&image);
    r = media_ask(work->hostfs->media, MEDIA_JOB_IMAGE, request, work->cancel, &space, answer,
                  work->err);
    if (r == 0 && answer->output_count != 1)
        r = err_set_plain(work->err, ERR_INTERNAL);
    if (r == 0)
        r = hostfs_write_whole(work, to, answer->outputs[0]);
    return r == 0 ? write_result(work, to, answer) : r;
}
