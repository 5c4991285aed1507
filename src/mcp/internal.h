/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the library share with each other, and with nobody else.
 *
 *     session.c    life of a session, from bytes to a request, cancelling
 *     methods.c    the table of methods, and those that both eras have
 *     legacy.c     initialize, ping, levels, roots, subscribe
 *     modern.c     `_meta`, discover, listen
 *     call.c       what the host works on
 *     subscribe.c  who wants to hear of which address
 *     reply.c      answers and notifications
 */
#ifndef MCP_INTERNAL_H
#define MCP_INTERNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "mcp/mcp.h"
#include "protocol/jsonrpc.h"

#define MCP_META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_CLIENT       "io.modelcontextprotocol/clientInfo"
#define MCP_META_LEVEL        "io.modelcontextprotocol/logLevel"
#define MCP_META_SERVER       "io.modelcontextprotocol/serverInfo"
#define MCP_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

#define MCP_MODERN_REVISION "2026-07-28"

/* Codes of MCP's own. */
enum {
    MCP_RESOURCE_NOT_FOUND = -32002, /* legacy */
    MCP_UNSUPPORTED_VERSION = -32022,
};

enum {
    MCP_CLIENT_BYTES = 256, /* "name version" */
    MCP_CURSOR_BYTES = 16 << 10,
    /* Always allowed for one message: a cancel must be understood when memory is full of calls. */
    MCP_SMALL_MESSAGE_BYTES = 256 << 10,
};

/* The oldest last; batches were in one of them only. */
enum mcp_revision {
    MCP_2025_11_25,
    MCP_2025_06_18,
    MCP_2025_03_26,
    MCP_2024_11_05,
    MCP_2024_10_07,
    MCP_REVISIONS,
};

/* A message and what was read from it: as long as somebody uses it. */
struct mcp_message {
    struct arena arena;
    size_t users;
    size_t counted; /* of the arena, in the session's held_bytes */
};

/* Somebody who hears of changes: the legacy session, or one subscriptions/listen. */
struct mcp_stream {
    struct list link; /* in session->streams; the legacy one is in none */
    struct list interests;
    bool wants_list_changes;
    struct str id; /* of the listening request, as JSON; empty: legacy */
};

struct mcp_session {
    const struct mcp_server *server;
    const struct mcp_host *host;
    void *data;

    /* Finished pieces of answers. */
    struct buf server_info;
    struct buf capabilities;
    struct buf stamp;           /* what begins every modern result */
    struct buf cacheable_stamp; /* the same for lists and contents */

    struct buf out;            /* answers are written here, one at a time */
    struct mcp_message *spare; /* the last message that nobody kept */
    bool is_receiving;

    /* The legacy session. */
    bool is_initialized; /* initialize was answered */
    enum mcp_revision revision;
    enum mcp_level level;
    bool client_has_roots;
    bool is_asking_for_roots;
    bool roots_have_changed; /* while asking */
    uint64_t roots_question;
    char client[MCP_CLIENT_BYTES];
    size_t client_len;

    /* Calls that have not ended; those not cancelled are also found by their id. */
    struct list calls;
    size_t call_count;
    size_t held_bytes;
    struct map call_ids;

    /* Addresses that somebody wants to hear of. */
    struct map watched;
    size_t interest_count;
    size_t reserved_interests; /* of calls that will subscribe when they end */
    struct mcp_stream legacy;
    struct list streams;
    size_t stream_count;
    struct map stream_ids;
};

/* A request after the checks that all have in common. */
struct mcp_request {
    struct mcp_message *message;
    struct str id;
    const struct json_value *params; /* never NULL */
    bool is_modern;
    struct str progress_token; /* as JSON; empty: none */
    enum mcp_level level;      /* modern: what the request asked for */
    struct str client;
};

struct mcp_call {
    struct list link;
    struct mcp_session *session;
    struct mcp_message *message;
    enum mcp_work work;
    bool is_modern;
    bool is_cacheable;
    bool is_cancelled;
    bool has_ended;
    bool has_progressed;
    uint64_t progress;
    struct str id;
    struct str progress_token;
    enum mcp_level level;
    struct str client;
    void *data;

    const struct catalog_tool *tool;
    const struct json_value *arguments;
    struct str cursor;
    struct str argument_name;
    struct str argument_value;
    const struct json_value *context;

    /* One of them but for a listening stream; one that was refused has no pointer. */
    struct str *uris;
    size_t uri_count;
    bool is_listen;
    bool wants_list_changes;
};

