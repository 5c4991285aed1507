/* SPDX-License-Identifier: Apache-2.0 */
/* What an app asks its user for, what the user decides on the page, and what was allowed so far. */
#include "programs/server/oauth_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum field {
    FIELD_RESPONSE_TYPE,
    FIELD_CLIENT,
    FIELD_REDIRECT,
    FIELD_STATE,
    FIELD_SCOPE,
    FIELD_CHALLENGE,
    FIELD_METHOD,
    FIELD_RESOURCE,
    FIELDS
};

static const struct str field_names[FIELDS] = {
    [FIELD_RESPONSE_TYPE] = STR_LITERAL("response_type"),
    [FIELD_CLIENT] = STR_LITERAL("client_id"),
    [FIELD_REDIRECT] = STR_LITERAL("redirect_uri"),
    [FIELD_STATE] = STR_LITERAL("state"),
    [FIELD_SCOPE] = STR_LITERAL("scope"),
    [FIELD_CHALLENGE] = STR_LITERAL("code_challenge"),
    [FIELD_METHOD] = STR_LITERAL("code_challenge_method"),
    [FIELD_RESOURCE] = STR_LITERAL("resource"),
};

/* ---- what an app asks for ---- */

struct asked {
    struct store_client client;
    struct str values[FIELDS];
    struct oauthwire_redirect redirect;
    unsigned groups;
    bool can_return;     /* the client and its address are known */
    const char *error;   /* NULL: it is fine */
    const char *message; /* for the user */
};

static bool has_redirect(const struct store_client *client, struct str given)
{
    struct str rest = str_from(client->redirects);
    struct str uri;
    bool has = false;

    while (str_cut(&rest, '\n', &uri))
        has = has || (uri.len > 0 && oauthwire_is_same_redirect(uri, given));
    return has;
}

/* Without a scope, everything; the user narrows it. Unknown words ask for nothing. */
static unsigned read_scope(struct str scope)
{
    unsigned groups = 0;
    struct str word;

    if (scope.len == 0)
        return TOOLSET_ALL_GROUPS;
    while (str_cut(&scope, ' ', &word))
        groups |= toolset_group_bit(word);
    return groups;
}

static void set_error(struct asked *asked, const char *error, const char *message)
{
    asked->error = error;
    asked->message = message;
}

/* Texts stay in the arena. */
static void read_asked(struct oauth *oauth, struct arena *arena, const struct http_request *request,
                       struct str query, struct asked *asked)
{
    const struct str *values = asked->values;

    *asked = (struct asked){.groups = 0};
    if (oauthwire_read_form(arena, query, field_names, FIELDS, asked->values) < 0)
        set_error(asked, "invalid_request", "The app's request cannot be read.");
    else if (values[FIELD_CLIENT].ptr == NULL ||
             store_find_client(oauth->store, values[FIELD_CLIENT], &asked->client) < 0)
        set_error(asked, "invalid_client",
                  "This app is not registered here any more. Connect it again.");
    else if (values[FIELD_REDIRECT].ptr == NULL ||
             !oauthwire_read_redirect(values[FIELD_REDIRECT], &asked->redirect) ||
             !has_redirect(&asked->client, values[FIELD_REDIRECT]))
        set_error(asked, "invalid_redirect_uri",
                  "The app wants to send you to an address that it did not register.");
    else
        asked->can_return = true;
    if (!asked->can_return)
        return;
    asked->groups = read_scope(values[FIELD_SCOPE]);
    if (!str_eq(values[FIELD_RESPONSE_TYPE], STR("code")))
        set_error(asked, "unsupported_response_type", "The app asks in a way we do not support.");
    else if (!str_eq(values[FIELD_METHOD], STR("S256")) ||
             !oauthwire_is_challenge(values[FIELD_CHALLENGE]))
        set_error(asked, "invalid_request", "The app does not protect its request (PKCE, S256).");
    else if (!oauth_is_our_resource(oauth, request, values[FIELD_RESOURCE]))
        set_error(asked, "invalid_target", "The app asks for access to another server.");
    else if (asked->groups == 0)
        set_error(asked, "invalid_scope", "The app asks for nothing that exists here.");
}

/* "https://app/back?code=…&state=…&iss=…" */
static int write_return(const struct oauth *oauth, const struct http_request *request,
                        const struct asked *asked, struct str name, struct str value,
                        struct buf *out)
{
    char base[OAUTH_URL_BYTES];
    struct str uri = asked->values[FIELD_REDIRECT];
    bool has_query = memchr(uri.ptr, '?', uri.len) != NULL;
    size_t mark = uri.len;
    int r = buf_append_str(out, uri);

