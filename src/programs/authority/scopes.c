/* SPDX-License-Identifier: Apache-2.0 */
/* The scopes and watches that the host has, by their ids. */
#include "programs/authority/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHANGE_BYTES = 16 << 10 };

/* ---- scopes ---- */

int scopes_add(struct authority_service *service, struct authority_scope *scope,
               const struct authority_subject *subject, uint64_t *out_id, struct err *err)
{
    struct held_scope *held = calloc(1, sizeof(*held));
    struct party *party;
    int r = held != NULL ? 0 : ERR_NO_MEMORY;

    monitor_enter(&service->monitor);
    party = r == 0 ? parties_take(service, subject) : NULL;
    if (r == 0 && party == NULL)
        r = ERR_NO_MEMORY;
    if (r == 0 &&
        (service->scope_count >= MAX_SCOPES || party->scope_count >= party_limits(party)->scopes))
        r = ERR_BUSY;
    if (r == 0) {
        held->id = *out_id = ++service->last_scope;
        held->scope = scope;
        held->party = party;
        held->refs = 1;
        list_append(&service->scopes, &held->node);
        service->scope_count++;
        party->scope_count++;
    } else {
        parties_drop(party);
    }
    monitor_leave(&service->monitor);
    if (r == 0)
        return 0;
    free(held);
    authority_scope_free(scope);
    return r == ERR_BUSY ? err_set(err, r, "there are too many scopes: release those that are done")
                         : err_set_plain(err, r);
}

static struct held_scope *find(const struct authority_service *service, uint64_t id)
{
    list_each (node, &service->scopes) {
        struct held_scope *held = list_entry(node, struct held_scope, node);

        if (held->id == id && !held->is_released)
            return held;
    }
    return NULL;
}

struct party *scopes_party(const struct authority_service *service, uint64_t id)
{
    list_each (node, &service->scopes) {
        const struct held_scope *held = list_entry(node, struct held_scope, node);

        if (held->id == id)
            return held->party;
    }
    return NULL;
}

struct held_scope *scopes_take(struct authority_service *service, uint64_t id)
{
    struct held_scope *held;

    monitor_enter(&service->monitor);
    held = find(service, id);
    if (held != NULL)
        held->refs++;
    monitor_leave(&service->monitor);
    return held;
}

/* In the monitor. True: it was the last, and the caller frees the scope. */
static bool drop(struct authority_service *service, struct held_scope *held)
{
    if (--held->refs > 0)
        return false;
    list_remove(&held->node);
    service->scope_count--;
    held->party->scope_count--;
    parties_drop(held->party);
    return true;
}

static void free_held(struct held_scope *held)
{
    authority_scope_free(held->scope);
    free(held);
}

void scopes_put(struct authority_service *service, struct held_scope *held)
{
    bool is_last;

    if (held == NULL)
        return;
    monitor_enter(&service->monitor);
    is_last = drop(service, held);
    monitor_leave(&service->monitor);
    if (is_last)
        free_held(held);
}

static void free_watch(struct authority_service *service, struct held_watch *watch)
{
    struct held_scope *held = watch->held;

    list_remove(&watch->node);
    service->watch_count--;
    held->party->watch_count--;
    authority_watch_free(watch->watch);
    free(watch);
    /* The host releases a scope only when its watches are gone. */
    held->refs--;
    assert(held->refs > 0);
}

bool scopes_begin_release(struct authority_service *service, uint64_t id)
{
    struct held_scope *held = find(service, id);

    if (held == NULL)
        return false;
    held->is_released = true;
    list_each_safe (node, &service->watches) {
        struct held_watch *watch = list_entry(node, struct held_watch, node);

        if (watch->held == held)
            free_watch(service, watch);
    }
    return true;
}

void scopes_end_release(struct authority_service *service, uint64_t id)
{
    struct held_scope *found = NULL;

    monitor_enter(&service->monitor);
    list_each (node, &service->scopes) {
        struct held_scope *held = list_entry(node, struct held_scope, node);

        if (held->id == id)
            found = held;
    }
    monitor_leave(&service->monitor);
    scopes_put(service, found);
}

