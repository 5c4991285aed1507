/* SPDX-License-Identifier: Apache-2.0 */
/* A request for a new sandbox: its fields, its image, and its answer when the sandbox runs. */
#include "programs/sandboxd/daytona/creation.h"

#include <stdio.h>
#include <stdlib.h>

#include "programs/sandboxd/daytona/buildlog.h"
#include "programs/sandboxd/daytona/sandboxes.h"
#include "programs/sandboxd/daytona/snapshots.h"
#include "programs/sandboxd/daytona/source.h"
#include "programs/sandboxd/details.h"
#include "programs/sandboxd/network.h"
#include "programs/sandboxd/run.h"
#include "programs/sandboxd/sandboxes.h"

enum {
    MOST_GB = 1024,
    MOST_CORES = 1024,
    PATIENCE_MS = 1000, /* a quicker build is waited for */
    FAILURE_KEPT_MS = 10 * 60 * 1000,
    MOST_FAILURES = 64,
    STEP_BYTES = 65 << 10,
};

/* A request to create, until the sandbox is there. */
struct creation {
    struct list node; /* service->creations, when its client was told to ask again */
    struct sandbox_use use;
    struct timer patience;
    struct buildlog *log; /* of the build that is under way; or NULL */
    bool is_told;         /* the request was answered: there is no exchange */
    struct err failure;   /* of one that is not built any more */
    int64_t failed_ms;
    struct service *service;
    struct exchange *exchange;
    struct sandboxstore_sandbox record;
    struct details *details; /* NULL once the sandbox has them */
    struct network_policy network;
};

static void free_creation(struct creation *creation)
{
    list_remove(&creation->node);
    timer_stop(&creation->patience);
    details_free(creation->details);
    free(creation);
}

/* ---- those whose clients ask again ---- */

static void answer_unbuilt(struct exchange *exchange, struct creation *creation, const char *state)
{
    const struct sandbox shown = {
        .service = creation->service,
        .record = creation->record,
        .details = creation->details,
        .network = network_is_none(&creation->network) ? NULL : &creation->network};

    daytona_answer_unbuilt(exchange, &shown, state,
                           creation->failure.code != 0 ? creation->failure.message : NULL);
}

/* The build takes long. */
static void on_patience(void *data)
{
    struct creation *creation = data;

    creation->is_told = true;
    list_append(&creation->service->creations, &creation->node);
    answer_unbuilt(creation->exchange, creation, "pending_build");
    creation->exchange = NULL;
}

/* Forgets what failed long ago, and the oldest of many. */
static void forget_failures(struct service *service)
{
    const int64_t now_ms = loop_now_ms(service->config.loop);
    size_t count = 0;

    list_each (node, &service->creations)
        count += list_entry(node, struct creation, node)->failure.code != 0 ? 1 : 0;
    list_each_safe (node, &service->creations) {
        struct creation *creation = list_entry(node, struct creation, node);

        if (creation->failure.code == 0 ||
            (count <= MOST_FAILURES && now_ms - creation->failed_ms < FAILURE_KEPT_MS))
            continue;
        count--;
        free_creation(creation);
    }
}

/* The answer, or what the client finds when it asks again. Frees the creation, at some time. */
static void fail(struct creation *creation, int status, int code, const char *words)
{
    if (!creation->is_told) {
        call_fail(creation->exchange, status, words);
        free_creation(creation);
        return;
    }
    err_set(&creation->failure, code, "%s", words);
    creation->failed_ms = loop_now_ms(creation->service->config.loop);
    list_remove(&creation->node);
    list_append(&creation->service->creations, &creation->node);
    forget_failures(creation->service);
}

static struct creation *find(const struct api_call *call)
{
    forget_failures(call->service);
    list_each (node, &call->service->creations) {
        struct creation *creation = list_entry(node, struct creation, node);

        if (strcmp(creation->record.owner, call->owner) == 0 &&
            (str_eq_c(call->ids[0], creation->record.id) ||
             (creation->details != NULL && str_eq_c(call->ids[0], creation->details->name))))
            return creation;
    }
    return NULL;
}