    oauth_base(oauth, request, base);
    if (r == 0)
        r = oauthwire_append(out, name, value);
    if (r == 0 && asked->values[FIELD_STATE].ptr != NULL)
        r = oauthwire_append(out, STR("state"), asked->values[FIELD_STATE]);
    if (r == 0)
        r = oauthwire_append(out, STR("iss"), str_from(base));
    if (r == 0 && !has_query)
        out->data[mark] = '?';
    return r;
}

void oauth_answer_asked(struct oauth *oauth, struct exchange *exchange)
{
    cleanup_arena struct arena arena = ARENA_INIT(OAUTH_ARENA_BYTES);
    cleanup_buf struct buf text = BUF_INIT(OAUTH_ANSWER_BYTES);
    cleanup_buf struct buf back = BUF_INIT(OAUTH_ANSWER_BYTES);
    const struct http_request *request = exchange_request(exchange);
    struct logins_who who;
    struct asked asked;
    struct json_writer json;
    int r = logins_who(oauth->logins, exchange, &who);

    if (r < 0) {
        exchange_answer_error(exchange, r);
        return;
    }
    read_asked(oauth, &arena, request, request->query, &asked);
    json_writer_init(&json, &text);
    json_begin_object(&json);
    if (asked.can_return) {
        json_put_str_lossy(&json, STR("name"), str_from(asked.client.name));
        json_put_str(&json, STR("host"), asked.redirect.host);
        json_put_bool(&json, STR("isLocal"), asked.redirect.is_loopback);
        toolset_write_groups(&json, STR("groups"), asked.groups);
    }
    if (asked.error != NULL) {
        json_put_str(&json, STR("error"), str_from(asked.error));
        json_put_str(&json, STR("message"), str_from(asked.message));
    }
    if (asked.can_return && asked.error != NULL &&
        write_return(oauth, request, &asked, STR("error"), str_from(asked.error), &back) == 0)
        json_put_str(&json, STR("redirect"), buf_view(&back));
    oauth_answer_object(exchange, 200, &json, &text);
}

/* ---- what the user decides ---- */

struct allowed {
    unsigned groups;
    unsigned asks;        /* those of them that the user is asked about; of a workspace */
    struct str workspace; /* of which provider; empty: the machine */
};

struct deciding {
    struct oauth *oauth;
    struct exchange *exchange;
    struct store_grant grant;
    struct buf redirect; /* with the code */
};

static void free_deciding(struct deciding *deciding)
{
    secret_wipe(deciding->redirect.data, deciding->redirect.len);
    buf_done(&deciding->redirect);
    free(deciding);
}

static void answer_redirect(struct exchange *exchange, struct str redirect)
{
    cleanup_buf struct buf text = BUF_INIT(OAUTH_ANSWER_BYTES);
    struct json_writer json;

    json_writer_init(&json, &text);
    json_begin_object(&json);
    json_put_str(&json, STR("redirect"), redirect);
    oauth_answer_object(exchange, 200, &json, &text);
    secret_wipe(text.data, text.len);
}

static void on_granted(void *context, int result)
{
    struct deciding *deciding = context;

    if (result < 0) {
        exchange_answer_error(deciding->exchange, result);
    } else {
        oauth_note(deciding->oauth, deciding->exchange, deciding->grant.user, deciding->grant.name,
                   "page", "allowed");
        answer_redirect(deciding->exchange, buf_view(&deciding->redirect));
    }
    free_deciding(deciding);
}

static void copy(char *out, size_t size, struct str text)
{
    snprintf(out, size, "%.*s", STR_ARG(text));
}

