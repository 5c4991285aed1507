/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/front.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/printable.h"
#include "loop/timer.h"
#include "mcp/mcp.h"
#include "net/http/router.h"
#include "net/http/server.h"
#include "programs/server/agents.h"
#include "programs/server/board.h"
#include "programs/server/conversations.h"
#include "programs/server/hostfs.h"
#include "programs/server/logins.h"
#include "programs/server/metrics.h"
#include "programs/server/oauth.h"
#include "programs/server/page.h"
#include "programs/server/pageapi.h"

enum {
    MAX_CONNECTIONS = 20000, /* a stream for each machine */
    MAX_UNMARKED = 2000,     /* that have shown no key */
    MAX_UNREAD_BYTES = 64 << 20,
    MAX_COLLECTED_BYTES = 256 << 20,
    GRACE_MS = 10 * 1000, /* for calls, when it stops */
    SHUTDOWN_MS = 2000,   /* for answers, after that */
    LOOK_MS = 10,
    URL_BYTES = STORE_URL_BYTES,
    MAX_OUTPUT_BYTES = 256 << 10, /* of a command, in one event for the page */
    SWEEP_MS = 5000,              /* a removed user is gone after this */
    SWEEP_STEP_MS = 10,           /* a round takes several steps, so that no call waits for it */
    SWEEP_USERS = 64,             /* of a step */
    REFUSED_BYTES = 256,
    REFUSED_USER_BYTES = 64,
};

struct front {
    struct server_front_config config;
    struct logins logins;
    struct oauth oauth;
    struct hubhttp *gateway;
    struct agents *agents;
    struct conversations *conversations;
    struct board *board;
    struct pageapi pageapi;
    struct hostfsapi *hostfs;
    struct copiesapi *copies;
    struct assets *assets;
    struct httpserver *server;
    struct router router;
    struct origin_policy policy;
    struct str hosts[2];
    char address[ADDRESS_TEXT_BYTES];
    char url[URL_BYTES];
    struct metrics metrics;
    bool is_stopping;
    int64_t calls_until_ms; /* when it stops */
    bool is_closed;
    size_t unchecked;       /* users, in this round of the sweep */
    struct timer look;      /* whether calls have ended, and then whether everything is saved */
    struct timer sweep;     /* for users and logins that are gone */
    struct store_view view; /* that the last sweep saw */
};

/* ---- what the hub keeps ---- */

static void save(void *data, const struct hub_record *record,
                 void (*done)(void *context, int result), void *context)
{
    struct store_machine machine = {.user = record->user,
                                    .has_key = record->has_key,
                                    .connected_ms = record->connected_ms,
                                    .init = record->init};

    memcpy(machine.key_digest, record->key_digest, SHA256_BYTES);
    store_save_machine(data, &machine, done, context);
}

static void remove_machine(void *data, int64_t user)
{
    store_remove_machine(data, user);
}

static void set_files_off(void *data, int64_t user, bool is_off)
{
    store_set_files_off(data, user, is_off);
}

static void add_credential(void *data, const struct hub_credential *credential,
                           void (*done)(void *context, int result), void *context)
{
    store_add_credential(data,
                         &(struct store_credential){.id = credential->id,
                                                    .user = credential->user,
                                                    .name = credential->name,
                                                    .type = credential->type,
                                                    .created_ms = clock_wall_ms(&clock_system)},
                         credential->data, done, context);
}

static const struct hub_store hub_store = {.save = save,
                                           .remove = remove_machine,
                                           .set_files_off = set_files_off,
                                           .add_credential = add_credential};

static void restore_machine(void *data, const struct store_machine *machine)
{
    struct front *front = data;
    struct hub_record record = {.user = machine->user,
                                .has_key = machine->has_key,
                                .connected_ms = machine->connected_ms,
                                .init = machine->init};
    struct err err = ERR_INIT;

    memcpy(record.key_digest, machine->key_digest, SHA256_BYTES);
    if (hub_restore(hubhttp_hub(front->gateway), &record, &err) < 0)
        log_write(front->config.log, LOG_WARN, "a machine must be paired again",
                  LOG_TEXT("error", err.message));
}

