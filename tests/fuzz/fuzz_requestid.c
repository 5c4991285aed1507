/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte says how the message is split, which changes nothing. An id that is found is valid
 * in a response; if the parser accepts the request, it is the same id.
 */
#include <assert.h>
#include <stdint.h>

#include "protocol/requestid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 64 << 20 };

static void check_against_parser(struct str text, struct str found)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *document;
    struct jsonrpc_message message;
    struct str id;

    if (found.len > 0) {
        assert(json_parse(&arena, found, JSON_LIMITS_DEFAULT, &document, NULL) == 0);
        assert(document->type == JSON_STRING || document->type == JSON_INT);
    }
    if (json_parse(&arena, text, JSON_LIMITS_DEFAULT, &document, NULL) < 0 ||
        jsonrpc_read(&arena, document, &message, &id, NULL) < 0)
        return;
    /* Keys and ids that were written with escapes may be passed over, but none is invented. */
    if (message.kind != JSONRPC_REQUEST)
        assert(found.len == 0);
    else if (found.len > 0 || str_find(text, STR("\\")) == SIZE_MAX)
        assert(str_eq(found, message.id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct requestid whole;
    struct requestid pieces;
    struct str text;
    struct str found;

    if (size < 2)
        return 0;
    text = (struct str){(const char *)data + 1, size - 1};
    requestid_init(&whole);
    requestid_feed(&whole, text);
    found = requestid_end(&whole);
    requestid_init(&pieces);
    for (size_t at = 0; at < text.len; at += (size_t)data[0] + 1)
        requestid_feed(&pieces, str_slice(text, at, (size_t)data[0] + 1));
    assert(str_eq(found, requestid_end(&pieces)));
    check_against_parser(text, found);
    return 0;
}
