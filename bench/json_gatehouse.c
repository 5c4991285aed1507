/* SPDX-License-Identifier: Apache-2.0 */
#include "json_peer.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/jsonwrite.h"

enum { MAX_BYTES = 64 << 20, MAX_DEPTH = 64 };

struct saved_session {
    struct arena arena;
    struct buf written;
    const struct json_value *document;
};

static bool parse(const char *text, size_t len)
{
    cleanup_arena struct arena arena = ARENA_INIT(MAX_BYTES);
    const struct json_value *document;

    return json_parse(&arena, (struct str){text, len}, (struct json_limits){MAX_BYTES, MAX_DEPTH},
                      &document, NULL) == 0;
}

static void unload(void *document)
{
    struct saved_session *kept = document;

    arena_done(&kept->arena);
    buf_done(&kept->written);
    free(kept);
}

static void *load(const char *text, size_t len)
{
    struct saved_session *kept = calloc(1, sizeof(*kept));

    if (kept == NULL)
        return NULL;
    arena_init(&kept->arena, MAX_BYTES);
    buf_init(&kept->written, MAX_BYTES);
    if (json_parse(&kept->arena, (struct str){text, len},
                   (struct json_limits){MAX_BYTES, MAX_DEPTH}, &kept->document, NULL) < 0) {
        unload(kept);
        return NULL;
    }
    return kept;
}

/* Into a buffer that is kept, as a connection keeps its own. */
static size_t write_kept(void *document)
{
    struct saved_session *kept = document;
    struct json_writer writer;

    buf_clear(&kept->written);
    json_writer_init(&writer, &kept->written);
    json_write_value(&writer, kept->document);
    return json_writer_finish(&writer) == 0 ? kept->written.len : 0;
}

const struct json_peer peer_gatehouse = {"gatehouse", parse, load, write_kept, unload};
