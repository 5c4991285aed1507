/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/subscriptions.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/list.h"
#include "files/resources.h"
#include "loop/reader.h"

enum { LOOKUP_TIMEOUT_MS = 10000 };

/* A URI, in the list of its directory. */
struct address {
    struct list link;
    struct mcp_session *session; /* which wants to hear of it */
    struct str uri;
    struct str last; /* its name in the directory; both are stored after this struct */
};

struct watched {
    struct list link;
    struct subscriptions *owner;
    struct authority_watch *watch;
    struct ready_watch *ready;
    struct list addresses;
    size_t name_len;
    char name[]; /* the directory, from the root on */
};

struct subscriptions {
    struct subscriptions_config config;
    struct list directories;
    /* One search at a time: each holds watches, of which a scope has so many, until its end. */
    struct list waiting;
    bool is_searching;
};

int subscriptions_new(const struct subscriptions_config *config,
                      struct subscriptions **out_subscriptions)
{
    struct subscriptions *subscriptions = malloc(sizeof(*subscriptions));

    if (subscriptions == NULL)
        return ERR_NO_MEMORY;
    *subscriptions = (struct subscriptions){.config = *config};
    list_init(&subscriptions->directories);
    list_init(&subscriptions->waiting);
    *out_subscriptions = subscriptions;
    return 0;
}

/* ---- what comes ---- */

static void end_watched(struct watched *watched)
{
    list_each_safe (node, &watched->addresses)
        free(list_entry(node, struct address, link));
    list_remove(&watched->link);
    ready_watch_free(watched->ready);
    authority_watch_free(watched->watch);
    free(watched);
}

static void on_change(void *data, enum authority_change change, struct str name)
{
    struct watched *watched = data;

    list_each_safe (node, &watched->addresses) {
        struct address *address = list_entry(node, struct address, link);

        /* After lost events everything may have changed, and so may the directory itself. */
        if (change == AUTHORITY_RESCAN || address->last.len == 0 || str_eq(address->last, name))
            mcp_session_resource_updated(address->session, address->uri);
    }
}

static void on_ready(void *data)
{
    struct watched *watched = data;

    if (authority_watch_read(watched->watch, on_change, watched) < 0) {
        /* The grant is over: nothing will come any more. */
        ready_watch_free(watched->ready);
        watched->ready = NULL;
    }
}

/* ---- looking for it ---- */

/* One URI: what the worker finds out about it. */
struct wanted {
    struct str uri;
    size_t index; /* in the call */
    char name[PATH_MAX];
    size_t name_len;
    size_t directory_len; /* its beginning */
    struct authority_watch *watch;
    int fd;
    int error;
    struct err err;
};

struct search {
    const struct toolbox *box;
    struct authority_scope *names;
    struct authority_scope *files;
    atomic_uint *running;
    struct arena arena;
    size_t count;
    struct wanted items[];
};

enum { SEARCH_ARENA_BYTES = 32 << 20 };

static void free_search(void *data)
{
    struct search *search = data;
    atomic_uint *running = search->running;

    for (size_t i = 0; i < search->count; i++)
        authority_watch_free(search->items[i].watch);
    arena_done(&search->arena);
    free(search);
    atomic_fetch_sub(running, 1);
}

static struct str directory_of(const struct wanted *wanted)
{
    return (struct str){wanted->name, wanted->directory_len};
}

/* Whether another URI of this call already has its directory watched. */
static bool is_watched(const struct search *search, const struct wanted *wanted)
{
    for (const struct wanted *other = search->items; other < wanted; other++)
        if (other->watch != NULL && str_eq(directory_of(other), directory_of(wanted)))
            return true;
    return false;
}