static void restore_files_off(void *data, int64_t user)
{
    struct front *front = data;

    (void)hub_restore_files_off(hubhttp_hub(front->gateway), user);
}

static int restore(struct front *front)
{
    int r = store_each_machine(front->config.store, restore_machine, front);

    if (r == 0)
        r = store_each_files_off(front->config.store, restore_files_off, front);
    hubhttp_reschedule(front->gateway);
    return r;
}

/* ---- requests ---- */

static int user_of(void *data, const struct exchange *exchange, int64_t *out_user)
{
    struct front *front = data;
    struct logins_who who;
    int r = logins_who(&front->logins, exchange, &who);

    if (r == 0)
        *out_user = who.user;
    return r;
}

static bool admit(void *data, struct exchange *exchange, bool is_known)
{
    return logins_admit_stranger(&((struct front *)data)->logins, exchange, is_known);
}

static void on_paired(void *data, const struct exchange *exchange, int64_t user, bool is_used)
{
    logins_note(&((struct front *)data)->logins, exchange, user,
                (struct serveraudit_note){.operation = AUTHORITY_OP_PAIR,
                                          .what = is_used ? STR("machine") : STR("token"),
                                          .how = is_used ? "token" : "page",
                                          .words = is_used ? "used" : "created"});
}

/* ---- who is gone ---- */

struct gone {
    struct store *store;
    int64_t users[SWEEP_USERS];
    size_t count;
};

static void find_gone(void *data, int64_t user)
{
    struct gone *gone = data;
    struct store_user found;

    if (store_get_user(gone->store, user, &found) == ERR_NOT_FOUND)
        gone->users[gone->count++] = user;
}

static bool is_good(void *data, int64_t user, int64_t login)
{
    return logins_is_good(&((struct front *)data)->logins,
                          &(struct logins_who){.user = user, .login = login});
}

/* A command may have removed a user or a login, or its time is over. */
static void sweep(void *data)
{
    struct front *front = data;
    struct hub *hub = hubhttp_hub(front->gateway);
    struct gone gone = {.store = front->config.store};
    size_t count;

    if (front->unchecked == 0) {
        board_sweep(front->board, is_good, front);
        if (store_has_revoked(front->config.store, &front->view))
            front->unchecked = hub_user_count(hub);
    }
    count = front->unchecked < SWEEP_USERS ? front->unchecked : SWEEP_USERS;
    front->unchecked -= count;
    hub_next_users(hub, count, find_gone, &gone);
    for (size_t i = 0; i < gone.count; i++)
        hub_forget(hub, gone.users[i]);
    if (gone.count > 0)
        hubhttp_reschedule(front->gateway);
    timer_start(&front->sweep, front->unchecked > 0 ? SWEEP_STEP_MS : SWEEP_MS);
}

/* ---- more requests ---- */

static void on_changed(void *data, int64_t user)
{
    struct front *front = data;
    unsigned groups;
    const struct toolset *tools = hub_tools(hubhttp_hub(front->gateway), user, &groups);

    if (tools != NULL && tools->skipped > 0)
        log_write(front->config.log, LOG_WARN,
                  "tools were skipped: their names are invalid or alike",
                  LOG_INT("count", (int64_t)tools->skipped));
    if (front->agents != NULL)
        agents_changed(front->agents, user);
    if (front->board != NULL && tools == NULL)
        board_drop_questions(front->board, user);
    if (front->board != NULL)
        board_machine_changed(front->board, user);
}

/* It may have ended or forgotten them meanwhile, and nobody told. */
static void on_opened(void *data, int64_t user)
{
    const struct front *front = data;

    if (front->board != NULL)
        board_drop_questions(front->board, user);
}

/* Written anew: only what belongs into it. */
static void tell_output(struct front *front, int64_t user, const struct json_value *event)
{
    cleanup_buf struct buf text = BUF_INIT(MAX_OUTPUT_BYTES);
    struct json_writer json;
    struct str job;
    struct str data;
    struct str state;
    int64_t from;

    if (!board_is_watched(front->board, user) || !json_get_str(event, STR("jobId"), &job) ||
        !json_get_whole(event, STR("from"), &from) || !json_get_str(event, STR("data"), &data) ||
        !json_get_str(event, STR("state"), &state))
        return;
    json_writer_init(&json, &text);
    json_begin_object(&json);
    json_put_str(&json, STR("jobId"), job);
    json_put_int(&json, STR("from"), from);
    json_put_str(&json, STR("data"), data);
    json_put_str(&json, STR("state"), state);
    json_end_object(&json);
    if (json_writer_finish(&json) == 0)
        board_tell(front->board, user, STR("job-output"), buf_view(&text));
}

