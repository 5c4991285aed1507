/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC 2.0 as MCP restricts it: an id is a string or an integer, parameters are an object. One
 * parsed document becomes a request, a notification or a response; the caller handles batches,
 * which are an array of such documents.
 */
#ifndef PROTOCOL_JSONRPC_H
#define PROTOCOL_JSONRPC_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

enum {
    JSONRPC_PARSE_ERROR = -32700,
    JSONRPC_INVALID_REQUEST = -32600,
    JSONRPC_METHOD_NOT_FOUND = -32601,
    JSONRPC_INVALID_PARAMS = -32602,
    JSONRPC_INTERNAL_ERROR = -32603,
};

enum {
    JSONRPC_MAX_ID_BYTES = 256, /* as JSON text */
    JSONRPC_MAX_METHOD_BYTES = 256,
};

enum jsonrpc_kind {
    JSONRPC_REQUEST,
    JSONRPC_NOTIFICATION,
    JSONRPC_RESPONSE,
};

struct jsonrpc_message {
    enum jsonrpc_kind kind;
    struct str id;     /* as JSON text, equal for equal ids; empty in a notification */
    struct str method; /* empty in a response */
    const struct json_value *params; /* an object; or NULL */
    const struct json_value *result; /* a response has either this … */
    const struct json_value *error;  /* … or this, an object */
};

/*
 * ERR_INVALID_ARGUMENT if it is not a message, ERR_NO_MEMORY or ERR_TOO_LARGE from the arena.
 * *out_id is set even then if the id could be read, so that the answer can be matched to its
 * request; otherwise it is empty.
 */
int jsonrpc_read(struct arena *arena, const struct json_value *document,
                 struct jsonrpc_message *out_message, struct str *out_id, struct err *err);

/*
 * The JSON text of an id or a token, equal for equal values: a string or an integer of at most
 * JSONRPC_MAX_ID_BYTES.
 */
int jsonrpc_id_text(struct arena *arena, const struct json_value *value, struct str *out_text,
                    struct err *err);

/*
 * Each appends one message. `id`, `params` and `data` are finished JSON; empty data or params are
 * omitted, and so is the id of an error that belongs to no known request: MCP has no null id.
 */
int jsonrpc_write_request(struct buf *out, struct str id, struct str method, struct str params);
int jsonrpc_write_error(struct buf *out, struct str id, int code, struct str message,
                        struct str data);

/* Writes the data of an error of the table: {"name":…,"category":…,"field":…}. */
int jsonrpc_write_err_data(struct buf *out, const struct err *err);

#endif
