/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "protocol/requestid.h"

size_t mcp_max_message_bytes(const struct mcp_server *server)
{
    size_t max = server->max_message_bytes;

    if (max == 0)
        max = MCP_DEFAULT_MESSAGE_BYTES;
    return max < JSON_MAX_BYTES ? max : JSON_MAX_BYTES;
}

size_t mcp_max_held_bytes(const struct mcp_server *server)
{
    return server->max_held_bytes != 0 ? server->max_held_bytes : MCP_DEFAULT_HELD_BYTES;
}

static size_t max_total_bytes(const struct mcp_server *server)
{
    size_t one = mcp_max_held_bytes(server);

    if (server->max_total_bytes != 0)
        return server->max_total_bytes;
    return one > MCP_DEFAULT_TOTAL_BYTES ? one : MCP_DEFAULT_TOTAL_BYTES;
}

int mcp_check_held(const struct mcp_session *session, size_t more, struct err *err)
{
    if (session->held_bytes + more > mcp_max_held_bytes(session->server))
        return err_set(err, ERR_BUSY, "waiting calls already use %zu bytes; try again later",
                       session->held_bytes);
    if (session->service->held_bytes + more > max_total_bytes(session->server))
        return err_set(err, ERR_BUSY,
                       "the calls of all clients already use %zu bytes; try again later",
                       session->service->held_bytes);
    return 0;
}

void mcp_message_count(struct mcp_session *session, struct mcp_message *message)
{
    size_t more = message->arena.held - message->counted;

    session->held_bytes += more;
    message->service->held_bytes += more;
    message->counted = message->arena.held;
}

static void message_free(struct mcp_message *message)
{
    arena_done(&message->arena);
    free(message->unread);
    free(message);
}

void mcp_message_unref(struct mcp_session *session, struct mcp_message *message)
{
    struct mcp_service *service = message->service;

    assert(message->users > 0);
    if (--message->users > 0)
        return;
    service->message_count--;
    service->held_bytes -= message->counted;
    if (session != NULL)
        session->held_bytes -= message->counted;
    message->counted = 0;
    if (service->spare != NULL || message->unread != NULL || service->server->is_one_of_many) {
        message_free(message);
        return;
    }
    arena_reset(&message->arena);
    service->spare = message;
}

/* An empty message with one reference. */
static struct mcp_message *message_new(struct mcp_service *service, size_t max_bytes)
{
    struct mcp_message *message = steal_ptr(&service->spare);

    if (message == NULL)
        message = alloc_zeroed(sizeof(*message));
    if (message == NULL)
        return NULL;
    message->service = service;
    message->arena.max = max_bytes > MCP_SMALL_MESSAGE_BYTES ? max_bytes : MCP_SMALL_MESSAGE_BYTES;
    /* Memory left from the last message must not count as over the limit. */
    if (message->arena.held > message->arena.max)
        arena_done(&message->arena);
    message->users = 1;
    message->origin = 0;
    message->kind = MCP_UNREADABLE;
    message->document = NULL;
    message->rpc = (struct jsonrpc_message){.id = STR_EMPTY, .method = STR_EMPTY};
    service->message_count++;
    return message;
}

static int parse(struct mcp_message *message, struct str bytes, struct err *err)
{
    const struct mcp_server *server = message->service->server;
    struct json_limits limits = JSON_LIMITS_DEFAULT;
    char *copy;

    limits.max_bytes = mcp_max_message_bytes(server);
    if (server->max_depth != 0)
        limits.max_depth = server->max_depth;
    if (bytes.len > limits.max_bytes)
        return err_set(err, ERR_TOO_LARGE, "the message is longer than %zu bytes",
                       limits.max_bytes);
    /* The transport needs its buffer back before the calls have ended. */
    copy = arena_copy(&message->arena, bytes);
    if (copy == NULL)
        return err_set_plain(err, message->arena.error);
    /* Clients pass on what models write, who cut texts between the halves of a character. */
    return json_parse_mended(&message->arena, (struct str){copy, bytes.len}, limits,
                             &message->document, err);
}

static enum mcp_message_kind kind_of(enum jsonrpc_kind kind)
{
    switch (kind) {
    case JSONRPC_REQUEST:
        return MCP_REQUEST;
    case JSONRPC_NOTIFICATION:
        return MCP_NOTIFICATION;
    case JSONRPC_RESPONSE:
        return MCP_RESPONSE;
    }
    return MCP_UNREADABLE;
}

struct mcp_message *mcp_message_read(struct mcp_service *service, struct str bytes,
                                     size_t max_bytes, struct err *err)
{
    struct mcp_message *message = message_new(service, max_bytes);

    if (message == NULL) {
        err_set_plain(err, ERR_NO_MEMORY);
        return NULL;
    }
    if (parse(message, bytes, err) < 0 || message->document == NULL)
        return message;
    if (message->document->type == JSON_ARRAY) {
        message->kind = MCP_BATCH;
        return message;
    }
    if (jsonrpc_read(&message->arena, message->document, &message->rpc, &message->rpc.id, err) == 0)
        message->kind = kind_of(message->rpc.kind);
    return message;
}

int mcp_message_parse(struct mcp_service *service, struct str bytes,
                      struct mcp_message **out_message)
{
    struct err err = ERR_INIT;
    struct mcp_message *message =
        mcp_message_read(service, bytes, mcp_max_held_bytes(service->server), &err);
    struct mcp_unread *unread;
    struct requestid scan;

    if (message == NULL)
        return ERR_NO_MEMORY;
    if (message->kind == MCP_UNREADABLE) {
        struct str id = message->rpc.id;

        unread = malloc(sizeof(*unread));
        if (unread == NULL) {
            mcp_message_free(message);
            return ERR_NO_MEMORY;
        }
        if (message->document == NULL) {
            requestid_init(&scan);
            requestid_feed(&scan, bytes);
            id = requestid_end(&scan);
        }
        unread->err = err;
        unread->id_len = id.len;
        memcpy(unread->id, id.ptr, id.len);
        message->rpc.id = (struct str){unread->id, id.len};
        message->unread = unread;
    }
    *out_message = message;
    return 0;
}

void mcp_message_free(struct mcp_message *message)
{
    if (message != NULL)
        mcp_message_unref(NULL, message);
}

enum mcp_message_kind mcp_message_kind(const struct mcp_message *message)
{
    return message->kind;
}

struct str mcp_message_id(const struct mcp_message *message)
{
    return message->rpc.id;
}

struct str mcp_message_method(const struct mcp_message *message)
{
    return message->rpc.method;
}

const struct json_value *mcp_message_params(const struct mcp_message *message)
{
    return message->rpc.params;
}

struct str mcp_message_name(const struct mcp_message *message)
{
    struct str method = message->rpc.method;
    struct str name = STR_EMPTY;

    if (message->rpc.params == NULL)
        return name;
    if (str_eq(method, STR("tools/call")) || str_eq(method, STR("prompts/get")))
        json_get_str(message->rpc.params, STR("name"), &name);
    else if (str_eq(method, STR("resources/read")))
        json_get_str(message->rpc.params, STR("uri"), &name);
    return name;
}

bool mcp_message_is_modern(const struct mcp_message *message)
{
    return message->rpc.params != NULL && mcp_is_modern(message->rpc.params);
}

struct str mcp_message_revision(const struct mcp_message *message)
{
    struct str revision = STR_EMPTY;

    if (mcp_message_is_modern(message))
        json_get_str(json_get(message->rpc.params, STR("_meta")), STR(MCP_META_VERSION), &revision);
    return revision;
}
