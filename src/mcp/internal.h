/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to the library.
 *
 *     service.c    what sessions share, and notifications to all of them
 *     message.c    parses messages, which are reference-counted
 *     session.c    life of a session, handling of messages, cancelling
 *     methods.c    the table of methods, and those that both eras have
 *     prompts.c    lists in pages, prompts, completion
 *     legacy.c     initialize, ping, levels, roots, subscribe
 *     modern.c     `_meta`, discover, listen
 *     call.c       the calls of the host
 *     ask.c        questions to the client during a call
 *     answer.c     the client's answers
 *     state.c      what a modern client carries between question and answer
 *     subscribe.c  who subscribed to which URI
 *     reply.c      answers and notifications
 */
#ifndef MCP_INTERNAL_H
#define MCP_INTERNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "base/sha256.h"
#include "mcp/mcp.h"
#include "protocol/jsonrpc.h"

#define MCP_META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_CLIENT       "io.modelcontextprotocol/clientInfo"
#define MCP_META_LEVEL        "io.modelcontextprotocol/logLevel"
#define MCP_META_SERVER       "io.modelcontextprotocol/serverInfo"
#define MCP_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

#define MCP_MODERN_REVISION "2026-07-28"

/* MCP's own error codes. */
enum {
    MCP_RESOURCE_NOT_FOUND = -32002, /* legacy */
    MCP_HEADER_MISMATCH = -32020,
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
};

/* HTTP status of an answer. A failed request still gets an answer. */
enum {
    MCP_HTTP_OK = 200,
    MCP_HTTP_BAD_REQUEST = 400,
    MCP_HTTP_NOT_FOUND = 404,
};

enum {
    MCP_CURSOR_BYTES = 16 << 10,
    /*
     * Always allowed for one message: a cancel must be understood even if memory is full of calls.
     */
    MCP_SMALL_MESSAGE_BYTES = 256 << 10,
    MCP_CONSTANT_BYTES = 64 << 10,
    MCP_QUESTION_ID_BYTES = 40,
    /* Request states that were issued and have not come back. */
    MCP_MAX_STATES = 1024,
    MCP_MAX_STATES_OF_ONE = 256, /* per principal */
    MCP_NONCE_BYTES = 16,
};

/* Oldest last; only one of them has batches. */
enum mcp_revision {
    MCP_2025_11_25,
    MCP_2025_06_18,
    MCP_2025_03_26,
    MCP_2024_11_05,
    MCP_2024_10_07,
    MCP_REVISIONS,
};

/* Reference-counted tools and prompts. */
struct mcp_offer_ref {
    size_t users;
    struct mcp_offer offer;
};

/* Why a message cannot be read, and its apparent id. */
struct mcp_unread {
    struct err err;
    size_t id_len;
    char id[JSONRPC_MAX_ID_BYTES];
};

/* A parsed message; reference-counted. */
struct mcp_message {
    struct mcp_service *service;
    struct arena arena;
    size_t users;
    /* Part of the arena counted in the held_bytes of its session and the service. */
    size_t counted;
    uint64_t origin;
    enum mcp_message_kind kind;
    const struct json_value *document; /* NULL: could not be parsed */
    struct jsonrpc_message rpc;        /* of a request, notification or response */
    struct mcp_unread *unread;         /* for MCP_UNREADABLE of mcp_message_parse() */
};

/* A request state that a client carries. */
struct mcp_issued {
    uint64_t owner; /* hash of the principal */
    int64_t due_ms;
    bool is_out;
    unsigned char nonce[MCP_NONCE_BYTES];
};

struct mcp_service {
    const struct mcp_server *server;
    const struct mcp_host *host;
    const struct clock *clock;
    struct mcp_offer_ref *offer;

    /* Prepared pieces of answers. */
    struct buf server_info;
    struct buf capabilities;
    struct buf stamp;           /* begins every modern result */
    struct buf cacheable_stamp; /* same for lists and contents */
    struct buf input_stamp;     /* same for questions */

