/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes: parsing ends within its limits, and what was parsed is the same after writing, compact
 * and pretty, and parsing again.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/jsonwrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 16 << 20, MAX_DEPTH = 64 };

static void check_round_trip(struct arena *arena, const struct json_value *document, bool is_pretty)
{
    cleanup_buf struct buf text = BUF_INIT(MAX_BYTES);
    const struct json_value *again;
    struct json_writer writer;
    int r;

    json_writer_init(&writer, &text);
    if (is_pretty)
        json_writer_set_pretty(&writer);
    json_write_value(&writer, document);
    r = json_writer_finish(&writer);
    assert(r == 0);
    r = json_parse(arena, buf_view(&text), (struct json_limits){MAX_BYTES, MAX_DEPTH}, &again,
                   NULL);
    assert(r == 0);
    assert(json_eq(document, again) && json_eq(again, document));
}

/* A ceiling that the document may or may not fit under. */
static void check_ceiling(struct str text, size_t max_bytes)
{
    cleanup_arena struct arena arena = ARENA_INIT(max_bytes);
    const struct json_value *document;

    (void)json_parse(&arena, text, (struct json_limits){MAX_BYTES, MAX_DEPTH}, &document, NULL);
    assert(arena.held <= max_bytes);
}

/* Takes all that the strict one takes, the same, and else only lone surrogates. */
static void check_mended(struct arena *arena, struct str text, const struct json_value *strict)
{
    const struct json_value *mended;
    int r =
        json_parse_mended(arena, text, (struct json_limits){MAX_BYTES, MAX_DEPTH}, &mended, NULL);

    assert(strict == NULL || (r == 0 && json_eq(strict, mended)));
    if (r == 0)
        check_round_trip(arena, mended, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(64 << 20);
    const struct json_value *document;
    struct err err = ERR_INIT;

    check_ceiling((struct str){(const char *)data, size}, size * 16);
    check_ceiling((struct str){(const char *)data, size}, size * 4 + 64);

    if (json_parse(&arena, (struct str){(const char *)data, size},
                   (struct json_limits){MAX_BYTES, MAX_DEPTH}, &document, &err) < 0) {
        assert(err.message[0] != '\0');
        check_mended(&arena, (struct str){(const char *)data, size}, NULL);
        return 0;
    }
    check_round_trip(&arena, document, false);
    check_round_trip(&arena, document, true);
    check_mended(&arena, (struct str){(const char *)data, size}, document);
    return 0;
}
