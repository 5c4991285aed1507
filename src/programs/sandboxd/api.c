/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/api.h"

#include "base/secret.h"
#include "programs/sandboxd/about.h"
#include "programs/sandboxd/contexts.h"
#include "programs/sandboxd/daytona/git.h"
#include "programs/sandboxd/daytona/routes.h"
#include "programs/sandboxd/daytona/signing.h"
#include "programs/sandboxd/daytona/snapshots.h"
#include "programs/sandboxd/daytona/storage.h"
#include "programs/sandboxd/endpoint.h"
#include "programs/sandboxd/executions.h"
#include "programs/sandboxd/files.h"
#include "programs/sandboxd/imageimport.h"
#include "programs/sandboxd/imagenames.h"
#include "programs/sandboxd/images.h"
#include "programs/sandboxd/previews.h"
#include "programs/sandboxd/sandboxes.h"
#include "programs/sandboxd/tenants.h"

/* clang-format off */
static const struct endpoint endpoints[] = {
    {HTTP_METHOD_GET,    "/healthz", ENDPOINT_EVERYBODY, 0, about_health},
    {HTTP_METHOD_GET,    "/metrics", ENDPOINT_EVERYBODY, 0, about_metrics},
    {HTTP_METHOD_GET,    "/capabilities", ENDPOINT_KEY, 0, about_capabilities},
    {HTTP_METHOD_POST,   "/sandboxes", ENDPOINT_KEY, SANDBOXES_MAX_BODY_BYTES, sandboxes_create},
    {HTTP_METHOD_GET,    "/sandboxes", ENDPOINT_KEY, 0, sandboxes_list},
    {HTTP_METHOD_GET,    "/sandboxes/*", ENDPOINT_KEY, 0, sandboxes_get},
    {HTTP_METHOD_DELETE, "/sandboxes/*", ENDPOINT_KEY, 0, sandboxes_remove},
    {HTTP_METHOD_GET,    "/sandboxes/*/stats", ENDPOINT_KEY, 0, sandboxes_stats},
    {HTTP_METHOD_POST,   "/sandboxes/*/executions", ENDPOINT_KEY, EXECUTIONS_MAX_BODY_BYTES, executions_start},
    {HTTP_METHOD_GET,    "/sandboxes/*/executions", ENDPOINT_KEY, 0, executions_list},
    {HTTP_METHOD_GET,    "/sandboxes/*/executions/*", ENDPOINT_KEY, 0, executions_follow},
    {HTTP_METHOD_DELETE, "/sandboxes/*/executions/*", ENDPOINT_KEY, 0, executions_remove},
    {HTTP_METHOD_POST,   "/sandboxes/*/executions/*/input", ENDPOINT_KEY, EXECUTIONS_MAX_INPUT_BYTES, executions_input},
    {HTTP_METHOD_POST,   "/sandboxes/*/executions/*/resize", ENDPOINT_KEY, EXECUTIONS_MAX_SIZE_BYTES, executions_resize},
    {HTTP_METHOD_POST,   "/sandboxes/*/exec", ENDPOINT_KEY, EXECUTIONS_MAX_BODY_BYTES, executions_start_plain},
    {HTTP_METHOD_PUT,    "/sandboxes/*/files", ENDPOINT_KEY, FILES_MAX_BODY_BYTES, files_write},
    {HTTP_METHOD_POST,   "/sandboxes/*/files", ENDPOINT_KEY, FILES_MAX_BODY_BYTES, files_append},
    {HTTP_METHOD_GET,    "/sandboxes/*/files", ENDPOINT_KEY, 0, files_list},
    {HTTP_METHOD_DELETE, "/sandboxes/*/files", ENDPOINT_KEY, 0, files_remove},
    {HTTP_METHOD_GET,    "/sandboxes/*/files/content", ENDPOINT_KEY, 0, files_read},
    {HTTP_METHOD_POST,   "/sandboxes/*/files/copy", ENDPOINT_KEY, FILES_MAX_REQUEST_BYTES, files_copy},
    {HTTP_METHOD_POST,   "/sandboxes/*/files/move", ENDPOINT_KEY, FILES_MAX_REQUEST_BYTES, files_move},
    {HTTP_METHOD_POST,   "/sandboxes/*/mkdir", ENDPOINT_KEY, FILES_MAX_REQUEST_BYTES, files_mkdir},
    {HTTP_METHOD_GET,    "/sandboxes/*/stat", ENDPOINT_KEY, 0, files_stat},
    {HTTP_METHOD_PUT,    "/contexts/*", ENDPOINT_KEY, CONTEXTS_MAX_BYTES, contexts_put},
    {HTTP_METHOD_POST,   "/images", ENDPOINT_KEY, SANDBOXES_MAX_BODY_BYTES, images_create},
    {HTTP_METHOD_GET,    "/images", ENDPOINT_KEY, 0, images_list},
    {HTTP_METHOD_GET,    "/images/*", ENDPOINT_KEY, 0, images_get},
    {HTTP_METHOD_DELETE, "/images/*", ENDPOINT_KEY, 0, images_remove},
    {HTTP_METHOD_POST,   "/admin/tenants", ENDPOINT_ADMIN, TENANTS_MAX_BODY_BYTES, tenants_create},
    {HTTP_METHOD_GET,    "/admin/tenants", ENDPOINT_ADMIN, 0, tenants_list},
    {HTTP_METHOD_GET,    "/admin/tenants/*", ENDPOINT_ADMIN, 0, tenants_get},
    {HTTP_METHOD_DELETE, "/admin/tenants/*", ENDPOINT_ADMIN, 0, tenants_remove},
    {HTTP_METHOD_GET,    "/admin/tenants/*/keys", ENDPOINT_ADMIN, 0, tenants_list_keys},
    {HTTP_METHOD_POST,   "/admin/tenants/*/keys", ENDPOINT_ADMIN, TENANTS_MAX_BODY_BYTES, tenants_create_key},
    {HTTP_METHOD_DELETE, "/admin/tenants/*/keys/*", ENDPOINT_ADMIN, 0, tenants_remove_key},
    {HTTP_METHOD_POST,   "/admin/images", ENDPOINT_ADMIN, IMAGEIMPORT_MAX_BODY_BYTES, imageimport_create},
    {HTTP_METHOD_PUT,    "/admin/names", ENDPOINT_ADMIN, IMAGENAMES_MAX_BODY_BYTES, imagenames_put},
    {HTTP_METHOD_DELETE, "/admin/names", ENDPOINT_ADMIN, 0, imagenames_remove},
};
/* clang-format on */