static void grant(struct oauth *oauth, struct exchange *exchange, int64_t user,
                  const struct allowed *allowed, const struct asked *asked)
{
    cleanup_secret struct secret code = SECRET_INIT;
    struct deciding *deciding = calloc(1, sizeof(*deciding));
    unsigned char digest[SHA256_BYTES];
    int64_t now_ms = loop_wall_ms(oauth->loop);
    int r =
        deciding != NULL ? secret_generate(&code, STR("gac_"), OAUTH_SECRET_CHARS) : ERR_NO_MEMORY;

    if (r == 0) {
        *deciding = (struct deciding){
            .oauth = oauth,
            .exchange = exchange,
            .grant = {.user = user,
                      .groups = allowed->groups,
                      .asks = allowed->asks,
                      .created_ms = now_ms},
            .redirect = BUF_INIT(OAUTH_ANSWER_BYTES),
        };
        copy(deciding->grant.client, sizeof(deciding->grant.client), str_from(asked->client.id));
        copy(deciding->grant.name, sizeof(deciding->grant.name), str_from(asked->client.name));
        copy(deciding->grant.redirect, sizeof(deciding->grant.redirect),
             asked->values[FIELD_REDIRECT]);
        copy(deciding->grant.challenge, sizeof(deciding->grant.challenge),
             asked->values[FIELD_CHALLENGE]);
        copy(deciding->grant.workspace, sizeof(deciding->grant.workspace), allowed->workspace);
        sha256_of(secret_reveal(&code), digest); /* to store that */
        /* The app gets the code itself. */
        r = write_return(oauth, exchange_request(exchange), asked, STR("code"),
                         secret_reveal(&code), &deciding->redirect);
    }
    if (r < 0) {
        if (deciding != NULL)
            free_deciding(deciding);
        exchange_answer_error(exchange, r);
        return;
    }
    store_add_grant(oauth->store, &deciding->grant, digest, now_ms + OAUTH_CODE_MS, on_granted,
                    deciding);
}

static void deny(struct oauth *oauth, struct exchange *exchange, int64_t user,
                 const struct asked *asked)
{
    cleanup_buf struct buf back = BUF_INIT(OAUTH_ANSWER_BYTES);

    oauth_note(oauth, exchange, user, asked->client.name, "page", "denied");
    if (write_return(oauth, exchange_request(exchange), asked, STR("error"), STR("access_denied"),
                     &back) < 0)
        exchange_answer_error(exchange, ERR_NO_MEMORY);
    else
        answer_redirect(exchange, buf_view(&back));
}

/* Names of groups; NULL names none. */
static bool read_groups(const struct json_value *list, unsigned *out_groups)
{
    *out_groups = 0;
    if (list == NULL)
        return true;
    if (list->type != JSON_ARRAY)
        return false;
    json_each_item (item, list) {
        unsigned bit = item->type == JSON_STRING ? read_scope(json_str(item)) : 0;

        if (bit == 0 || json_str(item).len == 0)
            return false;
        *out_groups |= bit;
    }
    return true;
}

static bool read_allowed(const struct json_value *body, struct allowed *out_allowed)
{
    const struct json_value *workspace = json_get(body, STR("workspace"));

    out_allowed->workspace = STR_EMPTY;
    return read_groups(json_get(body, STR("groups")), &out_allowed->groups) &&
           read_groups(json_get(body, STR("asks")), &out_allowed->asks) &&
           (workspace == NULL || json_get_str(body, STR("workspace"), &out_allowed->workspace));
}

/* NULL, or what is wrong with it. */
static const char *check_allowed(const struct oauth *oauth, const struct asked *asked,
                                 const struct allowed *allowed)
{
    unsigned offered = asked->groups;
    char provider[STORE_WORKSPACE_BYTES];

    if (allowed->workspace.len > 0) {
        copy(provider, sizeof(provider), allowed->workspace);
        if (!str_eq_c(allowed->workspace, provider) ||
            !conversations_has(oauth->conversations, provider))
            return "The server offers no such workspace.";
        offered &= TOOLSET_FILES | TOOLSET_GROUP(CATALOG_SHELL);
    }
    if (allowed->groups == 0 || (allowed->groups & ~offered) != 0)
        return "Choose what the app may use.";
    if (allowed->asks != 0 &&
        (allowed->workspace.len == 0 || (allowed->asks & ~allowed->groups) != 0))
        return "Only tools of a workspace that the app may use can need permission.";
    return NULL;
}

