/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side of one gatehouse-hostfs: requests of clients go out, answers come back. */
#ifndef PROGRAMS_SERVER_HOSTFSLINK_H
#define PROGRAMS_SERVER_HOSTFSLINK_H

#include "base/log.h"
#include "hostfs/wire.h"
#include "loop/loop.h"
#include "net/http/exchange.h"

enum { HOSTFSLINK_MAX_ASKED = 256 }; /* requests without an answer */

struct hostfslink;

struct hostfslink_config {
    struct loop *loop;
    const struct log *log;
    uint64_t max_file_bytes;
    /* The process has ended, and what waited for it was answered. Reopen it later, not here. */
    void (*on_lost)(void *data);
    void *data;
};

/* To a process that is ready. Takes ownership of the socket, even on failure. */
int hostfslink_new(const struct hostfslink_config *config, int fd, struct hostfslink **out_link);
/* To another one, which says when it is ready; until then requests are refused. The same. */
int hostfslink_reopen(struct hostfslink *link, int fd);
/* Answers what waits with ERR_BUSY; before the HTTP server is freed. */
void hostfslink_free(struct hostfslink *link);

/*
 * Passes the request on; the exchange is answered when its answer comes. ERR_BUSY if too much
 * waits, ERR_WORKERS_LOST if the process is gone: the exchange is then still the caller's.
 */
int hostfslink_ask(struct hostfslink *link, const struct hostfs_request *request,
                   struct exchange *exchange);

void hostfslink_answer_error(struct exchange *exchange, enum hostfs_major major,
                             const struct err *err);

#endif
