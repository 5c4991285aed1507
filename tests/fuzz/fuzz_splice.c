/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever the settings of a client hold: they are refused, or the result has all of their bytes
 * but those of the old entry, doing it once more changes nothing, and JSON stays JSON. The same
 * holds for taking the entry out.
 */
#include <assert.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "programs/mcp/splice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int splice_fn(struct str text, struct str group, struct str name, struct str value,
                      struct buf *out, struct err *err);

static void check(splice_fn *splice, struct str text, struct str value, bool is_json)
{
    cleanup_arena struct arena arena = ARENA_INIT(16 << 20);
    cleanup_buf struct buf out = BUF_INIT(1 << 22);
    cleanup_buf struct buf again = BUF_INIT(1 << 22);
    const struct json_limits limits = {.max_bytes = 1 << 22, .max_depth = SPLICE_MAX_DEPTH + 2};
    const struct json_value *document;
    const struct json_value *group;

    if (splice(text, STR("g"), STR("us"), value, &out, NULL) < 0)
        return;
    assert(splice(buf_view(&out), STR("g"), STR("us"), value, &again, NULL) == 0);
    assert(str_eq(buf_view(&out), buf_view(&again)));
    if (!is_json || json_parse(&arena, text, limits, &document, NULL) < 0)
        return;
    assert(json_parse(&arena, buf_view(&out), limits, &document, NULL) == 0);
    group = json_get(document, STR("g"));
    assert((group != NULL && json_get(group, STR("us")) != NULL) == (value.len > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};

    check(splice_json, text, STR("{\n  \"a\": 1\n}"), true);
    check(splice_toml, text, STR("a = 1\n"), false);
    check(splice_json, text, STR_EMPTY, true);
    check(splice_toml, text, STR_EMPTY, false);
    return 0;
}
