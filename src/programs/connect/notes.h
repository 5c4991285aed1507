/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log on a terminal that also shows questions: lines come over a pipe, from this program and
 * from those that it starts, and wait while something stands on the terminal that they would
 * write into.
 */
#ifndef PROGRAMS_CONNECT_NOTES_H
#define PROGRAMS_CONNECT_NOTES_H

#include <stdbool.h>

#include "base/err.h"
#include "loop/loop.h"

enum {
    NOTES_MAX_BYTES = 256 << 10, /* that wait; the rest is counted and told */
    NOTES_LOOK_MS = 100,         /* between looks whether the terminal is free */
};

struct notes;

struct notes_config {
    struct loop *loop;
    int out_fd; /* the caller's */
    /* Whether something stands on the terminal. */
    bool (*is_taken)(void *data);
    void *data;
};

int notes_new(const struct notes_config *config, struct notes **out_notes, struct err *err);
/* What waits is written, as far as the terminal takes it. */
void notes_free(struct notes *notes);

/* Where lines are written to. It does not block: what comes faster than it is read is lost. */
int notes_fd(const struct notes *notes);

#endif
