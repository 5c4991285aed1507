/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/service.h"

#include <stdlib.h>

#include "isolate/webproxy.h"
#include "programs/sandboxd/daytona/buildlog.h"
#include "programs/sandboxd/daytona/creation.h"
#include "programs/sandboxd/daytona/pty.h"
#include "programs/sandboxd/daytona/session.h"
#include "programs/sandboxd/daytona/snapshots.h"
#include "programs/sandboxd/details.h"
#include "programs/sandboxd/executions.h"
#include "programs/sandboxd/images.h"

enum {
    MOST_SANDBOXES = 1 << 20, /* also stopped ones */
    MOST_EXECUTIONS = 1 << 16,
    LOOK_MOST_MS = 30000,
    LOOK_LEAST_MS = 50,
    SAVE_AFTER_S = 60,
};

static int64_t wall_s(const struct service *service)
{
    return loop_wall_ms(service->config.loop) / 1000;
}

static void save(struct sandbox *sandbox)
{
    int r = sandboxstore_save(sandbox->service->config.store, &sandbox->record);

    if (r < 0)
        log_write(sandbox->service->config.log, LOG_WARN, "cannot save a sandbox's record",
                  LOG_TEXT("sandbox", sandbox->record.id), LOG_TEXT("error", err_text(r)));
}

void service_touch(struct sandbox *sandbox)
{
    int64_t before_s = sandbox->record.active_s;

    sandbox->active_ms = loop_now_ms(sandbox->service->config.loop);
    sandbox->record.active_s = wall_s(sandbox->service);
    if (sandbox->record.active_s - before_s >= SAVE_AFTER_S)
        save(sandbox);
}

bool service_is_running(const struct sandbox *sandbox)
{
    switch (sandbox->state) {
    case SANDBOX_STARTING:
    case SANDBOX_RUNNING:
        return true;
    case SANDBOX_STOPPED:
    case SANDBOX_STOPPING:
    case SANDBOX_DELETING:
        break;
    }
    return sandbox->was_lost;
}

/* ---- records ---- */

static struct sandbox *add(struct service *service, const struct sandboxstore_sandbox *record)
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

    if (sandbox == NULL)
        return NULL;
    sandbox->service = service;
    sandbox->record = *record;
    sandbox->active_ms = loop_now_ms(service->config.loop);
    list_init(&sandbox->waiting);
    list_init(&sandbox->executions);
    list_init(&sandbox->stoppers);
    list_init(&sandbox->deleters);
    list_init(&sandbox->sessions);
    list_init(&sandbox->ptys);
    sandbox->stopped_ms = sandbox->active_ms;
    if (map_add(&service->sandboxes, str_from(sandbox->record.id), sandbox) < 0) {
        free(sandbox);
        return NULL;
    }
    list_append(&service->order, &sandbox->node);
    return sandbox;
}

static void drop(struct sandbox *sandbox)
{
    map_remove(&sandbox->service->sandboxes, str_from(sandbox->record.id));
    list_remove(&sandbox->node);
    webgrant_close(&sandbox->web);
    details_free(sandbox->details);
    free(sandbox->network);
    free(sandbox);
}

/* False without memory. */
static bool set_network(struct sandbox *sandbox, const struct network_policy *network)
{
    if (network == NULL || network_is_none(network))
        return true;
    sandbox->network = malloc(sizeof(*sandbox->network));
    if (sandbox->network != NULL)
        *sandbox->network = *network;
    return sandbox->network != NULL;
}

/* One that is not saved has no network after a restart. */
static void save_network(struct sandbox *sandbox)
{
    cleanup_buf struct buf text = BUF_INIT(NETWORK_TEXT_BYTES);
    int r;

    if (sandbox->network == NULL)
        return;
    r = network_save(sandbox->network, &text);
    if (r == 0)
        r = sandboxstore_save_network(sandbox->service->config.store, str_from(sandbox->record.id),
                                      buf_view(&text));
    if (r < 0)
        log_write(sandbox->service->config.log, LOG_WARN, "cannot save a sandbox's network policy",
                  LOG_TEXT("sandbox", sandbox->record.id), LOG_TEXT("error", err_text(r)));
}

size_t service_count_of(const struct service *service, const char *owner)
{
    size_t count = 0;

    list_each (node, &service->order)
        if (strcmp(list_entry(node, struct sandbox, node)->record.owner, owner) == 0)
            count++;
    return count;
}

