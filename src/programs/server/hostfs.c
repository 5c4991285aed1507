/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/hostfs.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/sha256.h"
#include "gateway/toolset.h"
#include "hostfs/discovery.h"
#include "loop/timer.h"
#include "programs/server/hostfslink.h"
#include "programs/server/oauth.h"

enum {
    KNOWN_MAX = 4096, /* keys that need no look at the store */
    DOCUMENT_BYTES = 16 << 10,
    OPENAPI_BYTES = 256 << 10,
    ETAG_BYTES = 2 * 16 + 3, /* with quotes */
    MAJORS = 2,
    LOOK_MS = 50,          /* between two looks at what the keeper has started */
    MAX_DOUBLINGS = 8,     /* of the time before the next try, from LOOK_MS on */
    STEADY_MS = 60 * 1000, /* a process that lived so long does not count as a try */
};

struct document {
    struct buf text;
    char etag[ETAG_BYTES];
};

/* The process of one tenant. */
struct served {
    struct hostfsapi *api;
    struct hostfslink *link;
    bool is_lost;  /* another one is needed */
    bool is_asked; /* and asked for */
    unsigned tries;
    int64_t since_ms; /* the process is there, or is missed */
};

struct hostfsapi {
    struct hostfsapi_config config;
    struct served served[HOSTFSSTART_MAX_TENANTS];
    struct timer again; /* looks after those that are lost */
    struct document discovery[MAJORS];
    struct document openapi;
    struct map known; /* by the digest of the key */
    struct store_view view;
};

/* A key that was looked up. */
struct known {
    unsigned char digest[SHA256_BYTES];
    struct hostfslink *link; /* NULL: no files for this user */
    unsigned access;
};

static const struct {
    struct str name;
    enum hostfs_operation operation;
} operations[] = {
    {STR_LITERAL("read"), HOSTFS_READ},           {STR_LITERAL("write"), HOSTFS_WRITE},
    {STR_LITERAL("delete"), HOSTFS_DELETE},       {STR_LITERAL("stat"), HOSTFS_STAT},
    {STR_LITERAL("list"), HOSTFS_LIST},           {STR_LITERAL("archive"), HOSTFS_ARCHIVE},
    {STR_LITERAL("image"), HOSTFS_IMAGE},         {STR_LITERAL("pdf"), HOSTFS_PDF},
    {STR_LITERAL("transport"), HOSTFS_TRANSPORT},
};

/* ---- documents ---- */

static void make_etag(struct str text, char out_etag[ETAG_BYTES])
{
    unsigned char digest[SHA256_BYTES];

    sha256_of(text, digest);
    out_etag[0] = '"';
    for (size_t i = 0; i < (ETAG_BYTES - 3) / 2; i++)
        snprintf(out_etag + 1 + 2 * i, 3, "%02x", digest[i]);
    out_etag[ETAG_BYTES - 2] = '"';
    out_etag[ETAG_BYTES - 1] = '\0';
}

/* "*", or one of several separated by commas, which may be marked as weak. */
static bool has_etag(struct str list, struct str etag)
{
    struct str item;

    while (str_cut(&list, ',', &item)) {
        item = str_trim(item);
        if (str_starts_with(item, STR("W/")))
            item = str_slice(item, 2, item.len);
        if (str_eq(item, etag) || str_eq(item, STR("*")))
            return true;
    }
    return false;
}

static void answer_document(struct exchange *exchange, struct str text, const char *etag)
{
    const struct http_field fields[] = {
        {STR("Cache-Control"), STR("public, max-age=300")},
        {STR("ETag"), str_from(etag)},
        {STR("Vary"), STR("OpenWOP-Version")},
    };
    struct str wanted;
    bool is_same = http_header(exchange_request(exchange), STR("If-None-Match"), &wanted) &&
                   has_etag(wanted, str_from(etag));

    exchange_answer(exchange,
                    &(struct http_answer){.status = is_same ? 304 : 200,
                                          .type = is_same ? STR_EMPTY : STR("application/json"),
                                          .fields = fields,
                                          .field_count = array_size(fields),
                                          .parts = &text,
                                          .part_count = is_same ? 0 : 1});
}

