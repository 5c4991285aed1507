/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves one request to a port of a sandbox and its answer back, or the bytes of a WebSocket both
 * ways. Each request has a connection of its own, which is opened inside the sandbox: it reaches
 * what listens there and nothing else. What passes of the heads is for forward.h to say, and who
 * may ask for previews.h.
 *
 * Neither side's bytes are kept beyond a limit: who does not read makes the other wait.
 */
#ifndef PROGRAMS_SANDBOXD_PROXY_H
#define PROGRAMS_SANDBOXD_PROXY_H

#include "net/conn.h"
#include "net/http/exchange.h"
#include "programs/sandboxd/forward.h"
#include "programs/sandboxd/service.h"

enum {
    PROXY_MOST = 1024,           /* at a time */
    PROXY_MOST_OF_SANDBOX = 128, /* of them */
};

struct proxies {
    struct loop *loop;
    struct conn_space *space;
    struct list list;
    size_t count;
    /* Answers in the form of the API. */
    void (*refuse)(struct exchange *exchange, int status, const char *text);
};

int proxies_init(struct proxies *proxies, struct loop *loop,
                 void (*refuse)(struct exchange *exchange, int status, const char *text));
/* After the loop: only those are left that the sandboxes never answered. */
void proxies_done(struct proxies *proxies);

/* Answers the request, later. The sandbox runs. The plan's texts are copied; its data must stay. */
void proxy_start(struct proxies *proxies, struct exchange *exchange, struct sandbox *sandbox,
                 const struct forward_plan *plan);

#endif