static void look_for(struct search *search, struct wanted *wanted)
{
    struct authority_stat about;
    char given[PATH_MAX];
    const char *slash;
    size_t len;

    wanted->error = resource_name_of_uri(search->box, wanted->uri, given, &len, &wanted->err);
    /* Reading follows links inside the root, so their targets are watched. */
    if (wanted->error == 0)
        wanted->error =
            authority_resolve(search->names, AUTHORITY_OP_READ, (struct str){given, len},
                              wanted->name, &wanted->name_len, NULL, &wanted->err);
    if (wanted->error < 0)
        return;
    wanted->error = authority_stat(search->files, (struct str){wanted->name, wanted->name_len},
                                   &about, &wanted->err);
    if (wanted->error < 0)
        return;
    slash = memrchr(wanted->name, '/', wanted->name_len);
    if (about.type == AUTHORITY_DIRECTORY)
        wanted->directory_len = wanted->name_len;
    else
        wanted->directory_len = slash != NULL ? (size_t)(slash - wanted->name) : 0;
    if (!is_watched(search, wanted))
        wanted->error = authority_watch(search->files, directory_of(wanted), &wanted->watch,
                                        &wanted->fd, &wanted->err);
}

static int run_search(void *data, struct cancel *token)
{
    struct search *search = data;

    for (size_t i = 0; i < search->count; i++) {
        int r = cancel_check(token);

        if (r < 0)
            return r;
        look_for(search, &search->items[i]);
    }
    return 0;
}

/* ---- keeping it ---- */

static struct watched *find_directory(struct subscriptions *subscriptions, struct str name)
{
    list_each (node, &subscriptions->directories) {
        struct watched *watched = list_entry(node, struct watched, link);

        if (str_eq((struct str){watched->name, watched->name_len}, name))
            return watched;
    }
    return NULL;
}

static int add_directory(struct subscriptions *subscriptions, struct wanted *wanted,
                         struct watched **out_watched)
{
    struct str name = directory_of(wanted);
    struct watched *watched;
    int r;

    if (wanted->watch == NULL)
        return ERR_BUSY; /* it relied on one that could not be kept */
    watched = malloc(sizeof(*watched) + name.len + 1);
    if (watched == NULL)
        return ERR_NO_MEMORY;
    *watched = (struct watched){.owner = subscriptions, .name_len = name.len};
    memcpy(watched->name, name.ptr, name.len);
    list_init(&watched->addresses);
    r = ready_watch_new(subscriptions->config.loop, wanted->fd, on_ready, watched, &watched->ready);
    if (r < 0) {
        free(watched);
        return r;
    }
    watched->watch = wanted->watch;
    wanted->watch = NULL;
    list_append(&subscriptions->directories, &watched->link);
    *out_watched = watched;
    return 0;
}

static int add_address(struct watched *watched, struct mcp_session *session,
                       const struct wanted *wanted)
{
    size_t start = wanted->directory_len > 0 ? wanted->directory_len + 1 : 0;
    struct str last = str_slice((struct str){wanted->name, wanted->name_len}, start, PATH_MAX);
    struct address *address = malloc(sizeof(*address) + wanted->uri.len + last.len);
    char *text;

    if (address == NULL)
        return ERR_NO_MEMORY;
    address->session = session;
    text = (char *)(address + 1);
    memcpy(text, wanted->uri.ptr, wanted->uri.len);
    memcpy(text + wanted->uri.len, last.ptr, last.len);
    address->uri = (struct str){text, wanted->uri.len};
    address->last = (struct str){text + wanted->uri.len, last.len};
    list_append(&watched->addresses, &address->link);
    return 0;
}

static struct address *find_address(const struct watched *watched,
                                    const struct mcp_session *session, struct str uri)
{
    list_each (node, &watched->addresses) {
        struct address *address = list_entry(node, struct address, link);

        if (address->session == session && str_eq(address->uri, uri))
            return address;
    }
    return NULL;
}

static int keep(struct subscriptions *subscriptions, struct mcp_session *session,
                struct wanted *wanted)
{
    struct watched *watched = find_directory(subscriptions, directory_of(wanted));
    int r = wanted->error;

    if (r == 0 && watched == NULL)
        r = add_directory(subscriptions, wanted, &watched);
    /* MCP counts subscribers; here a URI is watched or not. */
    if (r == 0 && find_address(watched, session, wanted->uri) == NULL)
        r = add_address(watched, session, wanted);
    return r;
}

/* A call that waits for its search, or whose search is running. */
struct asked {
    struct list link;
    struct subscriptions *subscriptions;
    struct mcp_call *call;
};

static void search_next(struct subscriptions *subscriptions);

