/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the front: frames in, frames out, and its end. The front is
 * our own program, so whatever does not fit the wire means that something is
 * very wrong, and ends it.
 */
#ifndef PROGRAMS_TOOLHOST_HOST_H
#define PROGRAMS_TOOLHOST_HOST_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "files/toolbox.h"
#include "loop/loop.h"
#include "permission/rules/keeper.h"

struct host;

struct host_config {
    struct loop *loop;
    const struct log *log;
    struct toolbox *box;
    struct keeper *keeper; /* of the rules that the front tells */
    atomic_uint *running;  /* see calls.h */
    atomic_uint *changing; /* the same */
    /* One socket, opened twice: libuv wants a descriptor for each direction. */
    int input_fd;
    int output_fd;
    size_t max_request_bytes;
    size_t max_answer_bytes;
    struct str ready; /* the body of the first frame */
    /* Once. 0: the front has closed the socket; else what was wrong with it. */
    void (*on_end)(void *data, int error);
    void *data;
};

/* Sends READY and begins to read. */
int host_new(const struct host_config *config, struct host **out_host, struct err *err);

/* Runs the loop, on threads of its own, until it is stopped. */
void host_run(struct host *host);

/* Gives up what is under way, waiting no longer than the workers' grace. */
void host_free(struct host *host);

#endif
