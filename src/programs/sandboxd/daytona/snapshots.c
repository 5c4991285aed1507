/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/snapshots.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "programs/sandboxd/daytona/sandboxes.h"
#include "programs/sandboxd/daytona/source.h"
#include "programs/sandboxd/images.h"

enum { PAGE = 100, MOST_PAGE = 1000, MOST_CORES = 1024, MOST_GB = 1 << 20 };

/* A request that creates one, while its image is built. */
struct creation {
    struct service *service;
    struct exchange *exchange;
    struct sandboxstore_snapshot record;
};

/* ---- the list ---- */

static struct snapshot *add(struct service *service, const struct sandboxstore_snapshot *record)
{
    struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

    if (snapshot == NULL)
        return NULL;
    snapshot->record = *record;
    list_init(&snapshot->node);
    list_append(&service->snapshots, &snapshot->node);
    return snapshot;
}

static void take(void *data, const struct sandboxstore_snapshot *record)
{
    (void)add(data, record);
}

int snapshots_init(struct service *service)
{
    list_init(&service->snapshots);
    return sandboxstore_each_snapshot(service->config.store, take, service);
}

static void drop(struct snapshot *snapshot)
{
    list_remove(&snapshot->node);
    free(snapshot);
}

void snapshots_done(struct service *service)
{
    while (!list_is_empty(&service->snapshots))
        drop(list_entry(service->snapshots.next, struct snapshot, node));
}

static struct snapshot *find(const struct service *service, struct str name, const char *owner)
{
    struct snapshot *by_id = NULL;

    list_each (node, &service->snapshots) {
        struct snapshot *snapshot = list_entry(node, struct snapshot, node);

        if (strcmp(snapshot->record.owner, owner) != 0)
            continue;
        if (str_eq_c(name, snapshot->record.name))
            return snapshot;
        if (str_eq_c(name, snapshot->record.id))
            by_id = snapshot;
    }
    return by_id;
}

const struct snapshot *snapshots_find(const struct service *service, struct str name,
                                      const char *owner)
{
    return find(service, name, owner);
}

bool snapshots_use(const struct service *service, const char *image)
{
    list_each (node, &service->snapshots)
        if (strcmp(list_entry(node, struct snapshot, node)->record.image, image) == 0)
            return true;
    return false;
}

static void remove_one(struct service *service, struct snapshot *snapshot)
{
    (void)sandboxstore_remove_snapshot(service->config.store, str_from(snapshot->record.id));
    drop(snapshot);
}

void snapshots_remove_all(struct service *service, const char *owner)
{
    list_each_safe (node, &service->snapshots) {
        struct snapshot *snapshot = list_entry(node, struct snapshot, node);

        if (strcmp(snapshot->record.owner, owner) == 0)
            remove_one(service, snapshot);
    }
}

static size_t count_of(const struct service *service, const char *owner)
{
    size_t count = 0;

    list_each (node, &service->snapshots)
        if (strcmp(list_entry(node, struct snapshot, node)->record.owner, owner) == 0)
            count++;
    return count;
}

/* ---- answers ---- */

static void put_null(struct json_writer *json, struct str key)
{
    json_key(json, key);
    json_write_null(json);
}

static void write_snapshot(struct json_writer *json, const struct service *service,
                           const struct sandboxstore_snapshot *record)
{
    char when[CLOCK_ISO_BYTES];

    clock_format_iso(record->created_s * 1000, when);
    json_begin_object(json);
    json_put_str(json, STR("id"), str_from(record->id));
    json_put_str(json, STR("organizationId"), daytona_organization(record->owner));
    json_put_bool(json, STR("general"), false);
    json_put_str(json, STR("name"), str_from(record->name));
    if (record->from[0] != '\0')
        json_put_str(json, STR("imageName"), str_from(record->from));
    json_put_str(json, STR("state"), STR("active"));
    put_null(json, STR("size"));
    put_null(json, STR("entrypoint"));
    json_put_int(json, STR("cpu"), record->cpu);
    json_put_int(json, STR("gpu"), 0);
    json_put_int(json, STR("mem"), record->memory_gb);
    json_put_int(json, STR("disk"), record->disk_gb);
    put_null(json, STR("errorReason"));
    json_put_str(json, STR("createdAt"), str_from(when));
    json_put_str(json, STR("updatedAt"), str_from(when));
    put_null(json, STR("lastUsedAt"));
    put_null(json, STR("sourceSandboxId"));
    json_put_str(json, STR("ref"), str_from(record->image));
    images_put_warning(json, service->images, record->image);
    json_end_object(json);
}

