/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody who starts commands for us, since a confined process starts none:
 * isolate's launcher, or a test. All of it on the loop's thread; no event comes
 * from inside one of these functions.
 */
#ifndef SHELL_STARTER_H
#define SHELL_STARTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct starter_command {
    const char *const *argv;      /* up to a NULL; the program by its absolute path */
    const char *const *variables; /* NAME=value, up to a NULL, besides those that all get */
    const char *cwd;              /* absolute */
    bool has_input;               /* a pipe; else standard input is empty */
    bool has_terminal;            /* for all three streams */
    unsigned short rows;          /* of the terminal */
    unsigned short columns;
};

/* Our ends, which belong to whoever is told of them; -1 where there is none. */
struct starter_fds {
    int input;
    int output; /* or the terminal, for both ways */
    int errors;
};

struct starter_end {
    int error; /* an ERR_* code when how it ended is not known */
    bool is_signal;
    int value; /* the signal, or the exit code */
};

struct starter_events {
    /* Once. After an error, with the reason in err, nothing else comes. */
    void (*on_started)(void *data, int error, const struct err *err, struct starter_fds fds);
    /* Once: the command has ended, and all that it started is gone. */
    void (*on_ended)(void *data, struct starter_end end);
    void *data;
};

struct starter {
    /* Copies the command. On failure no event comes. */
    int (*start)(void *data, const struct starter_command *command,
                 const struct starter_events *events, uint64_t *out_id, struct err *err);
    /* To the command's process group; SIGKILL to all that it started, whatever became of it. */
    void (*signal)(void *data, uint64_t id, int signum);
    /* Kills all of it, and no event comes any more. */
    void (*forget)(void *data, uint64_t id);
    void *data;
};

#endif
