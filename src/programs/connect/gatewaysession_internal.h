/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the gateway session. */
#ifndef PROGRAMS_CONNECT_GATEWAYSESSION_INTERNAL_H
#define PROGRAMS_CONNECT_GATEWAYSESSION_INTERNAL_H

#include "base/buf.h"
#include "loop/reader.h"
#include "loop/timer.h"
#include "programs/connect/calls.h"
#include "programs/connect/connection.h"
#include "programs/connect/gatewaysession.h"
#include "programs/connect/hostlink.h"
#include "programs/connect/queries.h"
#include "programs/connect/remotequestions.h"
#include "session/commands.h"
#include "session/session.h"

enum {
    GATEWAY_SESSION_NAME_BYTES = 32,
    GATEWAY_SESSION_NUMBER_BYTES = 24,
    /* Of the toolhost's command line: two for each folder, and for each item of two lists. */
    GATEWAY_SESSION_MOST_WORDS = 26 + 2 * SESSION_MAX_FOLDERS + 4 * OPTION_MAX_ITEMS,
};

struct gateway_session {
    struct gateway_session_config config;
    struct secret key;         /* until it was used */
    bool is_pairing;           /* joining with the key; else it is for when resuming fails */
    struct saved_session kept; /* the session being resumed or saved */
    bool is_kept;
    struct secret kept_key; /* the key that was saved: the server may send another one at init */
    int kept_lock_fd;       /* while a session is resumed or saved; or -1 */
    bool has_joined;        /* by token or resumed: the saved session is this one, or worthless */
    char name[GATEWAY_SESSION_NAME_BYTES];
    struct session *file_session;
    struct commands *commands;      /* NULL: commands are not available */
    struct screen_client *screen;   /* NULL: there is none, or it is denied */
    struct browser_client *browser; /* the same */
    struct browser_credentials credentials;
    struct ready_watch *rules;
    char host_state[PATH_MAX];
    char numbers[4][GATEWAY_SESSION_NUMBER_BYTES];
    const char *host_words[GATEWAY_SESSION_MOST_WORDS];
    struct hostlink *link;
    struct buf tree; /* for servers of the older dialect */
    bool has_tree;
    struct work *tree_work; /* at the toolhost; NULL: none */
    struct calls *calls;
    struct queries *queries;
    struct remote_questions *questions; /* NULL: the server's page does not show them */
    struct connection *connection;
    enum reconnect_state told;
    char told_why[ERR_MESSAGE_BYTES]; /* last reported reason for waiting */
    bool is_refusal_told;
    bool is_refused;         /* the server's last word was a refusal */
    int64_t tries_untold;    /* unreported tries that ended like the one before */
    size_t lost_answers;     /* since the last flush */
    struct err lost_why;     /* error of the last of them */
    size_t unreadable_calls; /* since the last flush */
    int64_t open_wall_ms;    /* when its stream was first open; 0: not yet */
    struct timer flush;
    struct timer again; /* retry of the first join, if the server was not available */
    int64_t again_ms;
};

/* The session could not be started: adds advice for the user to what the server said. */
void gateway_session_fail(const struct gateway_session *session, const struct err *err);

/* Joins with the saved session, or the token. */
int gateway_session_join(struct gateway_session *session, struct err *err);

/* Reports that it waits, and why; once for each reason. */
void gateway_session_tell_waiting(struct gateway_session *session, int64_t after_ms,
                                  const struct err *why);

/* ---- session_open.c ---- */

/* In this order: state and folder, commands, the toolhost's command line, and the rules. */
int gateway_session_open_files(struct gateway_session *session, struct err *err);
int gateway_session_open_commands(struct gateway_session *session, struct err *err);
void gateway_session_open_screen(struct gateway_session *session);
void gateway_session_open_browser(struct gateway_session *session);
int gateway_session_write_words(struct gateway_session *session, struct err *err);
int gateway_session_follow_rules(struct gateway_session *session, struct err *err);

/* ---- session_again.c ---- */

void gateway_session_again_init(struct gateway_session *session);
/* If the server is not available and nobody is watching, schedules a retry, later each time. */
bool gateway_session_try_again(struct gateway_session *session, const struct err *err);

/* ---- session_tree.c ---- */

/* Gets the folder's tree from the toolhost, then joins. */
void gateway_session_join_with_tree(struct gateway_session *session);

#endif
