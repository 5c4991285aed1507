/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/sandboxes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "programs/sandboxd/daytona/snapshots.h"
#include "programs/sandboxd/daytona/source.h"
#include "programs/sandboxd/details.h"
#include "programs/sandboxd/run.h"
#include "programs/sandboxd/sandboxes.h"

enum {
    MB_PER_GB = 1024,
    MOST_GB = 1024,
    MOST_CORES = 1024,
    LIST_ITEMS = 100, /* on a page that gives no limit */
    MOST_LIST_ITEMS = 200,
};

/* ---- answers ---- */

void daytona_base_url(const struct http_request *request, char out_url[DAYTONA_URL_BYTES])
{
    struct str scheme = STR_EMPTY;

    /* A proxy in front of us that has TLS says so. */
    if (!http_header(request, STR("X-Forwarded-Proto"), &scheme) || !str_eq(scheme, STR("https")))
        scheme = STR("http");
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

static const char *state_name(const struct sandbox *sandbox)
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

    put_share(json, STR("cpu"), record->cpu_percent > 0 ? record->cpu_percent : ROOM_CPU_PERCENT,
              100);
    json_put_int(json, STR("gpu"), 0);
    put_share(json, STR("memory"),
              record->memory_mb > 0 ? record->memory_mb : (int64_t)(ROOM_MEMORY_BYTES >> 20),
              MB_PER_GB);
    put_share(json, STR("disk"), (int64_t)(sandbox->service->config.disk_bytes >> 20), MB_PER_GB);
}

static void write_sandbox(struct json_writer *json, const struct sandbox *sandbox, const char *url)
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
    json_put_bool(json, STR("networkBlockAll"), true); /* sandboxes have no network */
    json_put_str(json, STR("target"), STR("local"));
    put_resources(json, sandbox);
    json_put_str(json, STR("state"), str_from(state_name(sandbox)));
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
    json_end_object(json);
}

static void answer_json(struct exchange *exchange, struct json_writer *json, const struct buf *out)
{
    int r = json_writer_finish(json);

    if (r < 0)
        call_fail(exchange, 503, err_text(r));
    else
        call_answer_json(exchange, 200, buf_view(out));
}

static void answer_sandbox(struct exchange *exchange, const struct sandbox *sandbox)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    char url[DAYTONA_URL_BYTES];
    struct json_writer json;

    daytona_base_url(exchange_request(exchange), url);
    json_writer_init(&json, &out);
    write_sandbox(&json, sandbox, url);
    answer_json(exchange, &json, &out);
}

static void answer_url(const struct call *call, const char *path)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    char base[DAYTONA_URL_BYTES];
    char url[DAYTONA_URL_BYTES + 64];
    struct json_writer json;

    daytona_base_url(call->request, base);
    snprintf(url, sizeof(url), "%s%s", base, path);
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str_lossy(&json, STR("url"), str_from(url));
    json_end_object(&json);
    answer_json(call->exchange, &json, &out);
}

struct sandbox *daytona_find(const struct call *call)
{
    struct sandbox *sandbox = service_find_named(call->service, call->ids[0], call->owner);

    if (sandbox == NULL)
        call_fail(call->exchange, 404, "there is no such sandbox");
    return sandbox;
}

/* ---- creating ---- */

/* A request to create, until it is answered. */
struct creation {
    struct sandbox_use use;
    struct service *service;
    struct exchange *exchange;
    struct sandboxstore_sandbox record;
    struct details *details; /* NULL once the sandbox has them */
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
        answer_sandbox(creation->exchange, sandbox);
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
    if (service_create(creation->service, &creation->record, details, &creation->use, &failed) <
        0) {
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
    record->memory_mb = memory_gb * MB_PER_GB;
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
    if (!call_member_str(object, STR("networkAllowList"), &text) || text.len > 0 ||
        !call_member_str(object, STR("domainAllowList"), &text) || text.len > 0)
        return "networkAllowList, domainAllowList: sandboxes of this service have no network";
    return NULL;
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
        record->memory_mb = snapshot->record.memory_gb * MB_PER_GB;
}

static struct creation *new_creation(const struct call *call)
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

void daytona_create(const struct call *call)
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

/* ---- reading ---- */

void daytona_get(const struct call *call)
{
    const struct sandbox *sandbox = daytona_find(call);

    if (sandbox != NULL)
        answer_sandbox(call->exchange, sandbox);
}

/* What a list shows. */
struct filter {
    struct str id;
    struct str name;
    struct str states;               /* separated by commas; empty: all */
    const struct json_value *labels; /* or NULL */
    int64_t limit;
    int64_t page;
    struct str cursor; /* the last one of the page before */
};

static bool has_labels(const struct sandbox *sandbox, const struct json_value *wanted)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    const struct json_value *labels;

