/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts commands for a confined process, which cannot start any itself: isolate's launcher, or a
 * test. Everything on the loop's thread; no event comes from inside one of these functions.
 */
#ifndef SHELL_STARTER_H
#define SHELL_STARTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct starter_command {
    const char *const *argv;      /* NULL-terminated; the program by its absolute path */
    const char *const *variables; /* NAME=value, NULL-terminated, besides the common ones */
    const char *cwd;              /* absolute */
    bool has_input;               /* a pipe; else standard input is empty */
    bool has_terminal;            /* for all three streams */
    unsigned short rows;          /* of the terminal */
    unsigned short columns;
};

/* Our ends, owned by the receiver; -1 if there is none. */
struct starter_fds {
    int input;
    int output; /* or the terminal, for both directions */
    int errors;
};

struct starter_end {
    int error; /* an ERR_* code if the outcome is unknown */
    bool is_signal;
    int value; /* the signal, or the exit code */
};

struct starter_events {
    /* Called once. After an error, with the reason in err, nothing else follows. */
    void (*on_started)(void *data, int error, const struct err *err, struct starter_fds fds);
    /* Called once: the command and all its descendants have ended. */
    void (*on_ended)(void *data, struct starter_end end);
    void *data;
};

struct starter {
    /* Copies the command. On failure no event follows. */
    int (*start)(void *data, const struct starter_command *command,
                 const struct starter_events *events, uint64_t *out_id, struct err *err);
    /*
     * Signals the command's process group; SIGKILL reaches all its descendants, even after it has
     * ended.
     */
    void (*signal)(void *data, uint64_t id, int signum);
    /* Kills everything; no event follows. */
    void (*forget)(void *data, uint64_t id);
    void *data;
};

#endif
