/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches. Creating one is an operation like any other; its events go to the authority's listeners,
 * and to whoever reads the watch.
 */
#include "authority/internal.h"

#include <stdlib.h>

enum { WATCH_MAX_TEXT_BYTES = 1 << 20 };

struct authority_watch {
    struct list link;
    struct authority_scope *scope; /* NULL if it was freed */
    const struct backend_ops *ops;
    struct backend_watch *watch; /* NULL when it was closed */
    struct path_name name;
    struct arena arena;           /* for the event's texts */
    struct authority_event event; /* common to every change */
    bool is_reading;
    bool is_freed; /* while it was being read */
    void (*report)(void *data, enum authority_change change, struct str name);
    void *data;
};

/* ---- making ---- */

static bool copy_text(struct arena *arena, const char **text)
{
    if (*text != NULL)
        *text = arena_copy(arena, str_from(*text));
    return *text != NULL;
}

/*
 * Copies what allowed the watch. Policy and hooks may be removed before the watch, with their
 * names.
 */
static int keep_event(struct authority_watch *watch, const struct authority_event *event)
{
    bool is_kept;

    arena_init(&watch->arena, WATCH_MAX_TEXT_BYTES);
    watch->event = *event;
    watch->event.outcome = AUTHORITY_NOTICED;
    watch->event.error = 0;
    watch->event.call = NULL; /* which is over by then */
    watch->event.policy_rule = NULL;
    is_kept = event->policy_source == NULL || copy_text(&watch->arena, &watch->event.policy_source);
    for (size_t i = 0; is_kept && i < event->wrapper_count; i++)
        is_kept = copy_text(&watch->arena, &watch->event.wrapper_ids[i]);
    return is_kept ? 0 : watch->arena.error;
}

static int attach(struct authority_watch *watch, struct authority_scope *scope)
{
    int r = 0;

    pthread_mutex_lock(&scope->watch_lock);
    if (scope->watch_count < AUTHORITY_MAX_WATCHES) {
        list_append(&scope->watches, &watch->link);
        scope->watch_count++;
        watch->scope = scope;
    } else {
        r = ERR_BUSY;
    }
    pthread_mutex_unlock(&scope->watch_lock);
    return r;
}

static void close_backend(struct authority_watch *watch)
{
    if (watch->watch != NULL)
        watch->ops->watch_free(watch->watch);
    watch->watch = NULL;
}

/* Frees a watch without a scope. */
static void drop(struct authority_watch *watch)
{
    close_backend(watch);
    arena_done(&watch->arena);
    free(watch);
}

static int start(struct operation *op, struct authority_watch **out_watch, int *out_fd)
{
    struct authority_watch *watch = calloc(1, sizeof(*watch));
    int r;

    if (watch == NULL)
        return ERR_NO_MEMORY;
    watch->ops = operation_ops(op);
    r = keep_event(watch, &op->event);
    if (r == 0)
        r = watch->ops->watch(op->scope->root, &op->lookup, path_view(&op->name), &watch->watch,
                              out_fd);
    if (r == 0)
        r = attach(watch, op->scope);
    if (r < 0) {
        drop(watch);
        return r;
    }
    watch->name = op->has_resolved ? op->resolved : op->name;
    *out_watch = watch;
    return 0;
}

int authority_watch(struct authority_scope *scope, struct str name,
                    struct authority_watch **out_watch, int *out_fd, struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    struct authority_watch *watch = NULL;
    int fd = -1;
    int r;

    scope = scope_of(scope, &name);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_WATCH, .name = name});
    if (r == 0)
        r = start(&op, &watch, &fd);
    if (r == 0) {
        *out_watch = watch;
        *out_fd = fd;
    }
    return operation_end(&op, r, err);
}

/* ---- telling ---- */

/*
 * Does not report names that the scope may not know, nor anything after its end, which may come in
 * the middle: from another thread, or from a callback.
 */
static void tell(void *data, enum authority_change change, struct str name)
{
    struct authority_watch *watch = data;
    __attribute__((uninitialized)) struct path_name full;
    struct str shown = path_view(&watch->name);

    if (watch->scope == NULL || scope_check_alive(watch->scope) < 0)
        return;
    if (name.len > 0) {
        if (path_join(shown, name, &full) < 0)
            return;
        shown = path_view(&full);
        if (!scope_admits(watch->scope, shown, SCOPE_LOOK))
            return;
    }
    watch->event.change = change;
    watch->event.name = shown;
    (void)operation_notify(watch->scope->authority, &watch->event);
    if (watch->report != NULL && scope_check_alive(watch->scope) == 0)
        watch->report(watch->data, change, name);
}

/* The report may have freed the scope, and the watch too: what was in use is freed here. */
static int finish_reading(struct authority_watch *watch, int result)
{
    watch->is_reading = false;
    if (watch->scope == NULL) {
        close_backend(watch);
        result = ERR_GRANT_REVOKED;
    } else if (result == 0) {
        result = scope_check_alive(watch->scope);
    }
    if (watch->is_freed)
        drop(watch);
    return result;
}

int authority_watch_read(struct authority_watch *watch,
                         void (*report)(void *data, enum authority_change change, struct str name),
                         void *data)
{
    int r = watch->scope != NULL ? scope_check_alive(watch->scope) : ERR_GRANT_REVOKED;

    if (r < 0)
        return r;
    if (watch->is_reading)
        return ERR_BUSY;
    watch->is_reading = true;
    watch->report = report;
    watch->data = data;
    return finish_reading(watch, watch->ops->watch_read(watch->watch, tell, watch));
}

/* ---- ending ---- */

/* The scope's lock is held. */
static void detach(struct authority_watch *watch)
{
    list_remove(&watch->link);
    watch->scope->watch_count--;
    watch->scope = NULL;
    if (!watch->is_reading)
        close_backend(watch);
}

void scope_end_watches(struct authority_scope *scope)
{
    pthread_mutex_lock(&scope->watch_lock);
    list_each_safe (node, &scope->watches)
        detach(list_entry(node, struct authority_watch, link));
    pthread_mutex_unlock(&scope->watch_lock);
}

void authority_watch_free(struct authority_watch *watch)
{
    struct authority_scope *scope;

    if (watch == NULL)
        return;
    scope = watch->scope;
    if (scope != NULL) {
        pthread_mutex_lock(&scope->watch_lock);
        detach(watch);
        pthread_mutex_unlock(&scope->watch_lock);
    }
    if (watch->is_reading)
        watch->is_freed = true;
    else
        drop(watch);
}
