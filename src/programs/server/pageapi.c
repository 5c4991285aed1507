/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/pageapi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "programs/server/answer.h"
#include "protocol/toolresult.h"
#include "store/agentkey.h"

enum {
    ANSWER_BYTES = 24 << 20,
    ARENA_BYTES = 64 << 20,
    SMALL_ARENA_BYTES = 4 << 20,
    ERROR_BYTES = 8 << 10,
    MAX_ROUNDS = 4, /* questions about one call */
};

/* ---- answers ---- */

int pageapi_write_error(const struct err *err, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str(&json, STR("error"), str_from(err_name(err->code)));
    json_put_str_lossy(&json, STR("message"), str_from(err->message));
    json_end_object(&json);
    return json_writer_finish(&json);
}

void pageapi_answer_error(struct exchange *exchange, const struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(ERROR_BYTES);

    if (pageapi_write_error(err, &text) < 0)
        exchange_answer_error(exchange, err->code);
    else
        answer_json(exchange, err_http_status(err->code), buf_view(&text));
}

const struct json_value *pageapi_read_body(struct arena *arena, struct exchange *exchange)
{
    const struct json_limits limits = {PAGEAPI_MAX_BODY_BYTES, JSON_DEFAULT_MAX_DEPTH};
    struct str body = exchange_request(exchange)->body;
    const struct json_value *object = NULL;
    struct err err = ERR_INIT;
    char *copy = arena_copy(arena, body);

    if (copy == NULL)
        err_set_plain(&err, ERR_NO_MEMORY);
    else if (json_parse(arena, (struct str){copy, body.len}, limits, &object, &err) == 0 &&
             object->type == JSON_OBJECT)
        return object;
    else if (err.code == 0)
        err_set(&err, ERR_INVALID_REQUEST, "the body must be a JSON object");
    pageapi_answer_error(exchange, &err);
    return NULL;
}

/* ---- the state ---- */

static void write_tools(const struct pageapi *api, int64_t user, struct json_writer *json)
{
    unsigned groups = 0;
    const struct toolset *set = hub_tools(hubhttp_hub(api->gateway), user, &groups);

    json_begin_array(json);
    for (size_t i = 0; set != NULL && i < set->count; i++)
        if ((set->tools[i].group & groups) != 0)
            json_splice(json, set->tools[i].listing.text);
    json_end_array(json);
}

static int write_status(const struct pageapi *api, int64_t user, struct json_writer *json)
{
    cleanup_buf struct buf status = BUF_INIT(1 << 20);
    int r = hub_write_status(hubhttp_hub(api->gateway), user, &status);

    if (r == 0)
        json_splice(json, buf_view(&status));
    return r;
}

static void answer_state(const struct pageapi *api, const struct logins_who *who,
                         struct exchange *exchange)
{
    cleanup_buf struct buf text = BUF_INIT(ANSWER_BYTES);
    int64_t user = who->user;
    struct store_user owner = {.id = 0};
    struct json_writer json;
    int r;

    json_writer_init(&json, &text);
    json_begin_object(&json);
    json_key(&json, STR("user"));
    json_begin_object(&json);
    (void)store_get_user(api->store, user, &owner);
    json_put_str_lossy(&json, STR("name"), str_from(owner.name));
    json_put_bool(&json, STR("signsOut"), who->login != 0); /* else a proxy says who it is */
    json_end_object(&json);
    json_key(&json, STR("status"));
    r = write_status(api, user, &json);
    if (r == 0) {
        json_key(&json, STR("tools"));
        write_tools(api, user, &json);
        json_key(&json, STR("providers"));
        conversations_write_providers(api->conversations, &json);
        json_key(&json, STR("workspaces"));
        conversations_write(api->conversations, user, &json);
        json_put_bool(&json, STR("hasCopies"), copiesapi_is_for(api->copies, user));
        board_write(api->board, user, &json);
        json_end_object(&json);
        r = json_writer_finish(&json);
    }
    if (r < 0)
        exchange_answer_error(exchange, r);
    else
        answer_json(exchange, 200, buf_view(&text));
}

