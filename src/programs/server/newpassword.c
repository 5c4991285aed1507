/* SPDX-License-Identifier: Apache-2.0 */
/* Users give themselves another password, on the page. */
#include "programs/server/logins_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/json.h"
#include "store/password.h"

enum { ARENA_BYTES = 256 << 10 };

/* Somebody who does, while a worker or the store is busy with that. */
struct renewal {
    struct logins *logins;
    struct exchange *exchange;
    struct logins_who who;
    logins_renewed *done;
    const void *context;
    struct store_user user;
    char address[PROXIES_CLIENT_BYTES];
    char hash[STORE_MAX_PASSWORD_BYTES + 1]; /* of the new one */
};

/* What the worker has for itself. */
struct hashing {
    struct secret current;
    struct secret wanted;
    char hash[STORE_MAX_PASSWORD_BYTES + 1];
    char made[STORE_MAX_PASSWORD_BYTES + 1];
};

static const struct http_field no_field = {{NULL, 0}, {NULL, 0}};

static void note_renewal(const struct renewal *renewal, int result)
{
    serveraudit_write(renewal->logins->audit,
                      &(struct serveraudit_note){.operation = AUTHORITY_OP_ACCOUNT,
                                                 .user = str_from(renewal->user.name),
                                                 .what = STR("passwd"),
                                                 .how = "page",
                                                 .from = renewal->address,
                                                 .error = result});
}

static void end(struct renewal *renewal, int result)
{
    note_renewal(renewal, result);
    if (result == 0)
        renewal->done(renewal->context, renewal->exchange, renewal->who.user);
    else if (result == ERR_UNAUTHORIZED)
        /* Not 401, by which the page would take the login for ended. */
        logins_refuse(renewal->exchange, ERR_PERMISSION_DENIED,
                      "That is not your current password.", no_field);
    else
        exchange_answer_error(renewal->exchange, result);
    secret_wipe(renewal, sizeof(*renewal));
    free(renewal);
}

static void on_stored(void *context, int result)
{
    end(context, result);
}

static int run_hashing(void *data, struct cancel *token)
{
    struct hashing *hashing = data;
    int r = password_verify(hashing->hash, &hashing->current);

    (void)token;
    return r == 0 ? password_hash(&hashing->wanted, hashing->made) : r;
}

static void free_hashing(void *data)
{
    secret_wipe(data, sizeof(struct hashing));
    free(data);
}

static void on_hashed(void *context, int result, void *data)
{
    struct renewal *renewal = context;
    struct logins *logins = renewal->logins;
    const struct hashing *hashing = data;

    if (result < 0) {
        end(renewal, result);
        return;
    }
    logins_give_back_try(logins, renewal->address, renewal->user.name);
    memcpy(renewal->hash, hashing->made, sizeof(renewal->hash));
    store_renew_password(logins->store, renewal->who.user, renewal->user.password, renewal->hash,
                         renewal->who.login, on_stored, renewal);
}

static void hash(struct renewal *renewal, const struct secret *current, const struct secret *wanted)
{
    struct hashing *hashing = calloc(1, sizeof(*hashing));
    struct worker_job job = {.run = run_hashing,
                             .done = on_hashed,
                             .free_data = free_hashing,
                             .data = hashing,
                             .context = renewal,
                             .timeout_ms = WORKER_NO_DEADLINE};
    uint64_t id;
    int r = ERR_NO_MEMORY;

    if (hashing != NULL) {
        hashing->current = *current;
        hashing->wanted = *wanted;
        memcpy(hashing->hash, renewal->user.password, sizeof(hashing->hash));
        r = worker_submit(renewal->logins->pool, &job, &id);
        if (r < 0)
            free_hashing(hashing);
    }
    if (r < 0)
        end(renewal, r);
}

/* False after an answer. */
static bool read_passwords(struct exchange *exchange, struct secret *out_current,
                           struct secret *out_wanted)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_limits limits = {LOGINS_MAX_BODY_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *body = NULL;
    struct err err = ERR_INIT;
    struct str current;
    struct str wanted;

    if (json_parse(&arena, exchange_request(exchange)->body, limits, &body, NULL) < 0 ||
        !json_get_str(body, STR("current"), &current) || secret_set(out_current, current) < 0 ||
        !json_get_str(body, STR("new"), &wanted) || secret_set(out_wanted, wanted) < 0) {
        logins_refuse(exchange, ERR_INVALID_REQUEST,
                      "Give your current password and a new one, of 256 characters at most.",
                      no_field);
        return false;
    }
    if (password_check_new(out_wanted, &err) < 0) {
        logins_refuse(exchange, ERR_INVALID_REQUEST, err.message, no_field);
        return false;
    }
    return true;
}

void logins_renew_password(struct logins *logins, struct exchange *exchange,
                           const struct logins_who *who, logins_renewed *done, const void *context)
{
    cleanup_secret struct secret current = SECRET_INIT;
    cleanup_secret struct secret wanted = SECRET_INIT;
    struct renewal *renewal;
    int64_t wait_ms;

    if (!read_passwords(exchange, &current, &wanted))
        return;
    renewal = calloc(1, sizeof(*renewal));
    if (renewal == NULL || store_get_user(logins->store, who->user, &renewal->user) < 0) {
        free(renewal);
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    renewal->logins = logins;
    renewal->exchange = exchange;
    renewal->who = *who;
    renewal->done = done;
    renewal->context = context;
    proxies_client(logins->proxies, exchange, renewal->address);
    if (!renewal->user.has_password) {
        logins_refuse(
            exchange, ERR_INVALID_REQUEST,
            "You sign in without a password. Whoever runs the server can give you one with "
            "'gatehouse user passwd'.",
            no_field);
        free(renewal);
    } else if (!logins_take_try(logins, renewal->address, renewal->user.name, &wait_ms)) {
        note_renewal(renewal, ERR_RATE_LIMITED);
        logins_refuse_for_now(exchange, wait_ms);
        secret_wipe(renewal, sizeof(*renewal));
        free(renewal);
    } else {
        hash(renewal, &current, &wanted);
    }
}
