/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that a gateway sends on its stream. Two dialects of one protocol are supported: a call
 * names a tool (n8n) or an operation (the older one), and is the same struct either way. A server
 * of ours sends a few more. Unknown events are ignored, as the protocol requires.
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
    struct str name;                    /* of the tool, even if an operation was requested */
    const struct json_value *arguments; /* an object */
    enum gateway_shape shape;
    struct str agent; /* who calls, by the name that the server knows; or empty */
};

enum gateway_event_kind {
    GATEWAY_EVENT_NONE, /* ignore it */
    GATEWAY_EVENT_CALL,
    GATEWAY_EVENT_BAD_CALL, /* its id is valid, so it can be refused; only its shape is set too */
    GATEWAY_EVENT_DISCONNECT,
    /* Only between our own programs: */
    GATEWAY_EVENT_QUERY,    /* a call whose name is what is asked for, not a tool */
    GATEWAY_EVENT_CANCEL,   /* only its id is set */
    GATEWAY_EVENT_DECISION, /* its id is the question's, its name the answer */
};

struct gateway_event {
    enum gateway_event_kind kind;
    struct gateway_call call; /* in the arena and in the text */
    struct err why;           /* of a bad call, which may be a query */
};

/*
 * `name` is the event's name, "message" if it has none. Returns only ERR_NO_MEMORY. What is no JSON
 * that we read is ignored, unless it shows the id of a call.
 */
int gateway_event_parse(struct arena *arena, struct str name, struct str data,
                        struct gateway_event *out_event);

#endif
