/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: given for a code or a refresh token, each of which works once, and revoked. */
#include "programs/server/oauth_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum field {
    FIELD_GRANT_TYPE,
    FIELD_CLIENT,
    FIELD_CODE,
    FIELD_REDIRECT,
    FIELD_VERIFIER,
    FIELD_REFRESH,
    FIELD_RESOURCE,
    FIELD_SCOPE,
    FIELD_TOKEN,
    FIELDS
};

static const struct str field_names[FIELDS] = {
    [FIELD_GRANT_TYPE] = STR_LITERAL("grant_type"),
    [FIELD_CLIENT] = STR_LITERAL("client_id"),
    [FIELD_CODE] = STR_LITERAL("code"),
    [FIELD_REDIRECT] = STR_LITERAL("redirect_uri"),
    [FIELD_VERIFIER] = STR_LITERAL("code_verifier"),
    [FIELD_REFRESH] = STR_LITERAL("refresh_token"),
    [FIELD_RESOURCE] = STR_LITERAL("resource"),
    [FIELD_SCOPE] = STR_LITERAL("scope"),
    [FIELD_TOKEN] = STR_LITERAL("token"),
};

/* ---- what comes ---- */

/* False after an answer. */
static bool read_fields(struct arena *arena, struct exchange *exchange, struct str *out_values)
{
    const struct http_request *request = exchange_request(exchange);
    struct str type = STR_EMPTY;
    struct str first;

    http_header(request, STR("Content-Type"), &type);
    (void)str_cut(&type, ';', &first);
    if (!str_eq_nocase(str_trim(first), STR("application/x-www-form-urlencoded")) ||
        oauthwire_read_form(arena, request->body, field_names, FIELDS, out_values) < 0) {
        oauth_refuse(exchange, 400, "invalid_request",
                     "the body must be a form, with each field once");
        return false;
    }
    return true;
}

/* False after an answer. */
static bool check_client(struct oauth *oauth, struct exchange *exchange, struct str id)
{
    struct store_client client;
    int r = id.ptr != NULL ? store_find_client(oauth->store, id, &client) : ERR_NOT_FOUND;

    if (r == 0)
        return true;
    if (r == ERR_NOT_FOUND)
        oauth_refuse(exchange, 401, "invalid_client", "this client is not registered here");
    else
        exchange_answer_error(exchange, r);
    return false;
}

static void refuse_grant(struct exchange *exchange)
{
    /* The same words for every reason: who guesses learns nothing. */
    oauth_refuse(exchange, 400, "invalid_grant",
                 "the code or refresh token is not valid, or not for this client");
}

/* ---- the end of a grant ---- */

struct ending {
    struct oauth *oauth;
    struct exchange *exchange;
    bool is_wanted; /* by the client */
};

/* Only then: who has the answer can rely on it. */
static void on_ended(void *context, int result)
{
    cleanup_free struct ending *ending = context;

    ending->oauth->revoked(ending->oauth->data);
    if (result < 0 && result != ERR_NOT_FOUND)
        exchange_answer_error(ending->exchange, result);
    else if (ending->is_wanted)
        answer_json(ending->exchange, 200, STR("{}"));
    else
        refuse_grant(ending->exchange);
}

