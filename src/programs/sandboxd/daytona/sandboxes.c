/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/sandboxes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "isolate/cgroup.h"
#include "programs/sandboxd/daytona/creation.h"
#include "programs/sandboxd/details.h"
#include "programs/sandboxd/forward.h"
#include "programs/sandboxd/images.h"
#include "programs/sandboxd/network.h"

/* ---- answers ---- */

void daytona_base_url(const struct service *service, const struct http_request *request,
                      char out_url[DAYTONA_URL_BYTES])
{
    const struct str scheme = forward_scheme(request, service->config.has_tls);

    snprintf(out_url, DAYTONA_URL_BYTES, "%.*s://%.*s", STR_ARG(scheme), STR_ARG(request->host));
}

struct str daytona_organization(const char *owner)
{
    return owner[0] != '\0' ? str_from(owner) : STR("administrator");
}

static bool is_archived(const struct sandbox *sandbox)
{
    return sandbox->details != NULL &&
           details_is_archived(sandbox->details,
                               loop_now_ms(sandbox->service->config.loop) - sandbox->stopped_ms);
}

const char *daytona_state_name(const struct sandbox *sandbox)
{
    switch (sandbox->state) {
    case SANDBOX_STOPPED:
        return is_archived(sandbox) ? "archived" : "stopped";
    case SANDBOX_STARTING:
        return "starting";
    case SANDBOX_RUNNING:
        return "started";
    case SANDBOX_STOPPING:
        return "stopping";
    case SANDBOX_DELETING:
        break;
    }
    return "destroyed";
}

static void put_time(struct json_writer *json, struct str key, int64_t s)
{
    char text[CLOCK_ISO_BYTES];

    clock_format_iso(s * 1000, text);
    json_put_str(json, key, str_from(text));
}

/* 512 of 1024 is 0.500. */
static void put_share(struct json_writer *json, struct str key, int64_t amount, int64_t unit)
{
    char text[64];

    snprintf(text, sizeof(text), "%lld.%03lld", (long long)(amount / unit),
             (long long)(amount % unit * 1000 / unit));
    json_key(json, key);
    json_splice(json, str_from(text));
}

static void put_resources(struct json_writer *json, const struct sandbox *sandbox)
{
    const struct sandboxstore_sandbox *record = &sandbox->record;

    put_share(json, STR("cpu"),
              record->cpu_percent > 0 ? record->cpu_percent : CGROUP_USUAL_CPU_PERCENT, 100);
    json_put_int(json, STR("gpu"), 0);
    put_share(json, STR("memory"),
              record->memory_mb > 0 ? record->memory_mb
                                    : (int64_t)(CGROUP_USUAL_MEMORY_BYTES >> 20),
              DAYTONA_MB_PER_GB);
    put_share(json, STR("disk"), (int64_t)(sandbox->service->config.disk_bytes >> 20),
              DAYTONA_MB_PER_GB);
}

static void put_network(struct json_writer *json, const struct network_policy *network)
{
    cleanup_buf struct buf text = BUF_INIT(NETWORK_TEXT_BYTES);

    json_put_bool(json, STR("networkBlockAll"), network == NULL);
    if (network == NULL)
        return;
    if (network->addresses.count > 0 && network_write_addresses(&text, network) == 0)
        json_put_str(json, STR("networkAllowList"), buf_view(&text));
    buf_clear(&text);
    if (network->hosts.count > 0 && network_write_hosts(&text, network) == 0)
        json_put_str(json, STR("domainAllowList"), buf_view(&text));
}

