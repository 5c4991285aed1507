/* SPDX-License-Identifier: Apache-2.0 */
#include "media/wire.h"

#include <string.h>

#include "base/cleanup.h"
#include "ipc/bytes.h"

/* Errors as one byte; what is not here is a failure. */
static const int codes[] = {
    0,
    ERR_INTERNAL,
    ERR_MEDIA_FORMAT,
    ERR_MEDIA_LIMIT,
    ERR_TOO_LARGE,
    ERR_UNSUPPORTED,
    ERR_INVALID_ARGUMENT,
    ERR_NO_MEMORY,
};
enum { CODE_INTERNAL = 1 };

/* clang-format off */
static const struct {
    struct str name;
    struct str ending;
    struct str other_ending;
    size_t mark_at;
    struct str mark;
} formats[MEDIA_FORMAT_END] = {
    [MEDIA_JPEG] = {STR_LITERAL("jpeg"), STR_LITERAL(".jpg"), STR_LITERAL(".jpeg"), 0, STR_LITERAL("\xff\xd8\xff")},
    [MEDIA_PNG] = {STR_LITERAL("png"), STR_LITERAL(".png"), STR_LITERAL(".png"), 0, STR_LITERAL("\x89PNG\r\n\x1a\n")},
    [MEDIA_WEBP] = {STR_LITERAL("webp"), STR_LITERAL(".webp"), STR_LITERAL(".webp"), 8, STR_LITERAL("WEBPVP8")},
    [MEDIA_AVIF] = {STR_LITERAL("avif"), STR_LITERAL(".avif"), STR_LITERAL(".avif"), 4, STR_LITERAL("ftypavif")},
    [MEDIA_GIF] = {STR_LITERAL("gif"), STR_LITERAL(".gif"), STR_LITERAL(".gif"), 0, STR_LITERAL("GIF8")},
};
/* clang-format on */

enum media_format media_format_by_name(struct str name)
{
    for (int i = MEDIA_JPEG; i < MEDIA_FORMAT_END; i++)
        if (str_eq(name, formats[i].name))
            return (enum media_format)i;
    return MEDIA_NO_FORMAT;
}

static bool ends_nocase(struct str name, struct str ending)
{
    return name.len > ending.len &&
           str_eq_nocase(str_slice(name, name.len - ending.len, name.len), ending);
}

enum media_format media_format_by_ending(struct str name)
{
    for (int i = MEDIA_JPEG; i < MEDIA_FORMAT_END; i++)
        if (ends_nocase(name, formats[i].ending) || ends_nocase(name, formats[i].other_ending))
            return (enum media_format)i;
    return MEDIA_NO_FORMAT;
}

enum media_format media_format_by_content(struct str bytes)
{
    for (int i = MEDIA_JPEG; i < MEDIA_FORMAT_END; i++)
        if (str_starts_with(str_slice(bytes, formats[i].mark_at, bytes.len), formats[i].mark))
            return (enum media_format)i;
    return MEDIA_NO_FORMAT;
}

const char *media_format_name(enum media_format format)
{
    return format < MEDIA_FORMAT_END && formats[format].name.len > 0 ? formats[format].name.ptr
                                                                     : "none";
}

enum media_job media_job_of(enum media_operation operation)
{
    if (operation == MEDIA_TEXT)
        return MEDIA_JOB_TEXT;
    return operation >= MEDIA_SPLIT ? MEDIA_JOB_DOCUMENT : MEDIA_JOB_IMAGE;
}

/* ---- requests ---- */

int media_write_request(const struct media_request *request, struct buf *out)
{
    const char head[] = {(char)request->operation, (char)request->format, (char)request->fit, 0};
    const uint32_t numbers[] = {request->width,
                                request->height,
                                request->x,
                                request->y,
                                request->quality,
                                request->max_bytes,
                                (uint32_t)request->range_count,
                                (uint32_t)request->input_count};
    int r;

    if (request->range_count > MEDIA_MAX_RANGES || request->input_count > MEDIA_MAX_INPUTS)
        return ERR_TOO_LARGE;
    r = buf_append(out, head, sizeof(head));
    if (r == 0)
        r = bytes_put_numbers(out, numbers, array_size(numbers));
    for (size_t i = 0; i < request->range_count && r == 0; i++) {
        const uint32_t range[] = {request->ranges[i].first, request->ranges[i].last};

        r = bytes_put_numbers(out, range, array_size(range));
    }
    return r == 0 ? bytes_put_strings(out, request->inputs, request->input_count, MEDIA_MAX_BYTES)
                  : r;
}

static bool has_valid_ranges(const struct media_request *request)
{
    for (size_t i = 0; i < request->range_count; i++)
        if (request->ranges[i].first == 0 ||
            (request->ranges[i].last != 0 && request->ranges[i].last < request->ranges[i].first))
            return false;
    return true;
}

