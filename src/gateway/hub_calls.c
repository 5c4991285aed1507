/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: out as an event on the machine's stream, back as a request of its own. */
#include "gateway/hub_internal.h"

#include <stdlib.h>

#include "base/jsonwrite.h"
#include "base/printable.h"
#include "base/rand.h"
#include "base/secret.h"
#include "protocol/toolresult.h"

enum {
    ID_CHARS = 21,
    FIRST_EVENT_BYTES = 512,      /* of a usual call, so that its event need not grow */
    KEPT_ANSWER_BYTES = 64 << 10, /* a larger one's memory goes when it is sent */
    MAX_EVENTS = 256,
    MAX_WHAT_BYTES = 200,
    MAX_CREDENTIAL_TEXT = 256,
};

static struct str bytes_of(const void *object, size_t size)
{
    return (struct str){object, size};
}

/* ---- the life of a call ---- */

static void free_call(struct hub_call *call)
{
    list_remove(&call->node);
    list_remove(&call->due_node);
    call->user->call_count--;
    call->user->waiting_bytes -= call->event.len;
    map_remove(&call->hub->calls, str_from(call->id));
    map_remove(&call->hub->numbers, bytes_of(&call->number, sizeof(call->number)));
    buf_done(&call->event);
    free(call);
}

static void fail_call(struct hub_call *call, const struct err *err)
{
    const struct hub_call_events *events = call->events;
    void *data = call->data;

    free_call(call);
    events->done(data, err, NULL, STR_EMPTY);
}

void hub_fail_calls(struct hub *hub, struct hub_user *user, int error, const char *words)
{
    struct err err = ERR_INIT;

    (void)hub;
    err_set(&err, error, "%s", words);
    while (!list_is_empty(&user->calls))
        fail_call(list_entry(user->calls.next, struct hub_call, node), &err);
}

static void send_cancel(struct hub *hub, const struct hub_call *call)
{
    const struct hub_machine *machine = call->user->machine;
    cleanup_buf struct buf event = BUF_INIT(256);

    if (!call->has_extensions || machine == NULL || machine->stream == NULL || call->event.len > 0)
        return;
    if (buf_printf(&event, "{\"type\":\"gatehouse-cancel\",\"payload\":{\"requestId\":\"%s\"}}",
                   call->id) == 0)
        hub->config.events->send(hub->config.events_data, machine->stream, buf_view(&event));
}

int64_t hub_expire_calls(struct hub *hub, int64_t next_ms)
{
    int64_t now = clock_monotonic_ms(hub->config.clock);
    struct err err = ERR_INIT;

    for (size_t i = 0; i < array_size(hub->due); i++)
        while (!list_is_empty(&hub->due[i])) {
            struct hub_call *call = list_entry(hub->due[i].next, struct hub_call, due_node);

            if (call->due_ms > now) {
                int64_t ms = call->due_ms - now;

                next_ms = next_ms < 0 || ms < next_ms ? ms : next_ms;
                break;
            }
            err_set(&err, ERR_TIMED_OUT, "the machine did not answer within %lld s",
                    (long long)(call->timeout_ms / 1000));
            send_cancel(hub, call);
            fail_call(call, &err);
        }
    return next_ms;
}

struct str hub_request_id(struct hub *hub, uint64_t number)
{
    const struct hub_call *call = map_get(&hub->numbers, bytes_of(&number, sizeof(number)));

    return call != NULL ? str_from(call->id) : STR_EMPTY;
}

void hub_cancel(struct hub *hub, uint64_t number)
{
    struct hub_call *call = map_get(&hub->numbers, bytes_of(&number, sizeof(number)));

    if (call == NULL)
        return;
    send_cancel(hub, call);
    free_call(call);
}