static void write_sandbox(struct json_writer *json, const struct sandbox *sandbox, const char *url,
                          const char *state, const char *reason)
{
    const struct sandboxstore_sandbox *record = &sandbox->record;
    const struct details *details = sandbox->details;
    char toolbox[DAYTONA_URL_BYTES + 16];

    snprintf(toolbox, sizeof(toolbox), "%s/toolbox", url);
    json_begin_object(json);
    json_put_str(json, STR("id"), str_from(record->id));
    json_put_str(json, STR("organizationId"), daytona_organization(record->owner));
    json_put_str(json, STR("name"), str_from(details != NULL ? details->name : record->id));
    if (details != NULL && details->snapshot[0] != '\0')
        json_put_str(json, STR("snapshot"), str_from(details->snapshot));
    json_put_str(json, STR("user"), STR("user"));
    json_key(json, STR("env"));
    json_splice(json, str_from(details != NULL ? details->env : "{}"));
    json_key(json, STR("labels"));
    json_splice(json, str_from(details != NULL ? details->labels : "{}"));
    json_put_bool(json, STR("public"), details != NULL && details->is_public);
    put_network(json, sandbox->network);
    json_put_str(json, STR("target"), STR("local"));
    put_resources(json, sandbox);
    json_put_str(json, STR("state"), str_from(state));
    if (reason != NULL)
        json_put_str_lossy(json, STR("errorReason"), str_from(reason));
    json_put_int(json, STR("autoStopInterval"), details != NULL ? details->auto_stop_minutes : 0);
    json_put_int(json, STR("autoArchiveInterval"),
                 details != NULL ? details->auto_archive_minutes : 0);
    json_put_int(json, STR("autoDeleteInterval"),
                 details != NULL ? details->auto_delete_minutes : DETAILS_NEVER);
    put_time(json, STR("createdAt"), record->created_s);
    put_time(json, STR("updatedAt"),
             details != NULL && details->updated_s > 0 ? details->updated_s : record->created_s);
    put_time(json, STR("lastActivityAt"), record->active_s);
    json_put_str_lossy(json, STR("toolboxProxyUrl"), str_from(toolbox));
    if (sandbox->room != NULL && sandbox->reached.is_degraded)
        json_put_bool(json, STR("degraded"), true);
    images_put_warning(json, sandbox->service->images, record->image);
    json_end_object(json);
}

void daytona_write_sandbox(struct json_writer *json, const struct sandbox *sandbox, const char *url)
{
    write_sandbox(json, sandbox, url, daytona_state_name(sandbox), NULL);
}

void daytona_answer_unbuilt(struct exchange *exchange, const struct sandbox *sandbox,
                            const char *state, const char *reason)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    char url[DAYTONA_URL_BYTES];
    struct json_writer json;

    daytona_base_url(sandbox->service, exchange_request(exchange), url);
    json_writer_init(&json, &out);
    write_sandbox(&json, sandbox, url, state, reason);
    call_answer_written(exchange, 200, &json, &out);
}

void daytona_answer_sandbox(struct exchange *exchange, const struct sandbox *sandbox)
{
    daytona_answer_unbuilt(exchange, sandbox, daytona_state_name(sandbox), NULL);
}

void daytona_answer_url(const struct api_call *call, const char *path)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    char base[DAYTONA_URL_BYTES];
    char url[DAYTONA_URL_BYTES + 64];
    struct json_writer json;

    daytona_base_url(call->service, call->request, base);
    snprintf(url, sizeof(url), "%s%s", base, path);
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str_lossy(&json, STR("url"), str_from(url));
    json_end_object(&json);
    call_answer_written(call->exchange, 200, &json, &out);
}

struct sandbox *daytona_find(const struct api_call *call)
{
    struct sandbox *sandbox = service_find_named(call->service, call->ids[0], call->owner);

    if (sandbox == NULL && creation_find(call) != NULL)
        call_fail(call->exchange, 409,
                  "the sandbox is not there: it is being built, or that failed; see its state");
    else if (sandbox == NULL)
        call_fail(call->exchange, 404, "there is no such sandbox");
    return sandbox;
}

/* ---- reading ---- */

void daytona_get(const struct api_call *call)
{
    const struct sandbox *sandbox = service_find_named(call->service, call->ids[0], call->owner);

    if (sandbox != NULL)
        daytona_answer_sandbox(call->exchange, sandbox);
    else if (!creation_answer(call))
        call_fail(call->exchange, 404, "there is no such sandbox");
}

void daytona_get_toolbox_url(const struct api_call *call)
{
    if (daytona_find(call) != NULL)
        daytona_answer_url(call, "/toolbox");
}

/* ---- changing ---- */

/* A request that waits for a start, a stop or the end of a sandbox. */
struct move {
    struct sandbox_use use;
    struct exchange *exchange;
    bool is_use; /* a start, which counts as work */
};

static void on_moved(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct move *move = data;

    /* A sandbox that was lost runs again; that is what its client wants. */
    if (err != NULL && (err->code != ERR_SESSION_OVER || sandbox == NULL))
        call_fail_err(move->exchange, err);
    else
        daytona_answer_sandbox(move->exchange, sandbox);
    if (err == NULL && move->is_use)
        service_release(sandbox);
    free(move);
}

static struct move *new_move(const struct api_call *call, struct sandbox **out_sandbox)
{
    struct move *move;

    *out_sandbox = daytona_find(call);
    if (*out_sandbox == NULL)
        return NULL;
    move = calloc(1, sizeof(*move));
    if (move == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return NULL;
    }
    move->exchange = call->exchange;
    move->use = (struct sandbox_use){.ready = on_moved, .data = move};
    return move;
}