    struct buf out;            /* for writing answers, one at a time */
    struct mcp_message *spare; /* the last message that nobody kept, for reuse */
    size_t message_count;      /* kept ones */
    size_t held_bytes;
    struct list sessions;
    struct list rounds; /* with unanswered questions */

    struct mcp_issued *issued; /* MCP_MAX_STATES of them; NULL before the first */
    unsigned char state_key[SHA256_BYTES];
};

/* A subscriber: the legacy session, or one subscriptions/listen. */
struct mcp_stream {
    struct list link; /* in session->streams; the legacy one is in no list */
    struct list interests;
    unsigned lists; /* bits of enum mcp_list to notify about */
    uint64_t origin;
    struct str id; /* of the listening request, as JSON; empty: legacy */
};

enum mcp_list { MCP_LIST_TOOLS, MCP_LIST_PROMPTS, MCP_LIST_RESOURCES, MCP_LISTS };

enum { MCP_CLIENT_BYTES = 64 }; /* of a client's name, with its NUL */

struct mcp_session {
    struct list link; /* in the service's list */
    struct mcp_service *service;
    const struct mcp_server *server;
    const struct mcp_host *host;
    void *data;
    struct str principal;
    bool is_stateless;
    bool is_receiving;
    uint64_t origin; /* of the message being handled */

    /* The legacy session. */
    bool is_initialized; /* initialize was answered */
    enum mcp_revision revision;
    enum mcp_level level;
    unsigned client_asks; /* bits of enum mcp_asks that the client declared */
    char client[MCP_CLIENT_BYTES];
    bool is_asking_for_roots;
    bool roots_have_changed; /* while asking */
    char roots_question[MCP_QUESTION_ID_BYTES];

    /* Unfinished calls; those not cancelled can also be found by id. */
    struct list calls;
    size_t call_count;
    size_t held_bytes;
    struct map call_ids;
    struct map questions; /* open ones of its calls, by id */

    /* URIs with subscribers. */
    struct map watched;
    size_t interest_count;
    size_t reserved_interests; /* of calls that will subscribe when they end */
    struct mcp_stream legacy;
    struct list streams;
    size_t stream_count;
    struct map stream_ids;
};

/* A request after the common checks. */
struct mcp_envelope {
    struct mcp_message *message;
    struct str id;
    const struct json_value *params; /* never NULL */
    bool is_modern;
    struct str progress_token;             /* as JSON; empty: none */
    enum mcp_level level;                  /* modern: from the request */
    const struct json_value *capabilities; /* modern: the client's */
    struct str client;                     /* modern: its name; or empty */
};

/* One question of a round. */
struct mcp_asked {
    struct mcp_call *call;
    enum mcp_asks kind;
    bool is_open; /* legacy: sent and unanswered */
    struct str key;
    struct str id;               /* legacy: of our request, as JSON */
    struct mcp_message *message; /* legacy: holds the answer */
    struct mcp_answer answer;
};

/* The last round of a call, in its arena. */
struct mcp_asking {
    struct list link; /* in the service's list, while a question is open */
    struct mcp_call *call;
    unsigned number; /* from 1 */
    int64_t due_ms;
    struct str state;
    size_t open_count;
    size_t count;
    struct mcp_asked asked[];
};

struct mcp_call {
    struct list link;
    struct mcp_session *session;
    struct mcp_message *message; /* holds this call in its arena */
    uint64_t origin;
    struct mcp_request request;
    bool is_modern;
    bool is_cacheable;
    bool is_cancelled;
    bool has_ended;
    bool has_progressed;
    uint64_t progress;
    struct str id;
    struct str progress_token;
    enum mcp_level level;
    void *data;

    struct mcp_offer_ref *offer; /* that has the tool or the prompt */
    bool is_listen;
    unsigned lists; /* bits of enum mcp_list, for a stream */