const char *creation_find(const struct api_call *call)
{
    const struct creation *creation = find(call);

    return creation != NULL ? creation->record.id : NULL;
}

bool creation_answer(const struct api_call *call)
{
    struct creation *creation = find(call);

    /* Clients have a state for builds that failed, too, but older ones wait on when they see it. */
    if (creation != NULL)
        answer_unbuilt(call->exchange, creation,
                       creation->failure.code != 0 ? "error" : "building_snapshot");
    return creation != NULL;
}

bool creation_remove(const struct api_call *call)
{
    struct creation *creation = find(call);

    if (creation == NULL)
        return false;
    images_unwatch(creation->service->images, creation);
    buildlog_end(creation->log);
    answer_unbuilt(call->exchange, creation, "destroyed");
    free_creation(creation);
    return true;
}

void creations_done(struct service *service)
{
    list_each_safe (node, &service->creations)
        free_creation(list_entry(node, struct creation, node));
}

/* ---- creating ---- */

static void on_created(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct creation *creation = data;

    if (creation->is_told && err != NULL && err->code != ERR_NOT_FOUND) { /* else it was deleted */
        fail(creation, 0, err->code, err->message);
        return;
    }
    if (creation->is_told)
        ; /* its client asks for the sandbox */
    else if (err != NULL && err->code == ERR_UNSUPPORTED)
        call_fail(creation->exchange, 502, err->message); /* trying again would not help */
    else if (err != NULL)
        call_fail_err(creation->exchange, err);
    else
        daytona_answer_sandbox(creation->exchange, sandbox);
    if (err == NULL)
        service_release(sandbox);
    free_creation(creation);
}

static bool is_name_taken(const struct creation *creation)
{
    const char *name = creation->details->name;

    list_each (node, &creation->service->creations) {
        const struct creation *other = list_entry(node, struct creation, node);

        if (other != creation && other->failure.code == 0 && other->details != NULL &&
            strcmp(other->record.owner, creation->record.owner) == 0 &&
            strcmp(other->details->name, name) == 0)
            return true;
    }
    return service_find_named(creation->service, str_from(name), creation->record.owner) != NULL;
}

static void on_step(void *data, size_t step, size_t steps, struct str text, bool is_cached)
{
    cleanup_buf struct buf line = BUF_INIT(STEP_BYTES);
    const struct creation *creation = data;

    if (buf_printf(&line, "step %zu/%zu%s: %.*s\n", step, steps, is_cached ? " (cached)" : "",
                   STR_ARG(text)) == 0)
        buildlog_add(creation->log, buf_view(&line));
}

static void on_output(void *data, enum room_stream stream, struct str bytes)
{
    const struct creation *creation = data;

    (void)stream; /* in the order in which it came */
    buildlog_add(creation->log, bytes);
}

/* It is kept for clients that were told to follow it. */
static void end_log(struct creation *creation, const struct err *err)
{
    struct buildlog *log = creation->log;

    creation->log = NULL;
    if (!creation->is_told) {
        buildlog_drop(log);
        return;
    }
    if (err != NULL) {
        buildlog_add(log, str_from(err->message));
        buildlog_add(log, STR("\n"));
    }
    buildlog_end(log);
}

static void on_source(void *data, const struct err *err, struct str log, const char *image)
{
    cleanup_buf struct buf text = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct creation *creation = data;
    struct details *details = creation->details;
    struct err failed = ERR_INIT;
    const char *words;
    int status = 0;

    timer_stop(&creation->patience);
    end_log(creation, err);
    if (err != NULL) {
        /* Who follows the log has its end already. */
        if (creation->is_told ||
            buf_printf(&text, "%s%s%.*s", err->message, log.len > 0 ? "\n" : "", STR_ARG(log)) <
                0 ||
            buf_terminate(&text, &words) < 0)
            words = err->message;
        fail(creation, err_http_status(err->code), err->code, words);
        return;
    }
    snprintf(creation->record.image, sizeof(creation->record.image), "%s", image);
    if (is_name_taken(creation)) { /* maybe while an image was built */
        fail(creation, 409, ERR_ALREADY_EXISTS, "there is a sandbox of that name already");
        return;
    }
    words = sandboxes_find_quota(creation->service, creation->record.owner, &status);
    if (words != NULL) {
        fail(creation, status, ERR_BUSY, words);
        return;
    }
    list_remove(&creation->node); /* it is the sandbox now that is found */
    creation->details = NULL;
    if (service_create(creation->service, &creation->record,
                       &(struct service_extras){.details = details, .network = &creation->network},
                       &creation->use, &failed) < 0) {
        creation->details = details;
        fail(creation, err_http_status(failed.code), failed.code, failed.message);
    }
}

