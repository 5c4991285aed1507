/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MCP server of one connection on two descriptors: lines in, lines out,
 * work in workers. What the work is comes from the toolbox.
 */
#ifndef MCPHOST_STDIOFRONT_H
#define MCPHOST_STDIOFRONT_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "tools/toolbox.h"

struct stdiofront;

struct stdiofront_config {
    struct loop *loop;
    const struct log *log;
    struct toolbox *box;
    struct authority_scope *names; /* both for watching what is subscribed to */
    struct authority_scope *files;
    atomic_uint *running;  /* jobs in a worker's hands; both outlive everything */
    atomic_uint *changing; /* those of them that change something */
    int input_fd;
    int output_fd;
    int64_t timeout_ms;              /* of one call */
    uint64_t max_file_bytes;         /* decides how long a message may be */
    void (*on_answered)(void *data); /* each time a call has ended */
    /* Once: the input has ended or the output is gone, and nothing is left to do. */
    void (*on_end)(void *data);
    void *data;
};

int stdiofront_new(const struct stdiofront_config *config, struct stdiofront **out_front,
                   struct err *err);

/* Runs the loop, on threads of its own, until it is stopped. */
void stdiofront_run(struct stdiofront *front);

/* Takes no more; what is under way is given up, except for what has begun to change something. */
void stdiofront_stop(struct stdiofront *front);

/* Afterwards a job that still runs hangs: what it uses must not be freed. */
void stdiofront_free(struct stdiofront *front);

#endif