static void answer_calls(const struct pageapi *api, int64_t user, struct exchange *exchange)
{
    cleanup_buf struct buf text = BUF_INIT(ANSWER_BYTES);
    struct json_writer json;

    json_writer_init(&json, &text);
    json_begin_object(&json);
    board_write_calls(api->board, user, BOARD_MAX_CALLS, &json);
    json_end_object(&json);
    if (json_writer_finish(&json) < 0)
        exchange_answer_error(exchange, ERR_NO_MEMORY);
    else
        answer_json(exchange, 200, buf_view(&text));
}

void pageapi_tell_machine(const struct pageapi *api, int64_t user)
{
    cleanup_buf struct buf status = BUF_INIT(1 << 20);
    cleanup_buf struct buf tools = BUF_INIT(ANSWER_BYTES);
    struct json_writer json;

    if (!board_is_watched(api->board, user))
        return;
    json_writer_init(&json, &status);
    if (write_status(api, user, &json) == 0 && json_writer_finish(&json) == 0)
        board_tell(api->board, user, STR("status"), buf_view(&status));
    json_writer_init(&json, &tools);
    write_tools(api, user, &json);
    if (json_writer_finish(&json) == 0)
        board_tell(api->board, user, STR("tools"), buf_view(&tools));
}

void pageapi_tell_workspaces(const struct pageapi *api, int64_t user)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    struct json_writer json;

    if (!board_is_watched(api->board, user))
        return;
    json_writer_init(&json, &text);
    conversations_write(api->conversations, user, &json);
    if (json_writer_finish(&json) == 0)
        board_tell(api->board, user, STR("workspaces"), buf_view(&text));
}

/* ---- a call of the page ---- */

struct page_call {
    const struct pageapi *api;
    struct exchange *exchange;
    struct arena arena; /* has the request */
    int64_t user;
    struct str tool;
    const struct json_value *arguments;
    uint64_t hub_id; /* 0: the machine does not work on it */
    uint64_t shown;
    uint64_t question; /* 0: none is open */
    unsigned rounds;
};

static void free_call(struct page_call *call)
{
    arena_done(&call->arena);
    free(call);
}

static void finish_call(struct page_call *call, const struct json_value *result, struct str text)
{
    board_end_call(call->api->board, call->shown, result, "");
    answer_json(call->exchange, 200, text);
    free_call(call);
}

/* As a result, which is what an agent would get. */
static void fail_call(struct page_call *call, const struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(ERROR_BYTES);

    board_end_call(call->api->board, call->shown, NULL, err->message);
    if (toolresult_write_error(err, TOOLRESULT_JSON, &text) == 0)
        answer_json(call->exchange, 200, buf_view(&text));
    else
        exchange_answer_error(call->exchange, err->code);
    free_call(call);
}

static void send_call(struct page_call *call, struct str confirmation);

static void on_answered(void *data, struct str choice)
{
    struct page_call *call = data;

    struct err err = ERR_INIT;

    call->question = 0;
    if (choice.len > 0) {
        send_call(call, choice);
        return;
    }
    board_unanswered(&err);
    fail_call(call, &err);
}

static void ask(struct page_call *call, const struct machine_question *question)
{
    struct err err = ERR_INIT;
    int r = call->rounds >= MAX_ROUNDS ? ERR_ASK_UNAVAILABLE
                                       : board_ask(call->api->board, call->user, STR(BOARD_PAGE),
                                                   question, on_answered, call, &call->question);

    if (r < 0) {
        err_set(&err, r, "the user must allow this, and no page is open to ask on");
        fail_call(call, &err);
    }
}

static void on_done(void *data, const struct err *err, const struct json_value *result,
                    struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(SMALL_ARENA_BYTES);
    struct page_call *call = data;
    struct machine_question question;

    call->hub_id = 0;
    if (err != NULL)
        fail_call(call, err);
    else if (machinequestion_read(&arena, result, &question))
        ask(call, &question);
    else
        finish_call(call, result, text);
}

static void on_progress(void *data, int64_t done, int64_t total, const char *what)
{
    const struct page_call *call = data;

    board_progress(call->api->board, call->shown, done, total, what);
}