    if (wanted == NULL)
        return true;
    if (sandbox->details == NULL || json_parse(&arena, str_from(sandbox->details->labels),
                                               JSON_LIMITS_DEFAULT, &labels, NULL) < 0)
        return wanted->size == 0;
    json_each_member (key, wanted) {
        struct str value;

        if (!json_get_str(labels, json_str(key), &value) || !str_eq(value, json_str(key + 1)))
            return false;
    }
    return true;
}

static bool is_listed(const struct sandbox *sandbox, const struct filter *filter)
{
    const char *name = sandbox->details != NULL ? sandbox->details->name : sandbox->record.id;
    struct str states = filter->states;
    struct str state;
    bool has_state = states.len == 0;

    while (str_cut(&states, ',', &state))
        if (str_eq_c(state, state_name(sandbox)))
            has_state = true;
    return has_state && (filter->id.len == 0 || str_eq_c(filter->id, sandbox->record.id)) &&
           (filter->name.len == 0 || str_starts_with(str_from(name), filter->name)) &&
           has_labels(sandbox, filter->labels);
}

static bool read_number(const struct call *call, struct arena *arena, struct str name,
                        int64_t least, int64_t most, int64_t *out_number)
{
    struct str text;
    int error = 0;

    if (call_query(call, arena, name, &text, &error) &&
        (!str_to_int64(text, out_number) || *out_number < least))
        return false;
    if (*out_number > most)
        *out_number = most;
    return error == 0;
}

/* The values of a parameter that may be given several times, each with a comma behind it. */
static bool read_states(const struct call *call, struct arena *arena, struct str *out_states)
{
    cleanup_buf struct buf all = BUF_INIT(HTTP_MAX_LINE_BYTES);
    struct str rest = call->request->query;
    const char *copy;
    struct str pair;

    while (str_cut(&rest, '&', &pair)) {
        struct str key = STR_EMPTY;

        (void)str_cut(&pair, '=', &key);
        if (str_eq(key, STR("states")) &&
            (buf_append_str(&all, pair) < 0 || buf_append_char(&all, ',') < 0))
            return false;
    }
    copy = arena_copy(arena, buf_view(&all));
    if (copy == NULL)
        return false;
    *out_states = str_from(copy);
    return true;
}

/* What is wrong with the query, or NULL. */
static const char *read_filter(const struct call *call, struct arena *arena, struct filter *filter)
{
    struct str labels = STR_EMPTY;
    int error = 0;

    *filter = (struct filter){.limit = LIST_ITEMS, .page = 1};
    (void)call_query(call, arena, STR("id"), &filter->id, &error);
    (void)call_query(call, arena, STR("name"), &filter->name, &error);
    if (!read_states(call, arena, &filter->states))
        return "there are too many states";
    (void)call_query(call, arena, STR("cursor"), &filter->cursor, &error);
    if (call_query(call, arena, STR("labels"), &labels, &error) &&
        (json_parse(arena, labels, JSON_LIMITS_DEFAULT, &filter->labels, NULL) < 0 ||
         !details_is_texts(filter->labels)))
        return "labels must be an object of texts, as JSON";
    if (!read_number(call, arena, STR("limit"), 1, MOST_LIST_ITEMS, &filter->limit) ||
        !read_number(call, arena, STR("page"), 1, INT32_MAX, &filter->page))
        return "limit and page must be numbers from 1 on";
    return error == 0 ? NULL : "the query is malformed";
}

/* The next older one of the owner that the filter lets through; NULL at the end. */
static struct sandbox *next_listed(const struct call *call, const struct filter *filter,
                                   struct list *after)
{
    struct list *order = &call->service->order;

    for (struct list *node = after->prev; node != order; node = node->prev) {
        struct sandbox *sandbox = list_entry(node, struct sandbox, node);

        if (strcmp(sandbox->record.owner, call->owner) == 0 && sandbox->state != SANDBOX_DELETING &&
            is_listed(sandbox, filter))
            return sandbox;
    }
    return NULL;
}

