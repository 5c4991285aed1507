/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to the program: program.c (the command line, startup and shutdown, signals),
 * program_connect.c (who requests a connection, whether the user agrees, and what follows),
 * program_handover.c (whether a running daemon takes the token) and program_outside.c (what others
 * see: the local port, the control socket, the service manager, the log file).
 */
#ifndef PROGRAMS_CONNECT_PROGRAM_INTERNAL_H
#define PROGRAMS_CONNECT_PROGRAM_INTERNAL_H

#include "asking/asker.h"
#include "asking/desktop.h"
#include "asking/noticeboard.h"
#include "base/log.h"
#include "base/options/options.h"
#include "cli/connect.h"
#include "console/console.h"
#include "loop/loop.h"
#include "loop/signal.h"
#include "programs/connect/connectoptions.h"
#include "programs/connect/control.h"
#include "programs/connect/gatewaysession.h"
#include "programs/connect/logfile.h"
#include "programs/connect/notify.h"
#include "programs/connect/origins.h"
#include "programs/connect/port.h"
#include "programs/connect/savedsession.h"
#include "programs/connect/terminallog.h"

enum {
    PROGRAM_SIGNALS = 3,
    /* "https://", host and port, path */
    PROGRAM_URL_BYTES = ORIGINS_TEXT_BYTES + HTTPURL_PATH_BYTES,
};

/* Number of a request on the control socket, which has at most one; no page's request has it. */
#define PROGRAM_HANDED_OVER UINT64_MAX

/* State of a requested connection. */
enum attempt_state {
    ATTEMPT_NONE,    /* none requested; or connected */
    ATTEMPT_ASKING,  /* the user is being asked */
    ATTEMPT_JOINING, /* the user agreed, or need not be asked */
};

/* The last connection that was requested. */
struct attempt {
    enum attempt_state state;
    bool is_from_outside; /* by a page or another start; else by the command line */
    bool is_doubtful;     /* an agent's command could have sent it: always ask the user */
    /* Of the page's request, or PROGRAM_HANDED_OVER; 0: nobody waits for an answer. */
    uint64_t number;
    struct httpurl url;
    char url_text[PROGRAM_URL_BYTES];
    struct secret key;         /* until passed on */
    bool is_static_key;        /* pre-shared with the server; not to be saved in a file */
    struct saved_session kept; /* a saved session; its key is empty if there is none */
    int kept_lock_fd;          /* lock of that session, until passed on; or -1 */
};

/* The terms of the present session. */
struct agreed {
    bool is_from_outside;
    char url_text[PROGRAM_URL_BYTES];
    struct connect_choices choices;
    char terms[SAVED_SESSION_TERMS_BYTES];
};

struct program {
    const struct option_values *values;
    struct log log;
    struct loop *loop;
    struct connect_choices choices; /* initial values of each question */
    struct session_state state;     /* until the first session takes it */
    struct origins origins;
    struct buf authorities; /* PEM, trusted besides the system's */
    bool asks_here;         /* we ask about calls; else the instance does */
    struct question_queue *queue;
    struct console *console;
    struct noticeboard board;           /* of open questions of all programs of this user */
    struct asking_socket asking_socket; /* where terminals of `gatehouse ask` connect */
    struct asker *asker;
    struct terminal_log *terminal_log; /* if the log and questions share a terminal */

    struct attempt attempt;
    struct agreed agreed;
    struct gateway_session *session; /* NULL: none */
    bool is_over;                    /* it has ended and must be freed: */
    struct loop_task drop;           /* when none of its functions is on the stack */
    struct leftovers leftovers;
    uint64_t leaving[PORT_MAX_LEAVING]; /* pages that wait for the end */
    size_t leaving_count;

    struct port *port; /* NULL: could not be opened */
    struct control *control;
    struct notify *notify;
    struct desktop *desktop;
    struct logfile *logfile;
    bool is_ready; /* and the service manager was told */
    bool has_told; /* pages were told that it is connected */
    int64_t told_since_ms;

    struct signal_watch *watches[PROGRAM_SIGNALS];
    bool is_leaving; /* nobody is asked any more */
    bool has_failed; /* with `err` */
    struct err err;
};

/* ---- program.c ---- */

void program_stop(struct program *program);
void program_fail(struct program *program, const struct err *err);
/* Whether the user must be asked before connecting. */
bool program_needs_agreement(const struct program *program);
/* The user wants it, or systemd has started this process itself. */
bool program_keeps_session(const struct program *program);

/* ---- program_connect.c ---- */

void program_connect_init(struct program *program);

/* "https://n8n.example/path", for people. */
void program_url_text(const struct httpurl *url, char out_text[PROGRAM_URL_BYTES]);

/* Looks for a saved session for the command line's options. Finding none is no error. */
void program_look_for_session(struct program *program);

/* Connects as the command line says: asks the user, or starts at once. */
int program_connect(struct program *program, struct err *err);

/* Withdraws the question on the terminal: shutting down is nobody's answer. */
void program_stop_asking(struct program *program);
/* Tells the server and exits with 0. */
void program_leave(struct program *program);

/* Whether there is a session whose commands run without a sandbox. */
bool program_has_open_commands(const struct program *program);

/* Why commands must be denied, as the other options are; or NULL. */
const char *program_commands_refusal(const struct program *program);

/* Handles requests of pages, for the port. */
extern const struct port_owner program_port_owner;

/* Handles tokens of another start, for the control socket. */
extern const struct control_taker program_taker;

/* Digest of the terms to which the user would agree without editing (savedsession.h). */
void program_terms(const struct program *program, char out_terms[SAVED_SESSION_TERMS_BYTES]);

void program_connect_close(struct program *program);

/* ---- program_handover.c ---- */

/*
 * Hands the token to a running daemon that waits for one, and waits for the outcome: an error if
 * that failed. *out_is_done is false if there is no daemon, or one with other terms.
 */
int program_hand_over(struct program *program, bool *out_is_done, struct err *err);

/* ---- program_outside.c ---- */

/* Call after opening the console. Only a port that is required is an error. */
int program_outside_open(struct program *program, struct err *err);
/* Records why the program ends, for later reading; call it before program_outside_close(). */
void program_keep_reason(const struct program *program, const struct err *err);
void program_outside_close(struct program *program);

void program_report(void *data, struct report *out_report);
/* Call when program_report() or the present activity has changed. */
void program_tell(struct program *program);
/* The terminal is gone: nobody can be asked there any more. */
void program_terminal_gone(struct program *program);
/* Shows a desktop notification, for a user who may look at another window. */
void program_notify_user(struct program *program, const char *title, struct str text);

#endif
