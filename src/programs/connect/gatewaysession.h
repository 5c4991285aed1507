/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user has agreed to, at work: the folder's toolhost, the rules, the record, the calls and
 * the connection that they come by. Made when he has said yes, for one session with the server.
 */
#ifndef PROGRAMS_CONNECT_GATEWAYSESSION_H
#define PROGRAMS_CONNECT_GATEWAYSESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "gateway/reconnect.h"
#include "loop/loop.h"
#include "net/http/url.h"
#include "permission/questionqueue.h"
#include "programs/connect/connectoptions.h"
#include "programs/connect/leftovers.h"
#include "programs/connect/savedsession.h"

struct gateway_session;

enum gateway_session_end {
    GATEWAY_SESSION_FAILED,    /* it could not be begun; the error says why */
    GATEWAY_SESSION_DISMISSED, /* by the server */
    GATEWAY_SESSION_LEFT,      /* by gateway_session_leave() */
};

struct gateway_session_config {
    struct loop *loop;
    const struct log *log;
    const struct connect_choices *choices; /* as they were agreed to */
    struct question_queue *queue;          /* NULL: the instance asks */
    struct httpurl url;
    const struct secret *key; /* a pairing token or a static key; copied; empty: only resumes */
    bool is_static_key;
    bool is_patient; /* a server that is not there at the start is asked again */
    const struct saved_session *resumed; /* a session from before; or NULL */
    int kept_lock_fd;            /* of that; becomes the session's, also on failure; -1: none */
    const char *terms;           /* what was agreed to, as kept.h has it; outlives the session */
    bool keeps;                  /* the session for the next start */
    struct str authorities_pem;  /* to trust besides the system's; outlives the session */
    struct leftovers *leftovers; /* for children that end by themselves; outlives the session */
    const char *libexec;
    uint64_t max_file_bytes;
    uint64_t max_lines;
    bool shell_is_open; /* dangerous: there are no boxes, and the next two hold nothing */
    bool shell_has_network;
    const char *const *shell_writable; /* up to a NULL; or NULL */
    int64_t shell_timeout_ms;
    /* gateway_session_state() says something else. */
    void (*on_change)(void *data);
    /* Once, and the last that is heard of it. Not to be freed in there. */
    void (*on_over)(void *data, enum gateway_session_end end, const struct err *err);
    void *data;
};

/* What is wrong with the folder comes out at once, with words; the rest by on_over. */
int gateway_session_new(const struct gateway_session_config *config,
                        struct gateway_session **out_session, struct err *err);
/*
 * Without a word to the server: a session that is kept goes on with the next start. What runs for
 * it ends, its threads too, unless one hangs.
 */
void gateway_session_free(struct gateway_session *session);

/* Questions that stand are withdrawn, what runs is cancelled, and nobody hears of either. */
void gateway_session_end_calls(struct gateway_session *session);

/* Tells the server, then on_over. */
void gateway_session_leave(struct gateway_session *session);

struct gateway_session_state {
    enum reconnect_state state;
    bool is_connected;         /* also while a stream that broke is opened anew, until that fails */
    bool has_session;          /* that the server knows, or knew when it was heard last */
    int64_t connected_wall_ms; /* since then */
    struct err why;            /* it is not; code 0 where nothing went wrong */
    bool needs_token;      /* the server has refused its key, which goes on being tried meanwhile */
    const char *root_path; /* lives as long as the session */
};

void gateway_session_state(const struct gateway_session *session,
                           struct gateway_session_state *out_state);

#endif
