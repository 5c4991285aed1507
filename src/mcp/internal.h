/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the library share with each other, and with nobody else.
 *
 *     service.c    what sessions share, and what all of them are told
 *     message.c    bytes become a message, which lives as long as it is used
 *     session.c    life of a session, what it does with a message, cancelling
 *     methods.c    the table of methods, and those that both eras have
 *     prompts.c    lists in pages, prompts, completion
 *     legacy.c     initialize, ping, levels, roots, subscribe
 *     modern.c     `_meta`, discover, listen
 *     call.c       what the host works on
 *     ask.c        questions to the client in the middle of a call
 *     answer.c     what it says to them
 *     state.c      what a modern client carries between question and answer
 *     subscribe.c  who wants to hear of which address
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

/* Codes of MCP's own. */
enum {
    MCP_RESOURCE_NOT_FOUND = -32002, /* legacy */
    MCP_HEADER_MISMATCH = -32020,
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
};

/* What HTTP makes of an answer. A failure of what was asked for is still an answer. */
enum {
    MCP_HTTP_OK = 200,
    MCP_HTTP_BAD_REQUEST = 400,
    MCP_HTTP_NOT_FOUND = 404,
};

enum {
    MCP_CLIENT_BYTES = 256, /* "name version" */
    MCP_CURSOR_BYTES = 16 << 10,
    /* Always allowed for one message: a cancel must be understood when memory is full of calls. */
    MCP_SMALL_MESSAGE_BYTES = 256 << 10,
    MCP_CONSTANT_BYTES = 64 << 10,
    MCP_QUESTION_ID_BYTES = 40,
    /* Request states that were given away and have not come back. */
    MCP_MAX_STATES = 1024,
    MCP_MAX_STATES_OF_ONE = 256, /* with one principal */
    MCP_NONCE_BYTES = 16,
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

/* Tools and prompts that somebody uses. */
struct mcp_offer_ref {
    size_t users;
    struct mcp_offer offer;
};

/* Why a message cannot be read, and the id it seems to have. */
struct mcp_unread {
    struct err err;
    size_t id_len;
    char id[JSONRPC_MAX_ID_BYTES];
};

/* A message and what was read from it: as long as somebody uses it. */
struct mcp_message {
    struct mcp_service *service;
    struct arena arena;
    size_t users;
    size_t counted; /* of the arena, in the held_bytes of its session and of the service */
    uint64_t origin;
    enum mcp_message_kind kind;
    const struct json_value *document; /* NULL: it could not be parsed */
    struct jsonrpc_message rpc;        /* of a request, notification or response */
    struct mcp_unread *unread;         /* MCP_UNREADABLE of mcp_message_parse() */
};

/* A request state that is with a client. */
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

    /* Finished pieces of answers. */
    struct buf server_info;
    struct buf capabilities;
    struct buf stamp;           /* what begins every modern result */
    struct buf cacheable_stamp; /* the same for lists and contents */
    struct buf input_stamp;     /* the same for questions */

    struct buf out;            /* answers are written here, one at a time */
    struct mcp_message *spare; /* the last message that nobody kept */
    size_t message_count;      /* that somebody keeps */
    size_t held_bytes;
    struct list sessions;
    struct list rounds; /* with questions that wait for an answer */

    struct mcp_issued *issued; /* MCP_MAX_STATES of them; NULL before the first */
    unsigned char state_key[SHA256_BYTES];
};

/* Somebody who hears of changes: the legacy session, or one subscriptions/listen. */
struct mcp_stream {
    struct list link; /* in session->streams; the legacy one is in none */
    struct list interests;
    unsigned lists; /* bits of enum mcp_list that it wants to hear of */
    uint64_t origin;
    struct str id; /* of the listening request, as JSON; empty: legacy */
};

enum mcp_list { MCP_LIST_TOOLS, MCP_LIST_PROMPTS, MCP_LIST_RESOURCES, MCP_LISTS };

struct mcp_session {
    struct list link; /* of the service's */
    struct mcp_service *service;
    const struct mcp_server *server;
    const struct mcp_host *host;
    void *data;
    struct str principal;
    bool is_stateless;
    bool is_receiving;
    uint64_t origin; /* of the message that is being taken */

