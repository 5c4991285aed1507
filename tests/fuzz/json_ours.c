/* SPDX-License-Identifier: Apache-2.0 */
#include "json_ours.h"

#include <assert.h>

#include "base/json.h"
#include "base/jsonwrite.h"

enum { MAX_BYTES = 16 << 20 };

static int parse(struct arena *arena, struct str text, const struct json_value **out_document)
{
    return json_parse(arena, text, (struct json_limits){MAX_BYTES, JSON_LARGEST_MAX_DEPTH},
                      out_document, NULL);
}

char *json_ours_compact(const char *text, size_t size, size_t *out_size)
{
    cleanup_arena struct arena arena = ARENA_INIT(256 << 20);
    struct buf out = BUF_INIT(MAX_BYTES);
    const struct json_value *document;
    struct json_writer writer;
    int r;

    if (parse(&arena, (struct str){text, size}, &document) < 0)
        return NULL;
    json_writer_init(&writer, &out);
    json_write_value(&writer, document);
    r = json_writer_finish(&writer);
    assert(r == 0);
    *out_size = out.len;
    return out.data;
}

bool json_ours_too_deep(const char *text, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(256 << 20);
    const struct json_value *document;

    return parse(&arena, (struct str){text, size}, &document) == ERR_JSON_DEPTH;
}
