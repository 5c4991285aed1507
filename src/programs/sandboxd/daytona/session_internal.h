/* SPDX-License-Identifier: Apache-2.0 */
/* What session.c, the shells and their commands, and sessionapi.c, the requests, share. */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_SESSION_INTERNAL_H
#define PROGRAMS_SANDBOXD_DAYTONA_SESSION_INTERNAL_H

#include "programs/sandboxd/daytona/feeder.h"
#include "programs/sandboxd/daytona/session.h"
#include "programs/sandboxd/daytona/sessionlog.h"
#include "programs/sandboxd/daytona/socket.h"
#include "programs/sandboxd/daytona/toolbox.h"

enum {
    SESSION_WORD_BYTES = 16, /* of randomness in the word that marks the ends */
    SESSION_WORD_CHARS = 1 + 2 * SESSION_WORD_BYTES,
    SESSION_NUMBER_CHARS = 8,     /* of an exit code, and the newline */
    SESSION_HIGH_BYTES = 1 << 20, /* unread by a client: the command waits */
};

enum session_state {
    SESSION_STARTING,
    SESSION_READY,
    SESSION_BUSY,  /* with a command */
    SESSION_ENDED, /* its shell has */
};

struct session_command;

/* One of the shell's two streams: finds the marks in it. */
struct shell_stream {
    char held[SESSION_WORD_CHARS + SESSION_NUMBER_CHARS]; /* maybe a mark */
    size_t held_len;
    bool is_marked; /* it has the end of the present command */
};

struct shell_session {
    struct list node; /* sandbox->sessions */
    struct service *service;
    struct sandbox *sandbox;
    char id[TOOLBOX_MAX_ID_BYTES + 1];
    char word[SESSION_WORD_CHARS + 1];
    enum session_state state;
    struct run run;
    struct feeder feeder;
    struct exchange *creator; /* to be answered when the shell runs */
    struct list commands;     /* the oldest first */
    size_t command_count;
    struct session_command *present; /* or NULL */
    struct shell_stream streams[2];
    int exit_code; /* of the present command, once a stream has told */
};

struct session_command {
    struct list node;
    struct shell_session *session;
    char id[SANDBOXSTORE_ID_BYTES];
    char *text;
    bool is_async;
    bool was_sent;
    bool has_ended;
    int exit_code;
    struct exchange *waiter; /* of a command that is not async; or NULL */
    struct sessionlog log;
    size_t counted; /* bytes of the log, in service->history_bytes */
    struct list followers;
};

struct log_follower {
    struct list node;
    struct session_command *command;
    struct wsserve *socket;
    uint64_t next; /* the first byte that was not sent */
};

/* Not started yet: see run_begin(). NULL without memory. */
struct shell_session *session_new(struct sandbox *sandbox, struct str id);
void session_free(struct shell_session *session);
/* Gives the shell its next command, if it has none. */
void session_send_next(struct shell_session *session);
/* Lets the present command wait while a follower is behind. */
void session_pace(struct shell_session *session);

/* NULL without memory, or if too many are not over. */
struct session_command *shell_command_new(struct shell_session *session, struct str text);
/* Appends output, stdout and stderr. */
void shell_command_put_output(struct json_writer *json, const struct session_command *command,
                              bool has_labels);

/* Sends what there is, up to what the client takes; closes and frees at the end. */
void log_follower_send(struct log_follower *follower);
void log_follower_free(struct log_follower *follower);

#endif
