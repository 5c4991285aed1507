/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/logins.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/jsonwrite.h"
#include "programs/server/logins_internal.h"

enum {
    MAX_COOKIE_CHARS = 128,
    TOUCH_MS = 60 * 1000, /* how exactly we know when a login was last used */
    ERROR_BYTES = 8 << 10,
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

int logins_init(struct logins *logins)
{
    if (logins->is_secure)
        snprintf(logins->cookie, sizeof(logins->cookie), "%s", LOGINS_SECURE_COOKIE);
    else
        snprintf(logins->cookie, sizeof(logins->cookie), "%s_%u", LOGINS_COOKIE, logins->port);
    logins->names = throttle_new(NAME_TRIES, NAME_INTERVAL_MS);
    logins->addresses = throttle_new(ADDRESS_TRIES, ADDRESS_INTERVAL_MS);
    logins->keys = throttle_new(KEY_TRIES, KEY_INTERVAL_MS);
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
    int r = secret_generate(out_token, STR("login_"), LOGINS_TOKEN_CHARS);

    if (r < 0)
        return r;
    sha256_of(secret_reveal(out_token), digest); /* to store that */
    return store_add_link(logins->store, digest, user, loop_wall_ms(logins->loop));
}

/* ---- answers ---- */

void logins_refuse(struct exchange *exchange, int code, const char *message,
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
        answer_json_with(exchange, err_http_status(code), field, buf_view(&text));
}

bool logins_take_try(const struct logins *logins, const char *address, const char *name,
                     int64_t *out_wait_ms)
{
    int64_t now_ms = loop_now_ms(logins->loop);
    char space[ADDRESS_IP_BYTES];

    return throttle_take(logins->addresses, proxies_network(address, space), now_ms, out_wait_ms) &&
           throttle_take(logins->names, str_from(name), now_ms, out_wait_ms);
}

void logins_give_back_try(const struct logins *logins, const char *address, const char *name)
{
    char space[ADDRESS_IP_BYTES];

    throttle_give_back(logins->names, str_from(name));
    throttle_give_back(logins->addresses, proxies_network(address, space));
}

void logins_refuse_for_now(struct exchange *exchange, int64_t wait_ms)
{
    char message[128];
    char seconds[32];

    snprintf(seconds, sizeof(seconds), "%lld", (long long)((wait_ms + 999) / 1000));
    snprintf(message, sizeof(message), "Too many attempts. Try again in %s seconds.", seconds);
    logins_refuse(exchange, ERR_RATE_LIMITED, message,
                  (struct http_field){STR("Retry-After"), str_from(seconds)});
}

/* ---- cookies ---- */

/* The value of our cookie; empty without one, or with several. */
static struct str cookie_of(const struct logins *logins, const struct http_request *request)
{
    const struct str name = str_from(logins->cookie);
    struct str found = STR_EMPTY;

    for (size_t i = 0; i < request->header_count; i++) {
        struct http_field field = http_header_at(request, i);
        struct str part;

        if (!str_eq_nocase(field.name, STR("Cookie")))
            continue;
        while (str_cut(&field.value, ';', &part)) {
            part = str_trim(part);
            if (!str_starts_with(part, name) || part.len == name.len || part.ptr[name.len] != '=')
                continue;
            if (found.len > 0)
                return STR_EMPTY;
            found = str_slice(part, name.len + 1, part.len);
        }
    }
    return found.len <= MAX_COOKIE_CHARS ? found : STR_EMPTY;
}

bool logins_is_our_page(const struct http_request *request)
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

int logins_find_who(struct logins *logins, const struct exchange *exchange,
                    struct logins_who *out_who)
{
    struct str cookie = cookie_of(logins, exchange_request(exchange));
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
    sha256_of(cookie, digest);
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
    int r = logins_find_who(logins, exchange, out_who);

    if (r < 0)
        return r;
    return request->method == HTTP_METHOD_GET || request->method == HTTP_METHOD_HEAD ||
                   logins_is_our_page(request)
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
        logins_refuse_for_now(exchange, wait_ms);
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

/* ---- going ---- */

void logins_leave(struct logins *logins, struct exchange *exchange)
{
    char cookie[LOGINS_COOKIE_BYTES + 80];
    struct logins_who who;
    int r = logins_who(logins, exchange, &who);

    if (r < 0) {
        exchange_answer_error(exchange, r);
        return;
    }
    store_end_login(logins->store, who.user, who.login, NULL, NULL);
    logins_note(logins, exchange, who.user,
                (struct serveraudit_note){.operation = AUTHORITY_OP_SIGN_OUT, .how = "page"});
    snprintf(cookie, sizeof(cookie), "%s=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict%s",
             logins->cookie, logins->is_secure ? "; Secure" : "");
    answer_json_with(exchange, 200, (struct http_field){STR("Set-Cookie"), str_from(cookie)},
                     STR("{\"ok\":true}"));
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
    struct store_user user = {.has_password = false};
    int r = store_get_user(logins->store, who->user, &user);

    if (r < 0)
        return r;
    json_writer_init(&list.json, out);
    json_begin_object(&list.json);
    json_key(&list.json, STR("sessions"));
    json_begin_array(&list.json);
    r = store_each_login(logins->store, who->user, loop_wall_ms(logins->loop), write_login, &list);
    json_end_array(&list.json);
    json_put_bool(&list.json, STR("hasPassword"), user.has_password);
    json_end_object(&list.json);
    return r < 0 ? r : json_writer_finish(&list.json);
}