void scopes_free_all(struct authority_service *service)
{
    while (!list_is_empty(&service->watches))
        free_watch(service, list_entry(service->watches.next, struct held_watch, node));
    while (!list_is_empty(&service->scopes)) {
        struct held_scope *held = list_entry(service->scopes.next, struct held_scope, node);

        list_remove(&held->node);
        parties_drop(held->party);
        free_held(held);
    }
}

/* ---- watches ---- */

int watches_add(struct authority_service *service, struct held_scope *held,
                struct authority_watch *watch, int fd, uint32_t *out_id, struct err *err)
{
    struct held_watch *one = calloc(1, sizeof(*one));
    int r = one != NULL ? 0 : ERR_NO_MEMORY;

    monitor_enter(&service->monitor);
    if (r == 0 && (service->watch_count >= MAX_WATCHES || held->is_released ||
                   held->party->watch_count >= party_limits(held->party)->watches))
        r = ERR_BUSY;
    if (r == 0) {
        *one = (struct held_watch){
            .id = ++service->last_watch, .held = held, .watch = watch, .fd = fd};
        *out_id = one->id;
        held->refs++;
        list_append(&service->watches, &one->node);
        service->watch_count++;
        held->party->watch_count++;
    }
    monitor_leave(&service->monitor);
    if (r == 0)
        return 0;
    free(one);
    authority_watch_free(watch);
    return err_set_plain(err, r);
}

static struct held_watch *find_watch(const struct authority_service *service, uint32_t id)
{
    list_each (node, &service->watches) {
        struct held_watch *watch = list_entry(node, struct held_watch, node);

        if (watch->id == id)
            return watch;
    }
    return NULL;
}

void watches_tell(struct authority_service *service, uint32_t id)
{
    struct held_watch *watch;

    if (id == 0)
        return;
    monitor_enter(&service->monitor);
    watch = find_watch(service, id);
    if (watch != NULL)
        watch->is_told = true;
    monitor_leave(&service->monitor);
    service_wake(service);
}

bool watches_remove(struct authority_service *service, uint32_t id)
{
    struct held_watch *watch = find_watch(service, id);

    if (watch != NULL)
        free_watch(service, watch);
    return watch != NULL;
}

struct told {
    struct authority_service *service;
    uint32_t id;
};

static void send_change(void *data, enum authority_change change, struct str name)
{
    const struct told *told = data;
    cleanup_buf struct buf json = BUF_INIT(CHANGE_BYTES);
    struct json_writer w;

    json_writer_init(&w, &json);
    json_begin_object(&w);
    json_put_str(&w, STR("change"), str_from(authority_change_name(change)));
    service_put_name(&w, STR("name"), STR("nameHex"), name);
    json_end_object(&w);
    if (json_writer_finish(&w) == 0)
        service_send(told->service, told->id, WIRE_CHANGE, buf_view(&json), STR_EMPTY);
}

static void send_end(struct authority_service *service, uint32_t id, int code)
{
    cleanup_buf struct buf json = BUF_INIT(CHANGE_BYTES);
    struct json_writer w;

    json_writer_init(&w, &json);
    json_begin_object(&w);
    json_put_bool(&w, STR("ended"), true);
    json_put_str(&w, STR("code"), str_from(err_name(code)));
    json_end_object(&w);
    if (json_writer_finish(&w) == 0)
        service_send(service, id, WIRE_CHANGE, buf_view(&json), STR_EMPTY);
}

void watches_read(struct authority_service *service, uint32_t id)
{
    struct told told = {service, id};
    struct held_watch *watch;
    int r;

    /* Only this thread frees watches, so it stays. */
    monitor_enter(&service->monitor);
    watch = find_watch(service, id);
    monitor_leave(&service->monitor);
    if (watch == NULL)
        return;
    r = authority_watch_read(watch->watch, send_change, &told);
    if (r == 0)
        return;
    send_end(service, id, r);
    monitor_enter(&service->monitor);
    free_watch(service, watch);
    monitor_leave(&service->monitor);
}
