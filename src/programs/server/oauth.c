/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/oauth.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/printable.h"
#include "programs/server/board.h"
#include "programs/server/oauth_internal.h"

enum {
    MAX_REDIRECTS = 8,
    MAX_NAME_BYTES = 96,
    AGENT_NAME_BYTES = 34,
    AGENT_HOST_BYTES = 20,
    ID_CHARS = 24,
    TOUCH_MS = 60 * 1000,
    /* An app registers once, so this is for an office behind one address. */
    REGISTRATIONS = 20,
    REGISTRATION_INTERVAL_MS = 60 * 1000,
    /* A client refreshes every quarter of an hour. */
    REFRESHES = 20,
    REFRESH_INTERVAL_MS = 30 * 1000,
};

int oauth_init(struct oauth *oauth)
{
    oauth->registrations = throttle_new(REGISTRATIONS, REGISTRATION_INTERVAL_MS);
    oauth->refreshes = throttle_new(REFRESHES, REFRESH_INTERVAL_MS);
    return oauth->registrations != NULL && oauth->refreshes != NULL ? 0 : ERR_NO_MEMORY;
}

void oauth_done(struct oauth *oauth)
{
    free(oauth->registrations);
    free(oauth->refreshes);
}

/* ---- what the files share ---- */

void oauth_answer_object(struct exchange *exchange, int status, struct json_writer *json,
                         const struct buf *text)
{
    json_end_object(json);
    if (json_writer_finish(json) < 0)
        exchange_answer_error(exchange, ERR_NO_MEMORY);
    else
        answer_json(exchange, status, buf_view(text));
}

void oauth_refuse(struct exchange *exchange, int status, const char *error, const char *words)
{
    cleanup_buf struct buf text = BUF_INIT(OAUTH_ANSWER_BYTES);
    struct json_writer json;

    json_writer_init(&json, &text);
    json_begin_object(&json);
    json_put_str(&json, STR("error"), str_from(error));
    json_put_str(&json, STR("error_description"), str_from(words));
    oauth_answer_object(exchange, status, &json, &text);
}

void oauth_write_scope(struct json_writer *json, unsigned groups)
{
    char scope[128];
    size_t len = 0;

    scope[0] = '\0';
    for (size_t i = 0; i < TOOLSET_GROUP_NAMES; i++)
        if ((groups & toolset_groups[i].bit) != 0)
            len += (size_t)snprintf(scope + len, sizeof(scope) - len, "%s%s", len > 0 ? " " : "",
                                    toolset_groups[i].name);
    json_put_str(json, STR("scope"), str_from(scope));
}

void oauth_base(const struct oauth *oauth, const struct http_request *request,
                char out_url[OAUTH_URL_BYTES])
{
    struct str url = str_from(oauth->url);
    size_t scheme = str_starts_with(url, STR("https://")) ? 8 : 7;

    if (str_eq_nocase(str_slice(url, scheme, url.len), request->host)) {
        snprintf(out_url, OAUTH_URL_BYTES, "%s", oauth->url);
        return;
    }
    snprintf(out_url, OAUTH_URL_BYTES, "http%s://%.*s", oauth->is_tls ? "s" : "",
             STR_ARG(request->host));
}

bool oauth_is_our_resource(const struct oauth *oauth, const struct http_request *request,
                           struct str resource)
{
    char base[OAUTH_URL_BYTES];
    char ours[OAUTH_URL_BYTES + 8];

    if (resource.ptr == NULL)
        return true;
    oauth_base(oauth, request, base);
    snprintf(ours, sizeof(ours), "%s/mcp", base);
    return str_eq_c(resource, ours);
}

void oauth_note(struct oauth *oauth, const struct exchange *exchange, int64_t user,
                const char *client, const char *how, const char *words)
{
    logins_note(oauth->logins, exchange, user,
                (struct serveraudit_note){.operation = AUTHORITY_OP_CONSENT,
                                          .what = str_from(client),
                                          .how = how,
                                          .words = words});
}

/* ---- what there is ---- */

static void put_url(struct json_writer *json, struct str name, const char *base, const char *path)
{
    char url[OAUTH_URL_BYTES + 64];

    snprintf(url, sizeof(url), "%s%s", base, path);
    json_put_str(json, name, str_from(url));
}

static void put_list(struct json_writer *json, struct str name, const char *const *words,
                     size_t count)
{
    json_key(json, name);
    json_begin_array(json);
    for (size_t i = 0; i < count; i++)
        json_write_str(json, str_from(words[i]));
    json_end_array(json);
}

static void put_scopes(struct json_writer *json)
{
    const char *names[TOOLSET_GROUP_NAMES];

    for (size_t i = 0; i < TOOLSET_GROUP_NAMES; i++)
        names[i] = toolset_groups[i].name;
    put_list(json, STR("scopes_supported"), names, TOOLSET_GROUP_NAMES);
}

