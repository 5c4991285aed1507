/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/router.h"

#include "base/err.h"

enum { ALLOW_BYTES = 128 };

static bool fits(const struct route *route, struct str path)
{
    struct str pattern = route->path;

    if (pattern.len > 0 && pattern.ptr[pattern.len - 1] == '*')
        return str_starts_with(path, str_slice(pattern, 0, pattern.len - 1));
    return str_eq(path, pattern);
}

/* Sets Allow: "GET, HEAD, POST". */
static void answer_methods(struct exchange *exchange, unsigned methods, int status)
{
    char space[ALLOW_BYTES];
    struct http_field allow = {.name = STR("Allow"), .value = {space, 0}};

    for (int i = 0; i < HTTP_METHOD_COUNT; i++) {
        struct str name = http_method_name((enum http_method)i);

        if ((methods & 1U << i) == 0)
            continue;
        if (allow.value.len > 0) {
            memcpy(space + allow.value.len, ", ", 2);
            allow.value.len += 2;
        }
        memcpy(space + allow.value.len, name.ptr, name.len);
        allow.value.len += name.len;
    }
    exchange_answer(exchange,
                    &(struct http_answer){.status = status, .fields = &allow, .field_count = 1});
}

void router_handle(void *data, struct exchange *exchange)
{
    const struct router *router = data;
    const struct http_request *request = exchange_request(exchange);
    enum http_method method =
        request->method == HTTP_METHOD_HEAD ? HTTP_METHOD_GET : request->method;
    unsigned methods = 1U << HTTP_METHOD_OPTIONS;
    bool is_known = str_eq(request->path, STR("*"));
    int r = router->policy != NULL ? origin_check(router->policy, request) : 0;

    if (r < 0) {
        exchange_answer_error(exchange, r);
        return;
    }
    for (size_t i = 0; i < router->count; i++) {
        const struct route *route = &router->routes[i];

        if (!fits(route, request->path))
            continue;
        if (route->method == method && route->takes_head) {
            route->handle(router->data, exchange);
            return;
        }
        if (route->method == method) {
            exchange_collect(exchange, route->max_body_bytes, route->handle, router->data);
            return;
        }
        is_known = true;
        methods |= 1U << route->method;
        if (route->method == HTTP_METHOD_GET)
            methods |= 1U << HTTP_METHOD_HEAD;
    }
    if (router->assets != NULL && assets_has(router->assets, request->path)) {
        if (method == HTTP_METHOD_GET) {
            assets_answer(router->assets, exchange);
            return;
        }
        is_known = true;
        methods |= 1U << HTTP_METHOD_GET | 1U << HTTP_METHOD_HEAD;
    }
    if (!is_known)
        exchange_answer_error(exchange, ERR_NOT_FOUND);
    else
        answer_methods(exchange, methods, method == HTTP_METHOD_OPTIONS ? 204 : 405);
}