static int make_documents(struct hostfsapi *api)
{
    const struct discovery discovery = {.has_files = api->config.tenants->count > 0,
                                        .max_file_bytes = api->config.tenants->max_file_bytes,
                                        .features = api->config.tenants->features};
    int r = 0;

    for (int i = 0; i < MAJORS && r == 0; i++) {
        struct document *document = &api->discovery[i];

        buf_init(&document->text, DOCUMENT_BYTES);
        r = discovery_write(&discovery, i == 0 ? HOSTFS_V1 : HOSTFS_V2, &document->text);
        make_etag(buf_view(&document->text), document->etag);
    }
    buf_init(&api->openapi.text, OPENAPI_BYTES);
    if (r == 0)
        r = discovery_write_openapi(discovery.features, &api->openapi.text);
    make_etag(buf_view(&api->openapi.text), api->openapi.etag);
    return r;
}

/* ---- who asks ---- */

static void forget_known(struct hostfsapi *api)
{
    size_t cursor = 0;
    struct str key;
    void *known;

    while (map_next(&api->known, &cursor, &key, &known))
        free(known);
    map_done(&api->known);
    api->known = (struct map)MAP_INIT(KNOWN_MAX);
}

/* The files of a user: those of the owner have no name. */
static struct hostfslink *find_link(struct hostfsapi *api, int64_t user)
{
    struct store_user found = {.name = ""};

    if (user != STORE_OWNER && store_get_user(api->config.store, user, &found) < 0)
        return NULL;
    for (size_t i = 0; i < api->config.tenants->count; i++)
        if (strcmp(api->config.tenants->items[i].name, user == STORE_OWNER ? "" : found.name) == 0)
            return api->served[i].link;
    return NULL;
}

/* A key for a workspace has nothing here. */
static unsigned access_of(const struct store_agent *agent)
{
    unsigned groups = agent->workspace[0] == '\0' ? agent->groups : 0;

    return ((groups & TOOLSET_GROUP(CATALOG_FILESYSTEM_READ)) != 0 ? HOSTFS_MAY_READ : 0U) |
           ((groups & TOOLSET_GROUP(CATALOG_FILESYSTEM_WRITE)) != 0 ? HOSTFS_MAY_WRITE : 0U);
}

static struct str bytes_of(const unsigned char digest[SHA256_BYTES])
{
    return (struct str){(const char *)digest, SHA256_BYTES};
}

/* The store is asked again after each removal of a key: it is refused at once. */
static int find_known(struct hostfsapi *api, struct str token, struct known *out_known)
{
    struct store_agent agent;
    struct known *known;
    int r;

    sha256_of(token, out_known->digest);
    if (store_has_revoked(api->config.store, &api->view) || api->known.count >= KNOWN_MAX)
        forget_known(api);
    known = map_get(&api->known, bytes_of(out_known->digest));
    if (known != NULL) {
        *out_known = *known;
        return 0;
    }
    r = store_find_agent(api->config.store, out_known->digest, &agent);
    if (r < 0)
        return r;
    out_known->link = find_link(api, agent.user);
    out_known->access = access_of(&agent);
    known = malloc(sizeof(*known));
    if (known == NULL)
        return 0;
    *known = *out_known;
    if (map_add(&api->known, bytes_of(known->digest), known) < 0)
        free(known); /* asked again */
    return 0;
}

/* Tokens expire, so the store is asked each time. */
static int find_granted(struct hostfsapi *api, struct str token, struct known *out_known)
{
    struct store_agent agent;
    int r = oauth_find_agent(api->config.oauth, token, &agent);

    if (r < 0)
        return r;
    out_known->link = find_link(api, agent.user);
    out_known->access = access_of(&agent);
    return 0;
}

/* False after it answered. */
static bool is_allowed(struct hostfsapi *api, struct exchange *exchange, enum hostfs_major major,
                       struct known *out_known)
{
    const struct str scheme = STR("Bearer ");
    struct err err = ERR_INIT;
    struct str value = STR_EMPTY;
    int r = ERR_UNAUTHORIZED;

    if (http_header(exchange_request(exchange), STR("Authorization"), &value) &&
        str_eq_nocase(str_slice(value, 0, scheme.len), scheme)) {
        struct str token = str_trim(str_slice(value, scheme.len, value.len));

        r = str_starts_with(token, STR("gat_")) ? find_granted(api, token, out_known)
                                                : find_known(api, token, out_known);
        if (r == ERR_UNAUTHORIZED && !api->config.admit(api->config.data, exchange, false))
            return false;
    }
    if (r == 0)
        return true;
    err_set(&err, r, "%s", r == ERR_UNAUTHORIZED ? "a valid key is required" : err_text(r));
    hostfslink_answer_error(exchange, major, &err);
    return false;
}