static const struct hub_call_events call_events = {.done = on_done, .progress = on_progress};

static void send_call(struct page_call *call, struct str confirmation)
{
    const struct hub_call_request request = {.user = call->user,
                                             .groups = TOOLSET_ALL_GROUPS,
                                             .tool = call->tool,
                                             .arguments = call->arguments,
                                             .confirmation = confirmation};
    struct hubhttp *gateway = call->api->gateway;
    struct err err = ERR_INIT;
    uint64_t id = 0;

    call->rounds++;
    if (hub_call(hubhttp_hub(gateway), &request, &call_events, call, &id, &err) < 0)
        fail_call(call, &err);
    else if (id != 0) { /* else it was answered, and is gone */
        call->hub_id = id;
        board_set_request(call->api->board, call->shown, hub_request_id(hubhttp_hub(gateway), id));
    }
    hubhttp_reschedule(gateway);
}

static void cancel_call(const struct page_call *call)
{
    if (call->hub_id != 0)
        hub_cancel(hubhttp_hub(call->api->gateway), call->hub_id);
    if (call->question != 0)
        board_withdraw(call->api->board, call->user, call->question);
}

static bool on_stop(void *data)
{
    struct page_call *call = data;
    struct err err = ERR_INIT;

    cancel_call(call);
    err_set(&err, ERR_CANCELLED, "you stopped this call");
    fail_call(call, &err);
    return true;
}

static void on_gone(void *data)
{
    struct page_call *call = data;

    cancel_call(call);
    board_end_call(call->api->board, call->shown, NULL, "the page was closed");
    free_call(call);
}

static const struct exchange_events gone_events = {.on_gone = on_gone};

static void start_call(const struct pageapi *api, int64_t user, struct exchange *exchange)
{
    struct page_call *call = calloc(1, sizeof(*call));
    const struct json_value *body;
    struct err err = ERR_INIT;

    if (call == NULL) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    *call = (struct page_call){
        .api = api, .exchange = exchange, .arena = ARENA_INIT(ARENA_BYTES), .user = user};
    body = pageapi_read_body(&call->arena, exchange);
    if (body == NULL) {
        free_call(call);
        return;
    }
    call->arguments = json_get(body, STR("arguments"));
    if (!json_get_str(body, STR("name"), &call->tool) || call->arguments == NULL ||
        call->arguments->type != JSON_OBJECT) {
        err_set(&err, ERR_INVALID_REQUEST, "a call needs a name and an object of arguments");
        pageapi_answer_error(exchange, &err);
        free_call(call);
        return;
    }
    exchange_watch(exchange, &gone_events, call);
    call->shown = board_begin_call(api->board, user, STR(BOARD_PAGE), call->tool, call->arguments);
    board_allow_stop(api->board, call->shown, on_stop, call);
    send_call(call, STR_EMPTY);
}

static void stop_call(const struct pageapi *api, int64_t user, struct str id,
                      struct exchange *exchange)
{
    struct err err = ERR_INIT;
    int64_t number;

    if (!str_to_int64(id, &number) || number <= 0 ||
        board_stop_call(api->board, user, (uint64_t)number) < 0) {
        err_set(&err, ERR_NOT_FOUND, "this call has ended");
        pageapi_answer_error(exchange, &err);
        return;
    }
    answer_json(exchange, 200, STR("{\"ok\":true}"));
}

/* ---- a query of the page ---- */

struct page_query {
    const struct pageapi *api;
    struct exchange *exchange;
    uint64_t hub_id;
};

static void on_query_done(void *data, const struct err *err, const struct json_value *result,
                          struct str text)
{
    cleanup_buf struct buf body = BUF_INIT(ANSWER_BYTES);
    struct page_query *query = data;
    struct exchange *exchange = query->exchange;
    struct err why = ERR_INIT;
    struct json_writer json;