static bool is_valid(const struct media_request *request)
{
    bool has_inputs = request->operation == MEDIA_PROBE   ? request->input_count == 0
                      : request->operation == MEDIA_MERGE ? request->input_count > 0
                                                          : request->input_count == 1;
    bool has_ranges = request->operation == MEDIA_SPLIT ? true
                      : request->operation == MEDIA_PART || request->operation == MEDIA_TEXT
                          ? request->range_count == 1
                          : request->range_count == 0;

    return has_inputs && has_ranges && has_valid_ranges(request) &&
           request->width <= MEDIA_MAX_SIDE && request->height <= MEDIA_MAX_SIDE &&
           request->quality <= MEDIA_MAX_QUALITY;
}

int media_read_request(struct str bytes, struct media_request *out_request, struct err *err)
{
    struct bytes_rest rest = {.bytes = bytes};
    unsigned operation = bytes_take_u8(&rest);
    unsigned format = bytes_take_u8(&rest);
    unsigned fit = bytes_take_u8(&rest);

    (void)bytes_take_u8(&rest);
    *out_request = (struct media_request){.operation = (enum media_operation)operation,
                                          .format = (enum media_format)format,
                                          .fit = (enum media_fit)fit};
    out_request->width = bytes_take_u32(&rest);
    out_request->height = bytes_take_u32(&rest);
    out_request->x = bytes_take_u32(&rest);
    out_request->y = bytes_take_u32(&rest);
    out_request->quality = bytes_take_u32(&rest);
    out_request->max_bytes = bytes_take_u32(&rest);
    out_request->range_count = bytes_take_u32(&rest);
    out_request->input_count = bytes_take_u32(&rest);
    if (rest.is_short || operation == 0 || operation >= MEDIA_OPERATION_END ||
        format >= MEDIA_FORMAT_END || fit >= MEDIA_FIT_END ||
        out_request->range_count > MEDIA_MAX_RANGES || out_request->input_count > MEDIA_MAX_INPUTS)
        return err_set(err, ERR_INVALID_ARGUMENT, "the request has an unknown form");
    for (size_t i = 0; i < out_request->range_count; i++) {
        out_request->ranges[i].first = bytes_take_u32(&rest);
        out_request->ranges[i].last = bytes_take_u32(&rest);
    }
    bytes_take_strings(&rest, out_request->input_count, out_request->inputs);
    if (rest.is_short || !is_valid(out_request))
        return err_set(err, ERR_INVALID_ARGUMENT, "the request is not complete");
    return 0;
}

/* ---- answers ---- */

static size_t code_of(int error)
{
    for (size_t i = 0; i < array_size(codes); i++)
        if (codes[i] == error)
            return i;
    return CODE_INTERNAL;
}

int media_write_answer(const struct media_answer *answer, struct buf *out)
{
    const char head[] = {(char)code_of(answer->code), (char)answer->format, 0, 0};
    const uint32_t numbers[] = {answer->width, answer->height, answer->first,
                                answer->last,  answer->total,  (uint32_t)answer->output_count};
    int r = buf_append(out, head, sizeof(head));

    if (r == 0)
        r = bytes_put_numbers(out, numbers, array_size(numbers));
    return r == 0 ? bytes_put_strings(out, answer->outputs, answer->output_count, MEDIA_MAX_BYTES)
                  : r;
}

int media_write_error(const struct err *err, struct buf *out)
{
    struct media_answer answer = {.code = err->code, .output_count = 1};

    answer.outputs[0] = str_from(err->message);
    return media_write_answer(&answer, out);
}

int media_read_answer(struct str bytes, struct media_answer *out_answer, struct err *err)
{
    struct bytes_rest rest = {.bytes = bytes};
    unsigned code = bytes_take_u8(&rest);
    unsigned format = bytes_take_u8(&rest);

    (void)bytes_take(&rest, 2);
    *out_answer = (struct media_answer){.format = (enum media_format)format};
    out_answer->width = bytes_take_u32(&rest);
    out_answer->height = bytes_take_u32(&rest);
    out_answer->first = bytes_take_u32(&rest);
    out_answer->last = bytes_take_u32(&rest);
    out_answer->total = bytes_take_u32(&rest);
    out_answer->output_count = bytes_take_u32(&rest);
    if (rest.is_short || code >= array_size(codes) || format >= MEDIA_FORMAT_END ||
        out_answer->output_count > MEDIA_MAX_OUTPUTS)
        return err_set(err, ERR_INTERNAL, "gatehouse-media sent an answer of an unknown form");
    bytes_take_strings(&rest, out_answer->output_count, out_answer->outputs);
    if (rest.is_short || (code != 0 && out_answer->output_count != 1))
        return err_set(err, ERR_INTERNAL, "gatehouse-media sent an answer that is not complete");
    out_answer->code = codes[code];
    return code == 0 ? 0 : err_set(err, codes[code], "%.*s", STR_ARG(out_answer->outputs[0]));
}