    /* The legacy session. */
    bool is_initialized; /* initialize was answered */
    enum mcp_revision revision;
    enum mcp_level level;
    unsigned client_asks; /* bits of enum mcp_asks that it declared */
    bool is_asking_for_roots;
    bool roots_have_changed; /* while asking */
    char roots_question[MCP_QUESTION_ID_BYTES];
    char client[MCP_CLIENT_BYTES];
    size_t client_len;

    /* Calls that have not ended; those not cancelled are also found by their id. */
    struct list calls;
    size_t call_count;
    size_t held_bytes;
    struct map call_ids;
    struct map questions; /* open ones of its calls, by their id */

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
struct mcp_envelope {
    struct mcp_message *message;
    struct str id;
    const struct json_value *params; /* never NULL */
    bool is_modern;
    struct str progress_token; /* as JSON; empty: none */
    enum mcp_level level;      /* modern: what the request asked for */
    struct str client;
    const struct json_value *capabilities; /* modern: the client's */
};

/* One question of a round. */
struct mcp_asked {
    struct mcp_call *call;
    enum mcp_asks kind;
    bool is_open; /* legacy: sent and waited for */
    struct str key;
    struct str id;               /* legacy: of our request, as JSON */
    struct mcp_message *message; /* legacy: what the answer points into */
    struct mcp_answer answer;
};

/* The last round of a call, in its arena. */
struct mcp_asking {
    struct list link; /* of the service's, while something is open */
    struct mcp_call *call;
    unsigned number; /* 1: the first */
    int64_t due_ms;
    struct str state;
    size_t open_count;
    size_t count;
    struct mcp_asked asked[];
};

struct mcp_call {
    struct list link;
    struct mcp_session *session;
    struct mcp_message *message; /* it lives in there */
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
    struct str client;
    void *data;

    struct mcp_offer_ref *offer; /* that the tool or the prompt is from */
    bool is_listen;
    unsigned lists; /* bits of enum mcp_list: a stream's */

