/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server serves on its one port: the gateway's endpoints, MCP, logins and health. It owns
 * all of them, and their order at the end.
 */
#ifndef PROGRAMS_SERVER_FRONT_H
#define PROGRAMS_SERVER_FRONT_H

#include "base/log.h"
#include "cli/certificate.h"
#include "gateway/hubhttp.h"
#include "loop/loop.h"
#include "net/address.h"
#include "programs/server/copiesapi.h"
#include "programs/server/hostfsstart.h"
#include "programs/server/proxies.h"
#include "programs/server/workspacestart.h"
#include "session/serveraudit.h"
#include "store/store.h"

struct front;

struct server_front_config {
    struct loop *loop;
    const struct clock *clock; /* the loop's */
    const struct log *log;
    struct store *store;
    struct serveraudit *audit;
    const struct trusted_proxies *proxies;
    struct certificate *certificate; /* or NULL: no TLS */
    const char *public_url;          /* or NULL */
    struct str static_key;
    int64_t static_user;            /* whose machine connects with it */
    struct hostfs_tenants *tenants; /* of host.fs */
    const struct workspace_offer *workspaces;
    struct errand *copies;              /* of copiesapi_start(); or NULL */
    const struct secret *metrics_token; /* NULL: /metrics is for this machine only */
    int64_t timeout_ms;
    void (*on_end)(void *data); /* after front_stop() */
    void *data;
};

/* Takes ownership of the socket, even on failure. The configuration's texts must outlive it. */
int front_new(const struct server_front_config *config, int listen_fd, struct front **out_front,
              struct err *err);
void front_free(struct front *front);

/* "http://127.0.0.1:7654", or the public URL. */
const char *front_url(const struct front *front);
/* "127.0.0.1:7654" */
const char *front_address(const struct front *front);
/* For the owner, to be shown once. */
int front_login_link(struct front *front, struct secret *out_token);
int front_link(struct front *front, struct hub_link *out_link, struct err *err);
bool front_has_machine(struct front *front);

/*
 * Refuses new calls, gives those that machines work on some seconds, finishes answers, saves, and
 * calls on_end. A second call does not wait.
 */
void front_stop(struct front *front);

#endif