struct sandbox *service_find(const struct service *service, struct str id, const char *owner)
{
    struct sandbox *sandbox = map_get(&service->sandboxes, id);

    return sandbox != NULL && sandbox->state != SANDBOX_DELETING &&
                   strcmp(sandbox->record.owner, owner) == 0
               ? sandbox
               : NULL;
}

struct sandbox *service_find_named(const struct service *service, struct str name,
                                   const char *owner)
{
    struct sandbox *found = service_find(service, name, owner);

    if (found != NULL)
        return found;
    list_each (node, &service->order) {
        struct sandbox *sandbox = list_entry(node, struct sandbox, node);

        if (sandbox->details != NULL && sandbox->state != SANDBOX_DELETING &&
            str_eq_c(name, sandbox->details->name) && strcmp(sandbox->record.owner, owner) == 0)
            return sandbox;
    }
    return NULL;
}

int service_save_details(struct sandbox *sandbox)
{
    cleanup_buf struct buf document = BUF_INIT(DETAILS_MAX_DOCUMENT_BYTES);
    int r;

    if (sandbox->details == NULL)
        return 0;
    r = details_write(sandbox->details, &document);
    if (r == 0)
        r = sandboxstore_save_details(sandbox->service->config.store, str_from(sandbox->record.id),
                                      buf_view(&document));
    if (r < 0)
        log_write(sandbox->service->config.log, LOG_WARN, "cannot save a sandbox's details",
                  LOG_TEXT("sandbox", sandbox->record.id), LOG_TEXT("error", err_text(r)));
    return r;
}

/* What does not outlive the processes of the sandbox, as far as its clients see. */
static void forget_shells(struct sandbox *sandbox)
{
    session_forget_all(sandbox);
    pty_forget_all(sandbox);
}

/* ---- uses ---- */

static void make_ready(struct sandbox *sandbox, struct sandbox_use *use, const struct err *err)
{
    list_remove(&use->node);
    if (err == NULL)
        sandbox->users++;
    use->ready(use->data, sandbox, err);
}

/* Each callback may start further uses, or delete the sandbox: then nobody waits any more. */
static void make_all_ready(struct service *service, const char *id, const struct err *err)
{
    char key[SANDBOXSTORE_ID_BYTES];
    struct sandbox *sandbox;
    struct list batch;

    memcpy(key, id, sizeof(key));
    sandbox = map_get(&service->sandboxes, str_from(key));
    list_init(&batch);
    while (sandbox != NULL && !list_is_empty(&sandbox->waiting)) {
        struct list *node = sandbox->waiting.next;

        list_remove(node);
        list_append(&batch, node);
    }
    while (!list_is_empty(&batch)) {
        struct sandbox_use *use = list_entry(batch.next, struct sandbox_use, node);

        sandbox = map_get(&service->sandboxes, str_from(key));
        if (sandbox == NULL || (err == NULL && sandbox->state != SANDBOX_RUNNING)) {
            struct err over = ERR_INIT;

            err_set(&over, ERR_NOT_FOUND, "the sandbox was deleted");
            list_remove(&use->node);
            use->ready(use->data, NULL, &over);
            continue;
        }
        make_ready(sandbox, use, err);
    }
}

static void start(struct sandbox *sandbox);

void service_use(struct sandbox *sandbox, struct sandbox_use *use)
{
    struct err err = ERR_INIT;

    service_touch(sandbox);
    list_init(&use->node);
    switch (sandbox->state) {
    case SANDBOX_RUNNING:
        make_ready(sandbox, use, NULL);
        return;
    case SANDBOX_STOPPED:
        list_append(&sandbox->waiting, &use->node);
        start(sandbox);
        return;
    case SANDBOX_STARTING:
    case SANDBOX_STOPPING:
        list_append(&sandbox->waiting, &use->node);
        return;
    case SANDBOX_DELETING:
        break;
    }
    err_set(&err, ERR_NOT_FOUND, "the sandbox was deleted");
    make_ready(sandbox, use, &err);
}

void service_cancel(struct sandbox_use *use)
{
    list_remove(&use->node);
}

void service_release(struct sandbox *sandbox)
{
    sandbox->users--;
    service_touch(sandbox);
}

/* ---- starting and stopping ---- */

static void remove_files(struct sandbox *sandbox);
static void forget(struct sandbox *sandbox);
static void tell_stoppers(struct sandbox *sandbox, const struct err *err);

