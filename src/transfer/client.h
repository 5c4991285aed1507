/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks gatehouse-transfer, which talks to a server in a process of its own for each request
 * (isolate/errand.h).
 */
#ifndef TRANSFER_CLIENT_H
#define TRANSFER_CLIENT_H

#include "base/cancel.h"
#include "transfer/wire.h"

struct transfer_client;

struct transfer_config {
    const char *libexec; /* as in isolate/companion.h */
    int error_fd;
    const char *const *hosts; /* that may be asked, like sftp://files.example:2222 */
    size_t host_count;        /* at most TRANSFER_MAX_HOSTS */
    const char *known_hosts;  /* file; or NULL: then no server of SSH is known */
    const char *credentials;  /* file; or NULL */
    const char *tenant;       /* whose credentials; NULL: the owner's */
};

/* Call it before there are threads, and before confining. The strings must outlive the call. */
int transfer_client_start(const struct transfer_config *config, struct transfer_client **out_client,
                          struct err *err);
/* No thread may be asking. */
void transfer_client_free(struct transfer_client *client);
/* As errand_is_lost(). */
bool transfer_client_is_lost(const struct transfer_client *client);

/*
 * Blocks until there is an answer; threads take turns, and ERR_BUSY if many wait. The outputs of
 * the answer are views of `space`. ERR_SERVER_DENIED: the operator did not allow this server.
 * ERR_ACCESS_MISSING: there is no such credential for it. ERR_UNSUPPORTED: the library is not
 * installed.
 */
int transfer_ask(struct transfer_client *client, const struct transfer_request *request,
                 const struct cancel *cancel, struct buf *space, struct transfer_answer *out_answer,
                 struct err *err);

/* Whether a protocol works on this machine. */
bool transfer_probe(struct transfer_client *client, enum transfer_protocol protocol);

#endif
