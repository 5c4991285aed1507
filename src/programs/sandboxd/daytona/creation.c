/* SPDX-License-Identifier: Apache-2.0 */
/* A request for a new sandbox: its fields, its image, and its answer when the sandbox runs. */
#include "programs/sandboxd/daytona/sandboxes.h"

#include <stdio.h>
#include <stdlib.h>

#include "programs/sandboxd/daytona/snapshots.h"
#include "programs/sandboxd/daytona/source.h"
#include "programs/sandboxd/details.h"
#include "programs/sandboxd/network.h"
#include "programs/sandboxd/run.h"
#include "programs/sandboxd/sandboxes.h"

enum { MOST_GB = 1024, MOST_CORES = 1024 };

/* A request to create, until it is answered. */
struct creation {
    struct sandbox_use use;
    struct service *service;
    struct exchange *exchange;
    struct sandboxstore_sandbox record;
    struct details *details; /* NULL once the sandbox has them */
    struct iplist network;
};

static void free_creation(struct creation *creation)
{
    details_free(creation->details);
    free(creation);
}

static void on_created(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct creation *creation = data;

    if (err != NULL && err->code == ERR_UNSUPPORTED)
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
    return service_find_named(creation->service, str_from(creation->details->name),
                              creation->record.owner) != NULL;
}

static void on_source(void *data, const struct err *err, struct str log, const char *image)
{
    cleanup_buf struct buf text = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct creation *creation = data;
    struct details *details = creation->details;
    struct err failed = ERR_INIT;
    const char *words;

    if (err != NULL) {
        if (buf_printf(&text, "%s%s%.*s", err->message, log.len > 0 ? "\n" : "", STR_ARG(log)) <
                0 ||
            buf_terminate(&text, &words) < 0)
            words = err->message;
        call_fail(creation->exchange, err_http_status(err->code), words);
        free_creation(creation);
        return;
    }
    snprintf(creation->record.image, sizeof(creation->record.image), "%s", image);
    if (is_name_taken(creation)) { /* maybe while an image was built */
        call_fail(creation->exchange, 409, "there is a sandbox of that name already");
        free_creation(creation);
        return;
    }
    if (!sandboxes_check_quota(creation->service, creation->record.owner, creation->exchange)) {
        free_creation(creation);
        return;
    }
    creation->details = NULL;
    if (service_create(creation->service, &creation->record,
                       &(struct service_extras){.details = details, .network = &creation->network},
                       &creation->use, &failed) < 0) {
        creation->details = details;
        call_fail_err(creation->exchange, &failed);
        free_creation(creation);
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
    struct str text = STR_EMPTY;

    for (size_t i = 0; i < array_size(lists); i++) {
        const struct json_value *list = json_get(object, str_from(lists[i]));

        if (list != NULL && list->type == JSON_ARRAY && list->size > 0)
            return "volumes and secrets: this service has none";
    }
    if (!call_member_str(object, STR("domainAllowList"), &text) || text.len > 0)
        return "domainAllowList: sandboxes of this service reach addresses, not names";
    return NULL;
}

static const char *read_network(const struct json_value *object, struct iplist *out_list)
{
    struct str text = STR_EMPTY;
    bool is_blocked = false;

    if (!call_member_bool(object, STR("networkBlockAll"), &is_blocked))
        return "networkBlockAll must be true or false";
    if (!call_member_str(object, STR("networkAllowList"), &text))
        return "networkAllowList must be a text";
    return is_blocked ? NULL : network_read_text(text, out_list);
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
        source_find(call, object, on_source, creation);
        return;
    }
    free_creation(creation);
}