/* ---- what is asked ---- */

/* "2.0" is the second; without a header, the first, or for runs the second. */
static int find_major(const struct http_request *request, enum hostfs_major *out_major)
{
    bool is_run = str_starts_with(request->path, STR(HOSTFS_RUNS_PATH));
    struct str value;

    *out_major = is_run ? HOSTFS_V2 : HOSTFS_V1;
    if (!http_header(request, STR("OpenWOP-Version"), &value))
        return 0;
    value = str_trim(value);
    if (str_eq(value, STR("2")) || str_starts_with(value, STR("2.")))
        *out_major = HOSTFS_V2;
    else if ((str_eq(value, STR("1")) || str_starts_with(value, STR("1."))) && !is_run)
        *out_major = HOSTFS_V1;
    else
        return ERR_HTTP_VERSION;
    return 0;
}

static bool find_file_operation(struct str path, enum hostfs_operation *out_operation)
{
    struct str prefix =
        str_starts_with(path, STR(HOSTFS_PREFIX)) ? STR(HOSTFS_PREFIX) : STR(HOSTFS_SEAM_PREFIX);

    if (!str_starts_with(path, prefix))
        return false;
    path = str_slice(path, prefix.len, path.len);
    for (size_t i = 0; i < array_size(operations); i++)
        if (str_eq(path, operations[i].name)) {
            *out_operation = operations[i].operation;
            return true;
        }
    return false;
}

/* /runs, /runs/ID and /runs/ID/events/poll */
static bool find_operation(const struct http_request *request, struct hostfs_request *out_asked)
{
    const struct str events = STR("/events/poll");
    struct str path = request->path;

    if (request->method == HTTP_METHOD_POST && str_eq(path, STR(HOSTFS_RUNS_PATH))) {
        out_asked->operation = HOSTFS_RUN_START;
        return true;
    }
    if (request->method == HTTP_METHOD_POST)
        return find_file_operation(path, &out_asked->operation);
    path = str_slice(path, STR(HOSTFS_RUNS_PREFIX).len, path.len);
    out_asked->operation = HOSTFS_RUN_GET;
    if (str_ends_with(path, events)) {
        out_asked->operation = HOSTFS_RUN_EVENTS;
        path = str_slice(path, 0, path.len - events.len);
    }
    out_asked->body = path;
    return true;
}

/* False after it answered. Also after the body was read: the key may have been revoked. */
static bool prepare(struct hostfsapi *api, struct exchange *exchange,
                    struct hostfs_request *out_asked, struct hostfslink **out_link)
{
    const struct http_request *request = exchange_request(exchange);
    struct err err = ERR_INIT;
    struct known known = {.link = NULL};

    *out_asked = (struct hostfs_request){.body = STR_EMPTY};
    if (find_major(request, &out_asked->major) < 0)
        err_set(&err, ERR_HTTP_VERSION, "OpenWOP-Version must be 1.0 or 2.0%s",
                out_asked->major == HOSTFS_V2 ? "; runs are of 2.0" : "");
    else if (!find_operation(request, out_asked))
        err_set(&err, ERR_SESSION_OVER, "there is no such operation");
    else if (api->config.tenants->count == 0)
        err_set(&err, ERR_UNSUPPORTED, "this host has no files");
    if (err.code == 0) {
        if (!is_allowed(api, exchange, out_asked->major, &known))
            return false;
        out_asked->access = known.access;
        *out_link = known.link;
        if (known.link == NULL)
            err_set(&err, ERR_UNSUPPORTED, "this host has no files for the user of this key");
    }
    if (err.code == 0)
        return true;
    hostfslink_answer_error(exchange, out_asked->major, &err);
    return false;
}

static void ask(struct exchange *exchange, struct hostfslink *link,
                const struct hostfs_request *asked)
{
    int r = hostfslink_ask(link, asked, exchange);

    if (r < 0)
        hostfslink_answer_error(exchange, asked->major, &(struct err){.code = r});
}

static void on_body(void *data, struct exchange *exchange)
{
    struct hostfslink *link = NULL;
    struct hostfs_request asked;

    if (!prepare(data, exchange, &asked, &link))
        return;
    asked.body = exchange_request(exchange)->body;
    ask(exchange, link, &asked);
}

