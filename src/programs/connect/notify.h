/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifies a service manager by the sd_notify protocol: that the daemon is ready, what it does,
 * that it stops and, if the manager has a watchdog, that it is alive. Without a manager nothing is
 * sent and nothing fails. Never blocks: what the manager does not take at once is sent a little
 * later, only the newest of each.
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
    const char *socket;        /* NOTIFY_SOCKET: a path, or "@" and an abstract name */
    const char *watchdog_usec; /* WATCHDOG_USEC */
    const char *watchdog_pid;  /* WATCHDOG_PID: the process it is meant for */
};

struct notify_environment notify_environment(void);

struct notify;

/*
 * Opens the socket: call it before the process is confined. ERR_UNSUPPORTED for another kind of
 * address, ERR_INVALID_ARGUMENT for an invalid one, others if nobody listens; a program reports it
 * and goes on without.
 */
int notify_new(struct loop *loop, const struct notify_environment *environment,
               struct notify **out_notify, struct err *err);

/* Tries a last time to send what is pending. */
void notify_free(struct notify *notify);

/* Also starts the watchdog messages, if requested: twice within the manager's timeout. */
void notify_ready(struct notify *notify);

/* One line for people: control characters become spaces, secrets are redacted. */
void notify_status(struct notify *notify, struct str text);

void notify_stopping(struct notify *notify);

#endif
