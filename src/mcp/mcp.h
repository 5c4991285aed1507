/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MCP server without its transport: bytes of one message go in, the parts
 * of one message come out, and what has to be done is handed to a host.
 *
 *     mcp_session_receive() -> host.start(call) -> mcp_call_finish() or _fail()
 *
 * A service is what its sessions share: the description of the server, texts
 * that were written once, the key of request states. A session is one client:
 * a connection, a legacy session of HTTP, or one modern request of HTTP.
 *
 * Both eras are served on one connection: a request that names its revision in
 * `_meta` is modern (2026-07-28, stateless), `initialize` opens the legacy
 * session (2025-11-25 and older). The library answers the handshakes, lists
 * tools, prompts and templates, counts subscriptions and keeps the ceilings.
 * What a tool, a prompt, a resource or a completion is, it leaves to the host
 * (mcp/call.h); lines, HTTP and timers to the transport.
 *
 * All of it belongs to one thread. Only what a call's accessors returned may
 * be read by a worker, until the call has ended.
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "mcp/call.h"
#include "protocol/catalog.h"

struct mcp_service;
struct mcp_session;
struct mcp_message;

enum {
    MCP_MAX_CALLS = 1024,         /* of a session: begun and not ended, the cancelled among them */
    MCP_MAX_SUBSCRIPTIONS = 1024, /* addresses over all streams of a session */
    MCP_MAX_STREAMS = 1024,       /* open subscriptions/listen */
    MCP_MAX_BATCH = 64,
    MCP_MAX_PAGE = 128,
    MCP_MAX_URI_BYTES = 16 << 10,
    MCP_DEFAULT_MESSAGE_BYTES = 16 << 20,
    MCP_DEFAULT_HELD_BYTES = 64 << 20,
    MCP_DEFAULT_TOTAL_BYTES = 256 << 20,
};

struct mcp_prompt_argument {
    struct str name;
    bool is_required;
};

struct mcp_prompt {
    struct str name;
    struct str listing; /* the finished object for prompts/list */
    const struct mcp_prompt_argument *arguments;
    size_t argument_count;
};

/*
 * Tools and prompts, in the order of their lists. All of it stays as it is
 * until `release`, which comes when neither the service nor a call that began
 * with it needs it any more.
 */
struct mcp_offer {
    const struct catalog_tool *const *tools;
    size_t tool_count;
    const struct mcp_prompt *const *prompts;
    size_t prompt_count;
    void (*release)(void *data); /* may be NULL */
    void *data;
};

/* What the server is; constant, and alive as long as its service. */
struct mcp_server {
    struct str name;
    struct str title; /* may be empty, as all below */
    struct str version;
    struct str instructions;

    struct mcp_offer offer; /* at the beginning */

    bool has_prompts;
    bool has_resources;
    bool has_subscriptions;    /* resources can be watched */
    bool has_tool_changes;     /* mcp_service_set_offer() will bring others */
    bool has_prompt_changes;   /* the same */
    bool has_resource_changes; /* mcp_session_resources_changed() will be called */
    bool has_completions;
    bool has_logging;
    struct str resource_templates; /* a finished JSON array; empty: none */

    size_t page_size;         /* tools or prompts in an answer; 0: MCP_MAX_PAGE */
    size_t max_message_bytes; /* 0: MCP_DEFAULT_MESSAGE_BYTES */
    size_t max_held_bytes;    /* messages that a session's calls need; 0: MCP_DEFAULT_HELD_BYTES */
    size_t max_total_bytes;   /* of all sessions; 0: MCP_DEFAULT_TOTAL_BYTES, or one session's */
    unsigned max_depth;       /* of JSON; 0: JSON_DEFAULT_MAX_DEPTH */

    const struct clock *clock; /* for questions; NULL: the machine's */
};

enum mcp_outgoing_kind {
    MCP_SENT_RESULT,
    MCP_SENT_ERROR,
    MCP_SENT_NOTIFICATION,
    MCP_SENT_QUESTION, /* a request of ours; mcp_service_expire() has to be called some day */
};

/* What a message that is sent is, and whose. */
struct mcp_outgoing {
    enum mcp_outgoing_kind kind;
    /* The number that the transport gave to what it answers or belongs to; 0: to the session. */
    uint64_t origin;
    const struct mcp_call *call; /* that it belongs to; NULL for none */
    struct str id;               /* of the request that is answered, as JSON; empty where unknown */
    int rpc_code;                /* MCP_SENT_ERROR */
    int http_status;             /* 200, or what MCP says for an error that begins its response */
};

/*
 * Calls of the library into the program. `data` is the session's. None of them
 * may free a session, nor hand it another message: that is done later.
 */
struct mcp_host {
    /* Begins the work. It ends with mcp_call_finish() or mcp_call_fail(), in here or later. */
    void (*start)(void *data, struct mcp_call *call);

    /*
     * Nobody waits for this call any more. It must still be ended, in here or
     * later; nothing of it is sent.
     */
    void (*cancel)(void *data, struct mcp_call *call);

    /*
     * Every question of mcp_call_ask() has its mcp_call_answer(), if only that there is none. The
     * call goes on as after start. May be NULL in a host that does not ask.
     */
    void (*answered)(void *data, struct mcp_call *call);

    /* Nobody is interested in this address any more, however many MCP_SUBSCRIBE asked for it. */
    void (*unsubscribe)(void *data, struct mcp_session *session, struct str uri);

    /* What the client offers as its roots: an array of {"uri":…,"name":…}, unchecked. May be NULL:
     * then nobody asks unless a call does. */
    void (*roots)(void *data, struct mcp_session *session, const struct json_value *roots);