/* What the user's daemon tells, for the page. */
static void on_report(void *data, int64_t user, struct str type, const struct json_value *event)
{
    struct front *front = data;
    struct machine_question question;
    struct str client = STR_EMPTY;
    struct str name = STR_EMPTY;
    struct str by = STR_EMPTY;
    struct str rule = STR_EMPTY;

    json_get_str(event, STR("questionId"), &name);
    if (str_eq(type, STR("question"))) {
        machinequestion_read_members(event, &question);
        json_get_str(event, STR("client"), &client);
        board_take_question(front->board, user, name, client, &question);
    } else if (str_eq(type, STR("question-closed"))) {
        json_get_str(event, STR("by"), &by);
        board_close_question(front->board, user, name, by);
    } else if (str_eq(type, STR("activity"))) {
        json_get_str(event, STR("requestId"), &name);
        json_get_str(event, STR("decision"), &by);
        json_get_str(event, STR("rule"), &rule);
        board_note_decision(front->board, user, name, by, rule);
    } else if (str_eq(type, STR("job-output"))) {
        tell_output(front, user, event);
    }
}

static void decide(void *data, int64_t user, struct str question, struct str choice)
{
    hub_decide(hubhttp_hub(((struct front *)data)->gateway), user, question, choice);
}

static void on_gateway(void *data, struct exchange *exchange)
{
    hubhttp_handle(((struct front *)data)->gateway, exchange);
}

static void on_mcp(void *data, struct exchange *exchange)
{
    agents_handle(((struct front *)data)->agents, exchange);
}

static void on_login(void *data, struct exchange *exchange)
{
    logins_enter(&((struct front *)data)->logins, exchange);
}

static void on_sign_in(void *data, struct exchange *exchange)
{
    logins_sign_in(&((struct front *)data)->logins, exchange);
}

static void on_logout(void *data, struct exchange *exchange)
{
    struct front *front = data;
    struct logins_who who;

    /* Its page would go on hearing what happens. */
    if (logins_who(&front->logins, exchange, &who) == 0)
        board_end_streams(front->board, who.user);
    logins_leave(&front->logins, exchange);
}

static void answer_text(struct exchange *exchange, int status, struct str text)
{
    exchange_answer(exchange, &(struct http_answer){.status = status,
                                                    .type = STR("text/plain; charset=utf-8"),
                                                    .parts = &text,
                                                    .part_count = 1});
}

static void on_api(void *data, struct exchange *exchange)
{
    pageapi_handle(&((struct front *)data)->pageapi, exchange);
}

static void on_hostfs(void *data, struct exchange *exchange)
{
    hostfsapi_handle(((struct front *)data)->hostfs, exchange);
}

static void on_resource_metadata(void *data, struct exchange *exchange)
{
    oauth_answer_resource(&((struct front *)data)->oauth, exchange);
}

static void on_server_metadata(void *data, struct exchange *exchange)
{
    oauth_answer_server(&((struct front *)data)->oauth, exchange);
}

static void on_register(void *data, struct exchange *exchange)
{
    oauth_register(&((struct front *)data)->oauth, exchange);
}

static void on_authorize(void *data, struct exchange *exchange)
{
    assets_answer_as(((struct front *)data)->assets, STR("/"), exchange);
}

static void on_token(void *data, struct exchange *exchange)
{
    oauth_token(&((struct front *)data)->oauth, exchange);
}

static void on_revoke(void *data, struct exchange *exchange)
{
    oauth_revoke(&((struct front *)data)->oauth, exchange);
}

static void on_asked(void *data, struct exchange *exchange)
{
    oauth_answer_asked(&((struct front *)data)->oauth, exchange);
}

static void on_decided(void *data, struct exchange *exchange)
{
    oauth_decide(&((struct front *)data)->oauth, exchange);
}

