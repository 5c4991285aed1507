/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/sandboxes.h"

#include <stdio.h>
#include <stdlib.h>

#include "isolate/cgroup.h"
#include "programs/sandboxd/contexts.h"
#include "programs/sandboxd/images.h"
#include "programs/sandboxd/network.h"
#include "programs/sandboxd/service.h"

enum {
    LEAST_MEMORY_MB = 16,
    MOST_MEMORY_MB = 1 << 20,
    MOST_CPU_PERCENT = 100 * 1024,
    MOST_PIDS = 1 << 20,
};

/* A request to create, until it is answered. */
struct creation {
    struct sandbox_use use;
    struct service *service;
    struct exchange *exchange;
    struct sandboxstore_sandbox record;
    struct network_policy network;
    bool is_existing;
    bool shows_image; /* the first generation of the API */
};

/* ---- answers ---- */

static void write_record(struct json_writer *json, const struct sandbox *sandbox, bool shows_image)
{
    const struct sandboxstore_sandbox *record = &sandbox->record;

    json_begin_object(json);
    json_put_str(json, STR("id"), str_from(record->id));
    json_put_str(json, STR("status"),
                 service_is_running(sandbox) ? STR("running") : STR("stopped"));
    json_put_int(json, STR("created_at"), record->created_s);
    json_put_int(json, STR("last_active_at"), record->active_s);
    json_put_bool(json, STR("ephemeral"), record->is_ephemeral);
    if (shows_image || record->image[0] != '\0') {
        json_put_str(json, STR("provider"), STR("isolated"));
        json_put_str(json, STR("image_id"), str_from(record->image));
    }
    images_put_warning(json, sandbox->service->images, record->image);
    if (sandbox->network != NULL)
        network_write(json, sandbox->network);
    /* Weaker isolation is said on every record. */
    if (sandbox->room != NULL && sandbox->reached.is_degraded)
        json_put_bool(json, STR("degraded"), true);
    json_end_object(json);
}

static void answer_record(struct exchange *exchange, int status, const struct sandbox *sandbox,
                          bool shows_image)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct json_writer json;

    json_writer_init(&json, &out);
    write_record(&json, sandbox, shows_image);
    call_answer_written(exchange, status, &json, &out);
}

static void on_created(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct creation *creation = data;

    if (err != NULL && err->code == ERR_UNSUPPORTED)
        call_fail(creation->exchange, 502, err->message); /* trying again would not help */
    else if (err != NULL && err->code != ERR_SESSION_OVER)
        call_fail_err(creation->exchange, err);
    else
        answer_record(creation->exchange, creation->is_existing ? 200 : 201, sandbox,
                      creation->shows_image);
    if (err == NULL)
        service_release(sandbox);
    free(creation);
}

/* ---- creating ---- */

const char *sandboxes_find_quota(struct service *service, const char *owner, int *out_status)
{
    struct sandboxstore_tenant tenant;
    int r;

    if (owner[0] == '\0')
        return NULL;
    r = sandboxstore_get_tenant(service->config.store, str_from(owner), &tenant);
    if (r < 0) {
        *out_status = err_http_status(r);
        return err_text(r);
    }
    if (tenant.max_sandboxes < 0 || service_count_of(service, owner) < (size_t)tenant.max_sandboxes)
        return NULL;
    *out_status = 403;
    return "this tenant may not have more sandboxes";
}

bool sandboxes_check_quota(struct service *service, const char *owner, struct exchange *exchange)
{
    int status = 0;
    const char *wrong = sandboxes_find_quota(service, owner, &status);

    if (wrong != NULL)
        call_fail(exchange, status, wrong);
    return wrong == NULL;
}

static const char *read_limits(const struct json_value *limits, struct sandboxstore_sandbox *record)
{
    if (limits == NULL || limits->type == JSON_NULL)
        return NULL;
    if (limits->type != JSON_OBJECT)
        return "resource_limits must be an object";
    if (!call_member_int(limits, STR("memory_mb"), &record->memory_mb) ||
        (record->memory_mb != 0 && record->memory_mb < LEAST_MEMORY_MB) ||
        record->memory_mb > MOST_MEMORY_MB)
        return "memory_mb must be a number from 16 on";
    if (!call_member_int(limits, STR("cpu_percent"), &record->cpu_percent) ||
        record->cpu_percent < 0 || record->cpu_percent > MOST_CPU_PERCENT)
        return "cpu_percent must be a number from 1 on";
    if (!call_member_int(limits, STR("pids_max"), &record->pids_max) || record->pids_max < 0 ||
        record->pids_max > MOST_PIDS)
        return "pids_max must be a number from 1 on";
    return NULL;
}

static const char *read_record(const struct api_call *call, const struct json_value *object,
                               struct creation *creation)
{
    struct sandboxstore_sandbox *record = &creation->record;
    struct str id = STR_EMPTY;
    struct str image = STR_EMPTY;
    const char *wrong;

