/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the value of a field: the line stays one line of printable UTF-8, and a secret
 * anywhere in it is hidden completely, also where the value is cut. The last bytes of the input
 * choose the length of the value (the input is repeated), and the place and shape of the secret.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONTROL_BYTES = 5, VALUE_MAX_BYTES = 3 * LOG_VALUE_MAX_BYTES };

static const struct str shapes[] = {
    STR_LITERAL("gw_PlantedByTheFuzzTarget"),
    STR_LITERAL("password=PlantedByTheFuzzTarget"),
    STR_LITERAL("\"token\":\"PlantedByTheFuzzTarget\""),
    STR_LITERAL("Bearer PlantedByTheFuzzTarget"),
};

static void check_line(struct str text)
{
    cleanup_buf struct buf line = BUF_INIT(LOG_LINE_MAX_BYTES);
    const struct log log = {.fd = -1, .threshold = LOG_INFO, .clock = &clock_system};
    const struct log_field fields[] = {LOG_STR("value", text), LOG_INT("after", 1)};
    struct str view;

    log_format_line(&log, LOG_INFO, "message", fields, 2, &line);
    view = buf_view(&line);
    assert(str_ends_with(view, STR(" after=1")));
    assert(str_find(view, STR("Pla")) == SIZE_MAX);
    while (view.len > 0) {
        uint32_t code_point;

        assert(utf8_next(&view, &code_point) && utf8_is_printable(code_point));
    }
}

static void check_json(struct str text)
{
    cleanup_buf struct buf line = BUF_INIT(LOG_LINE_MAX_BYTES);
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct log log = {
        .fd = -1, .threshold = LOG_INFO, .is_json = true, .clock = &clock_system};
    const struct log_field fields[] = {LOG_STR("value", text), LOG_INT("after", 1)};
    const struct json_limits limits = {LOG_LINE_MAX_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *object;
    int64_t after = 0;

    log_format_line(&log, LOG_INFO, "message", fields, 2, &line);
    assert(str_find(buf_view(&line), STR("Pla")) == SIZE_MAX);
    assert(utf8_is_ascii(buf_view(&line)));
    assert(json_parse(&arena, buf_view(&line), limits, &object, NULL) == 0);
    assert(json_get_whole(object, STR("after"), &after) && after == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf body = BUF_INIT(2 * VALUE_MAX_BYTES);
    cleanup_buf struct buf value = BUF_INIT(2 * VALUE_MAX_BYTES);
    const uint8_t *control;
    struct str text;
    size_t wanted;
    size_t at;

    if (size <= CONTROL_BYTES || size > VALUE_MAX_BYTES)
        return 0;
    text = (struct str){(const char *)data, size - CONTROL_BYTES};
    control = data + text.len;
    wanted = (control[0] * 256U + control[1]) % VALUE_MAX_BYTES;
    do
        buf_append_str(&body, text);
    while (body.len < wanted);
    text = str_slice(buf_view(&body), 0, VALUE_MAX_BYTES);
    if (str_find(text, STR("Pla")) != SIZE_MAX)
        return 0;
    check_line(text);
    check_json(text);
    at = (control[2] * 256U + control[3]) % (text.len + 1);
    buf_append_str(&value, str_slice(text, 0, at));
    buf_append_str(&value, shapes[control[4] % array_size(shapes)]);
    buf_append_str(&value, str_slice(text, at, text.len));
    check_line(buf_view(&value));
    check_json(buf_view(&value));
    return 0;
}