static void on_consents(void *data, struct exchange *exchange)
{
    oauth_answer_consents(&((struct front *)data)->oauth, exchange);
}

static void on_end_consent(void *data, struct exchange *exchange)
{
    oauth_end_consent(&((struct front *)data)->oauth, exchange);
}

static void on_revoked(void *data)
{
    const struct front *front = data;

    if (front->agents != NULL)
        agents_look(front->agents);
}

static void on_health(void *data, struct exchange *exchange)
{
    (void)data;
    answer_text(exchange, 200, STR("ok\n"));
}

static void on_ready(void *data, struct exchange *exchange)
{
    const struct front *front = data;
    struct store_agent agent;
    bool can_read = store_get_agent(front->config.store, 0, &agent) == ERR_NOT_FOUND;

    if (front->is_stopping || !can_read)
        answer_text(exchange, 503, front->is_stopping ? STR("stopping\n") : STR("no state\n"));
    else
        answer_text(exchange, 200, STR("ok\n"));
}

static bool has_header(const struct http_request *request, struct str name)
{
    struct str value;

    return http_header(request, name, &value);
}

/*
 * With a token in the configuration, whoever has it. Without one, processes of this machine: behind
 * a reverse proxy everybody seems to be one, so there it needs the token.
 */
static bool may_see_metrics(const struct front *front, const struct exchange *exchange)
{
    const struct http_request *request = exchange_request(exchange);
    const struct str scheme = STR("Bearer ");
    struct str value = STR_EMPTY;

    if (front->config.metrics_token != NULL)
        return http_header(request, STR("Authorization"), &value) && value.len > scheme.len &&
               str_eq_nocase(str_slice(value, 0, scheme.len), scheme) &&
               secret_eq(front->config.metrics_token, str_slice(value, scheme.len, value.len));
    return address_is_loopback(exchange_peer(exchange)) && front->config.public_url == NULL &&
           !has_header(request, STR("Forwarded")) && !has_header(request, STR("X-Forwarded-For")) &&
           !has_header(request, STR("Via"));
}

static void on_metrics(void *data, struct exchange *exchange)
{
    cleanup_buf struct buf page = BUF_INIT(METRICS_MAX_BYTES);
    struct front *front = data;
    struct str text;

    if (!may_see_metrics(front, exchange)) {
        exchange_answer_error(exchange, ERR_UNAUTHORIZED);
        return;
    }
    if (metrics_write(&front->metrics, front->gateway, &page) < 0) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    text = buf_view(&page);
    exchange_answer(exchange,
                    &(struct http_answer){.status = 200,
                                          .type = STR("text/plain; version=0.0.4; charset=utf-8"),
                                          .parts = &text,
                                          .part_count = 1});
}

