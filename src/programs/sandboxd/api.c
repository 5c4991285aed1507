/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/api.h"

#include "base/secret.h"
#include "programs/sandboxd/about.h"
#include "programs/sandboxd/contexts.h"
#include "programs/sandboxd/executions.h"
#include "programs/sandboxd/files.h"
#include "programs/sandboxd/images.h"
#include "programs/sandboxd/sandboxes.h"
#include "programs/sandboxd/tenants.h"

enum access { EVERYBODY, KEY, ADMIN };

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of the table's columns */
struct endpoint {
    enum http_method method;
    const char *path; /* "*" is an id */
    enum access access;
    size_t max_body_bytes;
    void (*handle)(const struct call *call);
};

/* clang-format off */
static const struct endpoint endpoints[] = {
    {HTTP_METHOD_GET,    "/healthz", EVERYBODY, 0, about_health},
    {HTTP_METHOD_GET,    "/metrics", EVERYBODY, 0, about_metrics},
    {HTTP_METHOD_GET,    "/capabilities", KEY, 0, about_capabilities},
    {HTTP_METHOD_POST,   "/sandboxes", KEY, SANDBOXES_MAX_BODY_BYTES, sandboxes_create},
    {HTTP_METHOD_GET,    "/sandboxes", KEY, 0, sandboxes_list},
    {HTTP_METHOD_GET,    "/sandboxes/*", KEY, 0, sandboxes_get},
    {HTTP_METHOD_DELETE, "/sandboxes/*", KEY, 0, sandboxes_remove},
    {HTTP_METHOD_GET,    "/sandboxes/*/stats", KEY, 0, sandboxes_stats},
    {HTTP_METHOD_POST,   "/sandboxes/*/executions", KEY, EXECUTIONS_MAX_BODY_BYTES, executions_start},
    {HTTP_METHOD_GET,    "/sandboxes/*/executions", KEY, 0, executions_list},
    {HTTP_METHOD_GET,    "/sandboxes/*/executions/*", KEY, 0, executions_follow},
    {HTTP_METHOD_DELETE, "/sandboxes/*/executions/*", KEY, 0, executions_remove},
    {HTTP_METHOD_POST,   "/sandboxes/*/executions/*/input", KEY, EXECUTIONS_MAX_INPUT_BYTES, executions_input},
    {HTTP_METHOD_POST,   "/sandboxes/*/executions/*/resize", KEY, EXECUTIONS_MAX_SIZE_BYTES, executions_resize},
    {HTTP_METHOD_POST,   "/sandboxes/*/exec", KEY, EXECUTIONS_MAX_BODY_BYTES, executions_start_plain},
    {HTTP_METHOD_PUT,    "/sandboxes/*/files", KEY, FILES_MAX_BODY_BYTES, files_write},
    {HTTP_METHOD_POST,   "/sandboxes/*/files", KEY, FILES_MAX_BODY_BYTES, files_append},
    {HTTP_METHOD_GET,    "/sandboxes/*/files", KEY, 0, files_list},
    {HTTP_METHOD_DELETE, "/sandboxes/*/files", KEY, 0, files_remove},
    {HTTP_METHOD_GET,    "/sandboxes/*/files/content", KEY, 0, files_read},
    {HTTP_METHOD_POST,   "/sandboxes/*/files/copy", KEY, FILES_MAX_REQUEST_BYTES, files_copy},
    {HTTP_METHOD_POST,   "/sandboxes/*/files/move", KEY, FILES_MAX_REQUEST_BYTES, files_move},
    {HTTP_METHOD_POST,   "/sandboxes/*/mkdir", KEY, FILES_MAX_REQUEST_BYTES, files_mkdir},
    {HTTP_METHOD_GET,    "/sandboxes/*/stat", KEY, 0, files_stat},
    {HTTP_METHOD_PUT,    "/contexts/*", KEY, CONTEXTS_MAX_BYTES, contexts_put},
    {HTTP_METHOD_GET,    "/images", KEY, 0, images_list},
    {HTTP_METHOD_GET,    "/images/*", KEY, 0, images_get},
    {HTTP_METHOD_DELETE, "/images/*", KEY, 0, images_remove},
    {HTTP_METHOD_POST,   "/admin/tenants", ADMIN, TENANTS_MAX_BODY_BYTES, tenants_create},
    {HTTP_METHOD_GET,    "/admin/tenants", ADMIN, 0, tenants_list},
    {HTTP_METHOD_GET,    "/admin/tenants/*", ADMIN, 0, tenants_get},
    {HTTP_METHOD_DELETE, "/admin/tenants/*", ADMIN, 0, tenants_remove},
    {HTTP_METHOD_GET,    "/admin/tenants/*/keys", ADMIN, 0, tenants_list_keys},
    {HTTP_METHOD_POST,   "/admin/tenants/*/keys", ADMIN, TENANTS_MAX_BODY_BYTES, tenants_create_key},
    {HTTP_METHOD_DELETE, "/admin/tenants/*/keys/*", ADMIN, 0, tenants_remove_key},
};
/* clang-format on */