/* session.c */
void mcp_message_unref(struct mcp_session *session, struct mcp_message *message);
void mcp_message_count(struct mcp_session *session, struct mcp_message *message);

/* methods.c: answers the request, or begins a call. */
void mcp_dispatch_request(struct mcp_session *session, struct mcp_message *message,
                          const struct jsonrpc_message *rpc);

extern const struct json_value mcp_empty_object;

/* A member that must be a string, of at most `max` bytes. */
int mcp_need_str(const struct json_value *object, struct str key, size_t max, struct str *out_text,
                 struct err *err);

/*
 * A handler has answered or begun a call when it returns 0; an error is
 * answered by its caller.
 */
typedef int mcp_handler_fn(struct mcp_session *session, const struct mcp_request *request,
                           struct err *err);

/* legacy.c */
mcp_handler_fn mcp_initialize, mcp_ping, mcp_set_level, mcp_subscribe, mcp_unsubscribe;
void mcp_ask_for_roots(struct mcp_session *session);
void mcp_take_response(struct mcp_session *session, const struct jsonrpc_message *rpc);
/* False when there is no such level. */
bool mcp_level_from(struct str name, enum mcp_level *out_level);
const char *mcp_level_name(enum mcp_level level);
/* "name version" of a clientInfo, cut to fit; returns its length. */
size_t mcp_write_client(const struct json_value *info, char out_text[MCP_CLIENT_BYTES]);

/* modern.c */
mcp_handler_fn mcp_discover, mcp_listen;
bool mcp_is_modern(const struct json_value *params);
/* Reads `_meta` into the request. 1: answered already, because of the revision. */
int mcp_read_envelope(struct mcp_session *session, struct mcp_request *request, struct err *err);

/* call.c */

/* A call of this request, in no list yet; NULL and an error over a ceiling. */
struct mcp_call *mcp_call_new(struct mcp_session *session, const struct mcp_request *request,
                              enum mcp_work work, struct err *err);
/* Hands it to the host. It may be gone afterwards. */
int mcp_call_begin(struct mcp_session *session, struct mcp_call *call, struct err *err);
/* The same for a call about one address. */
int mcp_call_begin_about(struct mcp_session *session, struct mcp_call *call, struct str uri,
                         struct err *err);
void mcp_call_cancel(struct mcp_session *session, struct mcp_call *call);
/* Without the session, which is about to go. */
void mcp_call_detach(struct mcp_session *session, struct mcp_call *call);

/* subscribe.c */
void mcp_stream_init(struct mcp_stream *stream);
bool mcp_stream_has(const struct mcp_session *session, const struct mcp_stream *stream,
                    struct str uri);
int mcp_stream_add(struct mcp_session *session, struct mcp_stream *stream, struct str uri);
/* False when the stream was not interested in it. */
bool mcp_stream_remove(struct mcp_session *session, struct mcp_stream *stream, struct str uri);
void mcp_stream_clear(struct mcp_session *session, struct mcp_stream *stream);
int mcp_stream_open(struct mcp_session *session, struct str id, struct mcp_stream **out_stream);
void mcp_stream_close(struct mcp_session *session, struct mcp_stream *stream);

/* reply.c; `call` is what the transport is told, and may be NULL. */

/* Puts a result together from its parts: `object` is `{…}`, taken as it is. */
void mcp_answer(struct mcp_session *session, const struct mcp_call *call, struct str id,
                const struct buf *stamp, struct str object);
/* The same where the object has many parts; they are its members, without the braces. */
void mcp_answer_parts(struct mcp_session *session, const struct mcp_call *call, struct str id,
                      const struct buf *stamp, const struct str *members, size_t count);
void mcp_answer_error(struct mcp_session *session, const struct mcp_call *call, struct str id,
                      int code, struct str message, struct str data);
/* Code, message and data of an error of the table. */
void mcp_answer_err(struct mcp_session *session, const struct mcp_call *call, struct str id,
                    const struct err *err);
/* The same under another code. */
void mcp_answer_err_as(struct mcp_session *session, const struct mcp_call *call, struct str id,
                       int code, const struct err *err);
void mcp_notify(struct mcp_session *session, const struct mcp_call *call, struct str method,
                struct str params);

/* The stamp for a request of its era; NULL for the legacy one. */
const struct buf *mcp_stamp(const struct mcp_session *session, bool is_modern, bool is_cacheable);

/* Writes serverInfo, capabilities and stamps. */
int mcp_write_constants(struct mcp_session *session);

#endif
