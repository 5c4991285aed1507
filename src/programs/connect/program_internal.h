/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the program, for its own files: program.c (the command line, the order of things,
 * signals and the end), program_connect.c (who wants a connection, whether the user agrees, and
 * what becomes of it), program_handover.c (whether one that runs already takes the token) and
 * program_outside.c (what others see: the local port, the control socket, the service manager, the
 * log file).
 */
#ifndef PROGRAMS_CONNECT_PROGRAM_INTERNAL_H
#define PROGRAMS_CONNECT_PROGRAM_INTERNAL_H

#include "base/log.h"
#include "base/options/options.h"
#include "cli/connect.h"
#include "console/console.h"
#include "loop/loop.h"
#include "loop/signal.h"
#include "programs/connect/connectoptions.h"
#include "programs/connect/control.h"
#include "programs/connect/desktop.h"
#include "programs/connect/gatewaysession.h"
#include "programs/connect/logfile.h"
#include "programs/connect/notes.h"
#include "programs/connect/notify.h"
#include "programs/connect/origins.h"
#include "programs/connect/port.h"
#include "programs/connect/savedsession.h"

enum {
    PROGRAM_SIGNALS = 3,
    /* "https://", host and port, path */
    PROGRAM_URL_BYTES = ORIGINS_TEXT_BYTES + HTTPURL_PATH_BYTES,
};

/* Of the control socket, on which one waits at most: no request of a page has this number. */
#define PROGRAM_HANDED_OVER UINT64_MAX

/* Where a connection that somebody wants has got to. */
enum attempt_state {
    ATTEMPT_NONE,    /* nobody does; or it stands */
    ATTEMPT_ASKING,  /* the user is asked */
    ATTEMPT_JOINING, /* he agreed, or need not be asked */
};

/* The last connection that somebody wanted. */
struct attempt {
    enum attempt_state state;
    bool is_from_outside; /* of a page or another start; else from the command line */
    bool is_doubtful;     /* a command of an agent's could have sent it: it is asked about always */
    /* Of the page's request, or PROGRAM_HANDED_OVER; 0: nobody waits for an answer. */
    uint64_t number;
    struct httpurl url;
    char url_text[PROGRAM_URL_BYTES];
    struct secret key;         /* until it was handed on */
    bool is_static_key;        /* of both sides, and not for a file of ours */
    struct saved_session kept; /* a session from before; its key is empty without one */
    int kept_lock_fd;          /* of that session, until it was handed on; or -1 */
};

/* What the session goes by. */
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
    struct connect_choices choices; /* what each question begins with */
    struct origins origins;
    struct buf authorities; /* PEM, to trust besides the system's */
    bool asks_here;         /* about calls; else the instance does */
    struct question_queue *queue;
    struct console *console;
    struct notes *notes; /* where the log and questions share a terminal */

    struct attempt attempt;
    struct agreed agreed;
    struct gateway_session *session; /* NULL: none */
    bool is_over;                    /* it is, and only has to be freed: */
    struct loop_task drop;           /* when nothing of it is on the stack */
    struct leftovers leftovers;
    uint64_t leaving[PORT_MAX_LEAVING]; /* pages that wait for the end */
    size_t leaving_count;

    struct port *port; /* NULL: it could not be had */
    struct control *control;
    struct notify *notify;
    struct desktop *desktop;
    struct logfile *logfile;
    bool is_ready; /* and the service manager knows */
    bool has_told; /* that it was connected, to pages that listen */
    int64_t told_since_ms;

    struct signal_watch *watches[PROGRAM_SIGNALS];
    bool is_leaving; /* nobody is asked any more */
    bool has_failed; /* with `err` */
    struct err err;
};

/* ---- program.c ---- */

void program_stop(struct program *program);
void program_fail(struct program *program, const struct err *err);
bool program_has_terminal(const struct program *program);
/* The user may be asked before connecting, or need not be. */
bool program_needs_agreement(const struct program *program);
/* The user wants it, or systemd has started this process itself. */
bool program_keeps_session(const struct program *program);

/* ---- program_connect.c ---- */

void program_connect_init(struct program *program);

/* "https://n8n.example/path", for people. */
void program_url_text(const struct httpurl *url, char out_text[PROGRAM_URL_BYTES]);

/* One from before, for what the command line says. None is no error. */
int program_look_for_session(struct program *program, struct err *err);

/* For what the command line says: asks the user, or begins. */
int program_connect(struct program *program, struct err *err);

/* What stands on the terminal is withdrawn: an end is nobody's answer. */
void program_stop_asking(struct program *program);
/* Tells the server and ends with 0. */
void program_leave(struct program *program);

/* There is a session, and its commands have no boxes. */
bool program_has_open_commands(const struct program *program);

/* What pages want, for the port. */
extern const struct port_owner program_port_owner;

/* What another start brings, for the control socket. */
extern const struct control_taker program_taker;

/* What the user would agree to without editing anything, as kept.h has it. */
void program_terms(const struct program *program, char out_terms[SAVED_SESSION_TERMS_BYTES]);

void program_connect_close(struct program *program);

/* ---- program_handover.c ---- */

/*
 * Gives the token to a daemon that runs already and waits for one, and waits for what comes of it:
 * an error where it failed. Not done where there is none, or another one than the user wants now.
 */
int program_hand_over(struct program *program, bool *out_is_done, struct err *err);

/* ---- program_outside.c ---- */

/* After the console. Only a port that is needed is an error. */
int program_outside_open(struct program *program, struct err *err);
/* Why it ends, for those who look later; before the next. */
void program_keep_reason(const struct program *program, const struct err *err);
void program_outside_close(struct program *program);

void program_report(void *data, struct report *out_report);
/* What program_report() says has changed, or what is going on. */
void program_tell(struct program *program);
/* Nobody can be asked there any more. */
void program_terminal_gone(struct program *program);
/* On the desktop, for somebody who may look at another window. */
void program_notify_user(struct program *program, const char *title, struct str text);

#endif
