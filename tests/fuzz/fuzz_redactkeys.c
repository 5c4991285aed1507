/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text with a key in it, plain and as a JSON string: the key does not come out, and JSON stays
 * JSON. The last two bytes of the input choose the place and the shape.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/redactkeys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONTROL_BYTES = 2, ROOM = 4 << 20 };

static const struct str shapes[] = {
    STR_LITERAL(" gw_PlantedByTheFuzzTarget "),
    STR_LITERAL("\nAKIAPLANTEDBYFUZZ123\n"),
    STR_LITERAL(" Bearer PlantedByTheFuzzTarget1 "),
    STR_LITERAL(" -----BEGIN PRIVATE KEY-----\nPlanted\n-----END PRIVATE KEY----- "),
};

static bool shows_key(struct str text)
{
    return str_find(text, STR("Planted")) != SIZE_MAX || str_find(text, STR("PLANTED")) != SIZE_MAX;
}

static void check(struct str text)
{
    cleanup_buf struct buf out = BUF_INIT(ROOM);

    assert(redact_keys(text, &out) == 0);
    assert(!shows_key(buf_view(&out)));
}

static void check_json(struct str text)
{
    cleanup_buf struct buf quoted = BUF_INIT(ROOM);
    cleanup_buf struct buf out = BUF_INIT(ROOM);
    cleanup_arena struct arena arena = ARENA_INIT(ROOM);
    struct json_writer json;
    const struct json_value *value;

    json_writer_init(&json, &quoted);
    json_write_str(&json, text);
    if (json_writer_finish(&json) < 0)
        return; /* no UTF-8 */
    assert(redact_keys(buf_view(&quoted), &out) == 0);
    assert(!shows_key(buf_view(&out)));
    assert(json_parse(&arena, buf_view(&out), JSON_LIMITS_DEFAULT, &value, NULL) == 0);
    assert(value->type == JSON_STRING);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf text = BUF_INIT(ROOM);
    struct str given;
    size_t at;

    if (size < CONTROL_BYTES || size > ROOM / 16)
        return 0;
    given = (struct str){(const char *)data, size - CONTROL_BYTES};
    if (shows_key(given) || str_find(given, STR("BEGIN")) != SIZE_MAX)
        return 0;
    at = given.len > 0 ? data[size - 2] % (given.len + 1) : 0;
    buf_append_str(&text, str_slice(given, 0, at));
    buf_append_str(&text, shapes[data[size - 1] % array_size(shapes)]);
    buf_append_str(&text, str_slice(given, at, given.len));
    check(buf_view(&text));
    check_json(buf_view(&text));
    return 0;
}
