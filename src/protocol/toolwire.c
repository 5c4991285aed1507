/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/toolwire.h"

#include "base/jsonwrite.h"

enum {
    /* Every byte of a file may be escaped as six; around it are names and keys. */
    ESCAPED_BYTES = 6,
    REQUEST_SPARE_BYTES = 64 << 10,
    REQUEST_LEAST_BYTES = 16 << 20,
    /* A result holds it twice, once escaped again. */
    ANSWER_BYTES = 2 * ESCAPED_BYTES + 2,
    ANSWER_SPARE_BYTES = 64 << 20, /* trees and lists do not depend on the size of files */
};

static const struct {
    enum toolwire_type type;
    enum toolwire_side from;
    bool has_body;
    bool is_of_call;    /* never about the connection */
    bool is_of_no_call; /* always about the connection */
} rows[] = {
    {TOOLWIRE_PREPARE, TOOLWIRE_FRONT, true, true, false},
    {TOOLWIRE_RUN, TOOLWIRE_FRONT, false, true, false},
    {TOOLWIRE_DROP, TOOLWIRE_FRONT, false, true, false},
    {TOOLWIRE_CANCEL, TOOLWIRE_FRONT, false, true, false},
    {TOOLWIRE_PREVIEW, TOOLWIRE_FRONT, true, true, false},
    {TOOLWIRE_RULES, TOOLWIRE_FRONT, true, false, true},
    {TOOLWIRE_READY, TOOLWIRE_HOST, true, false, true},
    {TOOLWIRE_PREPARED, TOOLWIRE_HOST, true, true, false},
    {TOOLWIRE_RESULT, TOOLWIRE_HOST, true, true, false},
    {TOOLWIRE_ERROR, TOOLWIRE_HOST, true, false, false},
    {TOOLWIRE_PROGRESS, TOOLWIRE_HOST, true, true, false},
    {TOOLWIRE_LOST, TOOLWIRE_HOST, false, false, true},
    {TOOLWIRE_PREVIEWED, TOOLWIRE_HOST, true, true, false},
    {TOOLWIRE_CHANGE, TOOLWIRE_HOST, true, true, false},
};

size_t toolwire_max_request(uint64_t max_file_bytes)
{
    size_t needed = (size_t)max_file_bytes * ESCAPED_BYTES + REQUEST_SPARE_BYTES;

    return needed > REQUEST_LEAST_BYTES ? needed : REQUEST_LEAST_BYTES;
}

size_t toolwire_max_answer(uint64_t max_file_bytes)
{
    return (size_t)max_file_bytes * ANSWER_BYTES + ANSWER_SPARE_BYTES;
}

/* ---- frames ---- */

void toolwire_write_header(uint32_t call, enum toolwire_type type, size_t body_len,
                           char out_header[TOOLWIRE_HEADER_BYTES])
{
    frames_write_header(call, (uint8_t)type, body_len, out_header);
}

void toolwire_decoder_init(struct toolwire_decoder *decoder, enum toolwire_side from,
                           size_t max_body_bytes)
{
    decoder->from = from;
    frames_decoder_init(&decoder->frames, max_body_bytes);
}

void toolwire_decoder_done(struct toolwire_decoder *decoder)
{
    frames_decoder_done(&decoder->frames);
}

struct feeding {
    enum toolwire_side from;
    toolwire_frame_fn *on_frame;
    void *data;
};

static int check_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    const struct feeding *feeding = data;
    bool has_body = frame->body.len > 0;
    unsigned type = frame->type;

    for (size_t i = 0; i < array_size(rows); i++) {
        if (rows[i].type != type || rows[i].from != feeding->from)
            continue;
        if (has_body != rows[i].has_body)
            return err_set(err, ERR_INVALID_ARGUMENT, "a frame of type 0x%02x %s body", type,
                           has_body ? "has no" : "needs a");
        if ((frame->number == TOOLWIRE_NO_CALL && rows[i].is_of_call) ||
            (frame->number != TOOLWIRE_NO_CALL && rows[i].is_of_no_call))
            return err_set(err, ERR_INVALID_ARGUMENT, "a frame of type 0x%02x for call %u", type,
                           (unsigned)frame->number);
        return 0;
    }
    return err_set(err, ERR_INVALID_ARGUMENT, "a frame of the unknown type 0x%02x", type);
}

