/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the front end: receives and sends frames, and handles its end. The front end is
 * our own program, so a protocol error is a bug and ends the connection.
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
    struct keeper *keeper; /* of the rules that the front end sends */
    atomic_uint *running;  /* see calls.h */
    atomic_uint *changing; /* same */
    /* One socket, duplicated: libuv needs an fd for each direction. */
    int input_fd;
    int output_fd;
    size_t max_request_bytes;
    size_t max_answer_bytes;
    struct str ready; /* body of the first frame */
    /* Called once. 0: the front end has closed the socket; else what was wrong. */
    void (*on_end)(void *data, int error);
    void *data;
};

/* Sends READY and starts to read. */
int host_new(const struct host_config *config, struct host **out_host, struct err *err);

/* Runs the loop, on its own threads, until it is stopped. */
void host_run(struct host *host);

/* Abandons running calls, waiting no longer than the workers' grace period. */
void host_free(struct host *host);

#endif