void hub_decide(struct hub *hub, int64_t user_id, struct str question, struct str answer)
{
    cleanup_buf struct buf event = BUF_INIT(1 << 10);
    const struct hub_user *user = hub_find_user(hub, user_id);
    struct json_writer json;

    if (user == NULL || user->machine == NULL || !user->machine->has_extensions ||
        user->machine->stream == NULL)
        return;
    json_writer_init(&json, &event);
    json_begin_object(&json);
    json_put_str(&json, STR("type"), STR("gatehouse-decision"));
    json_key(&json, STR("payload"));
    json_begin_object(&json);
    json_put_str(&json, STR("questionId"), question);
    json_put_str(&json, STR("answer"), answer);
    json_end_object(&json);
    json_end_object(&json);
    if (json_writer_finish(&json) == 0)
        hub->config.events->send(hub->config.events_data, user->machine->stream, buf_view(&event));
}

/* ---- out ---- */

static void write_arguments(struct json_writer *json, const struct hub_call_request *request)
{
    json_begin_object(json);
    json_each_member (key, request->arguments) {
        /* `_confirmation` above all: no agent may answer for the user. */
        if (str_starts_with(json_str(key), STR("_")))
            continue;
        json_key(json, json_str(key));
        json_write_value(json, key + 1);
    }
    if (request->confirmation.len > 0)
        json_put_str(json, STR("_confirmation"), request->confirmation);
    json_end_object(json);
}

static int write_event(const struct hub_call_request *request, struct hub_call *call)
{
    struct json_writer json;

    json_writer_init(&json, &call->event);
    json_begin_object(&json);
    json_put_str(&json, STR("type"),
                 call->is_query ? STR("gatehouse-query") : STR("filesystem-request"));
    json_key(&json, STR("payload"));
    json_begin_object(&json);
    json_put_str(&json, STR("requestId"), str_from(call->id));
    if (call->is_query) {
        json_put_str(&json, STR("query"), request->tool);
        json_key(&json, STR("arguments"));
        write_arguments(&json, request);
    } else if (call->is_operation) {
        json_put_str(&json, STR("operation"), hub_operation(request->tool));
        json_key(&json, STR("args"));
        write_arguments(&json, request);
    } else {
        json_key(&json, STR("toolCall"));
        json_begin_object(&json);
        json_put_str(&json, STR("name"), request->tool);
        json_key(&json, STR("arguments"));
        write_arguments(&json, request);
        json_end_object(&json);
        if (call->has_extensions && request->agent.len > 0)
            json_put_str_lossy(&json, STR("agent"), request->agent);
    }
    json_end_object(&json);
    json_end_object(&json);
    return json_writer_finish(&json);
}

static void send_event(struct hub *hub, struct hub_call *call)
{
    struct buf event = call->event;

    buf_init(&call->event, HUB_MAX_BODY_BYTES);
    call->user->waiting_bytes -= event.len;
    hub->config.events->send(hub->config.events_data, call->user->machine->stream,
                             buf_view(&event));
    buf_done(&event);
}

void hub_send_waiting(struct hub *hub, struct hub_user *user)
{
    list_each_safe (node, &user->calls) {
        struct hub_call *call = list_entry(node, struct hub_call, node);

        if (call->event.len > 0 && user->machine != NULL && user->machine->stream != NULL)
            send_event(hub, call);
    }
}

static int add_call(struct hub *hub, struct hub_call *call)
{
    int r;

    memcpy(call->id, "gw_", 3);
    rand_pool_token(&hub->ids, call->id + 3, ID_CHARS);
    call->number = ++hub->next_number;
    r = map_add(&hub->calls, str_from(call->id), call);
    if (r < 0)
        return r;
    r = map_add(&hub->numbers, bytes_of(&call->number, sizeof(call->number)), call);
    if (r < 0)
        map_remove(&hub->calls, str_from(call->id));
    return r;
}

static int check_call(struct hub *hub, const struct hub_call_request *request,
                      struct hub_machine **out_machine, struct err *err)
{
    struct hub_user *user = hub_find_user(hub, request->user);
    const struct toolset_tool *tool;
    unsigned groups = 0;

