/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatches requests to handlers by a table of routes:
 *
 *     static const struct route ROUTES[] = {
 *         {HTTP_METHOD_POST, .path = STR_LITERAL("/mcp"), .max_body_bytes = 4 << 20,
 *          .handle = on_post},
 *         {HTTP_METHOD_GET, .path = STR_LITERAL("/mcp"), .handle = on_listen},
 *     };
 *     struct router router = {.routes = ROUTES, .count = array_size(ROUTES), .data = &app};
 *     config.on_request = router_handle;
 *     config.data = &router;
 *
 * Before it calls the handler, the router checks host and origin, answers requests without a route
 * (404, 405 with Allow, OPTIONS) and collects the body. A path that ends in a star matches
 * everything below it. HEAD goes to the handler of GET.
 */
#ifndef NET_HTTP_ROUTER_H
#define NET_HTTP_ROUTER_H

#include "net/http/assets.h"
#include "net/http/exchange.h"
#include "net/http/origin.h"

struct route {
    enum http_method method;
    bool takes_head; /* called before the body is read: the handler requests it itself */
    struct str path; /* decoded, as http_request.path */
    size_t max_body_bytes;
    exchange_handler *handle;
};

struct router {
    const struct route *routes; /* the first match is used */
    size_t count;
    void *data;                         /* for the handlers */
    const struct origin_policy *policy; /* or NULL: everybody may ask */
    const struct assets *assets;        /* for paths without a route; or NULL */
};

/* An exchange_handler; `data` is a struct router. */
void router_handle(void *data, struct exchange *exchange);

#endif
