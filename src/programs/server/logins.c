/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/logins.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/rand.h"
#include "store/password.h"

enum {
    TOKEN_CHARS = 32,
    COOKIE_SECONDS = STORE_LOGIN_MS / 1000,
    COOKIE_BYTES = 256,
    MAX_COOKIE_CHARS = 128,
    TOUCH_MS = 60 * 1000, /* how exactly we know when a login was last used */
    ERROR_BYTES = 8 << 10,
    ARENA_BYTES = 256 << 10,
    WORKERS = 2, /* 64 MiB each */
    MAX_WAITING = 64,
    WORKER_GRACE_MS = 5000,
    /* Ten passwords a user at once, then one a minute; an address may serve an office. */
    NAME_TRIES = 10,
    NAME_INTERVAL_MS = 60 * 1000,
    ADDRESS_TRIES = 20,
    ADDRESS_INTERVAL_MS = 10 * 1000,
    KEY_TRIES = 100,
    KEY_INTERVAL_MS = 10 * 1000,
};

static void digest_of(struct str text, unsigned char out_digest[SHA256_BYTES])
{
    struct sha256 hash;

    sha256_init(&hash);
    sha256_add(&hash, text);
    sha256_end(&hash, out_digest);
}

static struct throttle *make_throttle(int64_t at_once, int64_t interval_ms)
{
    struct throttle *throttle = calloc(1, sizeof(*throttle));

    if (throttle != NULL) {
        throttle->at_once = at_once;
        throttle->interval_ms = interval_ms;
    }
    return throttle;
}

int logins_init(struct logins *logins)
{
    logins->names = make_throttle(NAME_TRIES, NAME_INTERVAL_MS);
    logins->addresses = make_throttle(ADDRESS_TRIES, ADDRESS_INTERVAL_MS);
    logins->keys = make_throttle(KEY_TRIES, KEY_INTERVAL_MS);
    if (logins->names == NULL || logins->addresses == NULL || logins->keys == NULL)
        return ERR_NO_MEMORY;
    return worker_pool_new(logins->loop,
                           &(struct worker_config){.threads = WORKERS,
                                                   .queue_max = MAX_WAITING,
                                                   .abandoned_max = 1,
                                                   .grace_ms = WORKER_GRACE_MS},
                           &logins->pool);
}

void logins_done(struct logins *logins)
{
    if (logins->pool != NULL)
        worker_pool_free(logins->pool);
    logins->pool = NULL;
    free(logins->names);
    free(logins->addresses);
    free(logins->keys);
}

int logins_make_link(struct logins *logins, int64_t user, struct secret *out_token)
{
    unsigned char digest[SHA256_BYTES];
    int r = secret_generate(out_token, STR("login_"), TOKEN_CHARS);

    if (r < 0)
        return r;
    digest_of(secret_reveal(out_token), digest); /* to store that */
    return store_add_link(logins->store, digest, user, loop_wall_ms(logins->loop));
}

/* ---- answers ---- */

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

static void answer_json(struct exchange *exchange, int status, struct http_field more,
                        struct str body)
{
    const struct http_field fields[] = {
        {STR("Cache-Control"), STR("no-store")},
        {STR("X-Content-Type-Options"), STR("nosniff")},
        more,
    };

    exchange_answer(exchange, &(struct http_answer){.status = status,
                                                    .type = STR("application/json"),
                                                    .fields = fields,
                                                    .field_count = more.name.len > 0 ? 3 : 2,
                                                    .parts = &body,
                                                    .part_count = 1});
}

static void refuse(struct exchange *exchange, int code, const char *message,
                   struct http_field field)
{
    cleanup_buf struct buf text = BUF_INIT(ERROR_BYTES);
    struct json_writer json;

    json_writer_init(&json, &text);
    json_begin_object(&json);
    json_put_str(&json, STR("error"), str_from(err_name(code)));
    json_put_str(&json, STR("message"), str_from(message));
    json_end_object(&json);
    if (json_writer_finish(&json) < 0)
        exchange_answer_error(exchange, code);
    else
        answer_json(exchange, err_http_status(code), field, buf_view(&text));
}

static void refuse_for_now(struct exchange *exchange, int64_t wait_ms)
{
    char message[128];
    char seconds[32];

    snprintf(seconds, sizeof(seconds), "%lld", (long long)((wait_ms + 999) / 1000));
    snprintf(message, sizeof(message), "Too many attempts. Try again in %s seconds.", seconds);
    refuse(exchange, ERR_RATE_LIMITED, message,
           (struct http_field){STR("Retry-After"), str_from(seconds)});
}