static const struct endpoint_table own_endpoints = {endpoints, array_size(endpoints)};

/* All of them; the first match is used. */
static const struct endpoint_table *const tables[] = {
    &own_endpoints,      &daytona_endpoints,   &git_endpoints,
    &previews_endpoints, &snapshots_endpoints, &storage_endpoints,
};

static bool fits(const char *pattern, struct str path, struct str out_ids[CALL_MAX_IDS])
{
    struct str words = str_from(pattern);
    struct str word;
    struct str part;
    size_t ids = 0;

    while (str_cut(&words, '/', &word)) {
        if (str_eq(word, STR("**")))
            return true;
        if (!str_cut(&path, '/', &part))
            return false;
        if (str_eq(word, STR("*")) && part.len > 0)
            out_ids[ids++] = part;
        else if (!str_eq(word, part))
            return false;
    }
    return !str_cut(&path, '/', &part);
}

/* NULL if there is none; then out_is_known tells whether the path has other methods. */
static const struct endpoint *find(const struct http_request *request,
                                   struct str out_ids[CALL_MAX_IDS], bool *out_is_known)
{
    enum http_method method =
        request->method == HTTP_METHOD_HEAD ? HTTP_METHOD_GET : request->method;

    *out_is_known = false;
    for (size_t i = 0; i < array_size(tables); i++)
        for (size_t k = 0; k < tables[i]->count; k++) {
            const struct endpoint *endpoint = &tables[i]->endpoints[k];

            if (!fits(endpoint->path, request->path, out_ids))
                continue;
            if (endpoint->method == method)
                return endpoint;
            *out_is_known = true;
        }
    return NULL;
}

/* "X-Api-Key: KEY", or "Authorization: Bearer KEY" as the clients of Daytona send it. */
static bool find_key(const struct http_request *request, struct str *out_key)
{
    const struct str bearer = STR("Bearer ");
    struct str text;

    if (http_header(request, STR("X-Api-Key"), out_key))
        return out_key->len > 0;
    if (!http_header(request, STR("Authorization"), &text) || text.len <= bearer.len ||
        !str_eq_nocase(str_slice(text, 0, bearer.len), bearer))
        return false;
    *out_key = str_trim(str_slice(text, bearer.len, text.len));
    return out_key->len > 0;
}