/* A copy: a use may end what the error of a callback belongs to. */
static struct err start_failure(const struct err *err)
{
    struct err failure = *err;

    if (failure.code == ERR_SESSION_OVER) /* that is said of one that runs again */
        failure.code = ERR_BUSY;
    return failure;
}

/* A new sandbox that does not start has never been one. */
static void fail_start(struct sandbox *sandbox, const struct err *err)
{
    struct service *service = sandbox->service;
    struct err copy = start_failure(err);
    bool is_new = sandbox->is_new;
    char id[SANDBOXSTORE_ID_BYTES];

    log_error(service->config.log, "cannot start a sandbox", &copy);
    memcpy(id, sandbox->record.id, sizeof(id));
    sandbox->state = SANDBOX_STOPPED;
    make_all_ready(service, id, &copy);
    sandbox = map_get(&service->sandboxes, str_from(id));
    if (sandbox != NULL && sandbox->state == SANDBOX_STOPPED)
        tell_stoppers(sandbox, NULL);
    if (is_new && sandbox != NULL && sandbox->state == SANDBOX_STOPPED)
        service_delete(sandbox, NULL);
}

static void stop(struct sandbox *sandbox);

static void finish_start(void *data, const struct err *err);

static void on_room_end(void *data, const struct err *why)
{
    struct sandbox *sandbox = data;
    const bool is_starting = webgrant_is_awaited(&sandbox->web);
    struct err over = ERR_INIT;

    sandbox->room = NULL;
    if (sandbox->is_forgotten) {
        forget(sandbox);
        return;
    }
    webgrant_close(&sandbox->web);
    sandbox->stopped_ms = loop_now_ms(sandbox->service->config.loop);
    forget_shells(sandbox);
    if (is_starting) {
        err_set(&over, ERR_SESSION_OVER, "the sandbox ended while it was started");
        finish_start(sandbox, why != NULL ? why : &over);
        return;
    }
    if (sandbox->state != SANDBOX_RUNNING)
        return; /* asked for; room_stop() or room_delete() goes on */
    if (why != NULL && why->code == ERR_NO_SPACE)
        sandbox->service->ended_for_space++;
    log_write(sandbox->service->config.log, LOG_WARN,
              why != NULL && why->code == ERR_NO_SPACE ? "a sandbox was ended"
                                                       : "a sandbox ended by itself",
              LOG_TEXT("sandbox", sandbox->record.id),
              LOG_TEXT("error", why != NULL ? why->message : ""));
    sandbox->state = SANDBOX_STOPPED;
    if (sandbox->reached.is_in_memory)
        service_delete(sandbox, NULL); /* nothing is left of it */
    else
        sandbox->was_lost = true;
}

/* It runs, but not as it should. */
static void fail_running(struct sandbox *sandbox, const struct err *err)
{
    struct service *service = sandbox->service;
    struct err copy = start_failure(err);
    char id[SANDBOXSTORE_ID_BYTES];

    log_error(service->config.log, "cannot start a sandbox", &copy);
    memcpy(id, sandbox->record.id, sizeof(id));
    sandbox->state = SANDBOX_RUNNING;
    make_all_ready(service, id, &copy);
    sandbox = map_get(&service->sandboxes, str_from(id));
    if (sandbox == NULL || sandbox->state != SANDBOX_RUNNING)
        return;
    if (sandbox->is_new)
        service_delete(sandbox, NULL);
    else
        stop(sandbox);
}

/* It runs, with the network that it should have; or `err` says why not. */
static void finish_start(void *data, const struct err *err)
{
    struct sandbox *sandbox = data;
    struct service *service = sandbox->service;
    struct err lost = ERR_INIT;
    char id[SANDBOXSTORE_ID_BYTES];
    bool was_lost;

    sandbox->is_moving = false;
    if (sandbox->state == SANDBOX_DELETING) {
        remove_files(sandbox);
        return;
    }
    if (err != NULL) {
        if (sandbox->room != NULL)
            fail_running(sandbox, err);
        else
            fail_start(sandbox, err);
        return;
    }
    sandbox->state = SANDBOX_RUNNING;
    if (!sandbox->is_new) {
        sandbox->record.is_running = true;
        save(sandbox);
    }
    sandbox->is_new = false;
    memcpy(id, sandbox->record.id, sizeof(id));
    was_lost = sandbox->was_lost;
    sandbox->was_lost = false;
    if (was_lost)
        err_set_plain(&lost, ERR_SESSION_OVER);
    make_all_ready(service, id, was_lost ? &lost : NULL);
    sandbox = map_get(&service->sandboxes, str_from(id));
    if (sandbox != NULL && !list_is_empty(&sandbox->stoppers) && sandbox->state == SANDBOX_RUNNING)
        stop(sandbox);
}