static void on_found(void *context, int result, void *data)
{
    struct asked asked = *(struct asked *)context;
    struct search *search = data;
    struct err err = ERR_INIT;
    size_t kept = 0;

    free(context);
    asked.subscriptions->is_searching = false;
    if (result == 0 && mcp_call_is_cancelled(asked.call))
        result = ERR_CANCELLED;
    for (size_t i = 0; result == 0 && i < search->count; i++) {
        struct wanted *wanted = &search->items[i];
        int r = keep(asked.subscriptions, mcp_call_session(asked.call), wanted);

        if (r == 0) {
            kept++;
            continue;
        }
        if (wanted->error == 0)
            err_set_plain(&wanted->err, r);
        err = wanted->err;
        mcp_call_refuse_uri(asked.call, wanted->index);
    }
    if (result < 0)
        err_set_plain(&err, result);
    if (result < 0 || (kept == 0 && search->count > 0))
        mcp_call_fail(asked.call, &err);
    else
        mcp_call_finish(asked.call, STR("{}"));
    search_next(asked.subscriptions);
}

static int begin_search(struct asked *asked)
{
    const struct subscriptions *subscriptions = asked->subscriptions;
    const struct mcp_request *request = mcp_call_request(asked->call);
    size_t count = request->subscribe.count;
    struct search *search = calloc(1, sizeof(*search) + count * sizeof(search->items[0]));
    struct worker_job spec;
    uint64_t id;
    int r = 0;

    if (search == NULL)
        return ERR_NO_MEMORY;
    search->box = subscriptions->config.box;
    search->names = subscriptions->config.names;
    search->files = subscriptions->config.files;
    search->running = subscriptions->config.running;
    atomic_fetch_add(search->running, 1);
    arena_init(&search->arena, SEARCH_ARENA_BYTES);
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct str uri = request->subscribe.uris[i];
        const char *copy = arena_copy(&search->arena, uri);

        if (copy == NULL)
            r = search->arena.error;
        search->items[i].uri = (struct str){copy, uri.len};
        search->items[i].index = i;
        search->count++;
    }
    spec = (struct worker_job){.run = run_search,
                               .done = on_found,
                               .free_data = free_search,
                               .data = search,
                               .context = asked,
                               .timeout_ms = LOOKUP_TIMEOUT_MS};
    if (r == 0)
        r = worker_submit(subscriptions->config.pool, &spec, &id);
    if (r < 0)
        free_search(search);
    return r;
}

static void fail(struct mcp_call *call, int error)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, error);
    mcp_call_fail(call, &err);
}

static void search_next(struct subscriptions *subscriptions)
{
    while (!subscriptions->is_searching && !list_is_empty(&subscriptions->waiting)) {
        struct asked *asked = list_entry(subscriptions->waiting.next, struct asked, link);
        int r;

        list_remove(&asked->link);
        r = mcp_call_is_cancelled(asked->call) ? ERR_CANCELLED : begin_search(asked);
        subscriptions->is_searching = r == 0;
        if (r < 0) {
            fail(asked->call, r);
            free(asked);
        }
    }
}

void subscriptions_add(struct subscriptions *subscriptions, struct mcp_call *call)
{
    struct asked *asked = malloc(sizeof(*asked));

    if (asked == NULL) {
        fail(call, ERR_NO_MEMORY);
        return;
    }
    *asked = (struct asked){.subscriptions = subscriptions, .call = call};
    list_append(&subscriptions->waiting, &asked->link);
    search_next(subscriptions);
}

void subscriptions_remove(struct subscriptions *subscriptions, const struct mcp_session *session,
                          struct str uri)
{
    list_each_safe (node, &subscriptions->directories) {
        struct watched *watched = list_entry(node, struct watched, link);
        struct address *address = find_address(watched, session, uri);

        if (address == NULL)
            continue;
        list_remove(&address->link);
        free(address);
        if (list_is_empty(&watched->addresses))
            end_watched(watched);
        /* And on: what led elsewhere when it was asked for again is in two of them. */
    }
}

void subscriptions_free(struct subscriptions *subscriptions)
{
    if (subscriptions == NULL)
        return;
    list_each_safe (node, &subscriptions->directories)
        end_watched(list_entry(node, struct watched, link));
    free(subscriptions);
}
