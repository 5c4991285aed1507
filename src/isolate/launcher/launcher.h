/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs commands for a process that may not start any: before it confines itself, it forks a
 * launcher, which is single-threaded, holds the least restricted sandbox that any command may get
 * (the envelope), and is controlled over a socket pair. Requests can only restrict the envelope
 * further: the client may be compromised one day, and the launcher does not trust it beyond that.
 *
 * When the client ends for whatever reason, the launcher kills all commands and exits. It also does
 * so when the client violates the protocol or does not read notices. A guard process between the
 * two can fork another launcher at any time.
 *
 * All functions except launcher_new() and launcher_free() work in a process confined by confine.h
 * with passes_messages. The client reads output from the file descriptors that it gets.
 */
#ifndef ISOLATE_LAUNCHER_LAUNCHER_H
#define ISOLATE_LAUNCHER_LAUNCHER_H

#include "isolate/box/box.h"
#include "isolate/box/matches.h"
#include "isolate/launcher/wire.h"

enum {
    LAUNCHER_MAX_RUNNING = 64, /* ERR_BUSY beyond */
    LAUNCHER_MAX_FDS = 3,
};

struct launcher_envelope {
    const struct box_plan *plan;
    const char *const *env;           /* of all commands; see environment.h */
    const struct box_denial *denials; /* for all commands */
    size_t denial_count;
    struct matches_kinds kinds; /* files in the places that are denied by what they are */
    int held_fd; /* a copy stays open as long as anything that was started; 0: none */
};

struct launcher;

/* Forks: the process must be single-threaded; call it before confine_process(). */
int launcher_new(const struct launcher_envelope *envelope, struct launcher **out_launcher,
                 struct err *err);
/*
 * Kills everything that runs and waits for its end, except for processes that hang in the kernel
 * and if this process may not wait for any.
 */
void launcher_free(struct launcher *launcher);

/*
 * Starts another launcher in place of one that has died or hangs, and kills what that ran. Takes
 * about as long as a fork, ten seconds at most; after that, or if the guard was killed, it fails
 * for good: ERR_IO. Command numbers may be reused, and launcher_fd() changes.
 */
int launcher_renew(struct launcher *launcher, struct err *err);

/* The guard has ended, or was given up: launcher_renew() cannot work any more. */
bool launcher_is_final(const struct launcher *launcher);

/* For a loop: readable when there is a notice, or when the launcher has died. Nonblocking. */
int launcher_fd(const struct launcher *launcher);

struct launcher_command {
    const char *const *argv; /* NULL-terminated */
    const char *cwd;
    const char *const *variables; /* NAME=value, NULL-terminated; or NULL */
    bool wants_stdin;             /* a pipe; else it reads from /dev/null */
    bool wants_pty;               /* one terminal instead of three streams */
    unsigned short rows;
    unsigned short columns;
    /* Access that remains to the envelope's places, in its order; or NULL. */
    const enum box_access *at_most;
    size_t at_most_count;
    /* Denied in addition to the envelope's; LAUNCHER_MAX_DENIALS at most. */
    const struct box_denial *denials;
    size_t denial_count;
};

/*
 * Sends the request; the answer is a notice with this number, which no running command may have.
 * ERR_TOO_LARGE: the command is too long. ERR_BUSY: the launcher is busy, try later.
 */
int launcher_start(struct launcher *launcher, uint32_t number,
                   const struct launcher_command *command, struct err *err);

/* Signals the command's process group; SIGKILL goes to everything. No error if it has ended. */
int launcher_signal(struct launcher *launcher, uint32_t number, int signal);

/* In the order stdin, stdout, stderr; a terminal alone is in the first. -1: none. */
struct launcher_fds {
    int fds[LAUNCHER_MAX_FDS];
};

/*
 * Reads the next notice. ERR_NOT_FOUND: none is waiting. ERR_IO: the launcher has died, and with it
 * all commands. After LAUNCHER_STARTED the caller owns *out_fds, which are nonblocking; there are
 * none if this process cannot open more, and the caller must kill the command.
 */
int launcher_read(struct launcher *launcher, struct launcher_notice *out_notice,
                  struct launcher_fds *out_fds);

#endif