/* ---- cookies ---- */

/* The value of our cookie; empty without one, or with several. */
static struct str cookie_of(const struct http_request *request)
{
    const struct str name = STR(LOGINS_COOKIE "=");
    struct str found = STR_EMPTY;

    for (size_t i = 0; i < request->header_count; i++) {
        struct http_field field = http_header_at(request, i);
        struct str part;

        if (!str_eq_nocase(field.name, STR("Cookie")))
            continue;
        while (str_cut(&field.value, ';', &part)) {
            part = str_trim(part);
            if (!str_starts_with(part, name))
                continue;
            if (found.len > 0)
                return STR_EMPTY;
            found = str_slice(part, name.len, part.len);
        }
    }
    return found.len <= MAX_COOKIE_CHARS ? found : STR_EMPTY;
}

static bool comes_from_our_page(const struct http_request *request)
{
    struct str value;

    /* The router has checked Origin, where there is one. */
    if (http_header(request, STR("Sec-Fetch-Site"), &value) && !str_eq(value, STR("same-origin")))
        return false;
    return http_header(request, STR(LOGINS_HEADER), &value);
}

/* The user that a proxy names, who is created if that is wanted. */
static int proxied_user(struct logins *logins, struct str name, int64_t *out_user)
{
    struct store_user user;
    struct err err = ERR_INIT;
    int r = store_find_user(logins->store, name, &user);

    if (r == 0) {
        *out_user = user.id;
        return 0;
    }
    if (r != ERR_NOT_FOUND)
        return r;
    if (!logins->proxies->creates_users)
        return ERR_UNAUTHORIZED;
    r = store_add_user(logins->store, name, NULL, loop_wall_ms(logins->loop), out_user, &err);
    if (r == ERR_INVALID_ARGUMENT || r == ERR_TOO_LARGE)
        r = ERR_UNAUTHORIZED;
    serveraudit_write(logins->audit, &(struct serveraudit_note){.operation = AUTHORITY_OP_ACCOUNT,
                                                                .user = name,
                                                                .what = STR("add"),
                                                                .how = "proxy",
                                                                .error = r});
    return r;
}

static int find_who(struct logins *logins, const struct exchange *exchange,
                    struct logins_who *out_who)
{
    struct str cookie = cookie_of(exchange_request(exchange));
    unsigned char digest[SHA256_BYTES];
    int64_t now_ms = loop_wall_ms(logins->loop);
    struct store_login login;
    struct str name;
    int r;

    out_who->login = 0;
    if (proxies_user(logins->proxies, exchange, &name))
        return proxied_user(logins, name, &out_who->user);
    if (cookie.len == 0)
        return ERR_UNAUTHORIZED;
    digest_of(cookie, digest);
    r = store_find_login(logins->store, digest, now_ms, &login);
    if (r < 0)
        return r;
    if (now_ms - login.used_ms >= TOUCH_MS)
        store_touch_login(logins->store, login.id, now_ms);
    *out_who = (struct logins_who){.user = login.user, .login = login.id};
    return 0;
}

int logins_who(struct logins *logins, const struct exchange *exchange, struct logins_who *out_who)
{
    const struct http_request *request = exchange_request(exchange);
    int r = find_who(logins, exchange, out_who);

    if (r < 0)
        return r;
    return request->method == HTTP_METHOD_GET || request->method == HTTP_METHOD_HEAD ||
                   comes_from_our_page(request)
               ? 0
               : ERR_ORIGIN_DENIED;
}

bool logins_is_good(struct logins *logins, const struct logins_who *who)
{
    struct store_login login;
    struct store_user user;
    int r = who->login == 0
                ? store_get_user(logins->store, who->user, &user)
                : store_get_login(logins->store, who->login, loop_wall_ms(logins->loop), &login);

    /* A store that cannot say so ends nothing. */
    return r != ERR_NOT_FOUND && r != ERR_UNAUTHORIZED;
}

bool logins_admit_stranger(struct logins *logins, struct exchange *exchange, bool is_known)
{
    char client[PROXIES_CLIENT_BYTES];
    char space[ADDRESS_IP_BYTES];
    int64_t now_ms = loop_now_ms(logins->loop);
    int64_t wait_ms;
    struct str network;
    bool is_admitted;

    proxies_client(logins->proxies, exchange, client);
    network = proxies_network(client, space);
    is_admitted = is_known ? throttle_has(logins->keys, network, now_ms, &wait_ms)
                           : throttle_take(logins->keys, network, now_ms, &wait_ms);
    if (!is_admitted)
        refuse_for_now(exchange, wait_ms);
    return is_admitted;
}