/* clang-format off */
static const struct route routes[] = {
    {.method = HTTP_METHOD_GET, .takes_head = true, .path = STR_LITERAL(HUBHTTP_N8N_PREFIX "*"), .handle = on_gateway},
    {.method = HTTP_METHOD_POST, .takes_head = true, .path = STR_LITERAL(HUBHTTP_N8N_PREFIX "*"), .handle = on_gateway},
    {.method = HTTP_METHOD_GET, .takes_head = true, .path = STR_LITERAL(HUBHTTP_SEED_PREFIX "*"), .handle = on_gateway},
    {.method = HTTP_METHOD_POST, .takes_head = true, .path = STR_LITERAL(HUBHTTP_SEED_PREFIX "*"), .handle = on_gateway},
    {.method = HTTP_METHOD_POST, .takes_head = true, .path = STR_LITERAL(HUBHTTP_TOGGLE), .handle = on_gateway},
    {.method = HTTP_METHOD_POST, .takes_head = true, .path = STR_LITERAL("/mcp"), .handle = on_mcp},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/mcp"), .handle = on_mcp},
    {.method = HTTP_METHOD_DELETE, .path = STR_LITERAL("/mcp"), .handle = on_mcp},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/login"), .handle = on_login},
    {.method = HTTP_METHOD_POST, .max_body_bytes = LOGINS_MAX_BODY_BYTES, .path = STR_LITERAL("/login"), .handle = on_sign_in},
    {.method = HTTP_METHOD_POST, .path = STR_LITERAL("/logout"), .handle = on_logout},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/healthz"), .handle = on_health},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/readyz"), .handle = on_ready},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/metrics"), .handle = on_metrics},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL(OAUTH_RESOURCE_METADATA), .handle = on_resource_metadata},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL(OAUTH_RESOURCE_METADATA "/mcp"), .handle = on_resource_metadata},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL(OAUTH_SERVER_METADATA), .handle = on_server_metadata},
    {.method = HTTP_METHOD_POST, .max_body_bytes = OAUTH_MAX_BODY_BYTES, .path = STR_LITERAL("/oauth/register"), .handle = on_register},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/oauth/authorize"), .handle = on_authorize},
    {.method = HTTP_METHOD_POST, .max_body_bytes = OAUTH_MAX_BODY_BYTES, .path = STR_LITERAL("/oauth/token"), .handle = on_token},
    {.method = HTTP_METHOD_POST, .max_body_bytes = OAUTH_MAX_BODY_BYTES, .path = STR_LITERAL("/oauth/revoke"), .handle = on_revoke},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/api/consent"), .handle = on_asked},
    {.method = HTTP_METHOD_POST, .max_body_bytes = OAUTH_MAX_BODY_BYTES, .path = STR_LITERAL("/api/consent"), .handle = on_decided},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/api/consents"), .handle = on_consents},
    {.method = HTTP_METHOD_DELETE, .path = STR_LITERAL(OAUTH_CONSENTS "*"), .handle = on_end_consent},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL(PAGEAPI_PREFIX "*"), .handle = on_api},
    {.method = HTTP_METHOD_POST, .max_body_bytes = PAGEAPI_MAX_BODY_BYTES, .path = STR_LITERAL(PAGEAPI_PREFIX "*"), .handle = on_api},
    {.method = HTTP_METHOD_DELETE, .path = STR_LITERAL(PAGEAPI_PREFIX "*"), .handle = on_api},
    {.method = HTTP_METHOD_GET, .takes_head = true, .path = STR_LITERAL(HOSTFS_DISCOVERY_PATH), .handle = on_hostfs},
    {.method = HTTP_METHOD_GET, .takes_head = true, .path = STR_LITERAL(HOSTFS_OPENAPI_PATH), .handle = on_hostfs},
    {.method = HTTP_METHOD_POST, .takes_head = true, .path = STR_LITERAL(HOSTFS_PREFIX "*"), .handle = on_hostfs},
    {.method = HTTP_METHOD_POST, .takes_head = true, .path = STR_LITERAL(HOSTFS_SEAM_PREFIX "*"), .handle = on_hostfs},
    {.method = HTTP_METHOD_POST, .takes_head = true, .path = STR_LITERAL(HOSTFS_RUNS_PATH), .handle = on_hostfs},
    {.method = HTTP_METHOD_GET, .takes_head = true, .path = STR_LITERAL(HOSTFS_RUNS_PREFIX "*"), .handle = on_hostfs},
};
/* clang-format on */

/* Attempts to sign in have records of their own, which say more. */
static void note_refusal(struct front *front, const struct http_access *access)
{
    const struct trusted_proxies *proxies = front->config.proxies;
    struct str path = access->target;
    char user[REFUSED_USER_BYTES + PRINTABLE_CUT_BYTES];
    char from[PROXIES_CLIENT_BYTES];
    char what[REFUSED_BYTES];
    struct str named = STR_EMPTY;
    struct str rest;

    if (access->status != 401 && access->status != 403 && access->status != 429)
        return;
    rest = path;
    (void)str_cut(&rest, '?', &path); /* a query may have a key */
    if (str_eq(path, STR("/login")) && access->status != 403)
        return;
    proxies_client_of(proxies, access->peer, access->request, from);
    /* Whom a proxy names may be nobody here, which is why it was refused. */
    if (!proxies_user_of(proxies, access->peer, access->request, &named))
        named = STR_EMPTY;
    printable_cut(named, PRINTABLE_ASCII, user, REFUSED_USER_BYTES);
    snprintf(what, sizeof(what), "%.*s %.*s", STR_ARG(access->method), STR_ARG(path));
    serveraudit_write(front->config.audit,
                      &(struct serveraudit_note){.operation = AUTHORITY_OP_REQUEST,
                                                 .user = str_from(user),
                                                 .what = str_from(what),
                                                 .from = from,
                                                 .error = access->status == 401 ? ERR_UNAUTHORIZED
                                                          : access->status == 403
                                                              ? ERR_DENIED_BY_POLICY
                                                              : ERR_RATE_LIMITED});
}