    free(query);
    if (err == NULL && toolresult_is_error(text, &why))
        err = &why;
    if (err != NULL) {
        pageapi_answer_error(exchange, err);
        return;
    }
    json_writer_init(&json, &body);
    result = json_get(result, STR("structuredContent"));
    if (result != NULL)
        json_write_value(&json, result);
    else
        json_write_null(&json);
    if (json_writer_finish(&json) < 0)
        exchange_answer_error(exchange, ERR_NO_MEMORY);
    else
        answer_json(exchange, 200, buf_view(&body));
}

static const struct hub_call_events query_events = {.done = on_query_done};

static void on_query_gone(void *data)
{
    struct page_query *query = data;

    hub_cancel(hubhttp_hub(query->api->gateway), query->hub_id);
    free(query);
}

static const struct exchange_events query_gone_events = {.on_gone = on_query_gone};

static void start_query(const struct pageapi *api, int64_t user, struct exchange *exchange)
{
    static const struct json_value none = {.type = JSON_OBJECT, .span = 1};
    cleanup_arena struct arena arena = ARENA_INIT(SMALL_ARENA_BYTES);
    struct page_query *query = malloc(sizeof(*query));
    const struct json_value *body = query != NULL ? pageapi_read_body(&arena, exchange) : NULL;
    const struct json_value *arguments;
    struct err err = ERR_INIT;
    struct str name;
    int r;

    if (query == NULL)
        exchange_answer_error(exchange, ERR_NO_MEMORY);
    if (body == NULL) {
        free(query);
        return;
    }
    *query = (struct page_query){.api = api, .exchange = exchange};
    arguments = json_get(body, STR("arguments"));
    if (arguments == NULL)
        arguments = &none;
    if (!json_get_str(body, STR("query"), &name) || arguments->type != JSON_OBJECT)
        r = err_set(&err, ERR_INVALID_REQUEST, "a query needs a name and an object of arguments");
    else
        r = hub_query(hubhttp_hub(api->gateway), user, name, arguments, &query_events, query,
                      &query->hub_id, &err);
    if (r < 0) {
        pageapi_answer_error(exchange, &err);
        free(query);
        return;
    }
    /* No answer comes from inside hub_query(): the machine's is a request of its own. */
    exchange_watch(exchange, &query_gone_events, query);
    hubhttp_reschedule(api->gateway);
}

/* ---- questions ---- */

static void answer_question(const struct pageapi *api, int64_t user, struct str id,
                            struct exchange *exchange)
{
    cleanup_arena struct arena arena = ARENA_INIT(SMALL_ARENA_BYTES);
    const struct json_value *body = pageapi_read_body(&arena, exchange);
    struct err err = ERR_INIT;
    struct str choice;
    int64_t number;
    int r;

    if (body == NULL)
        return;
    if (!json_get_str(body, STR("answer"), &choice) || !str_to_int64(id, &number) || number <= 0)
        r = ERR_INVALID_ARGUMENT;
    else
        r = board_answer(api->board, user, (uint64_t)number, choice);
    if (r == ERR_NOT_FOUND)
        err_set(&err, r, "this question was answered elsewhere, or its time is over");
    else if (r < 0)
        err_set(&err, r, "this answer is not offered");
    if (r < 0)
        pageapi_answer_error(exchange, &err);
    else
        answer_json(exchange, 200, STR("{\"ok\":true}"));
}

/* ---- agents ---- */

static void write_agent(struct json_writer *json, const struct store_agent *agent)
{
    char id[32];

    snprintf(id, sizeof(id), "%lld", (long long)agent->id);
    json_put_str(json, STR("id"), str_from(id));
    json_put_str_lossy(json, STR("name"), str_from(agent->name));
    json_put_int(json, STR("createdAt"), agent->created_ms);
    toolset_write_groups(json, STR("groups"), agent->groups);
    json_put_str(json, STR("workspace"), str_from(agent->workspace));
    toolset_write_groups(json, STR("asks"), agent->asks);
}

/* {NAME: [...]} of what belongs to a user */
struct user_list {
    struct json_writer json;
    const struct buf *text;
    int64_t user;
};

static void begin_list(struct user_list *list, int64_t user, struct str name, struct buf *text)
{
    *list = (struct user_list){.text = text, .user = user};
    json_writer_init(&list->json, text);
    json_begin_object(&list->json);
    json_key(&list->json, name);
    json_begin_array(&list->json);
}