/* A name is part of addresses. */
static bool is_name(struct str name)
{
    if (name.len == 0 || name.len > SANDBOXSTORE_MAX_NAME_BYTES)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.ptr[i] <= ' ' || name.ptr[i] == 0x7f ||
            strchr("/?#%\\", name.ptr[i]) != NULL)
            return false;
    return true;
}

static const char *read_resources(const struct json_value *object,
                                  struct sandboxstore_sandbox *record)
{
    int64_t cores = 0;
    int64_t memory_gb = 0;
    int64_t disk_gb = 0;
    int64_t gpus = 0;

    if (!call_member_int(object, STR("cpu"), &cores) || cores < 0 || cores > MOST_CORES)
        return "cpu must be a number of cores";
    if (!call_member_int(object, STR("memory"), &memory_gb) || memory_gb < 0 || memory_gb > MOST_GB)
        return "memory must be a number of gigabytes";
    if (!call_member_int(object, STR("disk"), &disk_gb) || disk_gb < 0)
        return "disk must be a number of gigabytes";
    if (!call_member_int(object, STR("gpu"), &gpus) || gpus != 0)
        return "gpu: this service has none";
    record->cpu_percent = cores * 100;
    record->memory_mb = memory_gb * DAYTONA_MB_PER_GB;
    return NULL;
}

static bool read_minutes(const struct json_value *object, struct str key, int64_t least,
                         int64_t *out_minutes)
{
    return call_member_int(object, key, out_minutes) && *out_minutes >= least &&
           *out_minutes <= DETAILS_MAX_MINUTES;
}

static const char *read_texts(const struct json_value *object, struct str key, char **out_texts,
                              const char *wrong)
{
    const struct json_value *texts = json_get(object, key);

    if (texts == NULL || texts->type == JSON_NULL)
        return NULL;
    if (!details_is_texts(texts))
        return wrong;
    return details_set_texts(out_texts, texts) == 0 ? NULL : wrong;
}

/* No command could start with a variable that is none. */
static const char *read_env(const struct json_value *object, struct details *details)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct room_command command = {0};
    const char *wrong =
        read_texts(object, STR("env"), &details->env, "env must be an object of texts");

    return wrong != NULL ? wrong : run_add_env(&arena, json_get(object, STR("env")), &command);
}

/* Wishes that cannot be fulfilled are refused rather than forgotten. */
static const char *read_impossible(const struct json_value *object)
{
    static const char *const lists[] = {"volumes", "secrets"};

    for (size_t i = 0; i < array_size(lists); i++) {
        const struct json_value *list = json_get(object, str_from(lists[i]));

        if (list != NULL && list->type == JSON_ARRAY && list->size > 0)
            return "volumes and secrets: this service has none";
    }
    return NULL;
}

static const char *read_network(const struct json_value *object, struct network_policy *out_policy)
{
    struct str addresses = STR_EMPTY;
    struct str hosts = STR_EMPTY;
    bool is_blocked = false;

    if (!call_member_bool(object, STR("networkBlockAll"), &is_blocked))
        return "networkBlockAll must be true or false";
    if (!call_member_str(object, STR("networkAllowList"), &addresses))
        return "networkAllowList must be a text";
    if (!call_member_str(object, STR("domainAllowList"), &hosts))
        return "domainAllowList must be a text";
    return is_blocked ? NULL : network_read_texts(addresses, hosts, out_policy);
}

