/* SPDX-License-Identifier: Apache-2.0 */
/* How somebody comes in: by a link that works once, or by name and password. */
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

static void answer_text(struct exchange *exchange, int status, struct str text)
{
    static const struct http_field fields[] = {
        {STR_LITERAL("Cache-Control"), STR_LITERAL("no-store")},
        {STR_LITERAL("Referrer-Policy"), STR_LITERAL("no-referrer")},
        {STR_LITERAL("X-Content-Type-Options"), STR_LITERAL("nosniff")},
    };

    exchange_answer(exchange, &(struct http_answer){.status = status,
                                                    .type = STR("text/plain; charset=utf-8"),
                                                    .fields = fields,
                                                    .field_count = array_size(fields),
                                                    .parts = &text,
                                                    .part_count = 1});
}

/* Somebody who comes in, while the store or a worker is busy with that. */
struct entering {
    struct logins *logins;
    struct exchange *exchange;
    bool is_link;
    struct logins_who before; /* the login that the browser had; or 0 */
    struct store_login login;
    char name[STORE_MAX_NAME_BYTES + 1];
    char password[STORE_MAX_PASSWORD_BYTES + 1]; /* the hash; empty: none */
    char cookie[COOKIE_BYTES];
};

static void free_entering(struct entering *entering)
{
    secret_wipe(entering, sizeof(*entering));
    free(entering);
}

static struct entering *new_entering(struct logins *logins, struct exchange *exchange)
{
    struct entering *entering = calloc(1, sizeof(*entering));
    struct str browser = STR_EMPTY;
    size_t len = 0;

    if (entering == NULL)
        return NULL;
    entering->logins = logins;
    entering->exchange = exchange;
    entering->login.created_ms = loop_wall_ms(logins->loop);
    proxies_client(logins->proxies, exchange, entering->login.address);
    if (logins_find_who(logins, exchange, &entering->before) < 0)
        entering->before.login = 0;
    http_header(exchange_request(exchange), STR("User-Agent"), &browser);
    for (size_t i = 0; i < browser.len && len < sizeof(entering->login.browser) - 1; i++)
        if (browser.ptr[i] >= ' ' && browser.ptr[i] <= '~')
            entering->login.browser[len++] = browser.ptr[i];
    return entering;
}

static void note_entering(const struct entering *entering, int result)
{
    serveraudit_write(entering->logins->audit,
                      &(struct serveraudit_note){.operation = AUTHORITY_OP_SIGN_IN,
                                                 .user = str_from(entering->name),
                                                 .what = str_from(entering->login.browser),
                                                 .how = entering->is_link ? "link" : "password",
                                                 .from = entering->login.address,
                                                 .error = result});
}

static void answer_entered(const struct entering *entering, int result)
{
    const struct http_field fields[] = {
        {STR("Set-Cookie"), str_from(entering->cookie)},
        {STR("Location"), STR("/")},
        {STR("Cache-Control"), STR("no-store")},
        {STR("Referrer-Policy"), STR("no-referrer")},
    };

    /* Somebody opens the link again who is signed in by it: the page is what they want. */
    if (result == ERR_UNAUTHORIZED && entering->is_link && entering->before.login != 0)
        exchange_answer(entering->exchange,
                        &(struct http_answer){.status = 303,
                                              .fields = fields + 1,
                                              .field_count = array_size(fields) - 1});
    else if (result == ERR_UNAUTHORIZED && entering->is_link)
        answer_text(entering->exchange, 403,
                    STR("This login link was used before or has expired. For another one, run "
                        "`gatehouse user login-link`.\n"));
    else if (result == ERR_UNAUTHORIZED)
        logins_refuse(entering->exchange, result, "Wrong name or password.",
                      (struct http_field){STR_EMPTY, STR_EMPTY});
    else if (result < 0)
        exchange_answer_error(entering->exchange, result);
    else if (entering->is_link)
        exchange_answer(entering->exchange,
                        &(struct http_answer){
                            .status = 303, .fields = fields, .field_count = array_size(fields)});
    else
        answer_json_with(entering->exchange, 200, fields[0], STR("{\"ok\":true}"));
}

static void on_entered(void *context, int result)
{
    struct entering *entering = context;

    /* The browser forgets its old cookie, so nobody could end that login. */
    if (result == 0 && entering->before.login != 0)
        store_end_login(entering->logins->store, entering->before.user, entering->before.login,
                        NULL, NULL);
    note_entering(entering, result);
    answer_entered(entering, result);
    free_entering(entering);
}

/* Whoever it is has proved it. */
static void enter(struct entering *entering)
{
    struct logins *logins = entering->logins;
    char secret[6 + LOGINS_TOKEN_CHARS + 1] = "ghses_";
    unsigned char digest[SHA256_BYTES];

    rand_token(secret + 6, LOGINS_TOKEN_CHARS);
    sha256_of(str_from(secret), digest);
    snprintf(entering->cookie, sizeof(entering->cookie),
             "%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
             logins->is_secure ? LOGINS_SECURE_COOKIE : LOGINS_COOKIE, secret, COOKIE_SECONDS,
             logins->is_secure ? "; Secure" : "");
    secret_wipe(secret, sizeof(secret));
    store_add_login(logins->store, digest, &entering->login,
                    entering->password[0] != '\0' ? entering->password : NULL, on_entered,
                    entering);
}