    const struct json_value *capabilities; /* modern: the client's */
    const struct json_value *raw_answers;
    unsigned needed; /* bits of enum mcp_asks: not declared, and missed */
    struct mcp_asking *asking;
};

/* service.c */
int mcp_offer_ref_new(const struct mcp_offer *offer, struct mcp_offer_ref **out_offer);
void mcp_offer_unref(struct mcp_offer_ref *offer);

/* message.c */

/* A message with one user, of at most so many bytes in memory; what it cannot be is in `err`. */
struct mcp_message *mcp_message_read(struct mcp_service *service, struct str bytes,
                                     size_t max_bytes, struct err *err);
void mcp_message_unref(struct mcp_session *session, struct mcp_message *message);
void mcp_message_count(struct mcp_session *session, struct mcp_message *message);
size_t mcp_max_held_bytes(const struct mcp_server *server);
/* ERR_BUSY when the session or the service holds too much with these bytes besides. */
int mcp_check_held(const struct mcp_session *session, size_t more, struct err *err);
size_t mcp_max_message_bytes(const struct mcp_server *server);

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
typedef int mcp_handler_fn(struct mcp_session *session, const struct mcp_envelope *request,
                           struct err *err);

/* Leaves the cursor as it is when there is none. */
int mcp_read_cursor(const struct mcp_envelope *request, struct str *out_cursor, struct err *err);

/* prompts.c */
mcp_handler_fn mcp_tools_list, mcp_prompts_list, mcp_prompts_get, mcp_complete;

/* legacy.c */
mcp_handler_fn mcp_initialize, mcp_ping, mcp_set_level, mcp_subscribe, mcp_unsubscribe;
void mcp_ask_for_roots(struct mcp_session *session);
/* False when it answers something else. */
bool mcp_take_roots(struct mcp_session *session, const struct jsonrpc_message *rpc);
/* False when there is no such level. */
bool mcp_level_from(struct str name, enum mcp_level *out_level);
const char *mcp_level_name(enum mcp_level level);
/* "name version" of a clientInfo, cut to fit; returns its length. */
size_t mcp_write_client(const struct json_value *info, char out_text[MCP_CLIENT_BYTES]);

/* modern.c */
mcp_handler_fn mcp_discover, mcp_listen;
bool mcp_is_modern(const struct json_value *params);
/* Reads `_meta` into the request. 1: answered already, because of the revision. */
int mcp_read_envelope(struct mcp_session *session, struct mcp_envelope *request, struct err *err);

/* call.c */

/* A call of this request, in no list yet; NULL and an error over a ceiling. */
struct mcp_call *mcp_call_new(struct mcp_session *session, const struct mcp_envelope *request,
                              enum mcp_work work, struct err *err);
/* Hands it to the host. It may be gone afterwards. */
int mcp_call_begin(struct mcp_session *session, struct mcp_call *call, struct err *err);
/* Unlinks the call and gives up its message. */
void mcp_call_end(struct mcp_call *call);
void mcp_call_cancel(struct mcp_session *session, struct mcp_call *call);
/* Without the session, which is about to go. */
void mcp_call_detach(struct mcp_session *session, struct mcp_call *call);

/* ask.c */

/* Bits of enum mcp_asks. */
unsigned mcp_declared_asks(const struct json_value *capabilities);
/* {"elicitation":{}} and so on, as a client would declare them. */
int mcp_write_asks(struct buf *out, unsigned asks);
/* A response of the client; one that nobody asked for is ignored. */
void mcp_take_response(struct mcp_session *session, struct mcp_message *message,
                       const struct jsonrpc_message *rpc);
/* Takes back what is open. Silent: without a word to the client. */
void mcp_asking_close(struct mcp_session *session, struct mcp_call *call, int error,
                      bool is_silent);
/* Lets go of the messages that answers point into. May be NULL. */
void mcp_asking_done(struct mcp_session *session, struct mcp_asking *asking);
/* When the time of a round that begins now is over. */
int64_t mcp_due_ms(const struct mcp_service *service, const struct mcp_round *round);
/* The id of a question of ours, as JSON: nobody can guess it. */
struct str mcp_question_id(char out_text[MCP_QUESTION_ID_BYTES]);

/* answer.c */
struct mcp_answer mcp_read_answer(enum mcp_asks kind, const struct json_value *result);
/* Modern: what a repeated request brings. Nothing of it counts without a state of ours. */
int mcp_call_take_answers(struct mcp_session *session, struct mcp_call *call,
                          const struct mcp_envelope *request, struct err *err);

/* state.c */

/* Appends the text that the client carries. */
int mcp_state_issue(struct mcp_session *session, const struct mcp_call *call,
                    const struct mcp_round *round, unsigned number, struct buf *out);
/* Once only: the round it belongs to, in the call's arena. */
int mcp_state_redeem(struct mcp_session *session, struct mcp_call *call, struct str text,
                     struct mcp_asking **out_asking, struct err *err);

/* subscribe.c */
void mcp_stream_init(struct mcp_stream *stream);
bool mcp_stream_has(const struct mcp_session *session, const struct mcp_stream *stream,
                    struct str uri);
int mcp_stream_add(struct mcp_session *session, struct mcp_stream *stream, struct str uri);
/* False when the stream was not interested in it. */
bool mcp_stream_remove(struct mcp_session *session, struct mcp_stream *stream, struct str uri);
void mcp_stream_clear(struct mcp_session *session, struct mcp_stream *stream);
/* One that listens to what this call asked for. */
int mcp_stream_open(struct mcp_session *session, const struct mcp_call *call,
                    struct mcp_stream **out_stream);
void mcp_stream_close(struct mcp_session *session, struct mcp_stream *stream);
void mcp_session_tell_list(struct mcp_session *session, enum mcp_list list);
/* Bits of enum mcp_list that may change. */
unsigned mcp_changing_lists(const struct mcp_server *server);
/* "toolsListChanged", … as a filter names it. */
struct str mcp_list_filter(enum mcp_list list);

/* reply.c; `call` is what the transport is told; NULL: the answer is to the message being taken. */

/* Puts a result together from its parts: `object` is `{…}`, taken as it is. */
void mcp_answer(struct mcp_session *session, const struct mcp_call *call, struct str id,
                const struct buf *stamp, struct str object);
/* The same where the object has many parts; they are its members, without the braces. */
void mcp_answer_parts(struct mcp_session *session, const struct mcp_call *call, struct str id,
                      const struct buf *stamp, const struct str *members, size_t count);
void mcp_answer_error(struct mcp_session *session, const struct mcp_call *call, struct str id,
                      int code, int http_status, struct str message, struct str data);
/* Code, message and data of an error of the table. */
void mcp_answer_err(struct mcp_session *session, const struct mcp_call *call, struct str id,
                    const struct err *err);
/* The same under another code and status. */
void mcp_answer_err_as(struct mcp_session *session, const struct mcp_call *call, struct str id,
                       int code, int http_status, const struct err *err);
/* To the call's origin; to nobody's without one. */
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