    /*
     * Sends the parts as one message; the line end is the transport's. `about` and the parts are
     * gone when it returns. What cannot be sent is the transport's to notice.
     */
    void (*send)(void *data, const struct mcp_outgoing *about, const struct str *parts,
                 size_t count);
};

/* The server and the host must outlive the service. */
int mcp_service_new(const struct mcp_server *server, const struct mcp_host *host,
                    struct mcp_service **out_service);
/* Its sessions are gone and their calls have ended. */
void mcp_service_free(struct mcp_service *service);

/*
 * Other tools and prompts from now on; calls that run keep what they began with. Tells every
 * session which of the lists changed, where the server said that they may: a list is the same if
 * it has the same pointers.
 */
int mcp_service_set_offer(struct mcp_service *service, const struct mcp_offer *offer);

/* The tool that is offered under this name now; NULL for none. */
const struct catalog_tool *mcp_service_find_tool(const struct mcp_service *service,
                                                 struct str name);

/* mcp_session_resource_updated() and mcp_session_resources_changed() for every session. */
void mcp_service_resource_updated(struct mcp_service *service, struct str uri);
void mcp_service_resources_changed(struct mcp_service *service);

/*
 * Gives up questions whose time is over. Milliseconds until the next one's is, -1 without one. Not
 * from inside the host.
 */
int64_t mcp_service_expire(struct mcp_service *service);

/* The largest message that is taken. */
size_t mcp_service_max_message(const struct mcp_service *service);

struct mcp_session_config {
    void *data; /* for the host */
    /*
     * Who this is, as far as the transport knows: whatever it authenticated, empty for anybody. A
     * question that one was asked cannot be answered by another. Lives as long as the session.
     */
    struct str principal;
    bool is_stateless; /* serves modern requests alone */
};

int mcp_session_new(struct mcp_service *service, const struct mcp_session_config *config,
                    struct mcp_session **out_session);

/* As the configuration gave it. */
void *mcp_session_data(const struct mcp_session *session);

/* Tells the listening streams that there will be no more, before a server leaves by itself. */
void mcp_session_end_streams(struct mcp_session *session);

/*
 * Cancels every call, ends every subscription and sends nothing. A call that
 * has not ended by then lives on without the session until it does.
 */
void mcp_session_free(struct mcp_session *session);

/* One message, not an empty one. Everything that is wrong with it is answered. */
void mcp_session_receive(struct mcp_session *session, struct str bytes);

/*
 * For a transport that could not take a whole message (too long, cut off) or has to refuse it:
 * says why. The id is what protocol/requestid.h finds in what there was of it; empty for none.
 */
void mcp_session_refuse(struct mcp_session *session, struct str id, const struct err *err);
/* The same text without a session: appended, its HTTP status is err_http_status(). */
int mcp_write_refusal(struct buf *out, struct str id, const struct err *err);

/* ---- for a transport that has to know a message before it is handled ---- */

enum mcp_message_kind {
    MCP_UNREADABLE, /* no JSON, no message: handed over, it is answered with the reason */
    MCP_BATCH,
    MCP_REQUEST,
    MCP_NOTIFICATION,
    MCP_RESPONSE,
};

/* Reads the message; the bytes may go. ERR_NO_MEMORY. */
int mcp_message_parse(struct mcp_service *service, struct str bytes,
                      struct mcp_message **out_message);
/* One that was not handed over. */
void mcp_message_free(struct mcp_message *message);

/* What there is not is empty; so is everything of a batch. */
enum mcp_message_kind mcp_message_kind(const struct mcp_message *message);
struct str mcp_message_id(const struct mcp_message *message); /* as JSON */
struct str mcp_message_method(const struct mcp_message *message);
/* What Mcp-Name has to repeat: the tool, the prompt or the address that it is about. */
struct str mcp_message_name(const struct mcp_message *message);
/* Whether `_meta` names a revision, and which: any text. */
bool mcp_message_is_modern(const struct mcp_message *message);
struct str mcp_message_revision(const struct mcp_message *message);
/* An object; NULL when there are none. */
const struct json_value *mcp_message_params(const struct mcp_message *message);

/*
 * Handles the message, which is the library's from here on. All that is sent because of it carries
 * the origin, also later: answers, what belongs to its calls, and what its stream listens to. It is
 * answered at most once, unless mcp_session_splits().
 */
void mcp_session_take(struct mcp_session *session, struct mcp_message *message, uint64_t origin);

/* Whether it is a batch that this session takes apart: what it holds is answered one by one. */
bool mcp_session_splits(const struct mcp_session *session, const struct mcp_message *message);

/* Whether something with this origin (0: with any) is still to be answered or listens. */
bool mcp_session_is_waiting(const struct mcp_session *session, uint64_t origin);
/* Nobody reads what comes from this origin: its calls are cancelled, its streams end. */
void mcp_session_cancel(struct mcp_session *session, uint64_t origin);

enum mcp_era { MCP_NO_ERA, MCP_LEGACY, MCP_MODERN };
/* Of a revision that is served. */
enum mcp_era mcp_revision_era(struct str revision);
/* What `initialize` agreed on; empty before. */
struct str mcp_session_revision(const struct mcp_session *session);

/* ---- and for any ---- */

/* Calls that have not ended. */
size_t mcp_session_call_count(const struct mcp_session *session);

/* The resource changed: told to those who subscribed to this very address. */
void mcp_session_resource_updated(struct mcp_session *session, struct str uri);
/* Which resources there are changed: told to a legacy session, and to streams that asked. */
void mcp_session_resources_changed(struct mcp_session *session);

#endif
