/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host works on: one request that it was given by mcp_host.start, until
 * it ends it. In between it may tell of progress and ask the client.
 */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "protocol/catalog.h"

struct mcp_call;
struct mcp_prompt;
struct mcp_session;

enum mcp_work {
    MCP_TOOL_CALL,      /* -> a finished CallToolResult */
    MCP_PROMPT_GET,     /* -> {"messages":[…]} */
    MCP_RESOURCES_LIST, /* -> {"resources":[…],"nextCursor":…} */
    MCP_RESOURCE_READ,  /* -> {"contents":[…]} */
    MCP_SUBSCRIBE,      /* -> {} once all are watched that were not refused */
    MCP_COMPLETE,       /* -> {"completion":{…}} */
};

/* What the client asks for, read once. */
struct mcp_request {
    enum mcp_work kind;
    union {
        struct { /* MCP_TOOL_CALL */
            const struct catalog_tool *tool;
            const struct json_value *arguments; /* an object; not held against the schema */
        } tool;
        struct { /* MCP_PROMPT_GET */
            const struct mcp_prompt *prompt;
            /* Those that the prompt requires are there, and all are strings. */
            const struct json_value *arguments;
        } prompt;
        struct str cursor; /* MCP_RESOURCES_LIST: as the client gave it; empty at the beginning */
        struct str uri;    /* MCP_RESOURCE_READ */
        /*
         * MCP_SUBSCRIBE: one address in a legacy session, any number for a stream. A stream can do
         * without those that are refused, which have no pointer then; a single one is better
         * failed. A cancelled call is failed without watching anything.
         */
        struct {
            struct str *uris;
            size_t count;
        } subscribe;
        struct {                             /* MCP_COMPLETE */
            const struct mcp_prompt *prompt; /* NULL: it is about `uri`, a template */
            struct str uri;
            struct str name;                  /* of the argument */
            struct str value;                 /* as far as it is typed */
            const struct json_value *context; /* the others so far; or NULL */
        } complete;
    };
};

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

const struct mcp_request *mcp_call_request(const struct mcp_call *call);
/* MCP_SUBSCRIBE: this address is not watched. */
void mcp_call_refuse_uri(struct mcp_call *call, size_t index);

/* NULL once the session is gone. */
struct mcp_session *mcp_call_session(const struct mcp_call *call);
bool mcp_call_is_cancelled(const struct mcp_call *call);
bool mcp_call_is_modern(const struct mcp_call *call);
/* What mcp_session_take() was given with it. */
uint64_t mcp_call_origin(const struct mcp_call *call);

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
 * `ttlMs` and `cacheScope`, which are put before it where they belong. Questions
 * that are open are withdrawn.
 */
void mcp_call_finish(struct mcp_call *call, struct str result);
void mcp_call_fail(struct mcp_call *call, const struct err *err);

/* ---- asking the client ---- */

enum {
    MCP_MAX_QUESTIONS = 16,       /* in a round */
    MCP_MAX_ROUNDS = 16,          /* of a call, its repetitions counted */
    MCP_MAX_OPEN_QUESTIONS = 128, /* of a legacy session */
    MCP_MAX_KEY_BYTES = 64,
    MCP_MAX_STATE_BYTES = 16 << 10,
    MCP_MAX_ANSWER_BYTES = 4 << 20, /* read, not as text */
    MCP_DEFAULT_ASK_MS = 300000,
};

enum mcp_asks {
    MCP_ASK_FORM,     /* elicitation/create with a schema: the user fills it in */
    MCP_ASK_URL,      /* the same with mode "url": the user goes there */
    MCP_ASK_SAMPLING, /* sampling/createMessage: the client's model */
    MCP_ASK_ROOTS,    /* roots/list */
    MCP_ASKS,
};

struct mcp_question {
    struct str key; /* the host's name for it, no other in the round has it */
    enum mcp_asks kind;
    struct str params; /* a finished JSON object; empty: none */
};

struct mcp_round {
    const struct mcp_question *questions;
    size_t count;
    /*
     * The host's own, any bytes: mcp_call_state() has it beside the answers. A modern client
     * carries it; it cannot change it, but it can read it.
     */
    struct str state;
    int64_t timeout_ms; /* until the answers; 0: MCP_DEFAULT_ASK_MS */
};

/*
 * Asks in the middle of MCP_TOOL_CALL, MCP_PROMPT_GET or MCP_RESOURCE_READ.
 *
 * 0, legacy: the questions were sent, the call goes on with mcp_host.answered.
 * 1, modern: the call has ended and is gone. The client repeats it, and mcp_host.start gets another
 * one, with the same arguments, that has the answers from its beginning.
 *
 * So a host that runs the same function in both places, and looks at mcp_call_round() or at the
 * answers to see how far it is, serves both eras. An error leaves the call as it was: ERR_BUSY,
 * ERR_CANCELLED, ERR_CLIENT_CAPABILITY (mcp_call_fail() with it names the capability),
 * ERR_TOO_LARGE, ERR_UNSUPPORTED (the host has no `answered`, or asks where it may not).
 */
int mcp_call_ask(struct mcp_call *call, const struct mcp_round *round, struct err *err);

/* Whether the client declared that it can be asked so. */
bool mcp_call_can_ask(const struct mcp_call *call, enum mcp_asks kind);
/* The same as an error, for a call that makes no sense otherwise. */
int mcp_call_need(struct mcp_call *call, enum mcp_asks kind, struct err *err);

/* Takes back what is open, and tells the client; mcp_host.answered will not come. */
void mcp_call_withdraw(struct mcp_call *call);

enum mcp_answer_status {
    MCP_UNANSWERED, /* not asked in the last round, or left out by the client */
    MCP_ACCEPTED,
    MCP_DECLINED,  /* the user said no */
    MCP_DISMISSED, /* the user did not say */
    MCP_FAILED,    /* see error: the client could not, spoke nonsense, took too long */
};

struct mcp_answer {
    enum mcp_answer_status status;
    int error; /* MCP_FAILED */
    /*
     * MCP_ACCEPTED: of a form its object, unchecked; of sampling the whole result, which has
     * "content"; of roots the array; NULL for a URL.
     */
    const struct json_value *content;
};

/* To a question of the last round; until the next one. */
struct mcp_answer mcp_call_answer(const struct mcp_call *call, struct str key);
/* Rounds that this call has behind it. */
unsigned mcp_call_round(const struct mcp_call *call);
/* What the host gave to the last round; empty before. */
struct str mcp_call_state(const struct mcp_call *call);

/*
 * `inputResponses` of a modern request as they came, NULL without: also answers to questions that
 * were never asked. Nothing that guards something may look at these.
 */
const struct json_value *mcp_call_raw_answers(const struct mcp_call *call);

#endif
