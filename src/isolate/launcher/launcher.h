/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands for a process that may not start any: before it confines itself it forks a launcher,
 * which has one thread, holds the largest box that any command may have (the envelope), and is
 * asked over a pair of sockets. What comes over it can take away from the envelope and add
 * nothing: the client may be broken into one day, and the launcher believes it no more than that.
 *
 * When the client goes, by whatever end, the launcher kills all commands and goes too. So does it
 * when the client breaks the rules of the wire or does not read what it is told. A guard stands
 * between the two, which can fork another launcher at any time.
 *
 * All functions but launcher_new() and launcher_free() work inside the walls of confine.h with
 * passes_messages. Output is the client's to read from the descriptors that it is given.
 */
#ifndef ISOLATE_LAUNCHER_LAUNCHER_H
#define ISOLATE_LAUNCHER_LAUNCHER_H

#include "isolate/box/box.h"
#include "isolate/launcher/wire.h"

enum {
    LAUNCHER_MAX_RUNNING = 64, /* more are refused: ERR_BUSY */
    LAUNCHER_MAX_FDS = 3,
};

struct launcher_envelope {
    const struct box_plan *plan;
    const char *const *env;           /* of all commands; see environment.h */
    const struct box_denial *denials; /* for all of them */
    size_t denial_count;
    int held_fd; /* a copy of it lasts as long as what was started; 0: none */
};

struct launcher;

/* Forks. A process with one thread only; before confine_process(). */
int launcher_new(const struct launcher_envelope *envelope, struct launcher **out_launcher,
                 struct err *err);
/*
 * Everything that runs is killed, and gone when this returns, but for what hangs in the kernel and
 * for who may wait for no process.
 */
void launcher_free(struct launcher *launcher);

/*
 * Another launcher in place of one that has gone or hangs: what it ran is killed. Takes about as
 * long as a fork; two seconds at most, and then, or when the guard has been killed, it is the end:
 * ERR_IO. Numbers may be used again, and launcher_fd() is another one.
 */
int launcher_renew(struct launcher *launcher, struct err *err);

/* The guard has ended, or was given up: launcher_renew() will bring none any more. */
bool launcher_is_final(const struct launcher *launcher);

/* For a loop: readable when there is a notice, or when the launcher has gone. Non-blocking. */
int launcher_fd(const struct launcher *launcher);

/* The other descriptor that it needs, for who closes all others. */
int launcher_guard_fd(const struct launcher *launcher);

struct launcher_command {
    const char *text;        /* for /bin/sh -c; or NULL, then: */
    const char *const *argv; /* up to a NULL */
    const char *cwd;
    const char *const *variables; /* NAME=value, up to a NULL; or NULL */
    int64_t timeout_ms;           /* 0: none */
    bool wants_stdin;             /* a pipe; else it reads from /dev/null */
    bool wants_pty;               /* one terminal in place of three streams */
    unsigned short rows;
    unsigned short columns;
    bool has_no_network;
    /* For the envelope's places, in its order: what is left of each this time; or NULL. */
    const enum box_access *at_most;
    size_t at_most_count;
    /* What it is denied besides the envelope's; LAUNCHER_MAX_DENIALS at most. */
    const struct box_denial *denials;
    size_t denial_count;
};

/*
 * Sends; the answer is a notice with this number, which is no other running command's.
 * ERR_TOO_LARGE: the command is too long. ERR_BUSY: the launcher is behind, try later.
 */
int launcher_start(struct launcher *launcher, uint32_t number,
                   const struct launcher_command *command, struct err *err);

/* To the command's own group; SIGKILL: to everything. One that has ended is no error. */
int launcher_signal(struct launcher *launcher, uint32_t number, int signal);

/* In the order stdin, stdout, stderr; with a terminal it alone, in the first. -1: none. */
struct launcher_fds {
    int fds[LAUNCHER_MAX_FDS];
};

/*
 * The next notice. ERR_NOT_FOUND: none is waiting. ERR_IO: the launcher has gone, and with it all
 * commands. *out_fds, non-blocking, are the caller's after LAUNCHER_STARTED; there are none when
 * this process may open no more, and what was started is the caller's to kill.
 */
int launcher_read(struct launcher *launcher, struct launcher_notice *out_notice,
                  struct launcher_fds *out_fds);

#endif
