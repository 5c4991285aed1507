/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call: one request that mcp_host.start hands to the host, until the host ends it. In between the
 * host may report progress and ask the client.
 */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
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
    MCP_SUBSCRIBE,      /* -> {} once all URIs that were not refused are watched */
    MCP_COMPLETE,       /* -> {"completion":{…}} */
};

/* The client's request, parsed. */
struct mcp_request {
    enum mcp_work kind;
    union {
        struct { /* MCP_TOOL_CALL */
            const struct catalog_tool *tool;
            const struct json_value *arguments; /* an object; not checked against the schema */
        } tool;
        struct { /* MCP_PROMPT_GET */
            const struct mcp_prompt *prompt;
            /* The required ones are present, and all are strings. */
            const struct json_value *arguments;
        } prompt;
        struct str cursor; /* MCP_RESOURCES_LIST: from the client; empty at the beginning */
        struct str uri;    /* MCP_RESOURCE_READ */
        /*
         * MCP_SUBSCRIBE: one URI in a legacy session, any number for a stream. A stream may do
         * without refused ones, whose pointer is then NULL; for a single one, fail the call. Fail a
         * cancelled call without watching anything.
         */
        struct {
            struct str *uris;
            size_t count;
        } subscribe;
        struct {                             /* MCP_COMPLETE */
            const struct mcp_prompt *prompt; /* NULL: it is about `uri`, a template */
            struct str uri;
            struct str name;                  /* of the argument */
            struct str value;                 /* typed so far */
            const struct json_value *context; /* the other arguments so far; or NULL */
        } complete;
    };
};

/* As in RFC 5424, most verbose first. */
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
/* MCP_SUBSCRIBE: this URI is not watched. */
void mcp_call_refuse_uri(struct mcp_call *call, size_t index);

/* NULL if the session was freed. */
struct mcp_session *mcp_call_session(const struct mcp_call *call);
bool mcp_call_is_cancelled(const struct mcp_call *call);
bool mcp_call_is_modern(const struct mcp_call *call);
/* The origin passed to mcp_session_take(). */
uint64_t mcp_call_origin(const struct mcp_call *call);

/* The request's `_meta`, which the client may use for its own things; NULL without. */
const struct json_value *mcp_call_meta(const struct mcp_call *call);

/* For the host's own use. */
void mcp_call_set_data(struct mcp_call *call, void *data);
/* The name that the client gives itself, cut; empty: none. */
struct str mcp_call_client(const struct mcp_call *call);
void *mcp_call_data(const struct mcp_call *call);

/* Whether the client wants progress; if not, mcp_call_progress() does nothing. */
bool mcp_call_wants_progress(const struct mcp_call *call);

/*
 * Sends progress only if it rises. A total of 0 is unknown, the text may be NULL. The host limits
 * the frequency; avoid progress just before the end, because clients may see the end first and be
 * confused by it.
 */
void mcp_call_progress(struct mcp_call *call, uint64_t done, uint64_t total, const char *text);

/* Sent if the client asked for this level: in the request, or for the legacy session. */
void mcp_call_log(struct mcp_call *call, enum mcp_level level, const char *text);

/*
 * End the call, exactly once; it is freed. The result is a finished JSON object, sent unchanged: it
 * must not contain `_meta`, `resultType`, `ttlMs` or `cacheScope`, which are added where they
 * belong. Withdraws open questions.
 */
void mcp_call_finish(struct mcp_call *call, struct str result);
void mcp_call_fail(struct mcp_call *call, const struct err *err);

/* ---- asking the client ---- */

enum {
    MCP_MAX_QUESTIONS = 16,       /* in a round */
    MCP_MAX_ROUNDS = 16,          /* of a call, including its repetitions */
    MCP_MAX_OPEN_QUESTIONS = 128, /* of a legacy session */
    MCP_MAX_KEY_BYTES = 64,
    MCP_MAX_STATE_BYTES = 16 << 10,
    MCP_MAX_ANSWER_BYTES = 4 << 20, /* parsed, not as text */
    MCP_DEFAULT_ASK_MS = 300000,
};

enum mcp_asks {
    MCP_ASK_FORM,     /* elicitation/create with a schema: the user fills it in */
    MCP_ASK_URL,      /* same with mode "url": the user visits it */
    MCP_ASK_SAMPLING, /* sampling/createMessage: the client's model */
    MCP_ASK_ROOTS,    /* roots/list */
    MCP_ASKS,
};

struct mcp_question {
    struct str key; /* the host's name for it, unique in the round */
    enum mcp_asks kind;
    struct str params; /* a finished JSON object; empty: none */
};

/* A form with one field, "decision", for the params of MCP_ASK_FORM. */
struct mcp_form {
    struct str message; /* any bytes */
    const struct str *words;
    size_t word_count;
    struct str standard; /* the word that is chosen at first; empty: none */
};

int mcp_form_write(const struct mcp_form *form, struct buf *out);

struct mcp_round {
    const struct mcp_question *questions;
    size_t count;
    /*
     * The host's data, any bytes: mcp_call_state() returns it with the answers. A modern client
     * carries it; it cannot change it, but it can read it.
     */
    struct str state;
    int64_t timeout_ms; /* for the answers; 0: MCP_DEFAULT_ASK_MS */
};

/*
 * Asks the client during MCP_TOOL_CALL, MCP_PROMPT_GET or MCP_RESOURCE_READ.
 *
 * Returns 0 in a legacy session: the questions were sent, and the call continues with
 * mcp_host.answered. Returns 1 for a modern request: the call has ended and is freed. The client
 * repeats it, and mcp_host.start gets a new call with the same arguments, which has the answers
 * from its beginning.
 *
 * So a host that runs the same function in both places, and looks at mcp_call_round() or at the
 * answers to see how far it is, serves both eras. An error leaves the call as it was: ERR_BUSY,
 * ERR_CANCELLED, ERR_CLIENT_CAPABILITY (mcp_call_fail() with it names the capability),
 * ERR_TOO_LARGE, ERR_UNSUPPORTED (the host has no `answered`, or asks where it may not).
 */
int mcp_call_ask(struct mcp_call *call, const struct mcp_round *round, struct err *err);

/* Whether the client declared that it supports this kind of question. */
bool mcp_call_can_ask(const struct mcp_call *call, enum mcp_asks kind);
/* Same as an error, for a call that makes no sense otherwise. */
int mcp_call_need(struct mcp_call *call, enum mcp_asks kind, struct err *err);

enum mcp_answer_status {
    MCP_UNANSWERED, /* not asked in the last round, or omitted by the client */
    MCP_ACCEPTED,
    MCP_DECLINED,  /* the user said no */
    MCP_DISMISSED, /* the user gave no answer */
    MCP_FAILED,    /* see error: the client could not, sent an invalid answer, or timed out */
};

struct mcp_answer {
    enum mcp_answer_status status;
    int error; /* MCP_FAILED */
    /*
     * MCP_ACCEPTED: for a form its object, unchecked; for sampling the whole result, which has
     * "content"; for roots the array; NULL for a URL.
     */
    const struct json_value *content;
};

/* The answer to a question of the last round; valid until the next one. */
struct mcp_answer mcp_call_answer(const struct mcp_call *call, struct str key);
/* Number of rounds this call has completed. */
unsigned mcp_call_round(const struct mcp_call *call);
/* The host's state of the last round; empty before. */
struct str mcp_call_state(const struct mcp_call *call);

/*
 * `inputResponses` of a modern request as received, NULL without: includes answers to questions
 * that were never asked. Must not be used for security decisions.
 */
const struct json_value *mcp_call_raw_answers(const struct mcp_call *call);

#endif