    if (hub_tools(hub, request->user, &groups) == NULL)
        return err_set(err, ERR_GATEWAY_MISSING, "no machine is connected");
    tool = toolset_find(user->machine->tools, request->tool);
    if (tool == NULL)
        return err_set(err, ERR_NOT_FOUND, "the connected machine has no such tool");
    if ((tool->group & request->groups) == 0)
        return err_set(err, ERR_SCOPE_MISSING, "this key does not allow that tool");
    if ((tool->group & groups) == 0)
        return err_set(err, ERR_DENIED_BY_POLICY, "the user has switched file access off");
    if (user->call_count >= HUB_MAX_CALLS_OF_USER)
        return err_set_plain(err, ERR_BUSY);
    *out_machine = user->machine;
    return 0;
}

/* A list or a tree, from what the machine sent when it connected. */
static int serve_tree(const struct hub_machine *machine, const struct hub_call_request *request,
                      const struct hub_call_events *events, void *data)
{
    cleanup_arena struct arena arena = ARENA_INIT((size_t)HUB_MAX_BODY_BYTES * HUB_ARENA_FACTOR);
    cleanup_buf struct buf text = BUF_INIT(2 * HUB_MAX_BODY_BYTES);
    const struct json_limits limits = {2 * HUB_MAX_BODY_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *result;
    struct err err = ERR_INIT;

    if (!hub_serve_tree(machine, request->tool, request->arguments, &text))
        return 0;
    if (json_parse(&arena, buf_view(&text), limits, &result, &err) < 0)
        events->done(data, &err, NULL, STR_EMPTY);
    else
        events->done(data, NULL, result, buf_view(&text));
    return 1;
}

/* Sends it, or keeps it for the stream. */
static int start_call(struct hub *hub, struct hub_machine *machine,
                      const struct hub_call_request *request, const struct hub_call *given,
                      uint64_t *out_number, struct err *err)
{
    enum hub_dialect dialect = machine->has_tree ? HUB_SEED : HUB_N8N;
    struct hub_call *call = malloc(sizeof(*call));
    int r;

    if (call == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    *call = *given;
    call->hub = hub;
    call->user = machine->user;
    call->is_operation = machine->has_tree;
    call->has_extensions = machine->has_extensions;
    buf_init(&call->event, HUB_MAX_BODY_BYTES);
    r = add_call(hub, call);
    if (r < 0) {
        free(call);
        return err_set_plain(err, r == ERR_TOO_LARGE ? ERR_BUSY : r);
    }
    call->user->call_count++;
    list_append(&call->user->calls, &call->node);
    call->timeout_ms = hub->config.timeout_ms > 0 ? hub->config.timeout_ms
                       : dialect == HUB_SEED      ? HUB_SEED_TIMEOUT_MS
                                                  : HUB_N8N_TIMEOUT_MS;
    call->due_ms = clock_monotonic_ms(hub->config.clock) + call->timeout_ms;
    list_append(&hub->due[dialect], &call->due_node);
    (void)buf_reserve(&call->event, FIRST_EVENT_BYTES);
    r = write_event(request, call);
    call->user->waiting_bytes += call->event.len;
    if (r == 0 && call->user->waiting_bytes > HUB_MAX_WAITING_BYTES)
        r = ERR_BUSY;
    if (r < 0) {
        free_call(call);
        return err_set_plain(err, r);
    }
    *out_number = call->number;
    if (machine->stream != NULL)
        send_event(hub, call);
    return 0;
}

int hub_call(struct hub *hub, const struct hub_call_request *request,
             const struct hub_call_events *events, void *data, uint64_t *out_number,
             struct err *err)
{
    struct hub_machine *machine = NULL;
    int r = check_call(hub, request, &machine, err);

    if (r < 0 || machine == NULL)
        return r;
    *out_number = 0;
    if (machine->has_tree && serve_tree(machine, request, events, data) != 0)
        return 0;
    return start_call(hub, machine, request, &(struct hub_call){.events = events, .data = data},
                      out_number, err);
}

int hub_query(struct hub *hub, int64_t user_id, struct str query,
              const struct json_value *arguments, const struct hub_call_events *events, void *data,
              uint64_t *out_number, struct err *err)
{
    const struct hub_call_request request = {
        .user = user_id, .tool = query, .arguments = arguments};
    struct hub_user *user = hub_find_user(hub, user_id);

    if (user == NULL || user->machine == NULL || user->machine->is_gone)
        return err_set(err, ERR_GATEWAY_MISSING, "no machine is connected");
    if (!user->machine->has_extensions)
        return err_set(err, ERR_UNSUPPORTED,
                       "the connected machine runs another program, which cannot answer this");
    if (user->call_count >= HUB_MAX_CALLS_OF_USER)
        return err_set_plain(err, ERR_BUSY);
    *out_number = 0;
    return start_call(hub, user->machine, &request,
                      &(struct hub_call){.is_query = true, .events = events, .data = data},
                      out_number, err);
}

/* ---- back ---- */

static bool has_text(const struct json_value *object, struct str key)
{
    struct str text;

    return json_get_str(object, key, &text);
}

/* Whether MCP clients can read the block; they refuse a whole result for one that they cannot. */
static bool is_block(const struct json_value *block)
{
    const struct json_value *resource = json_get(block, STR("resource"));
    struct str type = STR_EMPTY;

    json_get_str(block, STR("type"), &type);
    if (str_eq(type, STR("text")))
        return has_text(block, STR("text"));
    if (str_eq(type, STR("image")) || str_eq(type, STR("audio")))
        return has_text(block, STR("data")) && has_text(block, STR("mimeType"));
    if (str_eq(type, STR("resource")))
        return resource != NULL && has_text(resource, STR("uri")) &&
               (has_text(resource, STR("text")) || has_text(resource, STR("blob")));
    return false;
}

static void write_block(struct json_writer *json, const struct json_value *block)
{
    if (is_block(block)) {
        json_write_value(json, block);
        return;
    }
    json_begin_object(json);
    json_put_str(json, STR("type"), STR("text"));
    json_put_str(json, STR("text"), STR("(content of an unknown type)"));
    json_end_object(json);
}

/* Only what belongs into a result: a machine cannot add members that mean something to agents. */
static int write_result(const struct json_value *result, struct buf *out)
{
    const struct json_value *content = json_get(result, STR("content"));
    const struct json_value *structured = json_get(result, STR("structuredContent"));
    struct json_writer json;
    bool is_error = false;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_key(&json, STR("content"));
    json_begin_array(&json);
    json_each_item (block, content)
        write_block(&json, block);
    json_end_array(&json);
    if (structured != NULL && structured->type == JSON_OBJECT) {
        json_key(&json, STR("structuredContent"));
        json_write_value(&json, structured);
    }
    if (json_get_bool(result, STR("isError"), &is_error) && is_error)
        json_put_bool(&json, STR("isError"), true);
    json_end_object(&json);
    return json_writer_finish(&json);
}

/* {"data": …} and {"error": …} as a result. */
static int write_data(const struct json_value *value, bool is_error, struct buf *out)
{
    cleanup_buf struct buf text = BUF_INIT(2 * HUB_MAX_BODY_BYTES);
    struct json_writer json;
    int r;

    json_writer_init(&json, &text);
    if (is_error) {
        json_begin_object(&json);
        json_key(&json, STR("error"));
        json_write_value(&json, value);
        json_end_object(&json);
    } else {
        json_write_value(&json, value);
    }
    r = json_writer_finish(&json);
    if (r < 0)
        return r;
    return toolresult_write(
        out, !is_error && value->type == JSON_STRING ? json_str(value) : buf_view(&text),
        !is_error && value->type == JSON_OBJECT ? buf_view(&text) : STR_EMPTY, is_error);
}

static int refuse_body(struct err *err)
{
    return err_set(err, ERR_INVALID_REQUEST,
                   "the body must have a result with content, data, or an error");
}

/*
 * Writes the result that the body has. *out_result is where it stands in the body; a machine's data
 * or error stands nowhere as a result, and leaves NULL.
 */
static int read_answer(const struct json_value *body, struct buf *out,
                       const struct json_value **out_result, struct err *err)
{
    const struct json_value *result = json_get(body, STR("result"));
    const struct json_value *content = result != NULL ? json_get(result, STR("content")) : NULL;
    const struct json_value *data = json_get(body, STR("data"));
    const struct json_value *error = json_get(body, STR("error"));
    int r;

    *out_result = NULL;
    if (error != NULL && error->type == JSON_STRING)
        r = write_data(error, true, out);
    else if (content != NULL && content->type == JSON_ARRAY) {
        *out_result = result;
        r = write_result(result, out);
    } else if (result == NULL && data != NULL)
        r = write_data(data, false, out);
    else
        return refuse_body(err);
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int parse(struct arena *arena, struct str body, const struct json_value **out_document,
                 struct err *err)
{
    const struct json_limits limits = {HUB_MAX_BODY_BYTES, JSON_DEFAULT_MAX_DEPTH};

    return json_parse(arena, body, limits, out_document, err);
}

/* The answer is written to `text`. */
static int respond(struct hub *hub, struct str key, struct str id, struct str body,
                   struct buf *text, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT((size_t)HUB_MAX_BODY_BYTES * HUB_ARENA_FACTOR);
    const struct json_limits limits = {2 * HUB_MAX_BODY_BYTES, JSON_DEFAULT_MAX_DEPTH + 8};
    const struct json_value *document;
    const struct json_value *result = NULL;
    const struct hub_call_events *events;
    struct hub_machine *machine;
    struct hub_call *call;
    void *data;
    int r = parse(&arena, body, &document, err);

    /* About what it needs: growing step by step would copy it several times. */
    (void)buf_reserve(text, body.len);
    if (r == 0)
        r = read_answer(document, text, &result, err);
    if (r == 0)
        r = hub_machine_of(hub, key, &machine, err);
    if (r != 0)
        return r;
    call = map_get(&hub->calls, id);
    /* Another user's id looks as if it did not exist. */
    if (call == NULL || call->user != machine->user)
        return err_set(err, ERR_NOT_FOUND, "Gateway request not found or already resolved");
    if (result == NULL)
        r = json_parse(&arena, buf_view(text), limits, &result, err);
    if (r < 0)
        return r;
    events = call->events;
    data = call->data;
    free_call(call);
    events->done(data, NULL, result, buf_view(text));
    return 0;
}

int hub_respond(struct hub *hub, struct str key, struct str id, struct str body, struct err *err)
{
    /* Taken out meanwhile: whoever is told may come here again. */
    struct buf text = hub->answer;
    int r;

    buf_init(&hub->answer, 2 * HUB_MAX_BODY_BYTES);
    text.max = hub->answer.max;
    buf_clear(&text);
    r = respond(hub, key, id, body, &text, err);
    if (text.capacity > KEPT_ANSWER_BYTES)
        buf_done(&text);
    buf_done(&hub->answer);
    hub->answer = text;
    return r;
}

struct adding_credential {
    char id[HUB_CREDENTIAL_ID_BYTES];
    hub_credential_done *done;
    void *context;
};

static void on_credential_saved(void *context, int result)
{
    struct adding_credential adding = *(struct adding_credential *)context;
    struct err err = ERR_INIT;

    free(context);
    if (result == ERR_ALREADY_EXISTS)
        err_set(&err, ERR_NO_SPACE, "there are too many credentials");
    else if (result < 0)
        err_set(&err, result, "the server cannot save it: %s", err_text(result));
    adding.done(adding.context, result < 0 ? &err : NULL, str_from(adding.id));
}

/* Checks the body first, then the key, as n8n does. */
static int check_credential(struct hub *hub, struct str key, const struct json_value *document,
                            struct hub_credential *out_credential, struct err *err)
{
    const struct json_value *data = json_get(document, STR("data"));
    struct hub_machine *machine;
    int r;

    if (!json_get_str(document, STR("name"), &out_credential->name) ||
        out_credential->name.len == 0 || out_credential->name.len > MAX_CREDENTIAL_TEXT ||
        !json_get_str(document, STR("type"), &out_credential->type) ||
        out_credential->type.len == 0 || out_credential->type.len > MAX_CREDENTIAL_TEXT ||
        data == NULL || data->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID_REQUEST, "name, type and data are required");
    r = hub_machine_of(hub, key, &machine, err);
    if (r < 0)
        return r;
    if (!machine->has_key)
        return err_set(err, ERR_GATEWAY_DENIED,
                       "Credential creation requires a user-scoped gateway key");
    out_credential->user = machine->user->id;
    return hub->config.store->add_credential != NULL
               ? 0
               : err_set(err, ERR_UNSUPPORTED, "this server stores no credentials");
}

static int add_credential(struct hub *hub, struct str key, struct str body,
                          hub_credential_done *done, void *context, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT((size_t)HUB_MAX_BODY_BYTES * HUB_ARENA_FACTOR);
    cleanup_buf struct buf text = BUF_INIT(HUB_MAX_CREDENTIAL_BYTES);
    struct hub_credential credential = {.user = 0};
    struct adding_credential *adding;
    const struct json_value *document;
    struct json_writer json;
    int r = parse(&arena, body, &document, err);

    if (r == 0)
        r = check_credential(hub, key, document, &credential, err);
    if (r < 0)
        return r;
    json_writer_init(&json, &text);
    json_write_value(&json, json_get(document, STR("data")));
    r = json_writer_finish(&json);
    adding = r == 0 ? malloc(sizeof(*adding)) : NULL;
    if (adding == NULL)
        return err_set_plain(err, r < 0 ? r : ERR_NO_MEMORY);
    *adding = (struct adding_credential){.done = done, .context = context};
    rand_token(adding->id, HUB_CREDENTIAL_ID_BYTES - 1);
    credential.id = str_from(adding->id);
    credential.data = buf_view(&text);
    hub->config.store->add_credential(hub->config.store_data, &credential, on_credential_saved,
                                      adding);
    secret_wipe(text.data, text.len);
    return 0;
}

void hub_add_credential(struct hub *hub, struct str key, struct str body, hub_credential_done *done,
                        void *context)
{
    struct err err = ERR_INIT;

    if (add_credential(hub, key, body, done, context, &err) < 0)
        done(context, &err, STR_EMPTY);
}

/* ---- events of our own daemon ---- */

static void take_progress(struct hub *hub, const struct hub_machine *machine,
                          const struct json_value *event)
{
    char shown[MAX_WHAT_BYTES + PRINTABLE_CUT_BYTES];
    struct hub_call *call;
    struct str id;
    struct str what = STR_EMPTY;
    int64_t done = 0;
    int64_t total = 0;

    if (!json_get_str(event, STR("requestId"), &id))
        return;
    call = map_get(&hub->calls, id);
    if (call == NULL || call->user != machine->user || call->events->progress == NULL)
        return;
    json_get_whole(event, STR("done"), &done);
    json_get_whole(event, STR("total"), &total);
    json_get_str(event, STR("what"), &what);
    printable_cut(what, PRINTABLE_LINE, shown, MAX_WHAT_BYTES);
    if (done >= 0 && total >= 0)
        call->events->progress(call->data, done, total, what.len > 0 ? shown : NULL);
}

int hub_extension(struct hub *hub, struct str key, struct str body, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT((size_t)HUB_MAX_BODY_BYTES * HUB_ARENA_FACTOR);
    const struct json_value *document;
    const struct json_value *events;
    struct hub_machine *machine;
    int64_t user;
    int r = parse(&arena, body, &document, err);

    if (r < 0)
        return r;
    events = json_get(document, STR("events"));
    if (events == NULL || events->type != JSON_ARRAY || events->size > MAX_EVENTS)
        return err_set(err, ERR_INVALID_REQUEST, "events must be an array of at most %d",
                       MAX_EVENTS);
    r = hub_machine_of(hub, key, &machine, err);
    if (r < 0)
        return r;
    if (!machine->has_extensions)
        return err_set(err, ERR_INVALID_REQUEST, "init did not announce the extensions");
    user = machine->user->id;
    json_each_item (event, events) {
        struct str type = STR_EMPTY;

        json_get_str(event, STR("type"), &type);
        if (str_eq(type, STR("progress")))
            take_progress(hub, machine, event);
        else if (hub->config.events->report != NULL)
            hub->config.events->report(hub->config.events_data, user, type, event);
    }
    return 0;
}
