/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of endpoints: finds the handler of a request, checks its key and the size of its body.
 */
#ifndef PROGRAMS_SANDBOXD_API_H
#define PROGRAMS_SANDBOXD_API_H

#include "net/http/exchange.h"
#include "net/http/origin.h"
#include "programs/sandboxd/service.h"

struct certificate;

struct api {
    struct service *service;
    struct certificate *certificate; /* of connections; not used without TLS */
    const struct secret *admin_key;
    struct origin_policy policy;
    bool has_policy; /* on loopback, or with a public URL: only requests for our own names, and from
                        no page */
};

/* An exchange_handler; `data` is a struct api. */
void api_handle(void *data, struct exchange *exchange);

/* Whether it is a valid key, the administrator's or a tenant's; `data` is a struct api. */
bool api_is_key(void *data, struct str key);

#endif
