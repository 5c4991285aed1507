/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session with the server, on the terms the user agreed to: the folder's toolhost, the rules, the
 * audit log, the calls and the connection. Created when the user has agreed.
 */
#ifndef PROGRAMS_CONNECT_GATEWAYSESSION_H
#define PROGRAMS_CONNECT_GATEWAYSESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "asking/noticeboard.h"
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
    GATEWAY_SESSION_FAILED,    /* could not be started; the error says why */
    GATEWAY_SESSION_DISMISSED, /* ended by the server */
    GATEWAY_SESSION_LEFT,      /* ended by gateway_session_leave() */
};

struct gateway_session_config {
    struct loop *loop;
    const struct log *log;
    const struct connect_choices *choices; /* as agreed to */
    struct session_state *opened;          /* as in session_config */
    struct noticeboard *board;             /* tells other programs of open questions; or NULL */
    struct question_queue *queue;          /* NULL: the instance asks */
    bool asks_there_too;                   /* besides the queue, at the page of a server of ours */
    bool allows_remote_always;             /* the server's page may make lasting decisions */
    struct httpurl url;
    uint16_t own_port;        /* where the program listens; 0: nowhere */
    const struct secret *key; /* pairing token or static key; copied; empty: only resume */
    bool is_static_key;
    bool is_patient;                     /* retry if the server is not available at the start */
    const struct saved_session *resumed; /* a saved session; or NULL */
    int kept_lock_fd;  /* its lock; ownership passes to the session, even on failure; -1: none */
    const char *terms; /* digest of the agreed terms (savedsession.h); must outlive the session */
    bool keeps;        /* save the session for the next start */
    struct str authorities_pem; /* trusted besides the system's; must outlive the session */
    /* For children that exit by themselves; must outlive the session. */
    struct leftovers *leftovers;
    const char *libexec;
    uint64_t max_file_bytes;
    uint64_t max_lines;
    const char *const *denied;  /* globs, NULL-terminated; or NULL */
    const char *const *allowed; /* the same; commands see what these hide */
    bool reads_hardlinks;       /* of the folders; see session_config */
    bool shell_is_open;         /* dangerous: no sandbox; the next ones have no effect */
    bool shell_has_network;
    const char *const *shell_domains;  /* NULL-terminated; or NULL */
    const char *const *shell_writable; /* NULL-terminated; or NULL */
    const char *const *shell_readable; /* the same */
    const char *const *shell_env;      /* variables: see environment_clean(); or NULL */
    int64_t shell_timeout_ms;
    /* gateway_session_state() has changed. */
    void (*on_change)(void *data);
    /* Called once, as the last callback. It must not free the session. */
    void (*on_over)(void *data, enum gateway_session_end end, const struct err *err);
    void *data;
};

/* Returns errors of the folder at once, with a message; other errors are reported to on_over. */
int gateway_session_new(const struct gateway_session_config *config,
                        struct gateway_session **out_session, struct err *err);
/*
 * Tells the server nothing: a saved session continues at the next start. Ends what runs for the
 * session, including its threads, unless one hangs.
 */
void gateway_session_free(struct gateway_session *session);

/* Withdraws open questions and cancels running calls, without answering them. */
void gateway_session_end_calls(struct gateway_session *session);

/* Tells the server, then calls on_over. */
void gateway_session_leave(struct gateway_session *session);

struct gateway_session_state {
    enum reconnect_state state;
    bool is_connected;         /* stays true while a broken stream is reopened, until that fails */
    bool has_session;          /* the server knows it, or did when last heard */
    int64_t connected_wall_ms; /* since when */
    struct err why;            /* why it is not connected; code 0 if nothing went wrong */
    bool needs_token;          /* the server refused its key, which is still being tried */
    const struct session_folder *folders; /* valid as long as the session */
    size_t folder_count;
};

void gateway_session_state(const struct gateway_session *session,
                           struct gateway_session_state *out_state);

#endif
