/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/tenants.h"

#include <stdio.h>

#include "base/secret.h"
#include "programs/sandboxd/daytona/snapshots.h"
#include "programs/sandboxd/service.h"

enum { KEY_CHARS = 32, MOST_SANDBOXES = 1000000 };

static int64_t now_s(const struct api_call *call)
{
    return loop_wall_ms(call->service->config.loop) / 1000;
}

static void fail_store(const struct api_call *call, int error)
{
    call_fail(call->exchange, err_http_status(error), err_text(error));
}

/* ---- writing ---- */

static void write_tenant(struct json_writer *json, const struct sandboxstore_tenant *tenant)
{
    json_begin_object(json);
    json_put_str(json, STR("id"), str_from(tenant->id));
    json_put_str(json, STR("name"), str_from(tenant->name));
    json_put_str(json, STR("external_ref"), str_from(tenant->external_ref));
    json_key(json, STR("max_sandboxes"));
    if (tenant->max_sandboxes >= 0)
        json_write_int(json, tenant->max_sandboxes);
    else
        json_write_null(json);
    json_put_int(json, STR("created_at"), tenant->created_s);
    json_end_object(json);
}

static void write_key(struct json_writer *json, const struct sandboxstore_key *key,
                      struct str api_key)
{
    json_begin_object(json);
    json_put_str(json, STR("id"), str_from(key->id));
    json_put_str(json, STR("tenant_id"), str_from(key->tenant));
    json_put_str(json, STR("prefix"), str_from(key->prefix));
    json_put_int(json, STR("created_at"), key->created_s);
    if (api_key.len > 0)
        json_put_str(json, STR("api_key"), api_key);
    json_end_object(json);
}

static void write_tenant_item(void *data, const struct sandboxstore_tenant *tenant)
{
    write_tenant(data, tenant);
}

static void write_key_item(void *data, const struct sandboxstore_key *key)
{
    write_key(data, key, STR_EMPTY);
}

/* ---- tenants ---- */

static int make_key(const struct api_call *call, const char *tenant,
                    struct sandboxstore_key *out_key, struct secret *out_secret)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    int r = secret_generate(out_secret, STR("sbk_"), KEY_CHARS);

    if (r < 0)
        return r;
    *out_key = (struct sandboxstore_key){.created_s = now_s(call)};
    call_make_uuid(out_key->id);
    snprintf(out_key->tenant, sizeof(out_key->tenant), "%s", tenant);
    /* The beginning only, so that people recognise it. */
    snprintf(out_key->prefix, sizeof(out_key->prefix), "%.*s", STR_ARG(secret_reveal(out_secret)));
    sha256_init(&hash);
    sha256_add(&hash, secret_reveal(out_secret)); /* to store its digest */
    sha256_end(&hash, digest);
    return sandboxstore_add_key(call->service->config.store, out_key, digest);
}

static bool take_name(struct str given, char out_name[SANDBOXSTORE_MAX_NAME_BYTES + 1])
{
    if (given.len > SANDBOXSTORE_MAX_NAME_BYTES || str_has_nul(given))
        return false;
    snprintf(out_name, SANDBOXSTORE_MAX_NAME_BYTES + 1, "%.*s", STR_ARG(given));
    return true;
}

static const char *read_tenant(const struct json_value *object, struct sandboxstore_tenant *tenant,
                               bool *out_has_key)
{
    struct str name = STR_EMPTY;
    struct str reference = STR_EMPTY;

    *out_has_key = true;
    tenant->max_sandboxes = -1;
    if (!call_member_str(object, STR("name"), &name) || !take_name(name, tenant->name))
        return "name must be a text of at most 128 bytes";
    if (!call_member_str(object, STR("external_ref"), &reference) ||
        !take_name(reference, tenant->external_ref))
        return "external_ref must be a text of at most 128 bytes";
    if (!call_member_int(object, STR("max_sandboxes"), &tenant->max_sandboxes) ||
        tenant->max_sandboxes < -1 || tenant->max_sandboxes > MOST_SANDBOXES ||
        (tenant->max_sandboxes == -1 && json_get(object, STR("max_sandboxes")) != NULL &&
         json_get(object, STR("max_sandboxes"))->type != JSON_NULL))
        return "max_sandboxes must be a number from 0 to 1000000";
    if (!call_member_bool(object, STR("create_key"), out_has_key))
        return "create_key must be true or false";
    return NULL;
}

