/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a session, for its own files. */
#ifndef PROGRAMS_CONNECT_GATEWAYSESSION_INTERNAL_H
#define PROGRAMS_CONNECT_GATEWAYSESSION_INTERNAL_H

#include "base/buf.h"
#include "loop/reader.h"
#include "loop/timer.h"
#include "programs/connect/calls.h"
#include "programs/connect/connection.h"
#include "programs/connect/gatewaysession.h"
#include "programs/connect/hostlink.h"
#include "session/commands.h"
#include "session/session.h"

enum {
    GATEWAY_SESSION_NAME_BYTES = 32,
    GATEWAY_SESSION_NUMBER_BYTES = 24,
    GATEWAY_SESSION_MOST_WORDS = 24, /* of the toolhost's command line */
};

struct gateway_session {
    struct gateway_session_config config;
    struct secret key;         /* until it was used */
    bool is_pairing;           /* with it; else it is for when resuming fails */
    struct saved_session kept; /* what is resumed, and what is kept */
    bool is_kept;
    struct secret kept_key; /* the one that was written: a server may give another at init */
    int kept_lock_fd;       /* while something is resumed or kept; or -1 */
    bool has_joined; /* by a token or from before: what was kept is this one, or is worthless */
    char name[GATEWAY_SESSION_NAME_BYTES];
    struct session *file_session;
    struct commands *commands; /* NULL: none are run */
    struct ready_watch *rules;
    char host_state[PATH_MAX];
    char numbers[3][GATEWAY_SESSION_NUMBER_BYTES];
    const char *host_words[GATEWAY_SESSION_MOST_WORDS];
    struct hostlink *link;
    struct buf tree; /* for servers of the older dialect */
    bool has_tree;
    struct work *tree_work; /* at the toolhost; NULL: none */
    struct calls *calls;
    struct connection *connection;
    enum reconnect_state told;
    char told_why[ERR_MESSAGE_BYTES]; /* the last reason to wait that was told */
    bool is_refusal_told;
    bool is_refused;      /* the server has said so, and nothing else since */
    int64_t tries_untold; /* that ended as the one before */
    size_t lost_answers;  /* since the last flush */
    struct err lost_why;  /* the last of them */
    int64_t open_wall_ms; /* when its stream was open first; 0: not yet */
    struct timer flush;
    struct timer again; /* to join, where the first time the server was not there */
    int64_t again_ms;
};

/* It could not be begun: with what the user can do about it, besides what the server said. */
void gateway_session_fail(const struct gateway_session *session, const struct err *err);

/* With the session from before, or the token. */
int gateway_session_join(struct gateway_session *session, struct err *err);

/* That it waits, and why: once for each reason. */
void gateway_session_tell_waiting(struct gateway_session *session, int64_t after_ms,
                                  const struct err *why);

/* ---- session_open.c ---- */

/* In this order: what it stands on, its commands, how its toolhost is called, and its rules. */
int gateway_session_open_files(struct gateway_session *session, struct err *err);
int gateway_session_open_commands(struct gateway_session *session, struct err *err);
int gateway_session_write_words(struct gateway_session *session, struct err *err);
int gateway_session_follow_rules(struct gateway_session *session, struct err *err);

/* ---- session_again.c ---- */

void gateway_session_again_init(struct gateway_session *session);
/* A server that is not there yet: where nobody watches it is asked again, later and later. */
bool gateway_session_try_again(struct gateway_session *session, const struct err *err);

/* ---- session_tree.c ---- */

/* The folder's tree is fetched from the toolhost, and then it is joined. */
void gateway_session_join_with_tree(struct gateway_session *session);

#endif