void oauth_answer_resource(struct oauth *oauth, struct exchange *exchange)
{
    static const char *const methods[] = {"header"};
    cleanup_buf struct buf text = BUF_INIT(OAUTH_ANSWER_BYTES);
    char base[OAUTH_URL_BYTES];
    const char *const servers[] = {base};
    struct json_writer json;

    oauth_base(oauth, exchange_request(exchange), base);
    json_writer_init(&json, &text);
    json_begin_object(&json);
    put_url(&json, STR("resource"), base, "/mcp");
    put_list(&json, STR("authorization_servers"), servers, 1);
    put_list(&json, STR("bearer_methods_supported"), methods, array_size(methods));
    put_scopes(&json);
    json_put_str(&json, STR("resource_name"), STR("Gatehouse"));
    oauth_answer_object(exchange, 200, &json, &text);
}

void oauth_answer_server(struct oauth *oauth, struct exchange *exchange)
{
    static const char *const grants[] = {"authorization_code", "refresh_token"};
    static const char *const responses[] = {"code"};
    static const char *const modes[] = {"query"};
    static const char *const proofs[] = {"S256"};
    static const char *const secrets[] = {"none"};
    cleanup_buf struct buf text = BUF_INIT(OAUTH_ANSWER_BYTES);
    char base[OAUTH_URL_BYTES];
    struct json_writer json;

    oauth_base(oauth, exchange_request(exchange), base);
    json_writer_init(&json, &text);
    json_begin_object(&json);
    put_url(&json, STR("issuer"), base, "");
    put_url(&json, STR("authorization_endpoint"), base, "/oauth/authorize");
    put_url(&json, STR("token_endpoint"), base, "/oauth/token");
    put_url(&json, STR("registration_endpoint"), base, "/oauth/register");
    put_url(&json, STR("revocation_endpoint"), base, "/oauth/revoke");
    put_list(&json, STR("response_types_supported"), responses, 1);
    put_list(&json, STR("response_modes_supported"), modes, 1);
    put_list(&json, STR("grant_types_supported"), grants, array_size(grants));
    put_list(&json, STR("code_challenge_methods_supported"), proofs, 1);
    put_list(&json, STR("token_endpoint_auth_methods_supported"), secrets, 1);
    put_list(&json, STR("revocation_endpoint_auth_methods_supported"), secrets, 1);
    put_scopes(&json);
    json_put_bool(&json, STR("authorization_response_iss_parameter_supported"), true);
    oauth_answer_object(exchange, 200, &json, &text);
}

/* ---- registration ---- */

struct registering {
    struct exchange *exchange;
    struct store_client client;
};

static void write_registered(const struct store_client *client, struct json_writer *json)
{
    static const char *const grants[] = {"authorization_code", "refresh_token"};
    static const char *const responses[] = {"code"};
    struct str rest = str_from(client->redirects);
    struct str uri;

    json_put_str(json, STR("client_id"), str_from(client->id));
    json_put_int(json, STR("client_id_issued_at"), client->created_ms / 1000);
    json_put_str_lossy(json, STR("client_name"), str_from(client->name));
    json_key(json, STR("redirect_uris"));
    json_begin_array(json);
    while (str_cut(&rest, '\n', &uri))
        if (uri.len > 0)
            json_write_str(json, uri);
    json_end_array(json);
    put_list(json, STR("grant_types"), grants, array_size(grants));
    put_list(json, STR("response_types"), responses, 1);
    json_put_str(json, STR("token_endpoint_auth_method"), STR("none"));
}

static void on_registered(void *context, int result)
{
    cleanup_free struct registering *registering = context;
    cleanup_buf struct buf text = BUF_INIT(OAUTH_ANSWER_BYTES);
    struct json_writer json;

    if (result < 0) {
        exchange_answer_error(registering->exchange, result);
        return;
    }
    json_writer_init(&json, &text);
    json_begin_object(&json);
    write_registered(&registering->client, &json);
    oauth_answer_object(registering->exchange, 201, &json, &text);
}

/* Each a line of its own. NULL, or what is wrong. */
static const char *read_redirects(const struct json_value *list, char out[STORE_REDIRECTS_BYTES])
{
    struct oauthwire_redirect redirect;
    size_t count = 0;
    size_t len = 0;

    out[0] = '\0';
    if (list == NULL || list->type != JSON_ARRAY)
        return "redirect_uris must be a list";
    json_each_item (item, list) {
        if (++count > MAX_REDIRECTS)
            return "there are too many redirect_uris";
        if (item->type != JSON_STRING || !oauthwire_read_redirect(json_str(item), &redirect))
            return "a redirect URI is https://, or http:// and localhost, 127.0.0.1 or [::1]; "
                   "without user, fragment and unusual characters";
        len += (size_t)snprintf(out + len, STORE_REDIRECTS_BYTES - len, "%.*s\n",
                                STR_ARG(json_str(item)));
    }
    return count > 0 ? NULL : "redirect_uris is empty";
}

/* A client without a secret can use this method only, whatever it asked for (RFC 7591, 3.2.1). */
static bool wants_code(const struct json_value *body)
{
    const struct json_value *grants = json_get(body, STR("grant_types"));
    bool wants = grants == NULL || grants->type != JSON_ARRAY || json_span(grants) == 1;

    if (!wants)
        json_each_item (item, grants)
            if (item->type == JSON_STRING && str_eq(json_str(item), STR("authorization_code")))
                wants = true;
    return wants;
}