/* The server's data is the router, whose data is the front. */
static void on_access(void *data, const struct http_access *access)
{
    struct front *front = ((const struct router *)data)->data;

    metrics_count_request(&front->metrics, access);
    http_access_log(access, front->config.log);
    note_refusal(front, access);
}

/* What the net layer refuses looks like what the API of that path refuses. */
static int write_error(void *data, struct str path, int error, struct buf *out)
{
    struct err err = ERR_INIT;

    (void)data;
    err_set_plain(&err, error);
    if (error == ERR_HOST_DENIED) /* of a browser or a proxy whose administrator reads this */
        err_set(&err, error,
                "%s: use the address that the server printed, or start it with --public-url and "
                "let a proxy pass the Host header on",
                err_text(error));
    if (hubhttp_has_path(path))
        return hubhttp_write_error(err_http_status(error), err.message, out);
    if (str_starts_with(path, STR(PAGEAPI_PREFIX)) || str_eq(path, STR("/login")) ||
        str_eq(path, STR("/logout")))
        return pageapi_write_error(&err, out);
    if (str_eq(path, STR("/mcp")))
        return mcp_write_refusal(out, STR_EMPTY, &err);
    return error == ERR_HOST_DENIED ? pageapi_write_error(&err, out) : ERR_UNSUPPORTED;
}

static int make_filter(void *data, struct filter **out_filter)
{
    const struct front *front = ((const struct router *)data)->data;

    return certificate_make_filter(front->config.certificate, out_filter);
}

/* ---- the end ---- */

static void on_shutdown(void *data)
{
    struct front *front = data;

    timer_start_repeating(&front->look, LOOK_MS);
}

/* Machines are not told that their session ends: they come back to the next server. */
static void close_all(struct front *front)
{
    front->is_closed = true;
    agents_close(front->agents);
    conversations_close(front->conversations);
    board_close(front->board);
    hubhttp_close(front->gateway);
    httpserver_shutdown(front->server, SHUTDOWN_MS, on_shutdown, front);
}

static void look(void *data)
{
    struct front *front = data;
    struct hub_counts counts;

    if (!front->is_closed) {
        hub_count(hubhttp_hub(front->gateway), &counts);
        counts.calls +=
            conversations_call_count(front->conversations) + copiesapi_count(front->copies);
        if (counts.calls > 0 && loop_now_ms(front->config.loop) < front->calls_until_ms)
            return;
        timer_stop(&front->look);
        close_all(front);
    } else if (store_is_idle(front->config.store)) {
        timer_stop(&front->look);
        front->config.on_end(front->config.data);
    }
}

void front_stop(struct front *front)
{
    if (front->is_stopping) {
        front->calls_until_ms = 0;
        if (!front->look.is_started)
            timer_start_repeating(&front->look, LOOK_MS);
        return;
    }
    front->is_stopping = true;
    front->calls_until_ms = loop_now_ms(front->config.loop) + GRACE_MS;
    agents_refuse(front->agents);
    timer_start_repeating(&front->look, LOOK_MS);
    timer_stop(&front->sweep);
}

/* ---- making ---- */

