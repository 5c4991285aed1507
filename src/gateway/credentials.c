/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials that a daemon creates at its server. */
#include "gateway/internal.h"

#include <stdlib.h>

struct gateway_credential {
    struct list node;
    struct gateway *gateway;
    struct httpclient_call *call;
    gateway_credential_fn *done;
    void *data;
};

static void forget(struct gateway_credential *credential)
{
    list_remove(&credential->node);
    httpclient_cancel(credential->call);
    free(credential);
}

static void finish(struct gateway_credential *credential, const struct err *err, struct str id)
{
    gateway_credential_fn *done = credential->done;
    void *data = credential->data;

    forget(credential);
    done(data, err, id);
}

/* {"credentialId":"..."}, also inside {"data":...}. */
static int parse(struct arena *arena, struct str body, struct str *out_id)
{
    const struct json_value *reply;
    const struct json_value *data;
    int r = json_parse(arena, body, JSON_LIMITS_DEFAULT, &reply, NULL);

    if (r < 0)
        return r;
    data = json_get(reply, STR("data"));
    return json_get_str(data != NULL ? data : reply, STR("credentialId"), out_id)
               ? 0
               : ERR_GATEWAY_ANSWER;
}

static void on_posted(void *data, const struct httpclient_result *result)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * GATEWAY_MAX_REPLY_BYTES);
    struct gateway_credential *credential = data;
    int status = result->response != NULL ? result->response->status : 0;
    struct err err = result->err;
    struct str id = STR_EMPTY;

    credential->call = NULL;
    if (result->sent->len > 0)
        secret_wipe(result->sent->data, result->sent->len);
    if (result->code == 0 && status / 100 != 2)
        gateway_set_refusal(credential->gateway, status, result->body, &err);
    else if (result->code == 0 && parse(&arena, result->body, &id) < 0)
        err_set(&err, ERR_GATEWAY_ANSWER, "the server's response names no credential");
    finish(credential, err.code != 0 ? &err : NULL, id);
}

static const struct httpclient_events POSTED = {.on_done = on_posted};

static int post(struct gateway_credential *credential, struct buf *body, struct err *err)
{
    const struct gateway_post request = {
        .endpoint = STR("credentials"), .body = body, .whole_ms = GATEWAY_CREDENTIAL_MS};

    return gateway_post(credential->gateway, &request, &POSTED, credential, &credential->call, err);
}

int gateway_create_credential(struct gateway *gateway, struct buf *body,
                              gateway_credential_fn *done, void *data,
                              struct gateway_credential **out_credential, struct err *err)
{
    struct gateway_credential *credential;
    int r;

    if (gateway->key.len == 0)
        return err_set(err, ERR_CONNECTION_LOST, "there is no session with a server");
    if (gateway->dialect != GATEWAY_N8N)
        return err_set(err, ERR_UNSUPPORTED, "this server takes no credentials");
    credential = calloc(1, sizeof(*credential));
    if (credential == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    *credential = (struct gateway_credential){.gateway = gateway, .done = done, .data = data};
    list_append(&gateway->credentials, &credential->node);
    r = post(credential, body, err);
    if (r < 0)
        forget(credential);
    else
        *out_credential = credential;
    return r;
}

void gateway_credential_cancel(struct gateway_credential *credential)
{
    if (credential != NULL)
        forget(credential);
}

void gateway_credentials_drop(struct gateway *gateway)
{
    struct err err = ERR_INIT;

    err_set(&err, ERR_CONNECTION_LOST, "the session with the server has ended");
    while (!list_is_empty(&gateway->credentials))
        finish(list_entry(gateway->credentials.next, struct gateway_credential, node), &err,
               STR_EMPTY);
}
