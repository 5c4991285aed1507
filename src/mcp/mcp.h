/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MCP server without its transport: bytes of one message go in, the parts of one message come
 * out, and a host does the work.
 *
 *     mcp_session_receive() -> host.start(call) -> mcp_call_finish() or _fail()
 *
 * A service is what its sessions share: the description of the server, prepared texts, the key of
 * request states. A session is one client: a connection, a legacy session of HTTP, or one modern
 * request of HTTP.
 *
 * Both eras are served on one connection: a request that names its revision in `_meta` is modern
 * (2026-07-28, stateless), `initialize` opens the legacy session (2025-11-25 and older). The
 * library answers the handshakes, lists tools, prompts and templates, counts subscriptions and
 * enforces limits. The host implements tools, prompts, resources and completions (mcp/call.h); the
 * transport handles lines, HTTP and timers.
 *
 * All of it belongs to one thread. Workers may only read what a call's accessors returned, until
 * the call has ended.
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
    MCP_MAX_CALLS = 1024,         /* unfinished ones of a session, including cancelled ones */
    MCP_MAX_SUBSCRIPTIONS = 1024, /* URIs over all streams of a session */
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
 * Tools and prompts, in the order of their lists. Must stay unchanged until `release`, which is
 * called when neither the service nor a call that began with it needs it any more.
 */
struct mcp_offer {
    const struct catalog_listing *const *tools;
    size_t tool_count;
    bool hides_output_schemas; /* results have no structuredContent */
    /* For an agent that calls a tool of the catalogue which is missing; NULL: the user has not
       opened its group with an option of this program. */
    const char *why_not;
    const char *why_no_files; /* the same for a file tool; NULL: as for any other */
    const struct mcp_prompt *const *prompts;
    size_t prompt_count;
    void (*release)(void *data); /* may be NULL */
    void *data;
};

/* The description of the server; constant, must outlive its service. */
struct mcp_server {
    struct str name;
    struct str title; /* may be empty, like all below */
    struct str version;
    struct str instructions;

    struct mcp_offer offer; /* initial one */

    bool has_prompts;
    bool has_resources;
    bool has_subscriptions;    /* resources can be watched */
    bool has_tool_changes;     /* mcp_service_set_offer() may change them */
    bool has_prompt_changes;   /* same */
    bool has_resource_changes; /* mcp_session_resources_changed() will be called */
    bool has_completions;
    bool has_logging;
    struct str resource_templates; /* a finished JSON array; empty: none */

    size_t page_size;         /* tools or prompts per page; 0: MCP_MAX_PAGE */
    size_t max_message_bytes; /* 0: MCP_DEFAULT_MESSAGE_BYTES */
    size_t max_held_bytes;    /* messages held by a session's calls; 0: MCP_DEFAULT_HELD_BYTES */
    /* Of all sessions; 0: MCP_DEFAULT_TOTAL_BYTES, or that of one session. */
    size_t max_total_bytes;
    unsigned max_depth; /* of JSON; 0: JSON_DEFAULT_MAX_DEPTH */
    /* There are very many services, so none keeps memory for its next message. */
    bool is_one_of_many;

    const struct clock *clock; /* for questions; NULL: the system clock */
};

enum mcp_outgoing_kind {
    MCP_SENT_RESULT,
    MCP_SENT_ERROR,
    MCP_SENT_NOTIFICATION,
    MCP_SENT_QUESTION, /* a request of ours; mcp_service_expire() must be called eventually */
};

/* Describes a message that is sent. */
struct mcp_outgoing {
    enum mcp_outgoing_kind kind;
    /* The transport's number of the message that it answers or belongs to; 0: the session's own. */
    uint64_t origin;
    const struct mcp_call *call; /* that it belongs to; or NULL */
    struct str id;               /* of the answered request, as JSON; empty if unknown */
    int rpc_code;                /* MCP_SENT_ERROR */
    int http_status;             /* 200, or MCP's status for an error that begins the response */
};

/*
 * Callbacks of the library. `data` is the session's. None of them may free a session, nor pass it
 * another message: do that later.
 */
struct mcp_host {
    /* Starts the work. It ends with mcp_call_finish() or mcp_call_fail(), in here or later. */
    void (*start)(void *data, struct mcp_call *call);

    /*
     * Nobody waits for this call any more. It must still be ended, in here or later; nothing of it
     * is sent.
     */
    void (*cancel)(void *data, struct mcp_call *call);

    /*
     * Every question of mcp_call_ask() has its mcp_call_answer(), even if that is none. The call
     * continues as after start. May be NULL in a host that does not ask.
     */
    void (*answered)(void *data, struct mcp_call *call);

    /* Nobody is interested in this URI any more, however many MCP_SUBSCRIBE requested it. */
    void (*unsubscribe)(void *data, struct mcp_session *session, struct str uri);

    /*
     * The client's roots: an array of {"uri":…,"name":…}, unchecked. NULL: not known, when a client
     * with roots has just begun its session, or did not tell them. The function may be NULL: then
     * they are only requested by calls.
     */
    void (*roots)(void *data, struct mcp_session *session, const struct json_value *roots);