static void on_started(void *data, const struct err *err, struct room *room,
                       const struct room_reached *reached)
{
    struct sandbox *sandbox = data;
    struct err failed = ERR_INIT;
    int r;

    sandbox->room = err == NULL ? room : NULL;
    if (err == NULL)
        sandbox->reached = *reached;
    if (err != NULL || sandbox->state == SANDBOX_DELETING || sandbox->network == NULL ||
        sandbox->network->hosts.count == 0) {
        finish_start(sandbox, err);
        return;
    }
    r = webgrant_open(&sandbox->web, sandbox->service->config.web, room, &sandbox->network->hosts,
                      sandbox->record.owner, finish_start, sandbox);
    if (r < 0) {
        err_set_plain(&failed, r);
        finish_start(sandbox, &failed);
    }
}

void service_note_refusal(struct service *service, const char *whose, const char *id,
                          const struct room_refusal *refusal)
{
    service->refused += refusal->count;
    network_log_refusal(service->config.log, whose, id, refusal);
}

static void on_refused(void *data, const struct room_refusal *refusal)
{
    const struct sandbox *sandbox = data;

    service_note_refusal(sandbox->service, "sandbox", sandbox->record.id, refusal);
}

static void start(struct sandbox *sandbox)
{
    struct service *service = sandbox->service;
    const char *layers[ROOM_MAX_LAYERS];
    struct room_plan plan = {
        .id = sandbox->record.id,
        .layers = layers,
        .network = ROOM_NETWORK_NONE,
        .memory_bytes = (uint64_t)sandbox->record.memory_mb << 20,
        .cpu_percent = (unsigned)sandbox->record.cpu_percent,
        .processes = (unsigned)sandbox->record.pids_max,
        .disk_bytes = service->config.disk_bytes,
        .is_in_memory = service->config.is_in_memory,
        .on_refused = on_refused,
        .on_end = on_room_end,
        .data = sandbox,
    };
    struct err err = ERR_INIT;
    int r = images_layers(service->images, sandbox->record.image, layers, &plan.layer_count, &err);

    if (sandbox->network != NULL && sandbox->network->addresses.count > 0) {
        plan.network = ROOM_NETWORK_LISTED;
        plan.addresses = &sandbox->network->addresses;
    }
    if (sandbox->network != NULL && sandbox->network->hosts.count > 0)
        plan.variables = webproxy_variables;
    sandbox->state = SANDBOX_STARTING;
    if (sandbox->details != NULL) {
        const bool was_archived = sandbox->details->is_archived;

        details_start(sandbox->details);
        if (was_archived)
            (void)service_save_details(sandbox);
    }
    if (r == 0 && service->config.keeper == NULL)
        r = err_set(&err, ERR_BUSY, "the service is restarting its sandboxes; try again");
    if (r == 0)
        r = room_start(service->config.keeper, &plan, on_started, sandbox, &err);
    if (r < 0)
        fail_start(sandbox, &err);
    else
        sandbox->is_moving = true;
}

/* The callbacks only answer. */
static void tell_stoppers(struct sandbox *sandbox, const struct err *err)
{
    while (!list_is_empty(&sandbox->stoppers)) {
        struct sandbox_use *use = list_entry(sandbox->stoppers.next, struct sandbox_use, node);

        list_remove(&use->node);
        use->ready(use->data, sandbox, err);
    }
}

static enum details_step decide_idle(const struct sandbox *sandbox, int64_t now_ms);

static void on_stopped(void *data, const struct err *err)
{
    struct sandbox *sandbox = data;

    (void)err; /* nothing runs then either */
    sandbox->is_moving = false;
    sandbox->room = NULL;
    if (sandbox->state == SANDBOX_DELETING) {
        remove_files(sandbox);
        return;
    }
    sandbox->state = SANDBOX_STOPPED;
    sandbox->record.is_running = false;
    sandbox->stopped_ms = loop_now_ms(sandbox->service->config.loop);
    save(sandbox);
    tell_stoppers(sandbox, NULL);
    if (!list_is_empty(&sandbox->waiting))
        start(sandbox);
    else if (decide_idle(sandbox, sandbox->stopped_ms) == DETAILS_DELETE)
        service_delete(sandbox, NULL); /* one that is not kept when it stops */
}