static const char *read_creation(const struct json_value *object, struct creation *creation)
{
    struct details *details = creation->details;
    struct str name = STR_EMPTY;
    struct str snapshot = STR_EMPTY;
    const char *wrong;

    if (!call_member_str(object, STR("name"), &name) || (name.len > 0 && !is_name(name)))
        return "name must be a short text without spaces and slashes";
    if (!call_member_str(object, STR("snapshot"), &snapshot) ||
        snapshot.len > SANDBOXSTORE_MAX_NAME_BYTES)
        return "snapshot must be a short text";
    if (!read_minutes(object, STR("autoStopInterval"), 0, &details->auto_stop_minutes))
        return "autoStopInterval must be a number of minutes, or 0";
    if (!read_minutes(object, STR("autoDeleteInterval"), DETAILS_NEVER,
                      &details->auto_delete_minutes))
        return "autoDeleteInterval must be a number of minutes, 0 or -1";
    if (!read_minutes(object, STR("autoArchiveInterval"), 0, &details->auto_archive_minutes))
        return "autoArchiveInterval must be a number of minutes, or 0";
    if (!call_member_bool(object, STR("public"), &details->is_public))
        return "public must be true or false";
    wrong = read_resources(object, &creation->record);
    if (wrong == NULL)
        wrong = read_impossible(object);
    if (wrong == NULL)
        wrong = read_network(object, &creation->network);
    if (wrong == NULL)
        wrong = read_texts(object, STR("labels"), &details->labels,
                           "labels must be an object of texts");
    if (wrong == NULL)
        wrong = read_env(object, details);
    call_make_uuid(creation->record.id);
    if (name.len == 0)
        name = str_from(creation->record.id);
    snprintf(details->name, sizeof(details->name), "%.*s", STR_ARG(name));
    snprintf(details->snapshot, sizeof(details->snapshot), "%.*s", STR_ARG(snapshot));
    return wrong;
}

/* What the request leaves open, its snapshot may say. */
static void take_resources(struct creation *creation)
{
    struct sandboxstore_sandbox *record = &creation->record;
    const struct snapshot *snapshot =
        snapshots_find(creation->service, str_from(creation->details->snapshot), record->owner);

    if (snapshot == NULL)
        return;
    if (record->cpu_percent == 0)
        record->cpu_percent = snapshot->record.cpu * 100;
    if (record->memory_mb == 0)
        record->memory_mb = snapshot->record.memory_gb * DAYTONA_MB_PER_GB;
}

static struct creation *new_creation(const struct api_call *call)
{
    struct creation *creation = calloc(1, sizeof(*creation));

    if (creation == NULL)
        return NULL;
    creation->service = call->service;
    creation->exchange = call->exchange;
    creation->use = (struct sandbox_use){.ready = on_created, .data = creation};
    list_init(&creation->node);
    timer_init(&creation->patience, call->service->config.loop, on_patience, creation);
    memcpy(creation->record.owner, call->owner, sizeof(call->owner));
    creation->record.created_s = loop_wall_ms(call->service->config.loop) / 1000;
    creation->record.active_s = creation->record.created_s;
    creation->details = details_new();
    if (creation->details == NULL) {
        free(creation);
        return NULL;
    }
    return creation;
}

/* Or finds what is built. */
static void build(const struct api_call *call, const struct json_value *object,
                  struct creation *creation)
{
    creation->log = buildlog_new(call->service, creation->record.id, call->owner);
    timer_start(&creation->patience, PATIENCE_MS);
    source_find(
        call, object,
        &(struct images_events){
            .done = on_source, .on_step = on_step, .on_output = on_output, .data = creation});
}

void daytona_create(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    const struct json_value *object = call_object(call, &arena, true);
    struct creation *creation;
    const char *wrong;

    if (object == NULL)
        return;
    creation = new_creation(call);
    if (creation == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    wrong = read_creation(object, creation);
    if (wrong != NULL)
        call_fail(call->exchange, 400, wrong);
    else if (is_name_taken(creation))
        call_fail(call->exchange, 409, "there is a sandbox of that name already");
    else if (sandboxes_check_quota(call->service, call->owner, call->exchange)) {
        take_resources(creation);
        build(call, object, creation);
        return;
    }
    free_creation(creation);
}