/* "https://gate.example" without a path: its host is one of ours. */
static int take_public_url(struct front *front, struct err *err)
{
    struct str url = str_from(front->config.public_url);
    bool is_secure = str_starts_with(url, STR("https://"));
    struct str host;

    if (!is_secure && !str_starts_with(url, STR("http://")))
        return err_set(err, ERR_INVALID_OPTION,
                       "--public-url begins with https:// or http://, like https://gate.example");
    while (url.len > 0 && url.ptr[url.len - 1] == '/')
        url = str_slice(url, 0, url.len - 1);
    host = str_slice(url, is_secure ? 8 : 7, url.len);
    for (size_t i = 0; i < host.len; i++)
        if (host.ptr[i] <= ' ' || host.ptr[i] > '~' || host.ptr[i] == '/' || host.ptr[i] == '@' ||
            host.ptr[i] == '?' || host.ptr[i] == '#' || host.ptr[i] == '\\')
            host.len = 0;
    if (host.len == 0 || url.len >= sizeof(front->url))
        return err_set(err, ERR_INVALID_OPTION,
                       "--public-url is a scheme and a host, like https://gate.example");
    snprintf(front->url, sizeof(front->url), "%.*s", STR_ARG(url));
    front->hosts[1] = str_slice(str_from(front->url), is_secure ? 8 : 7, URL_BYTES);
    front->policy.host_count = 2;
    return 0;
}

static int serve(struct front *front, int fd, struct err *err)
{
    struct address address;
    const struct httpserver_config config = {
        .on_request = router_handle,
        .data = &front->router,
        .on_access = on_access,
        .write_error = write_error,
        .make_filter = front->config.certificate != NULL ? make_filter : NULL,
        .max_connections = MAX_CONNECTIONS,
        .max_per_address = MAX_CONNECTIONS,
        .max_unmarked = MAX_UNMARKED,
        .max_kept_bytes = MAX_UNREAD_BYTES,
        .max_collected_bytes = MAX_COLLECTED_BYTES,
    };
    int r = address_of(fd, &address);

    if (r < 0) {
        close(fd);
        return err_set(err, r, "cannot determine the listening port");
    }
    address_format(&address, front->address);
    front->hosts[0] = str_from(front->address);
    front->policy = (struct origin_policy){.is_loopback = address_is_loopback(&address),
                                           .port = address.port,
                                           .hosts = front->hosts,
                                           .host_count = 1};
    snprintf(front->url, sizeof(front->url), "http%s://%s",
             front->config.certificate != NULL ? "s" : "", front->address);
    front->router = (struct router){
        .routes = routes, .count = array_size(routes), .data = front, .policy = &front->policy};
    r = front->config.public_url != NULL ? take_public_url(front, err) : 0;
    if (r < 0) {
        close(fd);
        return r;
    }
    r = httpserver_new(front->config.loop, fd, &config, &front->server);
    return r < 0 ? err_set(err, r, "cannot serve HTTP: %s", err_text(r)) : 0;
}

static void tell_machine(void *data, int64_t user)
{
    pageapi_tell_machine(&((struct front *)data)->pageapi, user);
}

static void on_workspaces(void *data, int64_t user)
{
    pageapi_tell_workspaces(&((struct front *)data)->pageapi, user);
}

static int make_page(struct front *front)
{
    int r = board_new(&(struct board_config){.loop = front->config.loop,
                                             .tell_machine = tell_machine,
                                             .decide = decide,
                                             .data = front},
                      &front->board);

    if (r == 0)
        r = assets_new(page_assets, page_asset_count, &front->assets);
    if (r < 0)
        return r;
    assets_set_policy(front->assets, str_from(page_policy));
    front->router.assets = front->assets;
    return 0;
}

