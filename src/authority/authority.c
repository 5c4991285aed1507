/* SPDX-License-Identifier: Apache-2.0 */
/* The authority: creating it, its policy, hooks and listeners, and freeing it. */
#include "authority/internal.h"

#include <stdlib.h>
#include <string.h>

int authority_new(const struct authority_config *config, struct authority **out_authority,
                  struct err *err)
{
    struct authority *authority = calloc(1, sizeof(*authority));
    pthread_mutexattr_t attributes;
    int r;

    if (authority == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (config->backend == AUTHORITY_LINUX) {
        r = linux_backend_new(config->state_dir, config->walk_components, &authority->backend, err);
    } else {
        r = config->backend(&authority->backend);
        if (r < 0)
            err_set_plain(err, r);
    }
    if (r < 0) {
        free(authority);
        return r;
    }
    authority->clock = config->clock != NULL ? config->clock : &clock_system;
    authority->policy_id = "default";
    list_init(&authority->scopes);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&authority->grants_lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    atomic_init(&authority->last_request, 0);
    /* In memory there is no state to protect. */
    if (config->state_dir != NULL && config->backend == AUTHORITY_LINUX)
        r = protect_path(authority, config->state_dir, err);
    if (r < 0) {
        authority_free(authority);
        return r;
    }
    *out_authority = authority;
    return 0;
}

void authority_free(struct authority *authority)
{
    if (authority == NULL)
        return;
    while (!list_is_empty(&authority->scopes))
        authority_scope_free(list_entry(authority->scopes.next, struct authority_scope, link));
    authority->backend->ops->free(authority->backend);
    pthread_mutex_destroy(&authority->grants_lock);
    protect_done(authority);
    free(authority);
}

bool authority_has_leftovers(const struct authority *authority)
{
    return authority->backend->ops->has_leftovers(authority->backend);
}

void authority_sweep(struct authority *authority, uint64_t max_entries, const struct cancel *cancel)
{
    authority->backend->ops->sweep(authority->backend, max_entries, cancel);
}

void authority_set_policy(struct authority *authority, const char *id, authority_decide_fn *decide,
                          void *data)
{
    authority->policy_id = id;
    authority->policy = decide;
    authority->policy_data = data;
}

void authority_set_ask(struct authority *authority, authority_ask_fn *ask, void *data)
{
    authority->ask = ask;
    authority->ask_data = data;
}

/* Compacts the list of hooks; nothing runs while one is added. */
static void drop_removed(struct authority *authority)
{
    size_t kept = 0;

    for (size_t i = 0; i < authority->hook_count; i++) {
        if (atomic_load(&authority->hooks[i].is_removed))
            continue;
        authority->hooks[kept].hook = authority->hooks[i].hook;
        atomic_store(&authority->hooks[kept].is_removed, false);
        kept++;
    }
    authority->hook_count = kept;
}

static struct hook_slot *find_hook(struct authority *authority, const char *id)
{
    for (size_t i = 0; i < authority->hook_count; i++) {
        struct hook_slot *slot = &authority->hooks[i];

        if (!atomic_load(&slot->is_removed) && strcmp(slot->hook.id, id) == 0)
            return slot;
    }
    return NULL;
}

int authority_add_hook(struct authority *authority, const struct authority_hook *hook)
{
    if (hook->id == NULL)
        return ERR_INVALID_ARGUMENT;
    drop_removed(authority);
    if (find_hook(authority, hook->id) != NULL)
        return ERR_ALREADY_EXISTS;
    if (authority->hook_count == AUTHORITY_MAX_HOOKS)
        return ERR_TOO_LARGE;
    authority->hooks[authority->hook_count].hook = *hook;
    atomic_store(&authority->hooks[authority->hook_count].is_removed, false);
    authority->hook_count++;
    return 0;
}

bool authority_remove_hook(struct authority *authority, const char *id)
{
    struct hook_slot *slot = find_hook(authority, id);

    if (slot == NULL)
        return false;
    /* Operations on their way count hooks by their place, so the place stays. */
    atomic_store(&slot->is_removed, true);
    return true;
}

int authority_add_listener(struct authority *authority, authority_event_fn *listener, void *data)
{
    if (authority->listener_count == AUTHORITY_MAX_LISTENERS)
        return ERR_TOO_LARGE;
    authority->listeners[authority->listener_count++] = (struct listener){listener, data};
    return 0;
}

void authority_remove_listener(struct authority *authority, authority_event_fn *listener,
                               void *data)
{
    for (size_t i = 0; i < authority->listener_count; i++) {
        if (authority->listeners[i].notify != listener || authority->listeners[i].data != data)
            continue;
        authority->listener_count--;
        memmove(&authority->listeners[i], &authority->listeners[i + 1],
                (authority->listener_count - i) * sizeof(authority->listeners[0]));
        return;
    }
}