    /*
     * Sends the parts as one message; the transport adds a newline. `about` and the parts are
     * invalid after it returns. The transport must notice if it cannot send.
     */
    void (*send)(void *data, const struct mcp_outgoing *about, const struct str *parts,
                 size_t count);
};

/* The server and the host must outlive the service. */
int mcp_service_new(const struct mcp_server *server, const struct mcp_host *host,
                    struct mcp_service **out_service);
/* Its sessions must have been freed and their calls have ended. */
void mcp_service_free(struct mcp_service *service);

/*
 * Replaces tools and prompts; running calls keep what they began with. Tells every session which of
 * the lists changed, if the server announced that they may: a list is the same if it has the same
 * pointers.
 */
int mcp_service_set_offer(struct mcp_service *service, const struct mcp_offer *offer);

/* The tool now offered under this name; NULL if none. */
const struct catalog_tool *mcp_service_find_tool(const struct mcp_service *service,
                                                 struct str name);

/*
 * Fails questions that have timed out. Returns the milliseconds until the next one does, or -1.
 * Must not be called from inside the host.
 */
int64_t mcp_service_expire(struct mcp_service *service);

/* The largest message that is accepted. */
size_t mcp_service_max_message(const struct mcp_service *service);

struct mcp_session_config {
    void *data; /* for the host */
    /*
     * The identity that the transport authenticated; empty for anybody. A question to one principal
     * cannot be answered by another. Must outlive the session.
     */
    struct str principal;
    bool is_stateless; /* serves modern requests only */
};

int mcp_session_new(struct mcp_service *service, const struct mcp_session_config *config,
                    struct mcp_session **out_session);

/* As in the configuration. */
void *mcp_session_data(const struct mcp_session *session);

/* Tells the listening streams that there will be no more; call it before a server shuts down. */
void mcp_session_end_streams(struct mcp_session *session);

/*
 * Cancels every call, ends every subscription and sends nothing. A call that has not ended by then
 * lives on without the session until it does.
 */
void mcp_session_free(struct mcp_session *session);

/* Handles one message, which must not be empty. Everything wrong with it is answered. */
void mcp_session_receive(struct mcp_session *session, struct str bytes);

/*
 * For a transport that could not read a whole message (too long, cut off) or must refuse it:
 * answers with the error. The id is what protocol/requestid.h finds in what was received; empty for
 * none.
 */
void mcp_session_refuse(struct mcp_session *session, struct str id, const struct err *err);
/* Appends the same text without a session; its HTTP status is err_http_status(). */
int mcp_write_refusal(struct buf *out, struct str id, const struct err *err);

/* ---- for a transport that must inspect a message before it is handled ---- */

enum mcp_message_kind {
    MCP_UNREADABLE, /* invalid JSON or no message: if passed on, it is answered with the reason */
    MCP_BATCH,
    MCP_REQUEST,
    MCP_NOTIFICATION,
    MCP_RESPONSE,
};

/* Parses the message; the bytes are not needed afterwards. ERR_NO_MEMORY. */
int mcp_message_parse(struct mcp_service *service, struct str bytes,
                      struct mcp_message **out_message);
/* Frees a message that was not passed on. */
void mcp_message_free(struct mcp_message *message);

/* Missing parts are empty; so is everything of a batch. */
enum mcp_message_kind mcp_message_kind(const struct mcp_message *message);
struct str mcp_message_id(const struct mcp_message *message); /* as JSON */
struct str mcp_message_method(const struct mcp_message *message);
/* What Mcp-Name must repeat: the tool, the prompt or the URI. */
struct str mcp_message_name(const struct mcp_message *message);
/* Whether `_meta` names a revision, and which: any text. */
bool mcp_message_is_modern(const struct mcp_message *message);
struct str mcp_message_revision(const struct mcp_message *message);
/* An object; NULL if missing. */
const struct json_value *mcp_message_params(const struct mcp_message *message);

/*
 * Handles the message and takes ownership. Everything sent because of it carries the origin, also
 * later: answers, messages of its calls, and of its stream. It is answered at most once, unless
 * mcp_session_splits().
 */
void mcp_session_take(struct mcp_session *session, struct mcp_message *message, uint64_t origin);

/* Whether it is a batch that this session splits: its messages are answered one by one. */
bool mcp_session_splits(const struct mcp_session *session, const struct mcp_message *message);

/* Whether something with this origin (0: any) is unanswered or listens. */
bool mcp_session_is_waiting(const struct mcp_session *session, uint64_t origin);

enum mcp_era { MCP_NO_ERA, MCP_LEGACY, MCP_MODERN };
/* MCP_NO_ERA for a revision that is not served. */
enum mcp_era mcp_revision_era(struct str revision);
/* What `initialize` negotiated; empty before. */
struct str mcp_session_revision(const struct mcp_session *session);

/* ---- for every transport ---- */

/* Number of unfinished calls. */
size_t mcp_session_call_count(const struct mcp_session *session);

/* The resource changed: notifies those who subscribed to this very URI. */
void mcp_session_resource_updated(struct mcp_session *session, struct str uri);
/* The list of resources changed: notifies a legacy session, and streams that asked for it. */
void mcp_session_resources_changed(struct mcp_session *session);

#endif