/* Whose key it is: the administrator's, or a tenant's. 0 or ERR_UNAUTHORIZED. */
static int find_owner(const struct api *api, struct str key, bool *out_is_admin,
                      char out_owner[SANDBOXSTORE_ID_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;

    *out_is_admin = secret_eq(api->admin_key, key);
    if (*out_is_admin)
        return 0;
    sha256_init(&hash);
    sha256_add(&hash, key);
    sha256_end(&hash, digest);
    return sandboxstore_find_key(api->service->config.store, digest, out_owner);
}

bool api_is_key(void *data, struct str key)
{
    char owner[SANDBOXSTORE_ID_BYTES];
    bool is_admin;

    /* Any error but this one leaves the question open. */
    return key.len > 0 && find_owner(data, key, &is_admin, owner) != ERR_UNAUTHORIZED;
}

/* 0, or ERR_UNAUTHORIZED without a valid key. */
static int check_key(const struct api *api, struct api_call *call)
{
    struct str key;

    return find_key(call->request, &key) ? find_owner(api, key, &call->is_admin, call->owner)
                                         : ERR_UNAUTHORIZED;
}

/* For a WebSocket to a toolbox. */
static int check_ticket(struct api_call *call)
{
    const struct sandbox *sandbox =
        previews_find_toolbox(call->service->previews, call->request, call->ids[0]);

    if (sandbox == NULL)
        return ERR_UNAUTHORIZED;
    memcpy(call->owner, sandbox->record.owner, sizeof(call->owner));
    return 0;
}

/* Checks the request; the endpoint, or NULL after an answer. */
static const struct endpoint *admit(const struct api *api, struct exchange *exchange,
                                    struct api_call *call)
{
    const struct endpoint *endpoint;
    bool is_known;
    int r = api->has_policy ? origin_check(&api->policy, exchange_request(exchange)) : 0;

    *call = (struct api_call){
        .service = api->service, .exchange = exchange, .request = exchange_request(exchange)};
    if (r < 0) {
        call_fail(exchange, err_http_status(r), err_text(r));
        return NULL;
    }
    r = check_key(api, call);
    endpoint = find(call->request, call->ids, &is_known);
    if (r == ERR_UNAUTHORIZED && endpoint != NULL && endpoint->access == ENDPOINT_SOCKET)
        r = check_ticket(call);
    if (r == ERR_UNAUTHORIZED && endpoint != NULL && endpoint->access == ENDPOINT_SIGNED)
        r = signing_check(call, endpoint->method);
    if (r == 0)
        exchange_mark_connection(exchange);
    /* Without a key nobody learns which endpoints there are. */
    if (r < 0 && (endpoint == NULL || endpoint->access != ENDPOINT_EVERYBODY))
        call_fail(exchange, err_http_status(r),
                  r == ERR_UNAUTHORIZED ? "a valid key is required, as X-Api-Key or as Bearer token"
                                        : err_text(r));
    else if (endpoint == NULL && is_known)
        call_fail(exchange, 405, "this endpoint has no such method");
    else if (endpoint == NULL)
        call_fail(exchange, 404, "there is no such endpoint");
    else if (endpoint->access == ENDPOINT_ADMIN && !call->is_admin)
        call_fail(exchange, 403, "only the administrator's key may do this");
    else
        return endpoint;
    return NULL;
}

/* The body is there. The request is checked again rather than kept: the client may have left. */
static void on_body(void *data, struct exchange *exchange)
{
    const struct api *api = data;
    struct api_call call;
    const struct endpoint *endpoint = admit(api, exchange, &call);

    if (endpoint != NULL)
        endpoint->handle(&call);
}

void api_handle(void *data, struct exchange *exchange)
{
    struct api *api = data;
    struct api_call call;
    const struct endpoint *endpoint;

    if (!api->service->is_stopping && previews_take(api->service->previews, exchange)) {
        service_note_request(api->service);
        return;
    }
    endpoint = admit(api, exchange, &call);
    if (endpoint == NULL)
        return;
    /* Whoever watches the service does not need it. */
    if (endpoint->handle != about_metrics && endpoint->handle != about_health)
        service_note_request(api->service);
    if (api->service->is_stopping)
        call_fail(exchange, 503, "the service is stopping");
    else if (call.request->content_length > endpoint->max_body_bytes)
        call_fail(exchange, 413, "the body is too large");
    else if (endpoint->max_body_bytes == ENDPOINT_STREAMED)
        endpoint->handle(&call);
    else
        exchange_collect(exchange, endpoint->max_body_bytes, on_body, api);
}