    const struct json_value *capabilities; /* modern: the client's */
    struct str client;                     /* its name; or empty */
    const struct json_value *meta;         /* or NULL */
    const struct json_value *raw_answers;
    unsigned needed; /* bits of enum mcp_asks: required but not declared */
    struct mcp_asking *asking;
};

/* service.c */
void mcp_offer_unref(struct mcp_offer_ref *offer);

/* message.c */

/*
 * Parses a message, with one reference, of at most max_bytes in memory; `err` says why it is
 * invalid.
 */
struct mcp_message *mcp_message_read(struct mcp_service *service, struct str bytes,
                                     size_t max_bytes, struct err *err);
void mcp_message_unref(struct mcp_session *session, struct mcp_message *message);
void mcp_message_count(struct mcp_session *session, struct mcp_message *message);
size_t mcp_max_held_bytes(const struct mcp_server *server);
/* ERR_BUSY if the session or the service would hold too much with these bytes. */
int mcp_check_held(const struct mcp_session *session, size_t more, struct err *err);
size_t mcp_max_message_bytes(const struct mcp_server *server);

/* methods.c: answers the request, or starts a call. */
void mcp_dispatch_request(struct mcp_session *session, struct mcp_message *message,
                          const struct jsonrpc_message *rpc);

extern const struct json_value mcp_empty_object;

/* A member that must be a string, of at most `max` bytes. */
int mcp_need_str(const struct json_value *object, struct str key, size_t max, struct str *out_text,
                 struct err *err);

/* Returns 0 if it has answered or started a call; the caller answers with an error. */
typedef int mcp_handler_fn(struct mcp_session *session, const struct mcp_envelope *request,
                           struct err *err);

/* Leaves the cursor unchanged if there is none. */
int mcp_read_cursor(const struct mcp_envelope *request, struct str *out_cursor, struct err *err);

/* prompts.c */
mcp_handler_fn mcp_tools_list, mcp_prompts_list, mcp_prompts_get, mcp_complete;

/* legacy.c */
mcp_handler_fn mcp_initialize, mcp_ping, mcp_set_level, mcp_subscribe, mcp_unsubscribe;
void mcp_ask_for_roots(struct mcp_session *session);
/* False if the response is for another request. */
bool mcp_take_roots(struct mcp_session *session, const struct jsonrpc_message *rpc);
/* False for an unknown level. */
bool mcp_level_from(struct str name, enum mcp_level *out_level);
const char *mcp_level_name(enum mcp_level level);

/* modern.c */
mcp_handler_fn mcp_discover, mcp_listen;
bool mcp_is_modern(const struct json_value *params);
/* Reads `_meta` into the request. Returns 1 if it was already answered, because of the revision. */
int mcp_read_envelope(struct mcp_session *session, struct mcp_envelope *request, struct err *err);

/* call.c */

/* Creates a call for this request, in no list yet; NULL and an error over a limit. */
struct mcp_call *mcp_call_new(struct mcp_session *session, const struct mcp_envelope *request,
                              enum mcp_work work, struct err *err);
/* Passes it to the host. The call may be freed afterwards. */
int mcp_call_begin(struct mcp_session *session, struct mcp_call *call, struct err *err);
/* Unlinks the call and releases its message. */
void mcp_call_end(struct mcp_call *call);
void mcp_call_cancel(struct mcp_session *session, struct mcp_call *call);
/* Detaches the call from the session, which is about to be freed. */
void mcp_call_detach(struct mcp_session *session, struct mcp_call *call);

/* ask.c */

/* Bits of enum mcp_asks. */
unsigned mcp_declared_asks(const struct json_value *capabilities);
/* {"elicitation":{}} and so on, as a client would declare them. */
int mcp_write_asks(struct buf *out, unsigned asks);
/* Handles a response of the client; ignores one that nobody asked for. */
void mcp_take_response(struct mcp_session *session, struct mcp_message *message,
                       const struct jsonrpc_message *rpc);
/* Withdraws open questions; with is_silent without telling the client. */
void mcp_asking_close(struct mcp_session *session, struct mcp_call *call, int error,
                      bool is_silent);