void daytona_start(const struct api_call *call)
{
    struct sandbox *sandbox;
    struct move *move = new_move(call, &sandbox);

    if (move == NULL)
        return;
    move->is_use = true;
    service_use(sandbox, &move->use);
}

void daytona_stop(const struct api_call *call)
{
    struct sandbox *sandbox;
    struct move *move = new_move(call, &sandbox);

    if (move != NULL)
        service_stop(sandbox, &move->use);
}

void daytona_remove(const struct api_call *call)
{
    struct sandbox *sandbox = service_find_named(call->service, call->ids[0], call->owner);
    struct move *move;

    if (sandbox == NULL && creation_remove(call))
        return;
    move = new_move(call, &sandbox);
    if (move != NULL)
        service_delete(sandbox, &move->use);
}

struct details *daytona_change_details(const struct api_call *call, struct sandbox *sandbox)
{
    if (sandbox->details == NULL) {
        sandbox->details = details_new();
        if (sandbox->details == NULL) {
            call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
            return NULL;
        }
        snprintf(sandbox->details->name, sizeof(sandbox->details->name), "%s", sandbox->record.id);
    }
    sandbox->details->updated_s = loop_wall_ms(call->service->config.loop) / 1000;
    return sandbox->details;
}

void daytona_set_labels(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct sandbox *sandbox = daytona_find(call);
    const struct json_value *object = sandbox != NULL ? call_object(call, &arena, false) : NULL;
    const struct json_value *labels = object != NULL ? json_get(object, STR("labels")) : NULL;
    struct details *details;
    struct json_writer json;
    int r;

    if (object == NULL)
        return;
    if (labels == NULL || !details_is_texts(labels)) {
        call_fail(call->exchange, 400, "labels must be an object of texts");
        return;
    }
    details = daytona_change_details(call, sandbox);
    if (details == NULL)
        return;
    r = details_set_texts(&details->labels, labels);
    if (r < 0) {
        call_fail(call->exchange, err_http_status(r), err_text(r));
        return;
    }
    (void)service_save_details(sandbox);
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_key(&json, STR("labels"));
    json_splice(&json, str_from(details->labels));
    json_end_object(&json);
    call_answer_written(call->exchange, 200, &json, &out);
}

enum interval { INTERVAL_STOP, INTERVAL_ARCHIVE, INTERVAL_DELETE };

static void set_minutes(const struct api_call *call, int64_t least, enum interval interval)
{
    struct sandbox *sandbox = daytona_find(call);
    struct details *details;
    int64_t minutes;

    if (sandbox == NULL)
        return;
    if (!str_to_int64(call->ids[1], &minutes) || minutes < least || minutes > DETAILS_MAX_MINUTES) {
        call_fail(call->exchange, 400, "the interval must be a number of minutes");
        return;
    }
    details = daytona_change_details(call, sandbox);
    if (details == NULL)
        return;
    switch (interval) {
    case INTERVAL_STOP:
        details->auto_stop_minutes = minutes;
        break;
    case INTERVAL_ARCHIVE:
        details->auto_archive_minutes = minutes;
        break;
    case INTERVAL_DELETE:
        details->auto_delete_minutes = minutes;
        break;
    }
    (void)service_save_details(sandbox);
    daytona_answer_sandbox(call->exchange, sandbox);
}

void daytona_set_auto_stop(const struct api_call *call)
{
    set_minutes(call, 0, INTERVAL_STOP);
}

void daytona_set_auto_delete(const struct api_call *call)
{
    set_minutes(call, DETAILS_NEVER, INTERVAL_DELETE);
}

void daytona_set_auto_archive(const struct api_call *call)
{
    set_minutes(call, 0, INTERVAL_ARCHIVE);
}

/* Its files stay where they are: for a client it is a stopped one by another name. */
void daytona_archive(const struct api_call *call)
{
    struct sandbox *sandbox = daytona_find(call);
    struct details *details;

    if (sandbox == NULL)
        return;
    if (sandbox->state != SANDBOX_STOPPED) {
        call_fail(call->exchange, 409, "the sandbox is not stopped: stop it first");
        return;
    }
    details = daytona_change_details(call, sandbox);
    if (details == NULL)
        return;
    details->is_archived = true;
    (void)service_save_details(sandbox);
    daytona_answer_sandbox(call->exchange, sandbox);
}

void daytona_note_activity(const struct api_call *call)
{
    struct sandbox *sandbox = daytona_find(call);

    if (sandbox == NULL)
        return;
    service_touch(sandbox);
    call_answer_nothing(call->exchange);
}