void daytona_list(const struct call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct list *from = &call->service->order;
    const struct sandbox *last = NULL;
    struct sandbox *sandbox;
    char url[DAYTONA_URL_BYTES];
    struct json_writer json;
    struct filter filter;
    const char *wrong = read_filter(call, &arena, &filter);

    if (wrong == NULL && filter.cursor.len > 0) {
        sandbox = service_find(call->service, filter.cursor, call->owner);
        if (sandbox == NULL)
            wrong = "the cursor leads nowhere: its sandbox was deleted";
        else
            from = &sandbox->node;
    }
    if (wrong != NULL) {
        call_fail(call->exchange, 400, wrong);
        return;
    }
    daytona_base_url(call->request, url);
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_key(&json, STR("items"));
    json_begin_array(&json);
    sandbox = next_listed(call, &filter, from);
    for (int64_t i = 0; sandbox != NULL && i < filter.limit; i++) {
        write_sandbox(&json, sandbox, url);
        last = sandbox;
        sandbox = next_listed(call, &filter, &sandbox->node);
    }
    json_end_array(&json);
    json_key(&json, STR("nextCursor"));
    if (sandbox != NULL && last != NULL)
        json_write_str(&json, str_from(last->record.id));
    else
        json_write_null(&json);
    json_end_object(&json);
    answer_json(call->exchange, &json, &out);
}

void daytona_list_pages(const struct call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    char url[DAYTONA_URL_BYTES];
    struct json_writer json;
    struct filter filter;
    int64_t total = 0;
    const char *wrong = read_filter(call, &arena, &filter);

    if (wrong != NULL) {
        call_fail(call->exchange, 400, wrong);
        return;
    }
    daytona_base_url(call->request, url);
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_key(&json, STR("items"));
    json_begin_array(&json);
    for (struct sandbox *sandbox = next_listed(call, &filter, &call->service->order);
         sandbox != NULL; sandbox = next_listed(call, &filter, &sandbox->node)) {
        if (total / filter.limit == filter.page - 1)
            write_sandbox(&json, sandbox, url);
        total++;
    }
    json_end_array(&json);
    json_put_int(&json, STR("total"), total);
    json_put_int(&json, STR("page"), filter.page);
    json_put_int(&json, STR("totalPages"), (total + filter.limit - 1) / filter.limit);
    json_end_object(&json);
    answer_json(call->exchange, &json, &out);
}

void daytona_get_toolbox_url(const struct call *call)
{
    if (daytona_find(call) != NULL)
        answer_url(call, "/toolbox");
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
        answer_sandbox(move->exchange, sandbox);
    if (err == NULL && move->is_use)
        service_release(sandbox);
    free(move);
}

static struct move *new_move(const struct call *call, struct sandbox **out_sandbox)
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

void daytona_start(const struct call *call)
{
    struct sandbox *sandbox;
    struct move *move = new_move(call, &sandbox);

    if (move == NULL)
        return;
    move->is_use = true;
    service_use(sandbox, &move->use);
}

void daytona_stop(const struct call *call)
{
    struct sandbox *sandbox;
    struct move *move = new_move(call, &sandbox);

    if (move != NULL)
        service_stop(sandbox, &move->use);
}

void daytona_remove(const struct call *call)
{
    struct sandbox *sandbox;
    struct move *move = new_move(call, &sandbox);

    if (move != NULL)
        service_delete(sandbox, &move->use);
}

struct details *daytona_change_details(const struct call *call, struct sandbox *sandbox)
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

void daytona_set_labels(const struct call *call)
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
    answer_json(call->exchange, &json, &out);
}

enum interval { INTERVAL_STOP, INTERVAL_ARCHIVE, INTERVAL_DELETE };

static void set_minutes(const struct call *call, int64_t least, enum interval interval)
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
    answer_sandbox(call->exchange, sandbox);
}

void daytona_set_auto_stop(const struct call *call)
{
    set_minutes(call, 0, INTERVAL_STOP);
}

void daytona_set_auto_delete(const struct call *call)
{
    set_minutes(call, DETAILS_NEVER, INTERVAL_DELETE);
}

void daytona_set_auto_archive(const struct call *call)
{
    set_minutes(call, 0, INTERVAL_ARCHIVE);
}

/* Its files stay where they are: for a client it is a stopped one by another name. */
void daytona_archive(const struct call *call)
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
    answer_sandbox(call->exchange, sandbox);
}

void daytona_note_activity(const struct call *call)
{
    struct sandbox *sandbox = daytona_find(call);

    if (sandbox == NULL)
        return;
    service_touch(sandbox);
    call_answer_nothing(call->exchange);
}