/* ---- by a link ---- */

static void on_link_used(void *context, int result)
{
    if (result < 0)
        on_entered(context, result);
    else
        enter(context);
}

void logins_enter(struct logins *logins, struct exchange *exchange)
{
    const struct http_request *request = exchange_request(exchange);
    const struct str name = STR("token=");
    struct str token = str_slice(request->query, name.len, request->query.len);
    unsigned char digest[SHA256_BYTES];
    struct entering *entering;
    struct store_user user;
    int r = ERR_UNAUTHORIZED;

    /* Something that only looks at links must not use it up. */
    if (request->method == HTTP_METHOD_HEAD) {
        answer_text(exchange, 200, STR_EMPTY);
        return;
    }
    entering = new_entering(logins, exchange);
    if (entering == NULL) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    entering->is_link = true;
    sha256_of(token, digest);
    if (str_starts_with(request->query, name) && token.len <= SECRET_MAX_BYTES)
        r = store_find_link(logins->store, digest, loop_wall_ms(logins->loop),
                            &entering->login.user);
    if (r == ERR_UNAUTHORIZED && !logins_admit_stranger(logins, exchange, false)) {
        note_entering(entering, ERR_RATE_LIMITED);
        free_entering(entering);
        return;
    }
    if (r == 0 && store_get_user(logins->store, entering->login.user, &user) == 0)
        snprintf(entering->name, sizeof(entering->name), "%s", user.name);
    if (r < 0)
        on_entered(entering, r);
    else
        store_use_link(logins->store, digest, on_link_used, entering);
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
    struct entering *entering = context;
    struct logins *logins = entering->logins;
    char space[ADDRESS_IP_BYTES];

    (void)data;
    if (result < 0) {
        on_entered(entering, result);
        return;
    }
    throttle_give_back(logins->names, str_from(entering->name));
    throttle_give_back(logins->addresses, proxies_network(entering->login.address, space));
    enter(entering);
}

static void check(struct entering *entering, const struct secret *password)
{
    struct checking *checking = calloc(1, sizeof(*checking));
    struct worker_job job = {.run = run_check,
                             .done = on_checked,
                             .free_data = free_checking,
                             .data = checking,
                             .context = entering,
                             .timeout_ms = WORKER_NO_DEADLINE};
    uint64_t id;
    int r = ERR_NO_MEMORY;

    if (checking != NULL) {
        checking->password = *password;
        checking->has_hash = entering->password[0] != '\0';
        memcpy(checking->hash, entering->password, sizeof(checking->hash));
        r = worker_submit(entering->logins->pool, &job, &id);
        if (r < 0)
            free_checking(checking);
    }
    if (r < 0)
        on_entered(entering, r);
}

/* False after an answer. */
static bool read_attempt(struct exchange *exchange, struct entering *entering,
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

    snprintf(entering->name, sizeof(entering->name), "%.*s", STR_ARG(name));
    if (!is_read)
        logins_refuse(exchange, ERR_INVALID_REQUEST, "Give a name and a password.",
                      (struct http_field){STR_EMPTY, STR_EMPTY});
    return is_read;
}

/* Counts before the password is checked: those who try at the same time count, too. */
static bool may_try(const struct entering *entering, int64_t *out_wait_ms)
{
    struct logins *logins = entering->logins;
    int64_t now_ms = loop_now_ms(logins->loop);
    char space[ADDRESS_IP_BYTES];
    struct str network = proxies_network(entering->login.address, space);

    return throttle_take(logins->addresses, network, now_ms, out_wait_ms) &&
           throttle_take(logins->names, str_from(entering->name), now_ms, out_wait_ms);
}

void logins_sign_in(struct logins *logins, struct exchange *exchange)
{
    cleanup_secret struct secret password = SECRET_INIT;
    struct entering *entering;
    struct store_user user;
    int64_t wait_ms;

    /* Another site must not log its visitors in as somebody of its choice. */
    if (!logins_is_our_page(exchange_request(exchange))) {
        exchange_answer_error(exchange, ERR_ORIGIN_DENIED);
        return;
    }
    entering = new_entering(logins, exchange);
    if (entering == NULL) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    if (!read_attempt(exchange, entering, &password)) {
        free_entering(entering);
        return;
    }
    if (!may_try(entering, &wait_ms)) {
        note_entering(entering, ERR_RATE_LIMITED);
        logins_refuse_for_now(exchange, wait_ms);
        free_entering(entering);
        return;
    }
    if (store_find_user(logins->store, str_from(entering->name), &user) == 0 && user.has_password) {
        entering->login.user = user.id;
        memcpy(entering->password, user.password, sizeof(entering->password));
    }
    check(entering, &password);
}