static void answer_list(struct user_list *list, int result, struct exchange *exchange)
{
    json_end_array(&list->json);
    json_end_object(&list->json);
    if (result == 0)
        result = json_writer_finish(&list->json);
    if (result < 0)
        exchange_answer_error(exchange, result);
    else
        answer_json(exchange, 200, buf_view(list->text));
}

static void list_agent(void *data, const struct store_agent *agent)
{
    struct user_list *list = data;

    if (agent->user != list->user)
        return;
    json_begin_object(&list->json);
    write_agent(&list->json, agent);
    json_end_object(&list->json);
}

static void answer_agents(const struct pageapi *api, int64_t user, struct exchange *exchange)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    struct user_list list;

    begin_list(&list, user, STR("agents"), &text);
    answer_list(&list, store_each_agent(api->store, list_agent, &list), exchange);
}

/* Without the member, or with null: `fallback`. */
static bool read_groups(const struct json_value *body, struct str key, unsigned fallback,
                        unsigned *out_groups)
{
    const struct json_value *groups = json_get(body, key);

    *out_groups = fallback;
    if (groups == NULL || groups->type == JSON_NULL)
        return true;
    *out_groups = 0;
    json_each_item (item, groups) {
        unsigned bit = item->type == JSON_STRING ? toolset_group_bit(json_str(item)) : 0;

        if (bit == 0)
            return false;
        *out_groups |= bit;
    }
    return true;
}

/* What the key is for: the machine, or a workspace that the server offers. */
static int read_scope(const struct pageapi *api, const struct json_value *body,
                      struct store_agent *agent, struct err *err)
{
    unsigned all = TOOLSET_ALL_GROUPS;
    struct str workspace = STR_EMPTY;

    (void)json_get_str(body, STR("workspace"), &workspace);
    if (workspace.len > 0) {
        all = TOOLSET_FILES | TOOLSET_GROUP(CATALOG_SHELL);
        snprintf(agent->workspace, sizeof(agent->workspace), "%.*s", STR_ARG(workspace));
        if (str_has_nul(workspace) || workspace.len >= sizeof(agent->workspace) ||
            !conversations_has(api->conversations, agent->workspace))
            return err_set(err, ERR_INVALID_ARGUMENT, "the server offers no such workspace");
    }
    if (!read_groups(body, STR("groups"), all, &agent->groups) || (agent->groups & all) == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "choose at least one group of tools");
    if (!read_groups(body, STR("asks"), 0, &agent->asks) || (agent->asks & ~agent->groups) != 0 ||
        (agent->asks != 0 && workspace.len == 0))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "only tools of a workspace that the agent may use can need permission");
    agent->groups &= all;
    agent->asks &= all;
    return 0;
}

static void note_key(const struct pageapi *api, const struct exchange *exchange, int64_t user,
                     struct str name, const char *words)
{
    logins_note(
        api->logins, exchange, user,
        (struct serveraudit_note){
            .operation = AUTHORITY_OP_AGENT_KEY, .what = name, .how = "page", .words = words});
}

static void add_agent(const struct pageapi *api, int64_t user, struct exchange *exchange)
{
    cleanup_arena struct arena arena = ARENA_INIT(SMALL_ARENA_BYTES);
    cleanup_secret struct secret key = SECRET_INIT;
    cleanup_buf struct buf text = BUF_INIT(ERROR_BYTES);
    const struct json_value *body = pageapi_read_body(&arena, exchange);
    struct err err = ERR_INIT;
    struct store_agent wanted = {.user = user, .created_ms = loop_wall_ms(api->loop)};
    struct json_writer json;
    struct str name = STR_EMPTY;
    int r;

    if (body == NULL)
        return;
    json_get_str(body, STR("name"), &name);
    r = read_scope(api, body, &wanted, &err);
    if (r == 0)
        r = agentkey_create(api->store, name, &wanted, &key, &err);
    if (r < 0) {
        pageapi_answer_error(exchange, &err);
        return;
    }
    note_key(api, exchange, user, name, "created");
    json_writer_init(&json, &text);
    json_begin_object(&json);
    json_put_str(&json, STR("name"), name);
    json_put_str(&json, STR("key"), secret_reveal(&key)); /* to show it, once */
    json_end_object(&json);
    if (json_writer_finish(&json) < 0)
        exchange_answer_error(exchange, ERR_NO_MEMORY);
    else
        answer_json(exchange, 200, buf_view(&text));
    secret_wipe(text.data, text.len);
}