static bool fits(const char *pattern, struct str path, struct str out_ids[CALL_MAX_IDS])
{
    struct str words = str_from(pattern);
    struct str word;
    struct str part;
    size_t ids = 0;

    while (str_cut(&words, '/', &word)) {
        if (!str_cut(&path, '/', &part))
            return false;
        if (str_eq(word, STR("*")) && part.len > 0)
            out_ids[ids++] = part;
        else if (!str_eq(word, part))
            return false;
    }
    return !str_cut(&path, '/', &part);
}

/* NULL after an answer: 404 or 405. */
static const struct endpoint *find(struct exchange *exchange, struct str out_ids[CALL_MAX_IDS])
{
    const struct http_request *request = exchange_request(exchange);
    enum http_method method =
        request->method == HTTP_METHOD_HEAD ? HTTP_METHOD_GET : request->method;
    bool is_known = false;

    for (size_t i = 0; i < array_size(endpoints); i++) {
        if (!fits(endpoints[i].path, request->path, out_ids))
            continue;
        if (endpoints[i].method == method)
            return &endpoints[i];
        is_known = true;
    }
    if (is_known)
        call_fail(exchange, 405, "this endpoint has no such method");
    else
        call_fail(exchange, 404, "there is no such endpoint");
    return NULL;
}

/* 0, or ERR_UNAUTHORIZED without a valid key. */
static int check_key(const struct api *api, struct call *call)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    struct str key;

    if (!http_header(call->request, STR("X-Api-Key"), &key) || key.len == 0)
        return ERR_UNAUTHORIZED;
    if (secret_eq(api->admin_key, key)) {
        call->is_admin = true;
        return 0;
    }
    sha256_init(&hash);
    sha256_add(&hash, key);
    sha256_end(&hash, digest);
    return sandboxstore_find_key(api->service->config.store, digest, call->owner);
}

/* Checks the request; the endpoint, or NULL after an answer. */
static const struct endpoint *admit(const struct api *api, struct exchange *exchange,
                                    struct call *call)
{
    const struct endpoint *endpoint;
    int r = api->has_policy ? origin_check(&api->policy, exchange_request(exchange)) : 0;

    *call = (struct call){
        .service = api->service, .exchange = exchange, .request = exchange_request(exchange)};
    if (r < 0) {
        call_fail(exchange, err_http_status(r), err_text(r));
        return NULL;
    }
    r = check_key(api, call);
    if (r == 0)
        exchange_mark_connection(exchange);
    /* Without a key nobody learns which endpoints there are. */
    if (r < 0 && !str_eq(call->request->path, STR("/healthz")) &&
        !str_eq(call->request->path, STR("/metrics"))) {
        call_fail(exchange, err_http_status(r),
                  r == ERR_UNAUTHORIZED ? "a valid X-Api-Key is required" : err_text(r));
        return NULL;
    }
    endpoint = find(exchange, call->ids);
    if (endpoint != NULL && endpoint->access == ADMIN && !call->is_admin) {
        call_fail(exchange, 403, "only the administrator's key may do this");
        return NULL;
    }
    return endpoint;
}

/* The body is there. The request is checked again rather than kept: the client may have left. */
static void on_body(void *data, struct exchange *exchange)
{
    const struct api *api = data;
    struct call call;
    const struct endpoint *endpoint = admit(api, exchange, &call);

    if (endpoint != NULL)
        endpoint->handle(&call);
}

void api_handle(void *data, struct exchange *exchange)
{
    struct api *api = data;
    struct call call;
    const struct endpoint *endpoint = admit(api, exchange, &call);

    if (endpoint == NULL)
        return;
    service_note_request(api->service);
    if (api->service->is_stopping)
        call_fail(exchange, 503, "the service is stopping");
    else if (call.request->content_length > endpoint->max_body_bytes)
        call_fail(exchange, 413, "the body is too large");
    else
        exchange_collect(exchange, endpoint->max_body_bytes, on_body, api);
}