/* Releases the messages that hold answers. May be NULL. */
void mcp_asking_done(struct mcp_session *session, struct mcp_asking *asking);
/* The deadline of a round that begins now. */
int64_t mcp_due_ms(const struct mcp_service *service, const struct mcp_round *round);
/* Creates an unguessable id for our question, as JSON. */
struct str mcp_question_id(char out_text[MCP_QUESTION_ID_BYTES]);

/* answer.c */
struct mcp_answer mcp_read_answer(enum mcp_asks kind, const struct json_value *result);
/* Modern: reads the answers of a repeated request. They count only with a state that we issued. */
int mcp_call_take_answers(struct mcp_session *session, struct mcp_call *call,
                          const struct mcp_envelope *request, struct err *err);

/* state.c */

/* Appends the state that the client carries. */
int mcp_state_issue(struct mcp_session *session, const struct mcp_call *call,
                    const struct mcp_round *round, unsigned number, struct buf *out);
/* Accepts a state once only; returns its round, in the call's arena. */
int mcp_state_redeem(struct mcp_session *session, struct mcp_call *call, struct str text,
                     struct mcp_asking **out_asking, struct err *err);

/* subscribe.c */
void mcp_stream_init(struct mcp_stream *stream);
bool mcp_stream_has(const struct mcp_session *session, const struct mcp_stream *stream,
                    struct str uri);
int mcp_stream_add(struct mcp_session *session, struct mcp_stream *stream, struct str uri);
/* False if the stream was not subscribed to it. */
bool mcp_stream_remove(struct mcp_session *session, struct mcp_stream *stream, struct str uri);
void mcp_stream_clear(struct mcp_session *session, struct mcp_stream *stream);
/* Opens a stream for what this call requested. */
int mcp_stream_open(struct mcp_session *session, const struct mcp_call *call,
                    struct mcp_stream **out_stream);
void mcp_stream_close(struct mcp_session *session, struct mcp_stream *stream);
void mcp_session_tell_list(struct mcp_session *session, enum mcp_list list);
/* Bits of enum mcp_list that may change. */
unsigned mcp_changing_lists(const struct mcp_server *server);
/* "toolsListChanged", … as a filter names it. */
struct str mcp_list_filter(enum mcp_list list);

/* reply.c; `call` is passed to the transport; NULL: the answer is to the message being handled. */

/* Sends a result built from its parts: `object` is `{…}`, sent unchanged. */
void mcp_answer(struct mcp_session *session, const struct mcp_call *call, struct str id,
                const struct buf *stamp, struct str object);
/* Same if the object has many parts; they are its members, without the braces. */
void mcp_answer_parts(struct mcp_session *session, const struct mcp_call *call, struct str id,
                      const struct buf *stamp, const struct str *members, size_t count);
void mcp_answer_error(struct mcp_session *session, const struct mcp_call *call, struct str id,
                      int code, int http_status, struct str message, struct str data);
/* Sends code, message and data of an error from the table. */
void mcp_answer_err(struct mcp_session *session, const struct mcp_call *call, struct str id,
                    const struct err *err);
/* Same with another code and status. */
void mcp_answer_err_as(struct mcp_session *session, const struct mcp_call *call, struct str id,
                       int code, int http_status, const struct err *err);
/* To the call's origin; without a call, to no origin. */
void mcp_notify(struct mcp_session *session, const struct mcp_call *call, struct str method,
                struct str params);
void mcp_notify_stream(struct mcp_session *session, const struct mcp_stream *stream,
                       struct str method, struct str params);
int mcp_send_question(struct mcp_session *session, const struct mcp_call *call, struct str id,
                      struct str method, struct str params);
void mcp_end_stream(struct mcp_session *session, const struct mcp_stream *stream);

/* The stamp for a request of its era; NULL for the legacy one. */
const struct buf *mcp_stamp(const struct mcp_session *session, bool is_modern, bool is_cacheable);

#endif