    if (!call_member_str(object, STR("id"), &id) || (id.len > 0 && !call_is_uuid(id)) ||
        (id.len == 0 && json_get_str(object, STR("id"), &id)))
        return "id must be a UUID in lower case";
    if (!call_member_bool(object, STR("ephemeral"), &record->is_ephemeral))
        return "ephemeral must be true or false";
    if (!call_member_str(object, STR("image_id"), &image) ||
        (image.len > 0 && !images_has(call->service->images, image, call->owner)))
        return "image_id is no image of yours";
    wrong = read_limits(json_get(object, STR("resource_limits")), record);
    if (wrong == NULL)
        wrong = network_read(json_get(object, STR("network_policy")), &creation->network);
    if (wrong != NULL)
        return wrong;
    snprintf(record->id, sizeof(record->id), "%.*s", STR_ARG(id));
    if (id.len == 0)
        call_make_uuid(record->id);
    snprintf(record->image, sizeof(record->image), "%.*s", STR_ARG(image));
    return NULL;
}

static void create(struct creation *creation)
{
    struct err err = ERR_INIT;
    struct sandbox *sandbox = map_get(&creation->service->sandboxes, str_from(creation->record.id));

    /* Other requests may have been quicker while an image was built. */
    if (sandbox != NULL) {
        call_fail(creation->exchange, 409, "the id was taken meanwhile");
        free(creation);
    } else if (!sandboxes_check_quota(creation->service, creation->record.owner,
                                      creation->exchange)) {
        free(creation);
    } else if (service_create(creation->service, &creation->record,
                              &(struct service_extras){.network = &creation->network},
                              &creation->use, &err) < 0) {
        call_fail_err(creation->exchange, &err);
        free(creation);
    }
}

static void on_built(void *data, const struct err *err, struct str log, const char *image)
{
    cleanup_buf struct buf text = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct creation *creation = data;
    const char *words;

    if (err != NULL) {
        if (buf_printf(&text, "%s\n%.*s", err->message, STR_ARG(log)) < 0 ||
            buf_terminate(&text, &words) < 0)
            words = err->message;
        call_fail(creation->exchange, err_http_status(err->code), words);
        free(creation);
        return;
    }
    snprintf(creation->record.image, sizeof(creation->record.image), "%s", image);
    create(creation);
}

/* It has an id that is there already: 200, 409, or 503 while it is being deleted. */
static void answer_existing(const struct api_call *call, struct sandbox *sandbox,
                            struct creation *creation)
{
    if (strcmp(sandbox->record.owner, call->owner) != 0)
        call_fail(call->exchange, 409, "the id belongs to another owner");
    else if (sandbox->state == SANDBOX_DELETING)
        call_fail(call->exchange, 503, "the sandbox is being deleted; try again");
    else if (sandbox->is_new) {
        creation->is_existing = true;
        service_use(sandbox, &creation->use);
        return;
    } else
        answer_record(call->exchange, 200, sandbox, creation->shows_image);
    free(creation);
}

static struct context *steal_context(struct context **context)
{
    struct context *taken = *context;

    *context = NULL;
    return taken;
}