static void stop(struct sandbox *sandbox)
{
    if (room_stop(sandbox->room, on_stopped, sandbox) < 0)
        return; /* the next look tries again */
    sandbox->state = SANDBOX_STOPPING;
    sandbox->is_moving = true;
}

void service_stop(struct sandbox *sandbox, struct sandbox_use *use)
{
    struct err err = ERR_INIT;

    list_init(&use->node);
    switch (sandbox->state) {
    case SANDBOX_STOPPED:
        /* It need not be told any more that it was lost: that is what was asked for. */
        sandbox->was_lost = false;
        sandbox->record.is_running = false;
        save(sandbox);
        use->ready(use->data, sandbox, NULL);
        return;
    case SANDBOX_RUNNING:
        list_append(&sandbox->stoppers, &use->node);
        stop(sandbox);
        if (sandbox->state == SANDBOX_RUNNING) {
            err_set(&err, ERR_BUSY, "the sandbox could not be stopped; try again");
            tell_stoppers(sandbox, &err);
        }
        return;
    case SANDBOX_STARTING: /* on_started() stops it */
    case SANDBOX_STOPPING:
        list_append(&sandbox->stoppers, &use->node);
        return;
    case SANDBOX_DELETING:
        break;
    }
    err_set(&err, ERR_NOT_FOUND, "the sandbox was deleted");
    use->ready(use->data, sandbox, &err);
}

/* ---- creating and deleting ---- */

/* Logs the first time, and not for each request. */
static bool lacks_space(struct service *service)
{
    struct room_space space;

    if (service->config.keeper == NULL || service->config.is_in_memory)
        return false;
    room_keeper_space(service->config.keeper, &space);
    if (space.is_low && !service->is_out_of_space)
        log_write(service->config.log, LOG_WARN, "no sandboxes: the disk is nearly full",
                  LOG_INT("free_bytes", (int64_t)space.free_bytes));
    service->is_out_of_space = space.is_low;
    return space.is_low;
}

