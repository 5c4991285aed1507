/* SPDX-License-Identifier: Apache-2.0 */
/* Signing in: by a link that works once, or by name and password. */
#include "programs/server/logins_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/rand.h"
#include "store/password.h"

enum {
    COOKIE_SECONDS = STORE_LOGIN_MS / 1000,
    COOKIE_BYTES = 256,
    ARENA_BYTES = 256 << 10,
};

static void answer_with(struct exchange *exchange, int status, struct str type, struct str text)
{
    static const struct http_field fields[] = {
        {STR_LITERAL("Cache-Control"), STR_LITERAL("no-store")},
        {STR_LITERAL("Referrer-Policy"), STR_LITERAL("no-referrer")},
        {STR_LITERAL("X-Content-Type-Options"), STR_LITERAL("nosniff")},
    };

    exchange_answer(exchange, &(struct http_answer){.status = status,
                                                    .type = type,
                                                    .fields = fields,
                                                    .field_count = array_size(fields),
                                                    .parts = &text,
                                                    .part_count = 1});
}

/* Somebody who signs in, while the store or a worker is busy with that. */
struct signin {
    struct logins *logins;
    struct exchange *exchange;
    bool is_link;
    struct logins_who before; /* the login that the browser had; or 0 */
    struct store_login login;
    char name[STORE_MAX_NAME_BYTES + 1];
    char password[STORE_MAX_PASSWORD_BYTES + 1]; /* the hash; empty: none */
    char cookie[COOKIE_BYTES];
};

static void free_signin(struct signin *signin)
{
    secret_wipe(signin, sizeof(*signin));
    free(signin);
}

static struct signin *new_signin(struct logins *logins, struct exchange *exchange)
{
    struct signin *signin = calloc(1, sizeof(*signin));
    struct str browser = STR_EMPTY;
    size_t len = 0;

    if (signin == NULL)
        return NULL;
    signin->logins = logins;
    signin->exchange = exchange;
    signin->login.created_ms = loop_wall_ms(logins->loop);
    proxies_client(logins->proxies, exchange, signin->login.address);
    if (logins_find_who(logins, exchange, &signin->before) < 0)
        signin->before.login = 0;
    http_header(exchange_request(exchange), STR("User-Agent"), &browser);
    for (size_t i = 0; i < browser.len && len < sizeof(signin->login.browser) - 1; i++)
        if (browser.ptr[i] >= ' ' && browser.ptr[i] <= '~')
            signin->login.browser[len++] = browser.ptr[i];
    return signin;
}

static void note_signin(const struct signin *signin, int result)
{
    serveraudit_write(signin->logins->audit,
                      &(struct serveraudit_note){.operation = AUTHORITY_OP_SIGN_IN,
                                                 .user = str_from(signin->name),
                                                 .what = str_from(signin->login.browser),
                                                 .how = signin->is_link ? "link" : "password",
                                                 .from = signin->login.address,
                                                 .error = result});
}

static void answer_signin(const struct signin *signin, int result)
{
    const struct http_field fields[] = {
        {STR("Set-Cookie"), str_from(signin->cookie)},
        {STR("Location"), STR("/")},
        {STR("Cache-Control"), STR("no-store")},
        {STR("Referrer-Policy"), STR("no-referrer")},
    };

    /* Somebody opens the link again who is signed in by it: the page is what they want. */
    if (result == ERR_UNAUTHORIZED && signin->is_link && signin->before.login != 0)
        exchange_answer(signin->exchange,
                        &(struct http_answer){.status = 303,
                                              .fields = fields + 1,
                                              .field_count = array_size(fields) - 1});
    else if (result == ERR_UNAUTHORIZED && signin->is_link)
        /* A browser goes on to the page that asks to sign in; it knows this address. */
        answer_with(
            signin->exchange, 403, STR("text/html; charset=utf-8"),
            STR("<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=/#/used-link\">"
                "<title>Gatehouse</title>\n<p>This login link was used before or has "
                "expired. For another one, run `gatehouse user login-link`.\n"));
    else if (result == ERR_UNAUTHORIZED)
        logins_refuse(signin->exchange, result, "Wrong name or password.",
                      (struct http_field){STR_EMPTY, STR_EMPTY});
    else if (result < 0)
        exchange_answer_error(signin->exchange, result);
    else if (signin->is_link)
        exchange_answer(signin->exchange, &(struct http_answer){.status = 303,
                                                                .fields = fields,
                                                                .field_count = array_size(fields)});
    else
        answer_json_with(signin->exchange, 200, fields[0], STR("{\"ok\":true}"));
}

static void on_signed_in(void *context, int result)
{
    struct signin *signin = context;

    /* The browser forgets its old cookie, so nobody could end that login. */
    if (result == 0 && signin->before.login != 0)
        store_end_login(signin->logins->store, signin->before.user, signin->before.login, NULL,
                        NULL);
    note_signin(signin, result);
    answer_signin(signin, result);
    free_signin(signin);
}

/* Whoever it is has proved it. */
static void sign_in(struct signin *signin)
{
    struct logins *logins = signin->logins;
    char secret[6 + LOGINS_TOKEN_CHARS + 1] = "ghses_";
    unsigned char digest[SHA256_BYTES];

    rand_token(secret + 6, LOGINS_TOKEN_CHARS);
    sha256_of(str_from(secret), digest);
    snprintf(signin->cookie, sizeof(signin->cookie),
             "%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s", logins->cookie, secret,
             COOKIE_SECONDS, logins->is_secure ? "; Secure" : "");
    secret_wipe(secret, sizeof(secret));
    store_add_login(logins->store, digest, &signin->login,
                    signin->password[0] != '\0' ? signin->password : NULL, on_signed_in, signin);
}

