/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service manager is told, in the protocol of sd_notify: that the daemon is ready, what it
 * does, that it stops, and, where the manager watches over it, that it lives. Without a manager
 * nothing is told and nothing fails. Nothing here waits for it: what it does not take at once is
 * told a little later, the newest only.
 */
#ifndef PROGRAMS_CONNECT_NOTIFY_H
#define PROGRAMS_CONNECT_NOTIFY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"

enum {
    NOTIFY_STATUS_BYTES = 256, /* longer ones are cut */
    NOTIFY_AGAIN_MS = 100,
};

/* Variables of the environment, or NULL. */
struct notify_environment {
    const char *socket;        /* NOTIFY_SOCKET: a path, or "@" and a name that is no file */
    const char *watchdog_usec; /* WATCHDOG_USEC */
    const char *watchdog_pid;  /* WATCHDOG_PID: for whom it is meant */
};

struct notify_environment notify_environment(void);

struct notify;

/*
 * Opens the socket, so before a process gives up its rights. ERR_UNSUPPORTED for an address of
 * another kind, ERR_INVALID_ARGUMENT for one that is none, others when nobody listens; a program
 * says so and goes on without.
 */
int notify_new(struct loop *loop, const struct notify_environment *environment,
               struct notify **out_notify, struct err *err);

/* What was not taken yet is tried a last time. */
void notify_free(struct notify *notify);

/* Somebody is told. */
bool notify_is_managed(const struct notify *notify);

/* Starts the signs of life, if they are wanted: twice in the time that the manager allows. */
void notify_ready(struct notify *notify);

/* One line for people: control characters become spaces, what looks like a secret is hidden. */
void notify_status(struct notify *notify, struct str text);

void notify_stopping(struct notify *notify);

#endif