static void answer(struct exchange *exchange, const struct service *service,
                   const struct sandboxstore_snapshot *record)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct json_writer json;

    json_writer_init(&json, &out);
    write_snapshot(&json, service, record);
    call_answer_written(exchange, 200, &json, &out);
}

/* ---- creating ---- */

static void on_built(void *data, const struct err *err, struct str log, const char *image)
{
    cleanup_free struct creation *creation = data;
    cleanup_buf struct buf text = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct sandboxstore_snapshot *record = &creation->record;
    const char *words;
    int r;

    if (err != NULL) {
        if (buf_printf(&text, "%s%s%.*s", err->message, log.len > 0 ? "\n" : "", STR_ARG(log)) <
                0 ||
            buf_terminate(&text, &words) < 0)
            words = err->message;
        call_fail(creation->exchange, err_http_status(err->code), words);
        return;
    }
    snprintf(record->image, sizeof(record->image), "%s", image);
    r = sandboxstore_add_snapshot(creation->service->config.store, record);
    if (r == 0 && add(creation->service, record) == NULL)
        r = ERR_NO_MEMORY;
    if (r == ERR_ALREADY_EXISTS)
        call_fail(creation->exchange, 409, "there is a snapshot of that name already");
    else if (r < 0)
        call_fail(creation->exchange, 503, err_text(r));
    else
        answer(creation->exchange, creation->service, record);
}

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.ptr[i] <= ' ' || name.ptr[i] == '/' || name.ptr[i] == 0x7f)
            return false;
    return name.len > 0 && name.len <= SANDBOXSTORE_MAX_NAME_BYTES;
}

static bool read_number(const struct json_value *object, struct str key, int64_t most,
                        int64_t *out_number)
{
    return call_member_int(object, key, out_number) && *out_number >= 0 && *out_number <= most;
}

/* What is wrong with it, or NULL. */
static const char *read_record(const struct json_value *object,
                               struct sandboxstore_snapshot *record)
{
    struct str name = STR_EMPTY;
    struct str from = STR_EMPTY;
    int64_t gpus = 0;

    if (!call_member_str(object, STR("name"), &name) || !is_name(name))
        return "name must be a text of 1 to 128 characters, without spaces and slashes";
    if (!call_member_str(object, STR("imageName"), &from) || from.len > SANDBOXSTORE_MAX_NAME_BYTES)
        return "imageName must be the name of an image";
    if (!read_number(object, STR("cpu"), MOST_CORES, &record->cpu) ||
        !read_number(object, STR("memory"), MOST_GB, &record->memory_gb) ||
        !read_number(object, STR("disk"), MOST_GB, &record->disk_gb))
        return "cpu, memory and disk must be numbers of cores and gigabytes";
    if (!call_member_int(object, STR("gpu"), &gpus) || gpus != 0)
        return "gpu: this service has none";
    snprintf(record->name, sizeof(record->name), "%.*s", STR_ARG(name));
    snprintf(record->from, sizeof(record->from), "%.*s", STR_ARG(from));
    return NULL;
}

