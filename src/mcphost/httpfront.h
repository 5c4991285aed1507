/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same tools for agents of this machine that come by HTTP: any number of
 * them, each with the key that was printed at the start. Work is done as for
 * the one client on standard input; what they change is one session's.
 */
#ifndef MCPHOST_HTTPFRONT_H
#define MCPHOST_HTTPFRONT_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "loop/loop.h"
#include "tools/toolbox.h"

struct httpfront;

struct httpfront_config {
    struct loop *loop;
    const struct log *log;
    struct toolbox *box;
    struct authority_scope *names; /* both for watching what is subscribed to */
    struct authority_scope *files;
    atomic_uint *running;  /* jobs in a worker's hands; both outlive everything */
    atomic_uint *changing; /* those of them that change something */
    int listen_fd;         /* a socket that listens on loopback; taken, also on failure */
    const struct secret *key;
    int64_t timeout_ms;              /* of one call */
    uint64_t max_file_bytes;         /* decides how long a message may be */
    void (*on_answered)(void *data); /* each time a call has ended */
    /* Once, after httpfront_stop(): nothing is left to do. */
    void (*on_end)(void *data);
    void *data;
};

int httpfront_new(const struct httpfront_config *config, struct httpfront **out_front,
                  struct err *err);

/* Runs the loop, on threads of its own, until it is stopped. */
void httpfront_run(struct httpfront *front);

/* Accepts nobody any more and gives up what is under way, but for what has begun a change. */
void httpfront_stop(struct httpfront *front);

/* Afterwards a job that still runs hangs: what it uses must not be freed. */
void httpfront_free(struct httpfront *front);

#endif