void tenants_create(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    cleanup_secret struct secret secret = SECRET_INIT;
    const struct json_value *object = call_object(call, &arena, true);
    struct sandboxstore_tenant tenant = {.created_s = now_s(call)};
    struct sandboxstore_key key = {.created_s = 0};
    struct json_writer json;
    const char *wrong;
    bool has_key;
    int r;

    if (object == NULL)
        return;
    wrong = read_tenant(object, &tenant, &has_key);
    if (wrong != NULL) {
        call_fail(call->exchange, 400, wrong);
        return;
    }
    call_make_uuid(tenant.id);
    r = sandboxstore_add_tenant(call->service->config.store, &tenant);
    if (r == 0 && has_key) {
        r = make_key(call, tenant.id, &key, &secret);
        if (r < 0)
            (void)sandboxstore_remove_tenant(call->service->config.store, str_from(tenant.id));
    }
    if (r < 0) {
        fail_store(call, r);
        return;
    }
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_key(&json, STR("tenant"));
    write_tenant(&json, &tenant);
    if (has_key) {
        json_key(&json, STR("key"));
        write_key(&json, &key, secret_reveal(&secret)); /* shown only here */
    }
    json_end_object(&json);
    call_answer_written(call->exchange, 201, &json, &out);
}

void tenants_list(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct json_writer json;
    int r;

    json_writer_init(&json, &out);
    json_begin_array(&json);
    r = sandboxstore_each_tenant(call->service->config.store, write_tenant_item, &json);
    json_end_array(&json);
    if (r < 0)
        fail_store(call, r);
    else
        call_answer_written(call->exchange, 200, &json, &out);
}

/* False after a 404: there is no such tenant. */
static bool find(const struct api_call *call, struct sandboxstore_tenant *out_tenant)
{
    int r = sandboxstore_get_tenant(call->service->config.store, call->ids[0], out_tenant);

    if (r == ERR_NOT_FOUND)
        call_fail(call->exchange, 404, "there is no such tenant");
    else if (r < 0)
        fail_store(call, r);
    return r == 0;
}

void tenants_get(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct sandboxstore_tenant tenant;
    struct json_writer json;

    if (!find(call, &tenant))
        return;
    json_writer_init(&json, &out);
    write_tenant(&json, &tenant);
    call_answer_written(call->exchange, 200, &json, &out);
}

void tenants_remove(const struct api_call *call)
{
    struct sandboxstore_tenant tenant;
    int r;

    if (!find(call, &tenant))
        return;
    if (service_count_of(call->service, tenant.id) > 0) {
        call_fail(call->exchange, 409, "the tenant has sandboxes: delete them first");
        return;
    }
    r = sandboxstore_remove_tenant(call->service->config.store, call->ids[0]);
    if (r < 0) {
        fail_store(call, r);
        return;
    }
    snapshots_remove_all(call->service, tenant.id);
    call_answer_nothing(call->exchange);
}

/* ---- keys ---- */

void tenants_create_key(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    cleanup_secret struct secret secret = SECRET_INIT;
    struct sandboxstore_tenant tenant;
    struct sandboxstore_key key;
    struct json_writer json;
    int r;

    if (!find(call, &tenant))
        return;
    r = make_key(call, tenant.id, &key, &secret);
    if (r < 0) {
        fail_store(call, r);
        return;
    }
    json_writer_init(&json, &out);
    write_key(&json, &key, secret_reveal(&secret)); /* shown only here */
    call_answer_written(call->exchange, 201, &json, &out);
}

void tenants_list_keys(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct sandboxstore_tenant tenant;
    struct json_writer json;
    int r;

    if (!find(call, &tenant))
        return;
    json_writer_init(&json, &out);
    json_begin_array(&json);
    r = sandboxstore_each_key(call->service->config.store, call->ids[0], write_key_item, &json);
    json_end_array(&json);
    if (r < 0)
        fail_store(call, r);
    else
        call_answer_written(call->exchange, 200, &json, &out);
}

void tenants_remove_key(const struct api_call *call)
{
    struct sandboxstore_tenant tenant;
    int r;

    if (!find(call, &tenant))
        return;
    r = sandboxstore_remove_key(call->service->config.store, call->ids[0], call->ids[1]);
    if (r == ERR_NOT_FOUND)
        call_fail(call->exchange, 404, "there is no such key");
    else if (r < 0)
        fail_store(call, r);
    else
        call_answer_nothing(call->exchange);
}