/* Ends what its tokens opened, too, and answers. */
static void end_grant(struct oauth *oauth, struct exchange *exchange,
                      const struct store_grant *grant, const char *why, bool is_wanted)
{
    struct ending *ending = malloc(sizeof(*ending));

    oauth_note(oauth, exchange, grant->user, grant->name, "app", why);
    if (ending == NULL) {
        store_end_grant(oauth->store, 0, grant->id, NULL, NULL);
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    *ending = (struct ending){.oauth = oauth, .exchange = exchange, .is_wanted = is_wanted};
    store_end_grant(oauth->store, 0, grant->id, on_ended, ending);
}

/* ---- what goes ---- */

struct exchanging {
    struct oauth *oauth;
    struct exchange *exchange;
    struct store_grant grant;
    struct secret access;
    struct secret refresh;
};

static void free_exchanging(struct exchanging *exchanging)
{
    secret_wipe(exchanging, sizeof(*exchanging));
    free(exchanging);
}

static void answer_tokens(const struct exchanging *exchanging)
{
    cleanup_buf struct buf text = BUF_INIT(OAUTH_ANSWER_BYTES);
    struct json_writer json;

    json_writer_init(&json, &text);
    json_begin_object(&json);
    /* To give them to the client. */
    json_put_str(&json, STR("access_token"), secret_reveal(&exchanging->access));
    json_put_str(&json, STR("token_type"), STR("Bearer"));
    json_put_int(&json, STR("expires_in"), OAUTH_ACCESS_SECONDS);
    json_put_str(&json, STR("refresh_token"), secret_reveal(&exchanging->refresh));
    oauth_write_scope(&json, exchanging->grant.groups);
    oauth_answer_object(exchanging->exchange, 200, &json, &text);
    secret_wipe(text.data, text.len);
}

static void on_exchanged(void *context, int result)
{
    struct exchanging *exchanging = context;

    if (result == ERR_UNAUTHORIZED) {
        /* Somebody else used it in the meantime. */
        end_grant(exchanging->oauth, exchanging->exchange, &exchanging->grant,
                  "revoked: used twice", false);
    } else if (result < 0) {
        exchange_answer_error(exchanging->exchange, result);
    } else {
        store_touch_grant(exchanging->oauth->store, exchanging->grant.id,
                          loop_wall_ms(exchanging->oauth->loop));
        answer_tokens(exchanging);
    }
    free_exchanging(exchanging);
}

static void give_tokens(struct oauth *oauth, struct exchange *exchange,
                        const struct store_grant *grant, const unsigned char used[SHA256_BYTES])
{
    struct exchanging *exchanging = calloc(1, sizeof(*exchanging));
    int64_t now_ms = loop_wall_ms(oauth->loop);
    unsigned char access[SHA256_BYTES];
    unsigned char refresh[SHA256_BYTES];

    if (exchanging == NULL ||
        secret_generate(&exchanging->access, STR("gat_"), OAUTH_SECRET_CHARS) < 0 ||
        secret_generate(&exchanging->refresh, STR("gar_"), OAUTH_SECRET_CHARS) < 0) {
        free(exchanging);
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    exchanging->oauth = oauth;
    exchanging->exchange = exchange;
    exchanging->grant = *grant;
    /* Their digests are what is stored. */
    sha256_of(secret_reveal(&exchanging->access), access);
    sha256_of(secret_reveal(&exchanging->refresh), refresh);
    store_exchange_token(
        oauth->store,
        &(struct store_exchange){.used = used,
                                 .access = access,
                                 .refresh = refresh,
                                 .now_ms = now_ms,
                                 .access_expires_ms = now_ms + OAUTH_ACCESS_SECONDS * 1000,
                                 .refresh_expires_ms = now_ms + OAUTH_REFRESH_MS},
        on_exchanged, exchanging);
}

/*
 * The token with its grant. Whoever shows one that was used before, or that another client got, has
 * stolen it or was robbed of it: then the grant ends. False after an answer.
 */
static bool find(struct oauth *oauth, struct exchange *exchange, enum store_token_kind kind,
                 const struct str *values, struct store_token *out_token,
                 unsigned char out_digest[SHA256_BYTES])
{
    int64_t now_ms = loop_wall_ms(oauth->loop);
    int r;

    sha256_of(values[kind == STORE_CODE ? FIELD_CODE : FIELD_REFRESH], out_digest);
    r = store_find_token(oauth->store, kind, out_digest, now_ms, out_token);
    if (r == ERR_UNAUTHORIZED) {
        if (logins_admit_stranger(oauth->logins, exchange, false))
            refuse_grant(exchange);
        return false;
    }
    if (r < 0) {
        exchange_answer_error(exchange, r);
        return false;
    }
    if (out_token->is_used || !str_eq_c(values[FIELD_CLIENT], out_token->grant.client)) {
        end_grant(oauth, exchange, &out_token->grant,
                  out_token->is_used ? "revoked: used twice" : "revoked: another client", false);
        return false;
    }
    if (out_token->expires_ms <= now_ms) {
        refuse_grant(exchange);
        return false;
    }
    return true;
}

static void exchange_code(struct oauth *oauth, struct exchange *exchange, const struct str *values)
{
    unsigned char digest[SHA256_BYTES];
    struct store_token token;

    if (values[FIELD_CODE].ptr == NULL || values[FIELD_VERIFIER].ptr == NULL ||
        values[FIELD_REDIRECT].ptr == NULL) {
        oauth_refuse(exchange, 400, "invalid_request",
                     "code, code_verifier and redirect_uri are required");
        return;
    }
    if (!find(oauth, exchange, STORE_CODE, values, &token, digest))
        return;
    if (!str_eq_c(values[FIELD_REDIRECT], token.grant.redirect) ||
        !oauthwire_verify(str_from(token.grant.challenge), values[FIELD_VERIFIER])) {
        end_grant(oauth, exchange, &token.grant, "revoked: wrong proof", false);
        return;
    }
    give_tokens(oauth, exchange, &token.grant, digest);
}

/* Words of the scope that are groups beyond those granted. */
static bool asks_for_more(struct str scope, unsigned groups)
{
    struct str word;

    while (str_cut(&scope, ' ', &word))
        if ((toolset_group_bit(word) & ~groups) != 0)
            return true;
    return false;
}

static void refresh(struct oauth *oauth, struct exchange *exchange, const struct str *values)
{
    unsigned char digest[SHA256_BYTES];
    struct store_token token;
    int64_t wait_ms;

    if (values[FIELD_REFRESH].ptr == NULL) {
        oauth_refuse(exchange, 400, "invalid_request", "refresh_token is required");
        return;
    }
    if (!find(oauth, exchange, STORE_REFRESH, values, &token, digest))
        return;
    if (asks_for_more(values[FIELD_SCOPE], token.grant.groups))
        oauth_refuse(exchange, 400, "invalid_scope", "the user did not allow this");
    else if (!throttle_take(oauth->refreshes,
                            (struct str){(const char *)&token.grant.id, sizeof(token.grant.id)},
                            loop_now_ms(oauth->loop), &wait_ms))
        exchange_answer_error(exchange, ERR_RATE_LIMITED);
    else
        give_tokens(oauth, exchange, &token.grant, digest);
}

void oauth_token(struct oauth *oauth, struct exchange *exchange)
{
    cleanup_arena struct arena arena = ARENA_INIT(OAUTH_ARENA_BYTES);
    struct str values[FIELDS];

    if (!read_fields(&arena, exchange, values) ||
        !check_client(oauth, exchange, values[FIELD_CLIENT]))
        return;
    if (!oauth_is_our_resource(oauth, exchange_request(exchange), values[FIELD_RESOURCE]))
        oauth_refuse(exchange, 400, "invalid_target", "this server has no such resource");
    else if (str_eq(values[FIELD_GRANT_TYPE], STR("authorization_code")))
        exchange_code(oauth, exchange, values);
    else if (str_eq(values[FIELD_GRANT_TYPE], STR("refresh_token")))
        refresh(oauth, exchange, values);
    else
        oauth_refuse(exchange, 400, "unsupported_grant_type",
                     "grant_type is authorization_code or refresh_token");
}

/* ---- revoking ---- */

void oauth_revoke(struct oauth *oauth, struct exchange *exchange)
{
    cleanup_arena struct arena arena = ARENA_INIT(OAUTH_ARENA_BYTES);
    unsigned char digest[SHA256_BYTES];
    struct str values[FIELDS];
    struct store_token token;
    int64_t now_ms = loop_wall_ms(oauth->loop);
    int r;

    if (!read_fields(&arena, exchange, values) ||
        !check_client(oauth, exchange, values[FIELD_CLIENT]))
        return;
    if (values[FIELD_TOKEN].ptr == NULL) {
        oauth_refuse(exchange, 400, "invalid_request", "token is required");
        return;
    }
    sha256_of(values[FIELD_TOKEN], digest);
    r = store_find_token(oauth->store, STORE_REFRESH, digest, now_ms, &token);
    if (r == ERR_UNAUTHORIZED)
        r = store_find_token(oauth->store, STORE_ACCESS, digest, now_ms, &token);
    /* RFC 7009: one that nobody has is as good as revoked. */
    if (r == 0 && str_eq_c(values[FIELD_CLIENT], token.grant.client))
        end_grant(oauth, exchange, &token.grant, "revoked", true);
    else if (r != ERR_UNAUTHORIZED || logins_admit_stranger(oauth->logins, exchange, false))
        answer_json(exchange, 200, STR("{}"));
}
