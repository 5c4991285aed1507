/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's session with a gateway: pairs, keeps the event stream open, passes calls to its
 * owner and delivers the answers. It decides nothing about calls, and treats everything from the
 * server as hostile. docs/internals/gateway.md describes the path of a call.
 *
 * All callbacks come from the loop, never from inside a function of this header, except where
 * noted.
 */
#ifndef GATEWAY_CLIENT_H
#define GATEWAY_CLIENT_H

#include "base/err.h"
#include "base/jsonwrite.h"
#include "base/secret.h"
#include "gateway/event.h"
#include "gateway/reconnect.h"
#include "gateway/reply.h"
#include "net/http/client.h"

struct gateway;

enum {
    GATEWAY_MAX_CALLS = 1024,           /* unanswered ones of a session; others are refused */
    GATEWAY_MAX_RETRY_BYTES = 64 << 20, /* of answers that wait for a retry */
    GATEWAY_MAX_TRIES = 3,              /* for one answer */
    GATEWAY_RETRY_MS = 1000,            /* before the second try; twice that before the third */
    GATEWAY_SILENCE_MS = 45000,         /* three pings: the stream is dead */
    GATEWAY_STREAM_HEAD_MS = 30000,
    GATEWAY_INIT_MS = 60000,
    GATEWAY_ANSWER_MS = 120000,
    GATEWAY_LEAVE_MS = 3000,
    GATEWAY_CREDENTIAL_MS = 30000,
    GATEWAY_MAX_REPORTS = 256,          /* that wait; vital ones may be as many again */
    GATEWAY_MAX_REPORT_BYTES = 1 << 20, /* the same */
    GATEWAY_REPORT_EVENTS = 256,        /* in one request, the server's limit */
    GATEWAY_REPORT_MS = 100,            /* in which they are gathered */
};

enum gateway_dialect {
    GATEWAY_N8N,  /* /rest/instance-ai/gateway */
    GATEWAY_SEED, /* /instance-ai/gateway, the older one */
};

enum gateway_end {
    GATEWAY_END_FAILED,    /* could not be started: the error says why */
    GATEWAY_END_DISMISSED, /* by the server */
    GATEWAY_END_LEFT,      /* by gateway_leave(): the error says why the server was not told */
};

struct gateway_status {
    enum reconnect_state state;
    enum gateway_dialect dialect;
    bool has_extensions; /* the server is one of ours, and said so at init */
    int64_t retry_ms;    /* total wait, in the waiting states */
    size_t pending;      /* calls that wait for an answer or whose answer is being sent */
    size_t retrying;     /* of those, answers that wait for a retry */
    unsigned failures;   /* in a row, since a stream was open */
    struct err why;      /* the last error; code 0 once the stream is open */
};

struct gateway_owner {
    /*
     * Writes the object for init: rootPath, tools, hostIdentifier and toolCategories, or in the
     * older dialect rootPath, tree and treeText. May be called from inside gateway_pair().
     */
    int (*describe)(void *data, enum gateway_dialect dialect, struct json_writer *writer);
    /* A call, whose strings are invalid after it returns. Answer it by its id at any time later. */
    void (*on_call)(void *data, const struct gateway_call *call);
    /* The same for a question of our own server about this machine. NULL: there are no answers. */
    void (*on_query)(void *data, const struct gateway_call *query);
    /* The server does not wait for this call's answer any more. May be NULL. */
    void (*on_cancel)(void *data, struct str id);
    /* The user's answer to a question that was reported to our own server. May be NULL. */
    void (*on_decision)(void *data, struct str question, struct str answer);
    /* gateway_status() has changed; rapid changes are reported as one. */
    void (*on_status)(void *data, const struct gateway_status *status);
    /* Unanswered calls and the key are dropped. gateway_pair() is possible again. */
    void (*on_ended)(void *data, enum gateway_end end, const struct err *err);
    /* An answer could not be delivered; may be called from inside gateway_answer(). May be NULL. */
    void (*on_undelivered)(void *data, struct str id, const struct err *err);
    /* A call could not be read, and gets an error as its answer. May be NULL. */
    void (*on_unreadable)(void *data, const struct err *err);
};

struct gateway_config {
    struct loop *loop;
    struct httpclient *http; /* borrowed; its policy must allow the servers */
    const struct gateway_owner *owner;
    void *data;
};

int gateway_new(const struct gateway_config *config, struct gateway **out_gateway);

/*
 * Tells the server nothing; it keeps the session for gateway_resume(). Must not be called from
 * callbacks.
 */
void gateway_free(struct gateway *gateway);

/*
 * Starts a session with a pairing token, a static key or the key of a session. Finds out the
 * server's dialect. ERR_ALREADY_EXISTS while there is a session whose key is not refused.
 */
int gateway_pair(struct gateway *gateway, const struct httpurl *url, const struct secret *key,
                 struct err *err);

/* Continues a saved session: no init unless the server requires it. */
int gateway_resume(struct gateway *gateway, const struct httpurl *url, enum gateway_dialect dialect,
                   bool has_extensions, const struct secret *key, struct err *err);

/* Tells the server and ends the session, after GATEWAY_LEAVE_MS even without its answer. */
void gateway_leave(struct gateway *gateway);

void gateway_status(const struct gateway *gateway, struct gateway_status *out_status);

/* The session's key, to save it for gateway_resume(); NULL without a session. */
const struct secret *gateway_session_key(const struct gateway *gateway);

/*
 * Answers a call with a CallToolResult as finished JSON, which is copied. A result that is too
 * large for the server becomes an error that says so. ERR_NOT_FOUND if no call with that id waits.
 */
int gateway_answer(struct gateway *gateway, struct str id, struct str result);

struct gateway_report {
    struct str key;   /* replaces an event with the same key that waits; empty: none */
    struct str event; /* a JSON object, copied */
    bool is_vital;    /* goes out at once */
};

/*
 * Tells a server of ours something, without delaying answers. Events are gathered, and lost if the
 * server cannot be reached. ERR_UNSUPPORTED for other servers, ERR_BUSY if too many wait.
 */
int gateway_report(struct gateway *gateway, const struct gateway_report *given);

struct gateway_credential;

/* `err` is NULL if it was created; then `id` is what the server calls it. */
typedef void gateway_credential_fn(void *data, const struct err *err, struct str id);

/*
 * Creates a credential at the server: {"name","type","data","projectId"?}. Takes the body over and
 * wipes it when it was sent. ERR_UNSUPPORTED for a server of the older dialect. `done` comes once,
 * unless it is cancelled; also when the session ends.
 */
int gateway_create_credential(struct gateway *gateway, struct buf *body,
                              gateway_credential_fn *done, void *data,
                              struct gateway_credential **out_credential, struct err *err);
/* No callback follows. */
void gateway_credential_cancel(struct gateway_credential *credential);

#endif