static bool read_client(const struct json_value *body, struct exchange *exchange,
                        struct store_client *out_client)
{
    char name[MAX_NAME_BYTES + PRINTABLE_CUT_BYTES];
    struct str given = STR_EMPTY;
    const char *problem =
        read_redirects(json_get(body, STR("redirect_uris")), out_client->redirects);

    if (problem != NULL) {
        oauth_refuse(exchange, 400, "invalid_redirect_uri", problem);
        return false;
    }
    if (!wants_code(body)) {
        oauth_refuse(exchange, 400, "invalid_client_metadata",
                     "only the grant type authorization_code is supported");
        return false;
    }
    json_get_str(body, STR("client_name"), &given);
    printable_cut(str_trim(given), PRINTABLE_LINE, name, MAX_NAME_BYTES);
    snprintf(out_client->name, sizeof(out_client->name), "%s",
             name[0] != '\0' && !str_eq_nocase(str_from(name), STR(BOARD_PAGE))
                 ? name
                 : "An app without a name");
    return true;
}

static bool may_register(struct oauth *oauth, struct exchange *exchange)
{
    char client[PROXIES_CLIENT_BYTES];
    char space[ADDRESS_IP_BYTES];
    int64_t wait_ms = 0;

    proxies_client(oauth->logins->proxies, exchange, client);
    if (throttle_take(oauth->registrations, proxies_network(client, space),
                      loop_now_ms(oauth->loop), &wait_ms))
        return true;
    exchange_answer_error(exchange, ERR_RATE_LIMITED);
    return false;
}

void oauth_register(struct oauth *oauth, struct exchange *exchange)
{
    cleanup_arena struct arena arena = ARENA_INIT(OAUTH_ARENA_BYTES);
    cleanup_secret struct secret id = SECRET_INIT;
    const struct json_limits limits = {OAUTH_MAX_BODY_BYTES, JSON_DEFAULT_MAX_DEPTH};
    struct store_client client = {.created_ms = loop_wall_ms(oauth->loop)};
    const struct json_value *body = NULL;
    struct registering *registering;

    if (!may_register(oauth, exchange))
        return;
    if (json_parse(&arena, exchange_request(exchange)->body, limits, &body, NULL) < 0 ||
        body->type != JSON_OBJECT) {
        oauth_refuse(exchange, 400, "invalid_client_metadata", "the body must be a JSON object");
        return;
    }
    if (!read_client(body, exchange, &client))
        return;
    registering =
        secret_generate(&id, STR("app_"), ID_CHARS) == 0 ? malloc(sizeof(*registering)) : NULL;
    if (registering == NULL) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    /* No secret: only as unlike another as one. */
    snprintf(client.id, sizeof(client.id), "%.*s", STR_ARG(secret_reveal(&id)));
    *registering = (struct registering){.exchange = exchange, .client = client};
    store_add_client(oauth->store, &registering->client, on_registered, registering);
}

/* ---- agents ---- */

/*
 * With a space in it, which no name of a key has: an app cannot pass itself off as one, nor as the
 * page.
 */
static void name_agent(const struct store_grant *grant, char out_name[STORE_MAX_NAME_BYTES + 1])
{
    char name[AGENT_NAME_BYTES + PRINTABLE_CUT_BYTES];
    char host[AGENT_HOST_BYTES + PRINTABLE_CUT_BYTES];
    struct oauthwire_redirect redirect = {.host = STR_EMPTY};

    (void)oauthwire_read_redirect(str_from(grant->redirect), &redirect);
    printable_cut(str_from(grant->name), PRINTABLE_LINE, name, AGENT_NAME_BYTES);
    printable_cut(redirect.host, PRINTABLE_LINE, host, AGENT_HOST_BYTES);
    snprintf(out_name, STORE_MAX_NAME_BYTES + 1, "%s (%s)", name, host);
}

int oauth_find_agent(struct oauth *oauth, struct str token, struct store_agent *out_agent)
{
    unsigned char digest[SHA256_BYTES];
    int64_t now_ms = loop_wall_ms(oauth->loop);
    struct store_token found;
    int r;

    sha256_of(token, digest);
    r = store_find_token(oauth->store, STORE_ACCESS, digest, now_ms, &found);
    if (r == 0 && found.expires_ms <= now_ms)
        r = ERR_UNAUTHORIZED;
    if (r < 0)
        return r;
    if (now_ms - found.grant.used_ms >= TOUCH_MS)
        store_touch_grant(oauth->store, found.grant.id, now_ms);
    *out_agent = (struct store_agent){.id = -found.grant.id,
                                      .user = found.grant.user,
                                      .groups = found.grant.groups,
                                      .asks = found.grant.asks,
                                      .created_ms = found.grant.created_ms};
    name_agent(&found.grant, out_agent->name);
    snprintf(out_agent->workspace, sizeof(out_agent->workspace), "%s", found.grant.workspace);
    return 0;
}

bool oauth_is_granted(struct oauth *oauth, int64_t agent)
{
    return store_is_granted(oauth->store, -agent, loop_wall_ms(oauth->loop));
}
