/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a gateway sends on its event stream. Two dialects of one protocol are understood: a call
 * names a tool (n8n) or an operation (the older one), and is the same struct either way. What is
 * not understood is ignored, as the protocol wants it.
 */
#ifndef GATEWAY_EVENT_H
#define GATEWAY_EVENT_H

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

enum {
    GATEWAY_MAX_EVENT_BYTES = 16 << 20,
    GATEWAY_MAX_EVENT_DEPTH = 64,
    GATEWAY_MAX_ID_BYTES = 128,
    GATEWAY_MAX_NAME_BYTES = 128,
};

/* How the answer to a call is written. */
enum gateway_shape {
    GATEWAY_SHAPE_RESULT, /* {"result": CallToolResult} */
    GATEWAY_SHAPE_DATA,   /* {"data": ...} */
};

struct gateway_call {
    struct str id;                      /* visible ASCII, at most GATEWAY_MAX_ID_BYTES */
    struct str name;                    /* of the tool, also where an operation was asked for */
    const struct json_value *arguments; /* an object */
    enum gateway_shape shape;
};

enum gateway_event_kind {
    GATEWAY_EVENT_NONE, /* to be ignored */
    GATEWAY_EVENT_CALL,
    GATEWAY_EVENT_BAD_CALL, /* its id is good, so it can be refused; nothing else of it is there */
    GATEWAY_EVENT_DISCONNECT,
};

struct gateway_event {
    enum gateway_event_kind kind;
    struct gateway_call call; /* in the arena and in the text */
};

/*
 * `name` is the event's, "message" where it has none. ERR_NO_MEMORY and ERR_TOO_LARGE of the arena
 * are the only errors: what is no JSON is ignored.
 */
int gateway_event_parse(struct arena *arena, struct str name, struct str data,
                        struct gateway_event *out_event);

#endif
