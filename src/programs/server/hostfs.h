/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.fs of OpenWOP on the server's port: the documents, who asks and for which files. The work is
 * done by a confined process for each tenant.
 */
#ifndef PROGRAMS_SERVER_HOSTFS_H
#define PROGRAMS_SERVER_HOSTFS_H

#include "base/log.h"
#include "loop/loop.h"
#include "net/http/exchange.h"
#include "programs/server/hostfsstart.h"
#include "store/store.h"

#define HOSTFS_DISCOVERY_PATH "/.well-known/openwop"
#define HOSTFS_OPENAPI_PATH   "/v1/openapi.json"
#define HOSTFS_PREFIX         "/v1/host/sample/fs/"
#define HOSTFS_SEAM_PREFIX    "/conformance/seams/sample/fs/" /* of the second major */
#define HOSTFS_RUNS_PATH      "/runs"
#define HOSTFS_RUNS_PREFIX    "/runs/"

struct hostfsapi;
struct oauth;

struct hostfsapi_config {
    struct loop *loop;
    const struct log *log;
    struct store *store;
    struct oauth *oauth;
    struct hostfs_tenants *tenants; /* its sockets are taken; must outlive this */
    /* Somebody shows a key that nobody has: false after it answered that this is too much. */
    bool (*admit)(void *data, struct exchange *exchange, bool is_known);
    void *data;
};

int hostfsapi_new(const struct hostfsapi_config *config, struct hostfsapi **out_api);
/* Answers what waits; before the HTTP server is freed. */
void hostfsapi_free(struct hostfsapi *api);

/* An exchange_handler for the paths above, called before the body is read; `data` is this. */
void hostfsapi_handle(void *data, struct exchange *exchange);

#endif
