/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection of gatehouse-hostfs to its server: frames in, work for the threads, frames out. A
 * server that does not read its answers is not read from either.
 */
#ifndef PROGRAMS_HOSTFS_HOST_H
#define PROGRAMS_HOSTFS_HOST_H

#include <stdatomic.h>

#include "base/log.h"
#include "hostfs/service.h"
#include "loop/loop.h"

struct host;

struct hostfs_host_config {
    struct loop *loop;
    const struct log *log;
    const struct hostfs *hostfs;
    /* Threads inside a request, and inside one that may change something; may outlast the host. */
    atomic_uint *running;
    atomic_uint *changing;
    int input_fd;
    int output_fd;
    void (*on_answered)(void *data);
    void (*on_end)(void *data, int error); /* of the connection */
    void *data;
};

int host_new(const struct hostfs_host_config *config, struct host **out_host);
/* Runs the loop on a thread of the pool. */
void host_run(struct host *host);
void host_free(struct host *host);
/* Every request has its answer, and the server has them all. */
bool host_is_idle(const struct host *host);

#endif