void logins_note(struct logins *logins, const struct exchange *exchange, int64_t user,
                 struct serveraudit_note note)
{
    char client[PROXIES_CLIENT_BYTES];
    struct store_user owner;

    proxies_client(logins->proxies, exchange, client);
    note.from = client;
    if (note.user.len == 0 && store_get_user(logins->store, user, &owner) == 0)
        note.user = str_from(owner.name);
    serveraudit_write(logins->audit, &note);
}

/* ---- coming ---- */

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
    if (find_who(logins, exchange, &entering->before) < 0)
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

    if (result == ERR_UNAUTHORIZED && entering->is_link)
        answer_text(entering->exchange, 403,
                    STR("This login link was used before or has expired. For another one, run "
                        "`gatehouse user login-link`.\n"));
    else if (result == ERR_UNAUTHORIZED)
        refuse(entering->exchange, result, "Wrong name or password.",
               (struct http_field){STR_EMPTY, STR_EMPTY});
    else if (result < 0)
        exchange_answer_error(entering->exchange, result);
    else if (entering->is_link)
        exchange_answer(entering->exchange,
                        &(struct http_answer){
                            .status = 303, .fields = fields, .field_count = array_size(fields)});
    else
        answer_json(entering->exchange, 200, fields[0], STR("{\"ok\":true}"));
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
    char secret[6 + TOKEN_CHARS + 1] = "ghses_";
    unsigned char digest[SHA256_BYTES];

    rand_token(secret + 6, TOKEN_CHARS);
    digest_of(str_from(secret), digest);
    snprintf(entering->cookie, sizeof(entering->cookie),
             LOGINS_COOKIE "=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s", secret,
             COOKIE_SECONDS, logins->is_secure ? "; Secure" : "");
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
    digest_of(token, digest);
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
        refuse(exchange, ERR_INVALID_REQUEST, "Give a name and a password.",
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
    if (!comes_from_our_page(exchange_request(exchange))) {
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
        refuse_for_now(exchange, wait_ms);
        free_entering(entering);
        return;
    }
    if (store_find_user(logins->store, str_from(entering->name), &user) == 0 && user.has_password) {
        entering->login.user = user.id;
        memcpy(entering->password, user.password, sizeof(entering->password));
    }
    check(entering, &password);
}

/* ---- going ---- */

void logins_leave(struct logins *logins, struct exchange *exchange)
{
    static const struct http_field field = {
        STR_LITERAL("Set-Cookie"),
        STR_LITERAL(LOGINS_COOKIE "=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")};
    struct logins_who who;
    int r = logins_who(logins, exchange, &who);

    if (r < 0) {
        exchange_answer_error(exchange, r);
        return;
    }
    store_end_login(logins->store, who.user, who.login, NULL, NULL);
    logins_note(logins, exchange, who.user,
                (struct serveraudit_note){.operation = AUTHORITY_OP_SIGN_OUT, .how = "page"});
    answer_json(exchange, 200, field, STR("{\"ok\":true}"));
}

struct listing {
    struct json_writer json;
    int64_t own;
};

static void write_login(void *data, const struct store_login *login)
{
    struct listing *list = data;
    char id[32];

    snprintf(id, sizeof(id), "%lld", (long long)login->id);
    json_begin_object(&list->json);
    json_put_str(&list->json, STR("id"), str_from(id));
    json_put_str_lossy(&list->json, STR("address"), str_from(login->address));
    json_put_str_lossy(&list->json, STR("browser"), str_from(login->browser));
    json_put_int(&list->json, STR("createdAt"), login->created_ms);
    json_put_int(&list->json, STR("usedAt"), login->used_ms);
    json_put_bool(&list->json, STR("isThis"), login->id == list->own);
    json_end_object(&list->json);
}

int logins_write_list(struct logins *logins, const struct logins_who *who, struct buf *out)
{
    struct listing list = {.own = who->login};
    int r;

    json_writer_init(&list.json, out);
    json_begin_object(&list.json);
    json_key(&list.json, STR("sessions"));
    json_begin_array(&list.json);
    r = store_each_login(logins->store, who->user, loop_wall_ms(logins->loop), write_login, &list);
    json_end_array(&list.json);
    json_end_object(&list.json);
    return r < 0 ? r : json_writer_finish(&list.json);
}
