/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the body of a frame from a host: what is taken lies inside of it, a request for a
 * root has all that the authority wants, and an answer that makes no sense allows nothing.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "programs/authority/request.h"
#include "programs/authority/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 64 << 20 };

static void look_at_root(struct arena *arena, const struct json_value *json)
{
    struct authority_request request;
    struct authority_subject subject;
    struct err err = ERR_INIT;
    int r = request_parse_root(arena, json, &request, &err);

    assert((r == 0) == (err.code == 0));
    if (r < 0)
        return;
    assert(request.subject.id[0] != '\0' && request.root.id[0] != '\0');
    assert(request.root.path[0] != '\0' && request.reason[0] != '\0');
    assert((request.access & ~(unsigned)AUTHORITY_ALL_ACCESS) == 0 && request.expires_ms >= 0);
    assert(request.source <= AUTHORITY_FROM_CORE && request.root.kind <= AUTHORITY_SECRET);
    assert(request.limits.hardlinks != AUTHORITY_HARDLINKS_READ);
    r = request_parse_subject(arena, json_get(json, STR("subject")), &subject, NULL);
    assert(r == 0 && subject.type == request.subject.type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str body = {(const char *)data, size};
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct authority_decision decision;
    const struct json_value *json;
    struct str text;
    struct str content;
    struct str name;
    struct str word;

    if (wire_parse_body(body, &text, &content, NULL) < 0)
        return 0;
    assert(text.len + content.len + WIRE_JSON_LENGTH == size);
    if (json_parse(&arena, text, JSON_LIMITS_DEFAULT, &json, NULL) < 0)
        return 0;
    look_at_root(&arena, json);
    if (request_name(&arena, json, STR("name"), true, &name, NULL) == 0)
        assert(name.len <= text.len);
    request_parse_decision(json, &decision);
    assert(memchr(decision.text, '\0', sizeof(decision.text)) != NULL);
    if (json_get(json, STR("allow")) == NULL &&
        (!json_get_str(json, STR("type"), &word) || !str_eq(word, STR("allow"))))
        assert(decision.verdict != AUTHORITY_ALLOW);
    return 0;
}