int service_create(struct service *service, const struct sandboxstore_sandbox *record,
                   const struct service_extras *extras, struct sandbox_use *use, struct err *err)
{
    struct sandbox *sandbox;
    int r;

    if (service->sandboxes.count >= service->config.max_sandboxes)
        return err_set(err, ERR_BUSY, "the service has no room for another sandbox; try again");
    if (lacks_space(service))
        return err_set(err, ERR_NO_SPACE, ROOM_DISK_NEARLY_FULL);
    sandbox = add(service, record);
    if (sandbox == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (!set_network(sandbox, extras->network)) {
        drop(sandbox);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    sandbox->is_new = true;
    /* It will be: that is not worth another write. After a crash its next use tells of it. */
    sandbox->record.is_running = true;
    r = sandboxstore_save(service->config.store, &sandbox->record);
    if (r < 0) {
        drop(sandbox);
        return err_set_plain(err, r);
    }
    sandbox->details = extras->details;
    (void)service_save_details(sandbox);
    save_network(sandbox);
    service->created++;
    service_use(sandbox, use);
    return 0;
}

static void tell_deleters(struct sandbox *sandbox, const struct err *err)
{
    while (!list_is_empty(&sandbox->deleters)) {
        struct sandbox_use *use = list_entry(sandbox->deleters.next, struct sandbox_use, node);

        list_remove(&use->node);
        use->ready(use->data, sandbox, err);
    }
}

static void forget(struct sandbox *sandbox)
{
    tell_deleters(sandbox, NULL);
    drop(sandbox);
}

static void on_deleted(void *data, const struct err *err)
{
    struct sandbox *sandbox = data;

    if (err != NULL && err->code != ERR_NOT_FOUND)
        /* Its files are removed when the service starts the next time: its record is gone. */
        log_error(sandbox->service->config.log, "cannot remove a sandbox's files", err);
    forget(sandbox);
}

static void remove_files(struct sandbox *sandbox)
{
    struct service *service = sandbox->service;

    if (service->config.keeper != NULL &&
        room_delete(service->config.keeper, sandbox->record.id, on_deleted, sandbox) == 0)
        return;
    if (sandbox->room == NULL) {
        forget(sandbox);
        return;
    }
    /* Its room, which has not told of its end yet, still names it. */
    sandbox->is_forgotten = true;
    tell_deleters(sandbox, NULL);
}

void service_delete(struct sandbox *sandbox, struct sandbox_use *use)
{
    struct service *service = sandbox->service;
    struct err over = ERR_INIT;
    bool is_first = sandbox->state != SANDBOX_DELETING;

    if (use != NULL) {
        list_init(&use->node);
        list_append(&sandbox->deleters, &use->node);
    }
    if (!is_first)
        return;
    sandbox->state = SANDBOX_DELETING;
    /* First the record: after a crash, files without one are removed. */
    (void)sandboxstore_remove(service->config.store, str_from(sandbox->record.id));
    executions_forget_all(sandbox);
    forget_shells(sandbox);
    err_set(&over, ERR_NOT_FOUND, "the sandbox was deleted");
    make_all_ready(service, sandbox->record.id, &over);
    tell_stoppers(sandbox, &over);
    if (webgrant_is_awaited(&sandbox->web)) { /* it runs, and nothing else is missing */
        webgrant_close(&sandbox->web);
        sandbox->is_moving = false;
    }
    if (!sandbox->is_moving) /* else when it has started or stopped */
        remove_files(sandbox);
}

/* ---- idle sandboxes ---- */

void service_note_request(struct service *service)
{
    service->asked_ms = loop_now_ms(service->config.loop);
}

/* Files may stay, but nothing moves. */
static bool is_quiet(const struct service *service)
{
    list_each (node, &service->order)
        if (list_entry(node, struct sandbox, node)->state != SANDBOX_STOPPED)
            return false;
    return !images_is_building(service->images);
}

static enum details_step decide_idle(const struct sandbox *sandbox, int64_t now_ms)
{
    const struct service_config *config = &sandbox->service->config;
    int64_t idle_ms = now_ms - sandbox->active_ms;
    bool is_stopped = sandbox->state == SANDBOX_STOPPED;

    if (sandbox->details != NULL)
        return details_idle(sandbox->details, is_stopped, idle_ms, now_ms - sandbox->stopped_ms);
    if (idle_ms >= (sandbox->record.is_ephemeral ? config->idle_stop_ms : config->idle_delete_ms))
        return DETAILS_DELETE;
    return !is_stopped && idle_ms >= config->idle_stop_ms ? DETAILS_STOP : DETAILS_KEEP;
}

static void look(void *data)
{
    struct service *service = data;
    int64_t now_ms = loop_now_ms(service->config.loop);

    list_each_safe (node, &service->order) {
        struct sandbox *sandbox = list_entry(node, struct sandbox, node);

        if (sandbox->users > 0 ||
            (sandbox->state != SANDBOX_STOPPED && sandbox->state != SANDBOX_RUNNING))
            continue;
        switch (decide_idle(sandbox, now_ms)) {
        case DETAILS_KEEP:
            break;
        case DETAILS_STOP:
            if (!sandbox->reached.is_in_memory)
                stop(sandbox);
            break;
        case DETAILS_DELETE:
            service_delete(sandbox, NULL);
            break;
        }
    }
    executions_expire(service);
    parts_expire(&service->uploads, now_ms);
    images_evict(service->images);
    if (!is_quiet(service))
        service_note_request(service);
    else if (service->config.exit_idle_ms > 0 &&
             now_ms - service->asked_ms >= service->config.exit_idle_ms)
        service->config.on_idle(service->config.data);
}

/* ---- the start ---- */

static void load(void *data, const struct sandboxstore_sandbox *record)
{
    struct service *service = data;
    struct sandbox *sandbox = add(service, record);
    int64_t idle_s = wall_s(service) - record->active_s;

    if (sandbox == NULL)
        return;
    sandbox->was_lost = record->is_running;
    if (idle_s > 0)
        sandbox->active_ms -= idle_s * 1000;
    sandbox->stopped_ms = sandbox->active_ms;
}

static void load_details(void *data, struct str id, struct str document)
{
    struct service *service = data;
    struct sandbox *sandbox = map_get(&service->sandboxes, id);

    if (sandbox != NULL && sandbox->details == NULL)
        sandbox->details = details_read(document);
}

static void load_network(void *data, struct str id, struct str text)
{
    struct service *service = data;
    struct sandbox *sandbox = map_get(&service->sandboxes, id);
    struct network_policy network;

    if (sandbox != NULL && sandbox->network == NULL && network_load(text, &network) == 0)
        (void)set_network(sandbox, &network);
}

static void on_swept(void *data, const struct err *err)
{
    const struct service *service = data;

    if (err != NULL)
        log_error(service->config.log, "cannot remove what a crash left", err);
}

static bool is_among(const char *id, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], id) == 0)
            return true;
    return false;
}

