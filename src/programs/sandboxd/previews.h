/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Previews: URLs that lead to a port of a running sandbox, for HTTP and WebSocket.
 *
 *     http://SERVICE/preview/PORT-SANDBOX/…   with the sandbox's ticket, unless it is public
 *     http://SERVICE/preview/PORT-TICKET/…    signed, for a time
 *     http://PORT-SANDBOX.DOMAIN/…            the same, if the operator has a domain for them
 *     http://PORT-TICKET.DOMAIN/…
 *
 * A preview neither wakes its sandbox nor keeps it from being stopped. Who has no right learns
 * nothing: without a valid ticket the answer is 401, whether the sandbox exists or not.
 */
#ifndef PROGRAMS_SANDBOXD_PREVIEWS_H
#define PROGRAMS_SANDBOXD_PREVIEWS_H

#include "net/http/origin.h"
#include "programs/sandboxd/endpoint.h"
#include "programs/sandboxd/proxy.h"
#include "programs/sandboxd/tickets.h"

enum {
    PREVIEWS_SIGNED_S = 60, /* how long a signed URL is valid if nobody says */
    PREVIEWS_MOST_S = 24 * 3600,
    PREVIEWS_MOST_REVOKED = 4096,
    /* Clients ask for the ticket of this port when they want one for a WebSocket to the toolbox. It
     * opens no other port, and no ticket of a port opens the toolbox. */
    PREVIEWS_TOOLBOX_PORT = 1,
};

struct previews_config {
    struct service *service;
    struct str admin_key;
    /* "http://preview.example:8080": names below it are previews; empty: paths are. */
    struct str url;
    /* Of requests by path; or NULL. */
    const struct origin_policy *policy;
    /* Whether it is a key of the service, which no sandbox may see. */
    bool (*is_key)(void *data, struct str key);
    void *data;
};

struct previews {
    struct previews_config config;
    struct str scheme; /* of the URL, with its slashes */
    struct str host;   /* the rest of it */
    struct tickets tickets;
    struct proxies proxies;
    struct list revoked;
    size_t revoked_count;
};

/* Whether it is "http://HOST" or "https://HOST", maybe with a port. */
bool previews_is_url(struct str url);

int previews_new(const struct previews_config *config, struct previews **out_previews);
/* After the loop, which closes its connections. */
void previews_free(struct previews *previews);

/* Whether the request is for a preview: then it is answered, maybe later. */
bool previews_take(struct previews *previews, struct exchange *exchange);

/* The sandbox with that id, if the request is for a WebSocket and shows the ticket of its toolbox.
 */
struct sandbox *previews_find_toolbox(const struct previews *previews,
                                      const struct http_request *request, struct str id);

/* What of a request's target may be logged: it ends before a ticket or a signature. */
struct str previews_shown(struct str target);

/* Below /api/sandbox/ID/ports/PORT: what tells the URLs. */
extern const struct endpoint_table previews_endpoints;

#endif