static int pass_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    const struct feeding *feeding = data;
    const struct toolwire_frame own = {
        .call = frame->number, .type = (enum toolwire_type)frame->type, .body = frame->body};

    return feeding->on_frame(feeding->data, &own, err);
}

int toolwire_feed(struct toolwire_decoder *decoder, struct str bytes, toolwire_frame_fn *on_frame,
                  void *data, struct err *err)
{
    struct feeding feeding = {.from = decoder->from, .on_frame = on_frame, .data = data};

    return frames_feed(
        &decoder->frames, bytes,
        &(struct frames_events){.check = check_frame, .on_frame = pass_frame, .data = &feeding},
        err);
}

/* ---- bodies ---- */

static bool read_time(const struct json_value *body, struct str key, int64_t *out_ms)
{
    int64_t ms;

    if (!json_get_int(body, key, &ms) || ms < 1 || ms > TOOLWIRE_MAX_TIMEOUT_MS)
        return false;
    *out_ms = ms;
    return true;
}

int toolwire_read_prepare(struct arena *arena, struct str body,
                          struct toolwire_prepare *out_prepare, struct err *err)
{
    const struct json_limits limits = {JSON_MAX_BYTES, TOOLWIRE_MAX_DEPTH + 1};
    const struct json_value *document;
    struct toolwire_prepare prepare;
    int r = json_parse(arena, body, limits, &document, err);

    if (r < 0)
        return r;
    prepare.arguments = json_get(document, STR("arguments"));
    if (!json_get_str(document, STR("tool"), &prepare.tool))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "tool", "PREPARE has no tool name");
    if (prepare.arguments == NULL || prepare.arguments->type != JSON_OBJECT)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "arguments",
                             "the arguments of PREPARE are not an object");
    if (!read_time(document, STR("timeoutMs"), &prepare.timeout_ms))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "timeoutMs",
                             "PREPARE has no valid timeoutMs");
    prepare.keep_ms = prepare.timeout_ms;
    if (json_get(document, STR("keepMs")) != NULL &&
        !read_time(document, STR("keepMs"), &prepare.keep_ms))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "keepMs", "keepMs is invalid");
    prepare.may_list = false;
    (void)json_get_bool(document, STR("mayList"), &prepare.may_list);
    *out_prepare = prepare;
    return 0;
}

int toolwire_write_error(const struct err *error, bool has_begun, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("error"));
    json_write_str(&w, str_from(err_name(error->code)));
    json_key(&w, STR("category"));
    json_write_str(&w, str_from(err_category_name(err_category(error->code))));
    json_key(&w, STR("message"));
    json_write_str_lossy(
        &w, str_from(error->message[0] != '\0' ? error->message : err_text(error->code)));
    if (error->field[0] != '\0') {
        json_key(&w, STR("field"));
        json_write_str_lossy(&w, str_from(error->field));
    }
    if (has_begun) {
        json_key(&w, STR("hasBegun"));
        json_write_bool(&w, true);
    }
    json_end_object(&w);
    return json_writer_finish(&w);
}

/* Not all JSON parsers read larger unsigned numbers alike. */
static int64_t clamp(uint64_t number)
{
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

int toolwire_write_progress(uint64_t done, uint64_t total, const char *what, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("done"));
    json_write_int(&w, clamp(done));
    if (total > 0) {
        json_key(&w, STR("total"));
        json_write_int(&w, clamp(total));
    }
    json_key(&w, STR("what"));
    json_write_str_lossy(&w, str_from(what));
    json_end_object(&w);
    return json_writer_finish(&w);
}