/* ---- by a link ---- */

static void on_link_used(void *context, int result)
{
    if (result < 0)
        on_signed_in(context, result);
    else
        sign_in(context);
}

void logins_enter(struct logins *logins, struct exchange *exchange)
{
    const struct http_request *request = exchange_request(exchange);
    const struct str name = STR("token=");
    struct str token = str_slice(request->query, name.len, request->query.len);
    unsigned char digest[SHA256_BYTES];
    struct signin *signin;
    struct store_user user;
    int r = ERR_UNAUTHORIZED;

    /* Something that only looks at links must not use it up. */
    if (request->method == HTTP_METHOD_HEAD) {
        answer_with(exchange, 200, STR("text/plain; charset=utf-8"), STR_EMPTY);
        return;
    }
    signin = new_signin(logins, exchange);
    if (signin == NULL) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    signin->is_link = true;
    sha256_of(token, digest);
    if (str_starts_with(request->query, name) && token.len <= SECRET_MAX_BYTES)
        r = store_find_link(logins->store, digest, loop_wall_ms(logins->loop), &signin->login.user);
    if (r == ERR_UNAUTHORIZED && !logins_admit_stranger(logins, exchange, false)) {
        note_signin(signin, ERR_RATE_LIMITED);
        free_signin(signin);
        return;
    }
    if (r == 0 && store_get_user(logins->store, signin->login.user, &user) == 0)
        snprintf(signin->name, sizeof(signin->name), "%s", user.name);
    if (r < 0)
        on_signed_in(signin, r);
    else
        store_use_link(logins->store, digest, on_link_used, signin);
}

/* ---- by a password ---- */

/* What the worker has for itself. */
struct checking {
    struct secret password;
    bool has_hash;
    char hash[STORE_MAX_PASSWORD_BYTES + 1];
};

static int run_check(void *data, struct cancel *token)
{
    const struct checking *checking = data;

    (void)token;
    return password_verify(checking->has_hash ? checking->hash : NULL, &checking->password);
}

static void free_checking(void *data)
{
    secret_wipe(data, sizeof(struct checking));
    free(data);
}

static void on_checked(void *context, int result, void *data)
{
    struct signin *signin = context;
    struct logins *logins = signin->logins;

    (void)data;
    if (result < 0) {
        on_signed_in(signin, result);
        return;
    }
    logins_give_back_try(logins, signin->login.address, signin->name);
    sign_in(signin);
}

static void check(struct signin *signin, const struct secret *password)
{
    struct checking *checking = calloc(1, sizeof(*checking));
    struct worker_job job = {.run = run_check,
                             .done = on_checked,
                             .free_data = free_checking,
                             .data = checking,
                             .context = signin,
                             .timeout_ms = WORKER_NO_DEADLINE};
    uint64_t id;
    int r = ERR_NO_MEMORY;

    if (checking != NULL) {
        checking->password = *password;
        checking->has_hash = signin->password[0] != '\0';
        memcpy(checking->hash, signin->password, sizeof(checking->hash));
        r = worker_submit(signin->logins->pool, &job, &id);
        if (r < 0)
            free_checking(checking);
    }
    if (r < 0)
        on_signed_in(signin, r);
}

/* False after an answer. */
static bool read_attempt(struct exchange *exchange, struct signin *signin,
                         struct secret *out_password)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_limits limits = {LOGINS_MAX_BODY_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *body = NULL;
    struct str password = STR_EMPTY;
    struct str name = STR_EMPTY;
    bool is_read = json_parse(&arena, exchange_request(exchange)->body, limits, &body, NULL) == 0 &&
                   json_get_str(body, STR("name"), &name) && store_is_name(name) &&
                   json_get_str(body, STR("password"), &password) &&
                   secret_set(out_password, password) == 0;

    snprintf(signin->name, sizeof(signin->name), "%.*s", STR_ARG(name));
    if (!is_read)
        logins_refuse(exchange, ERR_INVALID_REQUEST, "Give a name and a password.",
                      (struct http_field){STR_EMPTY, STR_EMPTY});
    return is_read;
}

void logins_sign_in(struct logins *logins, struct exchange *exchange)
{
    cleanup_secret struct secret password = SECRET_INIT;
    struct signin *signin;
    struct store_user user;
    int64_t wait_ms;

    /* Another site must not log its visitors in as somebody of its choice. */
    if (!logins_is_our_page(exchange_request(exchange))) {
        exchange_answer_error(exchange, ERR_ORIGIN_DENIED);
        return;
    }
    signin = new_signin(logins, exchange);
    if (signin == NULL) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    if (!read_attempt(exchange, signin, &password)) {
        free_signin(signin);
        return;
    }
    if (!logins_take_try(logins, signin->login.address, signin->name, &wait_ms)) {
        note_signin(signin, ERR_RATE_LIMITED);
        logins_refuse_for_now(exchange, wait_ms);
        free_signin(signin);
        return;
    }
    if (store_find_user(logins->store, str_from(signin->name), &user) == 0 && user.has_password) {
        signin->login.user = user.id;
        memcpy(signin->password, user.password, sizeof(signin->password));
    }
    check(signin, &password);
}
