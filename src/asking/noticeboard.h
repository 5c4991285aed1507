/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of one user know of each other: that one has an open question, that one can
 * use mouse and keyboard; and by which `gatehouse stop` reaches them. It is a file in each private
 * directory of sockets that the environment names: notices are locks on it, which the kernel takes
 * off whoever dies, and a change of it is the call to stop. Opened before a process is confined.
 */
#ifndef ASKING_NOTICEBOARD_H
#define ASKING_NOTICEBOARD_H

#include <stdbool.h>

#include "base/err.h"

enum { NOTICEBOARD_PLACES = 2 };

enum noticeboard_notice {
    NOTICEBOARD_CALL,    /* a question about a call is open */
    NOTICEBOARD_CONNECT, /* a question about a connection is open */
    NOTICEBOARD_INPUT,   /* an agent may use mouse and keyboard */
};

struct noticeboard {
    int fds[NOTICEBOARD_PLACES]; /* -1: there is no such place */
};

#define NOTICEBOARD_INIT                                                                           \
    {                                                                                              \
        {                                                                                          \
            -1, -1                                                                                 \
        }                                                                                          \
    }

/* Fails if there is no place at all. */
int noticeboard_open(struct noticeboard *out_board, struct err *err);
void noticeboard_close(struct noticeboard *board);

/* Of this process. */
void noticeboard_put(const struct noticeboard *board, enum noticeboard_notice notice);
void noticeboard_remove(const struct noticeboard *board, enum noticeboard_notice notice);
/* Of any other process. Safe in any thread. */
bool noticeboard_has_input(const struct noticeboard *board);

/* The same for a struct open_questions (call/openquestions.h); the data is the board. */
void noticeboard_tell_call(void *board, bool is_open);
bool noticeboard_others_ask(void *board);

/* Tells all who watch. */
int noticeboard_call(const struct noticeboard *board);
/* A descriptor that can be read after a call; -1 with errno. */
int noticeboard_watch(const struct noticeboard *board);

#endif