void oauth_decide(struct oauth *oauth, struct exchange *exchange)
{
    cleanup_arena struct arena arena = ARENA_INIT(OAUTH_ARENA_BYTES);
    const struct json_limits limits = {OAUTH_MAX_BODY_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct http_request *request = exchange_request(exchange);
    const struct json_value *body = NULL;
    struct logins_who who;
    struct asked asked;
    struct str query;
    struct allowed allowed = {.workspace = STR_EMPTY};
    bool is_allowed = false;
    const char *problem;
    int r = logins_who(oauth->logins, exchange, &who);

    if (r < 0) {
        exchange_answer_error(exchange, r);
        return;
    }
    if (json_parse(&arena, request->body, limits, &body, NULL) < 0 ||
        !json_get_str(body, STR("query"), &query) ||
        !json_get_bool(body, STR("allow"), &is_allowed)) {
        exchange_answer_error(exchange, ERR_INVALID_REQUEST);
        return;
    }
    read_asked(oauth, &arena, request, query, &asked);
    problem = read_allowed(body, &allowed) ? check_allowed(oauth, &asked, &allowed)
                                           : "Choose what the app may use.";
    if (asked.error != NULL)
        oauth_refuse(exchange, 400, asked.error, asked.message);
    else if (!is_allowed)
        deny(oauth, exchange, who.user, &asked);
    else if (problem != NULL)
        oauth_refuse(exchange, 400, "invalid_scope", problem);
    else
        grant(oauth, exchange, who.user, &allowed, &asked);
}

/* ---- what was allowed ---- */

static void write_consent(void *data, const struct store_grant *grant)
{
    struct oauthwire_redirect redirect = {.host = STR_EMPTY};
    struct json_writer *json = data;
    char id[32];

    (void)oauthwire_read_redirect(str_from(grant->redirect), &redirect);
    snprintf(id, sizeof(id), "%lld", (long long)grant->id);
    json_begin_object(json);
    json_put_str(json, STR("id"), str_from(id));
    json_put_str_lossy(json, STR("name"), str_from(grant->name));
    json_put_str(json, STR("host"), redirect.host);
    json_put_int(json, STR("createdAt"), grant->created_ms);
    json_put_int(json, STR("usedAt"), grant->used_ms);
    toolset_write_groups(json, STR("groups"), grant->groups);
    json_put_str(json, STR("workspace"), str_from(grant->workspace));
    toolset_write_groups(json, STR("asks"), grant->asks);
    json_end_object(json);
}

void oauth_answer_consents(struct oauth *oauth, struct exchange *exchange)
{
    cleanup_buf struct buf text = BUF_INIT(OAUTH_ANSWER_BYTES);
    struct json_writer json;
    struct logins_who who;
    int r = logins_who(oauth->logins, exchange, &who);

    if (r == 0) {
        json_writer_init(&json, &text);
        json_begin_object(&json);
        json_key(&json, STR("consents"));
        json_begin_array(&json);
        r = store_each_grant(oauth->store, who.user, loop_wall_ms(oauth->loop), write_consent,
                             &json);
        json_end_array(&json);
    }
    if (r < 0)
        exchange_answer_error(exchange, r);
    else
        oauth_answer_object(exchange, 200, &json, &text);
}

struct ending {
    struct oauth *oauth;
    struct exchange *exchange;
    int64_t user;
    char name[STORE_CLIENT_NAME_BYTES];
    int64_t id;
};

static void on_ended(void *context, int result)
{
    cleanup_free struct ending *ending = context;

    if (result < 0) {
        exchange_answer_error(ending->exchange, result);
        return;
    }
    oauth_note(ending->oauth, ending->exchange, ending->user, ending->name, "page", "revoked");
    ending->oauth->revoked(ending->oauth->data);
    answer_json(ending->exchange, 200, STR("{\"ok\":true}"));
}

static void find_name(void *data, const struct store_grant *grant)
{
    struct ending *ending = data;

    if (grant->id == ending->id)
        copy(ending->name, sizeof(ending->name), str_from(grant->name));
}

void oauth_end_consent(struct oauth *oauth, struct exchange *exchange)
{
    struct str path = exchange_request(exchange)->path;
    struct str id = str_slice(path, sizeof(OAUTH_CONSENTS) - 1, path.len);
    struct ending *ending = calloc(1, sizeof(*ending));
    struct logins_who who;
    int r = ending != NULL ? logins_who(oauth->logins, exchange, &who) : ERR_NO_MEMORY;

    if (r == 0 && (!str_to_int64(id, &ending->id) || ending->id <= 0))
        r = ERR_NOT_FOUND;
    if (r < 0) {
        free(ending);
        exchange_answer_error(exchange, r);
        return;
    }
    ending->oauth = oauth;
    ending->exchange = exchange;
    ending->user = who.user;
    (void)store_each_grant(oauth->store, who.user, loop_wall_ms(oauth->loop), find_name, ending);
    store_end_grant(oauth->store, who.user, ending->id, on_ended, ending);
}
