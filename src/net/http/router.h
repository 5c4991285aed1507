/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which handler a request is for. Routes are a table:
 *
 *     static const struct route ROUTES[] = {
 *         {HTTP_METHOD_POST, .path = STR_LITERAL("/mcp"), .max_body_bytes = 4 << 20, .handle =
 * on_post}, {HTTP_METHOD_GET, .path = STR_LITERAL("/mcp"), .handle = on_listen},
 *     };
 *     struct router router = {.routes = ROUTES, .count = array_size(ROUTES), .data = &app};
 *     config.on_request = router_handle;
 *     config.data = &router;
 *
 * Before the handler is called, host and origin are checked, what no route fits is answered (404,
 * 405 with Allow, OPTIONS) and the body is collected. A path that ends in a star fits everything
 * below it. HEAD goes to the handler of GET.
 */
#ifndef NET_HTTP_ROUTER_H
#define NET_HTTP_ROUTER_H

#include "net/http/assets.h"
#include "net/http/exchange.h"
#include "net/http/origin.h"

struct route {
    enum http_method method;
    bool takes_head; /* called before the body: the handler asks for it by itself */
    struct str path; /* as http_request.path has it: decoded */
    size_t max_body_bytes;
    exchange_handler *handle;
};

struct router {
    const struct route *routes; /* the first that fits is taken */
    size_t count;
    void *data;                         /* for the handlers */
    const struct origin_policy *policy; /* or NULL: everybody may ask */
    const struct assets *assets;        /* for what no route has; or NULL */
};

/* An exchange_handler; `data` is a struct router. */
void router_handle(void *data, struct exchange *exchange);

#endif