static void create(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    const struct json_value *object = call_object(call, &arena, false);
    struct creation *creation;
    const char *wrong;

    if (object == NULL)
        return;
    creation = calloc(1, sizeof(*creation));
    if (creation == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    *creation = (struct creation){.service = call->service, .exchange = call->exchange};
    memcpy(creation->record.owner, call->owner, sizeof(call->owner));
    call_make_uuid(creation->record.id);
    creation->record.created_s = loop_wall_ms(call->service->config.loop) / 1000;
    wrong = read_record(object, &creation->record);
    if (wrong != NULL)
        call_fail(call->exchange, 400, wrong);
    else if (find(call->service, str_from(creation->record.name), call->owner) != NULL)
        call_fail(call->exchange, 409, "there is a snapshot of that name already");
    else if (count_of(call->service, call->owner) >= SNAPSHOTS_MOST)
        call_fail(call->exchange, 403, "there are too many snapshots");
    else {
        source_build(call, object, str_from(creation->record.from),
                     &(struct images_events){.done = on_built, .data = creation});
        return;
    }
    free(creation);
}

/* ---- the others ---- */

static struct snapshot *find_named(const struct api_call *call)
{
    struct snapshot *snapshot = find(call->service, call->ids[0], call->owner);

    if (snapshot == NULL)
        call_fail(call->exchange, 404, "there is no such snapshot");
    return snapshot;
}

static void get(const struct api_call *call)
{
    const struct snapshot *snapshot = find_named(call);

    if (snapshot != NULL)
        answer(call->exchange, call->service, &snapshot->record);
}

/* What was made from it stays. */
static void delete_one(const struct api_call *call)
{
    struct snapshot *snapshot = find_named(call);

    if (snapshot == NULL)
        return;
    remove_one(call->service, snapshot);
    exchange_answer(call->exchange, &(struct http_answer){.status = 200});
}

static bool read_query(const struct api_call *call, struct arena *arena, struct str name,
                       int64_t most, int64_t *number)
{
    struct str text;
    int error = 0;

    if (!call_query(call, arena, name, &text, &error))
        return error == 0;
    return str_to_int64(text, number) && *number >= 1 && *number <= most;
}

static void list(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    const int64_t total = (int64_t)count_of(call->service, call->owner);
    struct json_writer json;
    int64_t page = 1;
    int64_t limit = PAGE;
    int64_t at = 0;

    if (!read_query(call, &arena, STR("page"), INT32_MAX, &page) ||
        !read_query(call, &arena, STR("limit"), MOST_PAGE, &limit)) {
        call_fail(call->exchange, 400, "page and limit are numbers from 1 on");
        return;
    }
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_key(&json, STR("items"));
    json_begin_array(&json);
    list_each (node, &call->service->snapshots) {
        const struct snapshot *snapshot = list_entry(node, struct snapshot, node);

        if (strcmp(snapshot->record.owner, call->owner) != 0)
            continue;
        if (at >= (page - 1) * limit && at < page * limit)
            write_snapshot(&json, call->service, &snapshot->record);
        at++;
    }
    json_end_array(&json);
    json_put_int(&json, STR("total"), total);
    json_put_int(&json, STR("page"), page);
    json_put_int(&json, STR("totalPages"), (total + limit - 1) / limit);
    json_end_object(&json);
    call_answer_written(call->exchange, 200, &json, &out);
}

/* clang-format off */
static const struct endpoint endpoints[] = {
    {HTTP_METHOD_POST,   "/api/snapshots", ENDPOINT_KEY, DAYTONA_MAX_BODY_BYTES, create},
    {HTTP_METHOD_GET,    "/api/snapshots", ENDPOINT_KEY, 0, list},
    {HTTP_METHOD_GET,    "/api/snapshots/*", ENDPOINT_KEY, 0, get},
    {HTTP_METHOD_DELETE, "/api/snapshots/*", ENDPOINT_KEY, 0, delete_one},
};
/* clang-format on */

const struct endpoint_table snapshots_endpoints = {endpoints, array_size(endpoints)};
