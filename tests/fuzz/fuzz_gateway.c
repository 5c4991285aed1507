/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a gateway: the first byte chooses an event, a response to init, an error, or a result
 * that we would send. Accepted ids and keys are safe in a path and in a header; what is written is
 * valid JSON.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "gateway/event.h"
#include "gateway/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 64 << 20, OUT_BYTES = 64 << 20 };

static void assert_visible(struct str text, size_t max)
{
    assert(text.len > 0 && text.len <= max);
    for (size_t i = 0; i < text.len; i++)
        assert(text.ptr[i] > 0x20 && text.ptr[i] < 0x7f);
}

static void read_event(struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct gateway_event event;

    if (gateway_event_parse(&arena, STR("message"), text, &event) < 0)
        return;
    if (event.kind != GATEWAY_EVENT_NONE && event.kind != GATEWAY_EVENT_DISCONNECT) {
        assert_visible(event.call.id, GATEWAY_MAX_ID_BYTES);
        assert(event.call.arguments->type == JSON_OBJECT);
        assert(event.call.name.len <= GATEWAY_MAX_NAME_BYTES);
        assert((event.call.name.len > 0) ==
               (event.kind != GATEWAY_EVENT_BAD_CALL && event.kind != GATEWAY_EVENT_CANCEL));
    }
}

static void write_answer(struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf out = BUF_INIT(OUT_BYTES);
    const struct json_value *document;

    if (gateway_answer_write(GATEWAY_SHAPE_DATA, text, &out) == 0)
        assert(json_parse(&arena, buf_view(&out), JSON_LIMITS_DEFAULT, &document, NULL) == 0);
    else
        assert(out.len == 0);
    buf_clear(&out);
    assert(gateway_refusal_write(text, &out) == 0);
    assert(json_parse(&arena, buf_view(&out), JSON_LIMITS_DEFAULT, &document, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char words[GATEWAY_ERROR_BYTES];
    struct secret key = SECRET_INIT;
    struct gateway_init_reply reply = {.key = SECRET_INIT};
    struct str text;

    if (size < 1)
        return 0;
    text = (struct str){(const char *)data + 1, size - 1};
    switch (data[0] % 4) {
    case 0:
        read_event(text);
        break;
    case 1:
        if (gateway_init_parse(text, &reply) == 0 && reply.has_key)
            assert_visible(secret_reveal(&reply.key), SECRET_MAX_BYTES);
        break;
    case 2:
        assert(secret_set(&key, STR("key")) == 0);
        gateway_error_parse(text, &key, words);
        assert(strlen(words) < sizeof(words));
        assert(strstr(words, "key") == NULL);
        break;
    default:
        write_answer(text);
        break;
    }
    return 0;
}
