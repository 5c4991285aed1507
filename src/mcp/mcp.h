/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MCP server without its transport: bytes of one message go in, the parts
 * of one message come out, and what has to be done is handed to a host.
 *
 *     mcp_session_receive() -> host.start(call) -> mcp_call_finish() or _fail()
 *
 * Both eras are served on one connection: a request that names its revision in
 * `_meta` is modern (2026-07-28, stateless), `initialize` opens the legacy
 * session (2025-11-25 and older). The library answers the handshakes, lists
 * tools and templates, counts subscriptions and keeps the ceilings. What a
 * tool, a resource or a completion is, it leaves to the host; lines, HTTP and
 * time to the transport.
 *
 * All of it belongs to one thread. Only what a call's accessors returned may
 * be read by a worker, until the call has ended.
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "protocol/catalog.h"

struct mcp_session;
struct mcp_call;

enum {
    MCP_MAX_CALLS = 1024,         /* begun and not ended, the cancelled among them */
    MCP_MAX_SUBSCRIPTIONS = 1024, /* addresses over all streams of a session */
    MCP_MAX_STREAMS = 1024,       /* open subscriptions/listen */
    MCP_MAX_BATCH = 64,
    MCP_MAX_PAGE = 128,
    MCP_MAX_URI_BYTES = 16 << 10,
    MCP_DEFAULT_MESSAGE_BYTES = 16 << 20,
    MCP_DEFAULT_HELD_BYTES = 64 << 20,
};

/* What the server is; constant, and alive as long as its sessions. */
struct mcp_server {
    struct str name;
    struct str title; /* may be empty, as all below */
    struct str version;
    struct str instructions;

    const struct catalog_tool *const *tools; /* those that exist here, in the order of the list */
    size_t tool_count;

    bool has_resources;
    bool has_subscriptions; /* resources can be watched */
    bool has_list_changes;  /* mcp_session_resources_changed() will be called */
    bool has_completions;
    bool has_logging;
    struct str resource_templates; /* a finished JSON array; empty: none */

    size_t page_size;         /* tools in an answer; 0: MCP_MAX_PAGE */
    size_t max_message_bytes; /* 0: MCP_DEFAULT_MESSAGE_BYTES */
    size_t max_held_bytes;    /* of all messages that calls still need; 0: MCP_DEFAULT_HELD_BYTES */
    unsigned max_depth;       /* of JSON; 0: JSON_DEFAULT_MAX_DEPTH */
};

enum mcp_work {
    MCP_TOOL_CALL,      /* tool, arguments -> a finished CallToolResult */
    MCP_RESOURCES_LIST, /* cursor -> {"resources":[…],"nextCursor":…} */
    MCP_RESOURCE_READ,  /* uri -> {"contents":[…]} */
    MCP_SUBSCRIBE,      /* uris -> {} once all are watched that were not refused */
    MCP_COMPLETE,       /* uri (the template), argument -> {"completion":{"values":[…],…}} */
};

/*
 * Calls of the library into the program. `data` is the session's. None of them
 * may free the session, nor hand it another message.
 */
struct mcp_host {
    /* Begins the work. It ends with mcp_call_finish() or mcp_call_fail(), in here or later. */
    void (*start)(void *data, struct mcp_call *call);

    /*
     * Nobody waits for this call any more. It must still be ended, in here or
     * later; nothing of it is sent.
     */
    void (*cancel)(void *data, struct mcp_call *call);

    /* Nobody is interested in this address any more, however many MCP_SUBSCRIBE asked for it. */
    void (*unsubscribe)(void *data, struct mcp_session *session, struct str uri);

    /* What the client offers as its roots: an array of {"uri":…,"name":…}, unchecked. May be NULL.
     */
    void (*roots)(void *data, struct mcp_session *session, const struct json_value *roots);

    /*
     * Sends the parts as one message; the line end is the transport's. The
     * parts are gone when it returns. `call` is the one it belongs to, NULL for
     * none. What cannot be sent is the transport's to notice.
     */
    void (*send)(void *data, const struct mcp_call *call, const struct str *parts, size_t count);
};