void sandboxes_create(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    const struct json_value *object = call_object(call, &arena, true);
    const struct json_value *steps;
    struct creation *creation;
    struct context *context = NULL;
    struct sandbox *sandbox;
    const char *wrong;
    bool is_first_generation;

    if (object == NULL)
        return;
    steps = json_get(object, STR("dockerfile_steps"));
    is_first_generation = steps != NULL || json_get(object, STR("network_policy")) != NULL ||
                          json_get(object, STR("resource_limits")) != NULL ||
                          json_get(object, STR("image_id")) != NULL;
    if (!is_first_generation && call->request->body.len > SANDBOXES_PLAIN_BODY_BYTES) {
        call_fail(call->exchange, 413, "the body is too large");
        return;
    }
    creation = calloc(1, sizeof(*creation));
    if (creation == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    creation->service = call->service;
    creation->exchange = call->exchange;
    creation->use = (struct sandbox_use){.ready = on_created, .data = creation};
    creation->shows_image = is_first_generation;
    memcpy(creation->record.owner, call->owner, sizeof(call->owner));
    creation->record.created_s = loop_wall_ms(call->service->config.loop) / 1000;
    creation->record.active_s = creation->record.created_s;
    wrong = read_record(call, object, creation);
    if (wrong == NULL)
        wrong = contexts_choose(call, object, &context);
    if (wrong == NULL && steps != NULL)
        wrong = images_check_steps(&arena, steps, context != NULL);
    if (wrong != NULL) {
        call_fail(call->exchange, 400, wrong);
        context_unref(context);
        free(creation);
        return;
    }
    sandbox = map_get(&call->service->sandboxes, str_from(creation->record.id));
    if (sandbox != NULL)
        answer_existing(call, sandbox, creation);
    else if (!sandboxes_check_quota(call->service, call->owner, call->exchange))
        free(creation);
    else if (steps != NULL && steps->type == JSON_ARRAY && steps->size > 0)
        images_build(call->service->images,
                     &(struct images_request){.steps = steps,
                                              .owner = call->owner,
                                              .context = steal_context(&context),
                                              .network = &creation->network},
                     &(struct images_events){.done = on_built, .data = creation});
    else
        create(creation);
    context_unref(context);
}

/* ---- the others ---- */

void sandboxes_list(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct list *order = &call->service->order;
    struct json_writer json;

    json_writer_init(&json, &out);
    json_begin_array(&json);
    for (struct list *node = order->prev; node != order; node = node->prev) {
        const struct sandbox *sandbox = list_entry(node, struct sandbox, node);

        if (strcmp(sandbox->record.owner, call->owner) == 0 && sandbox->state != SANDBOX_DELETING)
            write_record(&json, sandbox, false);
    }
    json_end_array(&json);
    call_answer_written(call->exchange, 200, &json, &out);
}

void sandboxes_get(const struct api_call *call)
{
    const struct sandbox *sandbox = service_find(call->service, call->ids[0], call->owner);

    if (sandbox == NULL)
        call_fail(call->exchange, 404, "there is no such sandbox");
    else
        answer_record(call->exchange, 200, sandbox, false);
}

struct removal {
    struct sandbox_use use;
    struct exchange *exchange;
};

static void on_removed(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct removal *removal = data;

    (void)sandbox;
    if (err != NULL)
        call_fail_err(removal->exchange, err);
    else
        call_answer_nothing(removal->exchange);
    free(removal);
}

void sandboxes_remove(const struct api_call *call)
{
    struct sandbox *sandbox = service_find(call->service, call->ids[0], call->owner);
    struct removal *removal = sandbox != NULL ? calloc(1, sizeof(*removal)) : NULL;

    if (removal == NULL) {
        call_fail(call->exchange, sandbox == NULL ? 404 : 503,
                  sandbox == NULL ? "there is no such sandbox" : err_text(ERR_NO_MEMORY));
        return;
    }
    removal->exchange = call->exchange;
    removal->use = (struct sandbox_use){.ready = on_removed, .data = removal};
    service_delete(sandbox, &removal->use);
}

/* ---- what a sandbox uses ---- */

/* A request for it, until the keeper has answered. The sandbox may be gone by then. */
struct look {
    struct exchange *exchange;
    struct sandboxstore_sandbox record;
};

static void answer_usage(struct exchange *exchange, const struct sandboxstore_sandbox *record,
                         const struct room_usage *usage)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct json_writer json;

    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str(&json, STR("id"), str_from(record->id));
    json_put_str(&json, STR("status"), usage != NULL ? STR("running") : STR("stopped"));
    json_put_int(&json, STR("memory_bytes"), usage != NULL ? (int64_t)usage->memory_bytes : 0);
    json_put_int(&json, STR("memory_limit_bytes"),
                 record->memory_mb > 0 ? (int64_t)record->memory_mb << 20
                                       : (int64_t)CGROUP_USUAL_MEMORY_BYTES);
    json_put_int(&json, STR("cpu_us"), usage != NULL ? (int64_t)usage->cpu_us : 0);
    json_put_int(&json, STR("cpu_limit_percent"),
                 record->cpu_percent > 0 ? record->cpu_percent : CGROUP_USUAL_CPU_PERCENT);
    json_put_int(&json, STR("processes"), usage != NULL ? usage->processes : 0);
    json_put_int(&json, STR("processes_limit"),
                 record->pids_max > 0 ? record->pids_max : CGROUP_USUAL_PROCESSES);
    json_end_object(&json);
    call_answer_written(exchange, 200, &json, &out);
}

static void on_used(void *data, const struct err *err, const struct room_usage *usage)
{
    struct look *look = data;

    if (err != NULL && err->code != ERR_SESSION_OVER)
        call_fail_err(look->exchange, err);
    else
        answer_usage(look->exchange, &look->record, err == NULL ? usage : NULL);
    free(look);
}

/* Looking wakes nothing, and is no activity. */
void sandboxes_stats(const struct api_call *call)
{
    struct sandbox *sandbox = service_find(call->service, call->ids[0], call->owner);
    struct look *look;

    if (sandbox == NULL) {
        call_fail(call->exchange, 404, "there is no such sandbox");
        return;
    }
    if (sandbox->state != SANDBOX_RUNNING || sandbox->room == NULL) {
        answer_usage(call->exchange, &sandbox->record, NULL);
        return;
    }
    look = calloc(1, sizeof(*look));
    if (look == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    *look = (struct look){.exchange = call->exchange, .record = sandbox->record};
    if (room_usage(sandbox->room, on_used, look) < 0) {
        answer_usage(call->exchange, &sandbox->record, NULL);
        free(look);
    }
}
