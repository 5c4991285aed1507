/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse status`: asks this user's daemon over its control socket, and prints the answer for a
 * person or, as JSON, for a program. Checks that the daemon is a process of the same user. Servers
 * and sandbox services come after the daemons: see services.h.
 */
#ifndef PROGRAMS_GATEHOUSE_STATUS_H
#define PROGRAMS_GATEHOUSE_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Of the daemon with this port, or of all and of what has the state directory, which may be NULL,
 * if it is 0; as JSON, an object in a line each. ERR_NOT_FOUND, with a message, if none is running.
 */
int status_tell(uint16_t port, const char *state_dir, bool as_json, struct buf *out,
                struct err *err);

/* A running `gatehouse up` of this user. */
struct status_up {
    struct str page; /* "http://127.0.0.1:7654" */
    struct str folder;
    pid_t pid; /* of its daemon, as the next */
    int pidfd; /* -1: the kernel has none */
};

/* Calls `visit` for each, until it returns another number than 0. Returns the last number. */
int status_each_up(int (*visit)(void *data, const struct status_up *up), void *data);

#endif
