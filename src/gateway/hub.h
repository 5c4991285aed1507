/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of the gateway protocol, without sockets: who may connect a machine, which
 * machine belongs to which user, and the calls that wait for it. hubhttp.h serves it.
 *
 * Both dialects are spoken. A client that announced tools gets calls of tools; one that sent only a
 * file tree gets operations, and lists are served from the tree.
 *
 * Time comes from the caller (hub_expire()), state goes to a store, and streams are the caller's: a
 * pointer that this module hands back. Keys are known by their digests only, except for a pairing
 * token that a user may still want to see.
 */
#ifndef GATEWAY_HUB_H
#define GATEWAY_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/str.h"
#include "gateway/toolset.h"

struct hub;

enum {
    HUB_MAX_USERS = 65536,
    HUB_MAX_CALLS = 65536,            /* of all users */
    HUB_MAX_CALLS_OF_USER = 1024,     /* the daemon's own limit */
    HUB_MAX_WAITING_BYTES = 64 << 20, /* events of a user's calls that wait for a stream */
    HUB_MAX_BODY_BYTES = 16 << 20,
    HUB_MAX_KEY_BYTES = 256,
    HUB_MAX_TREE_ENTRIES = 100000,
    HUB_TOKEN_MS = 5 * 60 * 1000,
    HUB_N8N_TIMEOUT_MS = 60 * 1000,
    HUB_SEED_TIMEOUT_MS = 30 * 1000,
    HUB_GRACE_MS = 10 * 1000,
    HUB_MAX_GRACE_MS = 120 * 1000,
    HUB_TOKEN_BYTES = 3 + 32 + 1,   /* "gw_…", and a NUL */
    HUB_SESSION_BYTES = 5 + 32 + 1, /* "sess_…" */
    HUB_MAX_CREDENTIAL_BYTES = 64 << 10,
    HUB_CREDENTIAL_ID_BYTES = 16 + 1,
};

enum hub_dialect { HUB_N8N, HUB_SEED };

/* A connected machine, as it must survive a restart. */
struct hub_record {
    int64_t user;
    bool has_key; /* false: it came with the static key */
    unsigned char key_digest[SHA256_BYTES];
    int64_t connected_ms; /* since 1970 */
    struct str init;      /* the body of its init */
};

/* A credential that a machine creates for its user. */
struct hub_credential {
    int64_t user;
    struct str id;
    struct str name;
    struct str type;
    struct str data; /* JSON, secret */
};

struct hub_store {
    /* Replaces the user's record durably. `done` is called once, in here or later, in order. */
    void (*save)(void *data, const struct hub_record *record,
                 void (*done)(void *context, int result), void *context);
    /* After all that were saved before. */
    void (*remove)(void *data, int64_t user);
    void (*set_files_off)(void *data, int64_t user, bool is_off);
    /* Durably, as save(); ERR_ALREADY_EXISTS beyond its limit. NULL: this server keeps no
     * credentials. */
    void (*add_credential)(void *data, const struct hub_credential *credential,
                           void (*done)(void *context, int result), void *context);
};

struct hub_events {
    /* Sends one event; `stream` is as given to hub_open_stream(). */
    void (*send)(void *data, void *stream, struct str json);
    /* Ends the stream; it is not reported as gone. */
    void (*close)(void *data, void *stream);
    /* The tools that a user's agents have may be others now. May be NULL. */
    void (*changed)(void *data, int64_t user);
    /* The machine has a new stream, and tells again what is open there. May be NULL. */
    void (*opened)(void *data, int64_t user);
    /* What a daemon of ours tells, besides progress; `type` is the event's. May be NULL. */
    void (*report)(void *data, int64_t user, struct str type, const struct json_value *event);
};

struct hub_config {
    const struct clock *clock;
    const struct hub_store *store;
    void *store_data;
    const struct hub_events *events;
    void *events_data;
    struct str static_key; /* copied as a digest; empty: none */
    int64_t static_user;   /* whose machine connects with it */
    int64_t timeout_ms;    /* of calls; 0: by dialect */
};

int hub_new(const struct hub_config *config, struct hub **out_hub);
/* Fails waiting calls; saves must have been answered. */
void hub_free(struct hub *hub);

/* At the start, for each record of the store. */
int hub_restore(struct hub *hub, const struct hub_record *record, struct err *err);
int hub_restore_files_off(struct hub *hub, int64_t user_id);

/*
 * Handles what is due: calls, tokens, machines that did not come back. Returns the milliseconds
 * until the next, or -1. Must not be called from inside an event.
 */
int64_t hub_expire(struct hub *hub);

/* ---- the user ---- */

struct hub_link {
    char token[HUB_TOKEN_BYTES];
    int64_t expires_ms; /* since 1970 */
    int64_t ttl_seconds;
    bool is_new; /* it did not exist before */
};
/* The token that is still valid, or a new one. Wipe it after use. */
int hub_create_link(struct hub *hub, int64_t user_id, struct hub_link *out_link, struct err *err);