static int make_parts(struct front *front)
{
    const struct server_front_config *config = &front->config;
    int r;

    front->logins =
        (struct logins){.loop = config->loop,
                        .store = config->store,
                        .audit = config->audit,
                        .proxies = config->proxies,
                        .port = front->policy.port,
                        .is_secure = str_starts_with(str_from(front->url), STR("https://"))};
    front->oauth = (struct oauth){.loop = config->loop,
                                  .store = config->store,
                                  .logins = &front->logins,
                                  .url = front->url,
                                  .is_tls = config->certificate != NULL,
                                  .revoked = on_revoked,
                                  .data = front};
    r = logins_init(&front->logins);
    if (r == 0)
        r = oauth_init(&front->oauth);
    if (r == 0)
        r = store_set_url(config->store, front->url);
    if (r == 0)
        r = make_page(front);
    if (r == 0)
        r = hubhttp_new(&(struct hubhttp_config){.loop = config->loop,
                                                 .clock = config->clock,
                                                 .store = &hub_store,
                                                 .store_data = config->store,
                                                 .user_of = user_of,
                                                 .changed = on_changed,
                                                 .opened = on_opened,
                                                 .report = on_report,
                                                 .admit = admit,
                                                 .paired = on_paired,
                                                 .data = front,
                                                 .url = str_from(front->url),
                                                 .static_key = config->static_key,
                                                 .static_user = config->static_user,
                                                 .timeout_ms = config->timeout_ms},
                        &front->gateway);
    if (r == 0)
        r = restore(front);
    if (r == 0)
        r = conversations_new(&(struct conversations_config){.loop = config->loop,
                                                             .log = config->log,
                                                             .store = config->store,
                                                             .audit = config->audit,
                                                             .offer = config->workspaces,
                                                             .changed = on_workspaces,
                                                             .data = front},
                              &front->conversations, NULL);
    front->oauth.conversations = front->conversations;
    if (r == 0)
        r = agents_new(&(struct agents_config){.loop = config->loop,
                                               .log = config->log,
                                               .store = config->store,
                                               .gateway = front->gateway,
                                               .board = front->board,
                                               .metrics = &front->metrics,
                                               .oauth = &front->oauth,
                                               .conversations = front->conversations,
                                               .admit = admit,
                                               .data = front},
                       &front->agents);
    if (r == 0)
        r = hostfsapi_new(&(struct hostfsapi_config){.loop = config->loop,
                                                     .log = config->log,
                                                     .store = config->store,
                                                     .oauth = &front->oauth,
                                                     .tenants = config->tenants,
                                                     .admit = admit,
                                                     .data = front},
                          &front->hostfs);
    if (r == 0)
        r = copiesapi_new(config->loop, &front->logins, config->copies, &front->copies);
    if (r == 0)
        timer_start(&front->sweep, SWEEP_MS);
    front->pageapi = (struct pageapi){.loop = config->loop,
                                      .logins = &front->logins,
                                      .store = config->store,
                                      .gateway = front->gateway,
                                      .board = front->board,
                                      .conversations = front->conversations,
                                      .copies = front->copies};
    return r;
}

int front_new(const struct server_front_config *config, int listen_fd, struct front **out_front,
              struct err *err)
{
    struct front *front = calloc(1, sizeof(*front));
    int r;

    if (front == NULL) {
        close(listen_fd);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    front->config = *config;
    front->metrics.started_wall_ms = clock_wall_ms(config->clock);
    timer_init(&front->look, config->loop, look, front);
    timer_init(&front->sweep, config->loop, sweep, front);
    r = serve(front, listen_fd, err);
    if (r == 0) {
        r = make_parts(front);
        if (r < 0)
            err_set(err, r, "cannot start: %s", err_text(r));
    }
    if (r < 0) {
        front_free(front);
        return r;
    }
    *out_front = front;
    return 0;
}

void front_free(struct front *front)
{
    if (front == NULL)
        return;
    timer_stop(&front->look);
    timer_stop(&front->sweep);
    logins_done(&front->logins); /* answers */
    oauth_done(&front->oauth);
    agents_free(front->agents);
    front->agents = NULL;
    conversations_free(front->conversations);
    if (front->board != NULL)
        board_close(front->board);
    hubhttp_free(front->gateway);
    hostfsapi_free(front->hostfs); /* answers, too */
    copiesapi_free(front->copies);
    if (front->server != NULL)
        httpserver_free(front->server);
    board_free(front->board);
    assets_free(front->assets);
    free(front);
}

const char *front_url(const struct front *front)
{
    return front->url;
}

const char *front_address(const struct front *front)
{
    return front->address;
}

int front_login_link(struct front *front, struct secret *out_token)
{
    return logins_make_link(&front->logins, STORE_OWNER, out_token);
}

int front_link(struct front *front, struct hub_link *out_link, struct err *err)
{
    int r = hub_create_link(hubhttp_hub(front->gateway), STORE_OWNER, out_link, err);

    hubhttp_reschedule(front->gateway);
    return r;
}

bool front_has_machine(struct front *front)
{
    unsigned groups;

    return hub_tools(hubhttp_hub(front->gateway), STORE_OWNER, &groups) != NULL;
}