/* Their files were in the memory of the last service, or were never made. */
static void forget_those_without_files(struct service *service, const char *const *names,
                                       size_t count)
{
    list_each_safe (node, &service->order) {
        struct sandbox *sandbox = list_entry(node, struct sandbox, node);

        if (sandbox->state == SANDBOX_STOPPED && !is_among(sandbox->record.id, names, count))
            service_delete(sandbox, NULL);
    }
}

static void on_rooms(void *data, const struct err *err, const char *const *names, size_t count)
{
    struct service *service = data;

    if (err != NULL)
        log_error(service->config.log, "cannot list the files of sandboxes", err);
    for (size_t i = 0; err == NULL && i < count; i++)
        if (map_get(&service->sandboxes, str_from(names[i])) == NULL)
            (void)room_delete(service->config.keeper, names[i], on_swept, service);
    if (err == NULL)
        forget_those_without_files(service, names, count);
}

int service_init(struct service *service, const struct service_config *config, struct err *err)
{
    int64_t look_ms = config->exit_idle_ms > 0 && config->exit_idle_ms < config->idle_stop_ms
                          ? config->exit_idle_ms / 4
                          : config->idle_stop_ms / 4;
    int r;

    *service = (struct service){.config = *config,
                                .sandboxes = MAP_INIT(MOST_SANDBOXES),
                                .executions = MAP_INIT(MOST_EXECUTIONS)};
    list_init(&service->order);
    list_init(&service->ended);
    list_init(&service->creations);
    list_init(&service->buildlogs);
    contextcache_init(&service->contexts, CONTEXTCACHE_MAX_BYTES, CONTEXTCACHE_ALL_BYTES);
    parts_init(&service->uploads);
    timer_init(&service->idle, config->loop, look, service);
    service_note_request(service);
    r = snapshots_init(service);
    if (r == 0)
        r = images_new(service, &service->images);
    if (r == 0)
        r = sandboxstore_each(config->store, load, service);
    if (r == 0)
        r = sandboxstore_each_details(config->store, load_details, service);
    if (r == 0)
        r = sandboxstore_each_network(config->store, load_network, service);
    if (r < 0)
        return err_set(err, r, "cannot read the state of the sandboxes: %s", err_text(r));
    r = room_list(config->keeper, false, on_rooms, service);
    if (r < 0)
        return err_set(err, r, "cannot list the files of sandboxes: %s", err_text(r));
    if (look_ms > LOOK_MOST_MS)
        look_ms = LOOK_MOST_MS;
    timer_start_repeating(&service->idle, look_ms < LOOK_LEAST_MS ? LOOK_LEAST_MS : look_ms);
    return 0;
}

void service_lost_keeper(struct service *service)
{
    service->config.keeper = NULL;
}

void service_close(struct service *service)
{
    service->is_stopping = true;
    timer_stop(&service->idle);
    buildlogs_end_all(service);
    list_each (node, &service->order) {
        executions_forget_all(list_entry(node, struct sandbox, node));
        forget_shells(list_entry(node, struct sandbox, node));
    }
}

void service_done(struct service *service)
{
    struct err over = ERR_INIT;

    err_set(&over, ERR_BUSY, "the service is stopping");
    service->is_stopping = true;
    timer_stop(&service->idle);
    images_free(service->images);
    creations_done(service);
    buildlogs_done(service);
    contextcache_done(&service->contexts);
    parts_done(&service->uploads);
    snapshots_done(service);
    while (!list_is_empty(&service->order)) {
        struct sandbox *sandbox = list_entry(service->order.next, struct sandbox, node);

        make_all_ready(service, sandbox->record.id, &over);
        tell_stoppers(sandbox, &over);
        tell_deleters(sandbox, sandbox->state == SANDBOX_DELETING ? NULL : &over);
        /* What runs ends with us, and its user learns of it. */
        if (sandbox->state != SANDBOX_DELETING)
            save(sandbox);
        drop(sandbox);
    }
    map_done(&service->sandboxes);
    map_done(&service->executions);
}