/* The server and the host must outlive the session and its calls. */
int mcp_session_new(const struct mcp_server *server, const struct mcp_host *host, void *data,
                    struct mcp_session **out_session);

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
 * For a transport that could not take a whole message (too long, cut off): says why. The id is what
 * protocol/requestid.h finds in what there was of it; empty for none.
 */
void mcp_session_refuse(struct mcp_session *session, struct str id, const struct err *err);

/* The largest message that mcp_session_receive() takes. */
size_t mcp_session_max_message(const struct mcp_session *session);

/* Calls that have not ended. */
size_t mcp_session_call_count(const struct mcp_session *session);

/* The resource changed: told to those who subscribed to this very address. */
void mcp_session_resource_updated(struct mcp_session *session, struct str uri);
/* Which resources there are changed: told to a legacy session, and to streams that asked. */
void mcp_session_resources_changed(struct mcp_session *session);

/* As in RFC 5424, most talkative first. */
enum mcp_level {
    MCP_DEBUG,
    MCP_INFO,
    MCP_NOTICE,
    MCP_WARNING,
    MCP_ERROR,
    MCP_CRITICAL,
    MCP_ALERT,
    MCP_EMERGENCY,
    MCP_SILENT, /* above all others: nothing is sent */
};

enum mcp_work mcp_call_work(const struct mcp_call *call);

/* NULL once the session is gone. */
struct mcp_session *mcp_call_session(const struct mcp_call *call);
bool mcp_call_is_cancelled(const struct mcp_call *call);

/* MCP_TOOL_CALL. Arguments are an object, empty when there were none; not held against the schema.
 */
const struct catalog_tool *mcp_call_tool(const struct mcp_call *call);
const struct json_value *mcp_call_arguments(const struct mcp_call *call);

/* MCP_RESOURCES_LIST: as the client gave it, the host's to check; empty at the beginning. */
struct str mcp_call_cursor(const struct mcp_call *call);

/* MCP_RESOURCE_READ: the address. MCP_COMPLETE: the template. MCP_SUBSCRIBE: number 0 of these. */
struct str mcp_call_uri(const struct mcp_call *call);

/*
 * MCP_SUBSCRIBE: one address in a legacy session, any number for a stream. A
 * stream can do without those that are refused; a single one is better failed.
 * A cancelled call is failed without watching anything.
 */
size_t mcp_call_uri_count(const struct mcp_call *call);
struct str mcp_call_uri_at(const struct mcp_call *call, size_t index);
void mcp_call_refuse_uri(struct mcp_call *call, size_t index);

/* MCP_COMPLETE: the argument's name and what is typed so far; the others so far, or NULL. */
struct str mcp_call_argument_name(const struct mcp_call *call);
struct str mcp_call_argument_value(const struct mcp_call *call);
const struct json_value *mcp_call_argument_context(const struct mcp_call *call);

/* "name version" of the client's program as it calls itself, for records; may be empty. */
struct str mcp_call_client(const struct mcp_call *call);
/* The request's id as JSON text. */
struct str mcp_call_id(const struct mcp_call *call);

/* The host's own. */
void mcp_call_set_data(struct mcp_call *call, void *data);
void *mcp_call_data(const struct mcp_call *call);

/* Whether the client wants to hear of progress; if not, mcp_call_progress() does nothing. */
bool mcp_call_wants_progress(const struct mcp_call *call);

/*
 * Sent only while it rises. A total of 0 is unknown, a text may be NULL. How
 * often is the host's to limit; just before the end it is better left out,
 * because clients may hear of the end first and then wonder.
 */
void mcp_call_progress(struct mcp_call *call, uint64_t done, uint64_t total, const char *text);

/* Sent when the client asked for this level: in the request, or for the legacy session. */
void mcp_call_log(struct mcp_call *call, enum mcp_level level, const char *text);

/*
 * End the call, exactly once; it is gone afterwards. The result is a finished
 * JSON object, sent as it is: `_meta` and `resultType` are not in it, nor
 * `ttlMs` and `cacheScope`, which are put before it where they belong.
 */
void mcp_call_finish(struct mcp_call *call, struct str result);
void mcp_call_fail(struct mcp_call *call, const struct err *err);

#endif