static void remove_agent(const struct pageapi *api, int64_t user, struct str id,
                         struct exchange *exchange)
{
    struct store_agent agent;
    struct err err = ERR_INIT;
    int64_t number;
    int r = str_to_int64(id, &number) ? store_get_agent(api->store, number, &agent) : ERR_NOT_FOUND;

    if (r == 0 && agent.user != user)
        r = ERR_NOT_FOUND;
    if (r < 0)
        err_set(&err, r, "there is no such agent");
    else
        r = store_remove_agent(api->store, user, agent.name, &err);
    if (r == 0)
        note_key(api, exchange, user, str_from(agent.name), "revoked");
    if (r < 0)
        pageapi_answer_error(exchange, &err);
    else
        answer_json(exchange, 200, STR("{\"ok\":true}"));
}

/* ---- workspaces ---- */

static void stop_workspace(const struct pageapi *api, int64_t user, struct str id,
                           struct exchange *exchange)
{
    struct err err = ERR_INIT;
    int64_t number;

    if (!str_to_int64(id, &number) || number <= 0 ||
        conversations_stop(api->conversations, user, (uint64_t)number) < 0) {
        err_set(&err, ERR_NOT_FOUND, "this workspace has ended");
        pageapi_answer_error(exchange, &err);
        return;
    }
    answer_json(exchange, 200, STR("{\"ok\":true}"));
}

/* ---- credentials ---- */

static void list_credential(void *data, const struct store_credential *credential)
{
    struct user_list *list = data;

    if (credential->user != list->user)
        return;
    json_begin_object(&list->json);
    json_put_str(&list->json, STR("id"), credential->id);
    json_put_str_lossy(&list->json, STR("name"), credential->name);
    json_put_str_lossy(&list->json, STR("type"), credential->type);
    json_put_int(&list->json, STR("createdAt"), credential->created_ms);
    json_end_object(&list->json);
}

/* Their data is not shown. */
static void answer_credentials(const struct pageapi *api, int64_t user, struct exchange *exchange)
{
    cleanup_buf struct buf text = BUF_INIT(ANSWER_BYTES);
    struct user_list list;

    begin_list(&list, user, STR("credentials"), &text);
    answer_list(&list, store_each_credential(api->store, list_credential, &list), exchange);
}

/* ---- logins ---- */

static void answer_sessions(const struct pageapi *api, const struct logins_who *who,
                            struct exchange *exchange)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    int r = logins_write_list(api->logins, who, &text);

    if (r < 0)
        exchange_answer_error(exchange, r);
    else
        answer_json(exchange, 200, buf_view(&text));
}

struct ending {
    const struct pageapi *api;
    struct exchange *exchange;
    int64_t user;
};

static void on_login_ended(void *context, int result)
{
    struct ending ending = *(struct ending *)context;
    struct err err = ERR_INIT;

    free(context);
    if (result < 0) {
        err_set(&err, result, "there is no such session");
        pageapi_answer_error(ending.exchange, &err);
        return;
    }
    /* Its page would go on hearing what happens; those of others come back. */
    board_end_streams(ending.api->board, ending.user);
    answer_json(ending.exchange, 200, STR("{\"ok\":true}"));
}

static void end_session(const struct pageapi *api, int64_t user, struct str id,
                        struct exchange *exchange)
{
    struct ending *ending = malloc(sizeof(*ending));
    int64_t number;

