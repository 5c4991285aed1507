/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/toolwire.h"

#include <assert.h>

#include "base/jsonwrite.h"

enum {
    /* Every byte of a file may be escaped as six; around it are names and keys. */
    ESCAPED_BYTES = 6,
    REQUEST_SPARE_BYTES = 64 << 10,
    REQUEST_LEAST_BYTES = 16 << 20,
    /* A result holds it twice, once escaped again. */
    ANSWER_BYTES = 2 * ESCAPED_BYTES + 2,
    ANSWER_SPARE_BYTES = 64 << 20, /* trees and lists do not depend on the size of files */
    /* What one large frame needed is not held for ever. */
    SPARE_BYTES = 256 << 10,
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

static void put_u32(char *out, uint32_t number)
{
    for (size_t i = 0; i < 4; i++)
        out[i] = (char)(unsigned char)(number >> (8 * i));
}

static uint32_t get_u32(const char *bytes)
{
    uint32_t number = 0;

    for (size_t i = 0; i < 4; i++)
        number |= (uint32_t)(unsigned char)bytes[i] << (8 * i);
    return number;
}

void toolwire_write_header(uint32_t call, enum toolwire_type type, size_t body_len,
                           char out_header[TOOLWIRE_HEADER_BYTES])
{
    const size_t counted = TOOLWIRE_HEADER_BYTES - TOOLWIRE_UNCOUNTED_BYTES;

    assert(body_len <= UINT32_MAX - counted);
    put_u32(out_header, (uint32_t)(counted + body_len));
    put_u32(out_header + 4, call);
    out_header[8] = (char)type;
}

void toolwire_decoder_init(struct toolwire_decoder *decoder, enum toolwire_side from,
                           size_t max_body_bytes)
{
    decoder->from = from;
    decoder->is_broken = false;
    buf_init(&decoder->begun, TOOLWIRE_HEADER_BYTES + max_body_bytes);
}

void toolwire_decoder_done(struct toolwire_decoder *decoder)
{
    buf_done(&decoder->begun);
}

/* Parses a complete header. Returns the length of its frame, including itself, or an error. */
static int read_header(const struct toolwire_decoder *decoder, const char *header,
                       struct toolwire_frame *out_frame, size_t *out_frame_len, struct err *err)
{
    size_t frame_len = (size_t)get_u32(header) + TOOLWIRE_UNCOUNTED_BYTES;
    uint32_t call = get_u32(header + 4);
    unsigned type = (unsigned char)header[8];

    if (frame_len < TOOLWIRE_HEADER_BYTES)
        return err_set(err, ERR_INVALID_ARGUMENT, "a frame of %zu bytes has no header", frame_len);
    if (frame_len > decoder->begun.max)
        return err_set(err, ERR_TOO_LARGE, "a frame of %zu bytes exceeds the limit of %zu",
                       frame_len, decoder->begun.max);
    for (size_t i = 0; i < array_size(rows); i++) {
        bool has_body = frame_len > TOOLWIRE_HEADER_BYTES;

        if (rows[i].type != type || rows[i].from != decoder->from)
            continue;
        if (has_body != rows[i].has_body)
            return err_set(err, ERR_INVALID_ARGUMENT, "a frame of type 0x%02x %s body", type,
                           has_body ? "has no" : "needs a");
        if ((call == TOOLWIRE_NO_CALL && rows[i].is_of_call) ||
            (call != TOOLWIRE_NO_CALL && rows[i].is_of_no_call))
            return err_set(err, ERR_INVALID_ARGUMENT, "a frame of type 0x%02x for call %u", type,
                           (unsigned)call);
        *out_frame = (struct toolwire_frame){.call = call, .type = rows[i].type};
        *out_frame_len = frame_len;
        return 0;
    }
    return err_set(err, ERR_INVALID_ARGUMENT, "a frame of the unknown type 0x%02x", type);
}

static void forget(struct buf *begun)
{
    size_t max = begun->max;

    buf_clear(begun);
    if (begun->capacity > SPARE_BYTES) {
        buf_done(begun);
        buf_init(begun, max);
    }
}

/* Appends bytes to the earlier ones, until there are `wanted` of them. */
static int gather(struct buf *begun, struct str *bytes, size_t wanted, struct err *err)
{
    struct str piece = str_slice(*bytes, 0, wanted - begun->len);
    int r = buf_append_str(begun, piece);

    if (r < 0)
        return err_set_plain(err, r);
    *bytes = str_slice(*bytes, piece.len, bytes->len);
    return 0;
}

/* Takes at most one frame off *bytes. */
static int take_frame(struct toolwire_decoder *decoder, struct str *bytes,
                      toolwire_frame_fn *on_frame, void *data, struct err *err)
{
    struct buf *begun = &decoder->begun;
    struct toolwire_frame frame;
    size_t len = 0;
    int r = 0;

    if (begun->len == 0 && bytes->len >= TOOLWIRE_HEADER_BYTES) {
        r = read_header(decoder, bytes->ptr, &frame, &len, err);
        if (r < 0)
            return r;
        if (bytes->len >= len) { /* the usual case: no copy */
            frame.body = str_slice(*bytes, TOOLWIRE_HEADER_BYTES, len - TOOLWIRE_HEADER_BYTES);
            *bytes = str_slice(*bytes, len, bytes->len);
            return on_frame(data, &frame, err);
        }
    }
    if (begun->len < TOOLWIRE_HEADER_BYTES)
        r = gather(begun, bytes, TOOLWIRE_HEADER_BYTES, err);
    if (r < 0 || begun->len < TOOLWIRE_HEADER_BYTES)
        return r;
    r = read_header(decoder, begun->data, &frame, &len, err);
    if (r == 0)
        r = gather(begun, bytes, len, err);
    if (r < 0 || begun->len < len)
        return r;
    frame.body = str_slice(buf_view(begun), TOOLWIRE_HEADER_BYTES, len);
    r = on_frame(data, &frame, err);
    forget(begun);
    return r;
}

int toolwire_feed(struct toolwire_decoder *decoder, struct str bytes, toolwire_frame_fn *on_frame,
                  void *data, struct err *err)
{
    int r = 0;

    if (decoder->is_broken)
        return err_set(err, ERR_INVALID_ARGUMENT, "the stream is already broken");
    while (bytes.len > 0 && r == 0)
        r = take_frame(decoder, &bytes, on_frame, data, err);
    decoder->is_broken = r < 0;
    return r;
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