/* Of all users. */
struct hub_counts {
    size_t machines;
    size_t connected; /* of these */
    size_t calls;
};
void hub_count(const struct hub *hub, struct hub_counts *out_counts);

/* Appends the object of `status`. */
int hub_write_status(struct hub *hub, int64_t user_id, struct buf *out);
/* Ends the session of the user's machine, and tells it. */
void hub_dismiss(struct hub *hub, int64_t user_id);
/* The user was removed: the machine goes, and so do the static key and a token that was not used.
 */
void hub_forget(struct hub *hub, int64_t user_id);
size_t hub_user_count(const struct hub *hub);
/*
 * Looks at the next `count` users, in turn, and takes those with a machine, a token or a stream.
 * `take` must not call back.
 */
void hub_next_users(struct hub *hub, size_t count, void (*take)(void *data, int64_t user_id),
                    void *data);
/* Returns whether file tools are on now. */
int hub_toggle_files(struct hub *hub, int64_t user_id, bool *out_is_on, struct err *err);

/* ---- the machine; errors: ERR_GATEWAY_DENIED, ERR_INVALID_REQUEST, ERR_INVALID_JSON, … ---- */

/*
 * `done` is called once, in here or later: with 0 and the session key for a pairing token (empty
 * for another key), or with an error.
 */
typedef void hub_init_done(void *context, const struct err *err, struct str session_key,
                           bool has_extensions);
void hub_init(struct hub *hub, struct str key, struct str body, hub_init_done *done, void *context);

/*
 * How far a key goes: strangers may be guessing, and may have guessed a token or a key that the
 * user chose; a session's key was given by us.
 */
enum hub_trust { HUB_TRUST_NONE, HUB_TRUST_GUESSABLE, HUB_TRUST_SESSION };
enum hub_trust hub_trust_of(struct hub *hub, struct str key);

/* Whether the key is known at all. */
int hub_check_key(struct hub *hub, struct str key, struct err *err);

/* Whether a stream may be opened, and whose it will be. */
int hub_check_stream(struct hub *hub, enum hub_dialect dialect, struct str key, int64_t *out_user,
                     struct err *err);
/* Makes `stream` the one of the machine; an older one is closed. The same errors. */
int hub_open_stream(struct hub *hub, enum hub_dialect dialect, struct str key, void *stream,
                    struct err *err);
void hub_stream_gone(struct hub *hub, int64_t user_id, const void *stream);

int hub_respond(struct hub *hub, struct str key, struct str id, struct str body, struct err *err);
int hub_leave(struct hub *hub, struct str key, struct err *err);
/*
 * `done` is called once, in here or later: with the credential's id, or with an error. A static key
 * is refused: it belongs to no user's session.
 */
typedef void hub_credential_done(void *context, const struct err *err, struct str id);
void hub_add_credential(struct hub *hub, struct str key, struct str body, hub_credential_done *done,
                        void *context);
/* Events of our own daemon: progress reaches the call, all others go to hub_events.report. */
int hub_extension(struct hub *hub, struct str key, struct str body, struct err *err);

/* ---- calls ---- */

/* What the user's agents may use now; NULL: nothing. Not referenced. */
struct toolset *hub_tools(struct hub *hub, int64_t user_id, unsigned *out_groups);

struct hub_call_events {
    /*
     * Once, in the end. `result` is a CallToolResult as the machine sent it; `text` is finished
     * JSON that has only what belongs into one. Both are NULL or empty with an error.
     */
    void (*done)(void *data, const struct err *err, const struct json_value *result,
                 struct str text);
    /* May be NULL. */
    void (*progress)(void *data, int64_t done, int64_t total, const char *what);
};

struct hub_call_request {
    int64_t user;
    unsigned groups; /* that the caller may use */
    struct str tool;
    const struct json_value *arguments; /* an object; members that begin with "_" are not sent */
    struct str confirmation;            /* the user's answer to the daemon's question; or empty */
    struct str agent;                   /* the name of its key, for a daemon of ours; or empty */
};

/* An error here means that `done` will not be called. It may be called inside. */
int hub_call(struct hub *hub, const struct hub_call_request *request,
             const struct hub_call_events *events, void *data, uint64_t *out_number,
             struct err *err);
/*
 * Asks a daemon of ours about itself ("rules", "audit", "jobs", "session"), like a call; its result
 * has the answer as structured content. ERR_UNSUPPORTED for other machines. For the user's own
 * page: no agent may ask.
 */
int hub_query(struct hub *hub, int64_t user_id, struct str query,
              const struct json_value *arguments, const struct hub_call_events *events, void *data,
              uint64_t *out_number, struct err *err);
/* Tells our own daemon what the user answered to a question that it reported. */
void hub_decide(struct hub *hub, int64_t user_id, struct str question, struct str answer);

/* The id under which the machine knows a call; empty if it is not pending. */
struct str hub_request_id(struct hub *hub, uint64_t number);
/* `done` is not called any more; the daemon is told if it understands that. */
void hub_cancel(struct hub *hub, uint64_t number);

#endif