    if (ending == NULL || !str_to_int64(id, &number) || number <= 0) {
        exchange_answer_error(exchange, ending == NULL ? ERR_NO_MEMORY : ERR_NOT_FOUND);
        free(ending);
        return;
    }
    *ending = (struct ending){.api = api, .exchange = exchange, .user = user};
    logins_note(
        api->logins, exchange, user,
        (struct serveraudit_note){.operation = AUTHORITY_OP_SIGN_OUT, .what = id, .how = "page"});
    store_end_login(api->store, user, number, on_login_ended, ending);
}

/* Pages of the other logins would go on hearing what happens. */
static void on_password_renewed(const void *context, struct exchange *exchange, int64_t user)
{
    const struct pageapi *api = context;

    board_end_streams(api->board, user);
    answer_json(exchange, 200, STR("{\"ok\":true}"));
}

/* ---- which one ---- */

static bool is_below(struct str path, struct str folder, struct str *out_rest)
{
    if (!str_starts_with(path, folder) || path.len == folder.len)
        return false;
    *out_rest = str_slice(path, folder.len, path.len);
    return true;
}

void pageapi_handle(const struct pageapi *api, struct exchange *exchange)
{
    const struct http_request *request = exchange_request(exchange);
    const struct str prefix = STR(PAGEAPI_PREFIX);
    struct str path = str_slice(request->path, prefix.len, request->path.len);
    bool is_get = request->method == HTTP_METHOD_GET || request->method == HTTP_METHOD_HEAD;
    bool is_post = request->method == HTTP_METHOD_POST;
    struct logins_who who;
    struct str rest;
    int64_t user;
    int r;

    if (is_get && str_eq(path, STR("sign-in"))) {
        answer_json(exchange, 200,
                    store_has_passwords(api->store) ? STR("{\"passwords\":true}")
                                                    : STR("{\"passwords\":false}"));
        return;
    }
    r = logins_who(api->logins, exchange, &who);
    user = who.user;
    if (r < 0)
        exchange_answer_error(exchange, r);
    else if (is_get && str_eq(path, STR("state")))
        answer_state(api, &who, exchange);
    else if (is_get && str_eq(path, STR("calls")))
        answer_calls(api, user, exchange);
    else if (is_get && str_eq(path, STR("events")))
        board_open_stream(api->board, user, who.login, exchange);
    else if (is_get && str_eq(path, STR("sessions")))
        answer_sessions(api, &who, exchange);
    else if (request->method == HTTP_METHOD_DELETE && is_below(path, STR("sessions/"), &rest))
        end_session(api, user, rest, exchange);
    else if (is_post && str_eq(path, STR("password")))
        logins_renew_password(api->logins, exchange, &who, on_password_renewed, api);
    else if (is_post && str_eq(path, STR("call")))
        start_call(api, user, exchange);
    else if (is_post && is_below(path, STR("stop/"), &rest))
        stop_call(api, user, rest, exchange);
    else if (is_post && str_eq(path, STR("query")))
        start_query(api, user, exchange);
    else if (is_post && is_below(path, STR("questions/"), &rest))
        answer_question(api, user, rest, exchange);
    else if (is_get && str_eq(path, STR("agents")))
        answer_agents(api, user, exchange);
    else if (is_post && str_eq(path, STR("agents")))
        add_agent(api, user, exchange);
    else if (is_get && str_eq(path, STR("credentials")))
        answer_credentials(api, user, exchange);
    else if (request->method == HTTP_METHOD_DELETE && is_below(path, STR("credentials/"), &rest)) {
        store_remove_credential(api->store, user, rest);
        answer_json(exchange, 200, STR("{\"ok\":true}"));
    } else if (request->method == HTTP_METHOD_DELETE && is_below(path, STR("workspaces/"), &rest))
        stop_workspace(api, user, rest, exchange);
    else if (str_eq(path, STR(COPIESAPI_PATH)) || str_starts_with(path, STR(COPIESAPI_PATH "/")))
        copiesapi_handle(api->copies, user, str_slice(path, strlen(COPIESAPI_PATH), path.len),
                         exchange);
    else if (request->method == HTTP_METHOD_DELETE && is_below(path, STR("agents/"), &rest))
        remove_agent(api, user, rest, exchange);
    else
        exchange_answer_error(exchange, ERR_NOT_FOUND);
}