void hostfsapi_handle(void *data, struct exchange *exchange)
{
    struct hostfsapi *api = data;
    const struct http_request *request = exchange_request(exchange);
    size_t limit = hostfs_max_request(api->config.tenants->max_file_bytes);
    struct hostfslink *link = NULL;
    struct hostfs_request asked;

    if (str_eq(request->path, STR(HOSTFS_OPENAPI_PATH))) {
        answer_document(exchange, buf_view(&api->openapi.text), api->openapi.etag);
        return;
    }
    if (str_eq(request->path, STR(HOSTFS_DISCOVERY_PATH))) {
        enum hostfs_major major;

        if (find_major(request, &major) == 0)
            answer_document(exchange, buf_view(&api->discovery[major - HOSTFS_V1].text),
                            api->discovery[major - HOSTFS_V1].etag);
        else
            hostfslink_answer_error(exchange, HOSTFS_V1, &(struct err){.code = ERR_HTTP_VERSION});
        return;
    }
    if (!prepare(api, exchange, &asked, &link))
        return;
    if (request->method != HTTP_METHOD_POST) {
        ask(exchange, link, &asked);
        return;
    }
    if (request->content_length > limit) {
        hostfslink_answer_error(exchange, asked.major, &(struct err){.code = ERR_TOO_LARGE});
        return;
    }
    exchange_mark_connection(exchange);
    exchange_collect(exchange, limit, on_body, api);
}

/* ---- processes that die ---- */

static void on_lost(void *data)
{
    struct served *served = data;
    struct hostfsapi *api = served->api;
    int64_t now = loop_now_ms(api->config.loop);

    if (now - served->since_ms > STEADY_MS)
        served->tries = 0;
    served->is_lost = true;
    served->is_asked = false;
    served->since_ms = now;
    if (!api->again.is_started)
        timer_start_repeating(&api->again, LOOK_MS);
}

static void take_started(struct hostfsapi *api)
{
    size_t tenant;
    int fd;

    while (hostfsstart_take(api->config.tenants, &tenant, &fd)) {
        struct served *served = &api->served[tenant];
        bool is_open = fd >= 0 && hostfslink_reopen(served->link, fd) == 0;

        served->is_lost = !is_open;
        served->is_asked = false;
        served->since_ms = loop_now_ms(api->config.loop);
    }
}

/* Later each time, while they die soon. */
static void start_again(void *data)
{
    struct hostfsapi *api = data;
    bool waits = false;

    take_started(api);
    for (size_t i = 0; i < api->config.tenants->count; i++) {
        struct served *served = &api->served[i];
        int64_t due_ms = served->since_ms + (LOOK_MS << served->tries);

        if (!served->is_lost)
            continue;
        waits = true;
        if (served->is_asked || loop_now_ms(api->config.loop) < due_ms)
            continue;
        served->is_asked = hostfsstart_ask(api->config.tenants, i) == 0;
        served->since_ms = loop_now_ms(api->config.loop);
        if (served->tries < MAX_DOUBLINGS)
            served->tries++;
    }
    if (!waits)
        timer_stop(&api->again);
}

/* ---- making ---- */

int hostfsapi_new(const struct hostfsapi_config *config, struct hostfsapi **out_api)
{
    struct hostfsapi *api = calloc(1, sizeof(*api));
    int r;

    if (api == NULL)
        return ERR_NO_MEMORY;
    api->config = *config;
    api->known = (struct map)MAP_INIT(KNOWN_MAX);
    r = make_documents(api);
    timer_init(&api->again, config->loop, start_again, api);
    for (size_t i = 0; i < config->tenants->count && r == 0; i++) {
        struct served *served = &api->served[i];
        const struct hostfslink_config link = {.loop = config->loop,
                                               .log = config->log,
                                               .max_file_bytes = config->tenants->max_file_bytes,
                                               .on_lost = on_lost,
                                               .data = served};

        served->api = api;
        served->since_ms = loop_now_ms(config->loop);
        r = hostfslink_new(&link, steal_fd(&config->tenants->items[i].fd), &served->link);
    }
    if (r < 0) {
        hostfsapi_free(api);
        return r;
    }
    *out_api = api;
    return 0;
}

void hostfsapi_free(struct hostfsapi *api)
{
    if (api == NULL)
        return;
    for (size_t i = 0; i < HOSTFSSTART_MAX_TENANTS; i++)
        hostfslink_free(api->served[i].link);
    timer_stop(&api->again);
    for (int i = 0; i < MAJORS; i++)
        buf_done(&api->discovery[i].text);
    buf_done(&api->openapi.text);
    forget_known(api);
    map_done(&api->known);
    free(api);
}
