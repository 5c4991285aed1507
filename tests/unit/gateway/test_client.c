/* SPDX-License-Identifier: Apache-2.0 */
/* A session with a gateway in the same process, with a clock that the test moves. */
#include "test.h"

#include "base/clock.h"
#include "fake_gateway.h"
#include "gateway/internal.h"
#include "loop_until.h"

enum { TEXT_BYTES = 64 << 20, MANY = 500, LARGE_BYTES = 15 << 20, MAX_IDS = 2048 };

static const char N8N_INIT[] =
    "{\"rootPath\":\"/project\",\"tools\":[{\"name\":\"read_file\",\"inputSchema\":{\"type\":"
    "\"object\",\"properties\":{}}}],\"hostIdentifier\":\"h\",\"toolCategories\":[]}";
static const char SEED_INIT[] = "{\"rootPath\":\"/project\",\"tree\":[],\"treeText\":\"\"}";

static struct clock fake;
static struct loop *loop;
static struct fake_gateway_config serving;
static struct fake_gateway *server;
static struct httpclient *http;
static struct gateway *gateway;
static struct httpurl url;

/* What the owner was told. */
static struct {
    char ids[MAX_IDS][FAKE_ID_BYTES];
    size_t calls;
    char name[64];
    int ended;
    enum gateway_end end;
    struct err err;
    unsigned queries;
    unsigned cancelled;
    unsigned decisions;
    int undelivered;
    struct err undelivered_err;
    int statuses;
    const char *init;
    bool answers_at_once;
    bool leaves_at_call;
} seen;

/* What the server got. */
static struct buf got;
static size_t answers;

static void note_answer(void *data, const struct fake_answer *answer)
{
    (void)data;
    answers++;
    buf_clear(&got);
    assert_int_equal(buf_append_str(&got, answer->body), 0);
}

static int describe(void *data, enum gateway_dialect dialect, struct json_writer *writer)
{
    (void)data;
    json_splice(writer, str_from(seen.init != NULL        ? seen.init
                                 : dialect == GATEWAY_N8N ? N8N_INIT
                                                          : SEED_INIT));
    return 0;
}

static void on_call(void *data, const struct gateway_call *call)
{
    (void)data;
    assert_true(seen.calls < MAX_IDS && call->id.len < FAKE_ID_BYTES);
    snprintf(seen.ids[seen.calls++], FAKE_ID_BYTES, "%.*s", STR_ARG(call->id));
    snprintf(seen.name, sizeof(seen.name), "%.*s", STR_ARG(call->name));
    if (seen.answers_at_once)
        assert_int_equal(gateway_answer(gateway, call->id, STR("{\"content\":[]}")), 0);
    if (seen.leaves_at_call)
        gateway_leave(gateway);
}

static void on_status(void *data, const struct gateway_status *status)
{
    (void)data;
    (void)status;
    seen.statuses++;
}

static void on_ended(void *data, enum gateway_end end, const struct err *err)
{
    (void)data;
    seen.ended++;
    seen.end = end;
    seen.err = *err;
}

static void on_undelivered(void *data, struct str id, const struct err *err)
{
    (void)data;
    (void)id;
    seen.undelivered++;
    seen.undelivered_err = *err;
}

static void on_query(void *data, const struct gateway_call *query)
{
    (void)data;
    seen.queries++;
    assert_int_equal(gateway_answer(gateway, query->id, STR("{\"content\":[]}")), 0);
}

static void on_cancel(void *data, struct str id)
{
    (void)data;
    seen.cancelled++;
    assert_int_equal(gateway_answer(gateway, id, STR("{\"content\":[]}")), ERR_NOT_FOUND);
}

static void on_decision(void *data, struct str question, struct str answer)
{
    (void)data;
    assert_str(question, "7");
    assert_str(answer, "allowOnce");
    seen.decisions++;
}

static const struct gateway_owner OWNER = {.describe = describe,
                                           .on_call = on_call,
                                           .on_query = on_query,
                                           .on_cancel = on_cancel,
                                           .on_decision = on_decision,
                                           .on_status = on_status,
                                           .on_ended = on_ended,
                                           .on_undelivered = on_undelivered};

static bool only_our_server(void *data, const struct httpurl *asked)
{
    (void)data;
    return httpurl_same_origin(asked, &url);
}

static void serve(void)
{
    serving.loop = loop;
    serving.on_answer = note_answer;
    assert_int_equal(fake_gateway_new(&serving, &server), 0);
    serving.port = fake_gateway_port(server);
}

static int begin(void **state)
{
    const struct httpclient_config asking = {.may_reach = only_our_server};
    struct gateway_config config = {.owner = &OWNER};
    char text[64];

    (void)state;
    memset(&seen, 0, sizeof(seen));
    buf_init(&got, TEXT_BYTES);
    answers = 0;
    serving = (struct fake_gateway_config){0};
    clock_fake_init(&fake, 0);
    assert_int_equal(loop_new(&fake, &loop), 0);
    serve();
    snprintf(text, sizeof(text), "http://127.0.0.1:%u", serving.port);
    assert_int_equal(httpurl_parse(str_from(text), &url, NULL), 0);
    assert_int_equal(httpclient_new(loop, &asking, &http), 0);
    config.loop = loop;
    config.http = http;
    assert_int_equal(gateway_new(&config, &gateway), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    gateway_free(gateway);
    httpclient_free(http);
    fake_gateway_free(server);
    loop_free(loop);
    buf_done(&got);
    return 0;
}

static void again_with(bool has_no_n8n, bool has_no_seed)
{
    fake_gateway_free(server);
    serving.has_no_n8n = has_no_n8n;
    serving.has_no_seed = has_no_seed;
    serve();
}

static enum reconnect_state state_now(void)
{
    struct gateway_status status;

    gateway_status(gateway, &status);
    return status.state;
}

static struct gateway_status status_now(void)
{
    struct gateway_status status;

    gateway_status(gateway, &status);
    return status;
}

static struct err why_now(void)
{
    struct gateway_status status;

    gateway_status(gateway, &status);
    return status.why;
}

static struct fake_gateway_state there(void)
{
    struct fake_gateway_state state;

    fake_gateway_state(server, &state);
    return state;
}

#define until(condition) loop_until(loop, condition)

static void pass(int64_t ms)
{
    clock_fake_advance(&fake, ms);
    loop_run_due_timers(loop);
}

/* The delay is at least what it should be, and at most a fifth longer. */
static void pass_delay(int64_t ms)
{
    int64_t delay_ms = status_now().retry_ms;

    assert_in_range(delay_ms, ms, ms + ms / RECONNECT_SPREAD);
    pass(delay_ms);
}

static void pair_with(const char *key)
{
    struct secret secret = SECRET_INIT;

    assert_int_equal(secret_set(&secret, str_from(key)), 0);
    assert_int_equal(gateway_pair(gateway, &url, &secret, NULL), 0);
}

static void pair(void)
{
    pair_with(fake_gateway_token(server));
    until(state_now() == RECONNECT_OPEN);
}

static void call(const char *name)
{
    char id[FAKE_ID_BYTES];

    fake_gateway_call(server, name, STR("{}"), id);
}

/* ---- beginning ---- */

static void a_token_becomes_a_session(void **state)
{
    (void)state;
    assert_null(gateway_session_key(gateway));
    pair();
    assert_true(str_eq_c(there().init, N8N_INIT));
    assert_true(str_eq_c(secret_reveal(gateway_session_key(gateway)), there().session_key));
    assert_int_equal(there().hits[FAKE_INIT], 1);
    assert_true(seen.statuses > 0);
}

static void a_server_of_the_older_kind_is_spoken_to_in_its_way(void **state)
{
    (void)state;
    again_with(true, false);
    pair();
    assert_true(there().is_seed);
    assert_true(str_eq_c(there().init, SEED_INIT));
    assert_true(there().had_key_in_query);
    call("read-file");
    until(seen.calls == 1);
    assert_string_equal(seen.name, "read_file");
    assert_int_equal(gateway_answer(gateway, str_from(seen.ids[0]),
                                    STR("{\"content\":[],\"structuredContent\":{\"path\":\"a\"}}")),
                     0);
    until(answers == 1);
    assert_str(buf_view(&got), "{\"data\":{\"path\":\"a\"}}");
}

static void a_key_never_stands_in_an_address_of_the_newer_kind(void **state)
{
    (void)state;
    pair();
    assert_false(there().had_key_in_query);
}

static void a_static_key_stays_what_it_is(void **state)
{
    (void)state;
    fake_gateway_free(server);
    serving.static_key = "static";
    serve();
    pair_with("static");
    until(state_now() == RECONNECT_OPEN);
    assert_true(str_eq_c(secret_reveal(gateway_session_key(gateway)), "static"));
    assert_string_equal(there().session_key, "");
}

static void a_pairing_that_fails_says_why(void **state)
{
    static const struct {
        const char *init;
        const char *body;
        int status;
        int code;
    } rows[] = {
        {N8N_INIT, "{\"code\":403,\"message\":\"Invalid API key\"}", 403, ERR_GATEWAY_DENIED},
        {N8N_INIT, "{}", 401, ERR_GATEWAY_DENIED},
        {N8N_INIT, "", 503, ERR_GATEWAY_STATUS},
        {N8N_INIT, "", 405, ERR_GATEWAY_MISSING},
        {N8N_INIT, "{\"data\":{\"ok\":false}}", 200, ERR_GATEWAY_ANSWER},
        {N8N_INIT, "<html>", 200, ERR_GATEWAY_ANSWER},
        {N8N_INIT, "", 302, ERR_HTTP_REDIRECT},
        {N8N_INIT, "", 0, ERR_CONNECTION_LOST},
        {"{\"tools\":[]}", "", 7, ERR_GATEWAY_STATUS},
        {"{\"rootPath\":\"x\",\"tools\":[{\"name\":\"a\",\"inputSchema\":{}}]}", "", 7,
         ERR_GATEWAY_STATUS},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        seen.init = rows[i].init;
        if (rows[i].status != 7)
            fake_gateway_fail(server, FAKE_INIT, rows[i].status, 1, str_from(rows[i].body));
        pair_with(fake_gateway_token(server));
        until(seen.ended == (int)i + 1);
        assert_int_equal(seen.end, GATEWAY_END_FAILED);
        assert_int_equal(seen.err.code, rows[i].code);
        assert_int_equal(state_now(), RECONNECT_OFF);
        assert_null(gateway_session_key(gateway));
        assert_null(strstr(seen.err.message, "gw_"));
    }
    assert_int_equal(there().hits[FAKE_EVENTS], 0);
}

static void no_gateway_at_all_is_told(void **state)
{
    (void)state;
    again_with(true, true);
    pair_with("gw_x");
    until(seen.ended == 1);
    assert_int_equal(seen.err.code, ERR_GATEWAY_MISSING);
    assert_int_equal(there().hits[FAKE_OTHER], 2);
}

static void one_session_at_a_time(void **state)
{
    struct secret secret = SECRET_INIT;

    (void)state;
    pair();
    assert_int_equal(secret_set(&secret, STR("gw_other")), 0);
    assert_int_equal(gateway_pair(gateway, &url, &secret, NULL), ERR_ALREADY_EXISTS);
    assert_int_equal(gateway_resume(gateway, &url, GATEWAY_N8N, false, &secret, NULL),
                     ERR_ALREADY_EXISTS);
    assert_int_equal(state_now(), RECONNECT_OPEN);
}

static void a_session_from_before_goes_on(void **state)
{
    struct secret key = SECRET_INIT;
    struct gateway_config config = {.owner = &OWNER};

    (void)state;
    pair();
    key = *gateway_session_key(gateway);
    gateway_free(gateway);
    until(there().streams == 0);
    config.loop = loop;
    config.http = http;
    assert_int_equal(gateway_new(&config, &gateway), 0);
    assert_int_equal(gateway_resume(gateway, &url, GATEWAY_N8N, false, &key, NULL), 0);
    until(state_now() == RECONNECT_OPEN);
    assert_int_equal(there().hits[FAKE_INIT], 1);
    assert_int_equal(there().hits[FAKE_DISCONNECT], 0);
}

/* ---- a server of ours ---- */

static void resume(bool has_extensions)
{
    struct gateway_config config = {.owner = &OWNER, .loop = loop, .http = http};
    struct secret key = SECRET_INIT;

    pair();
    key = *gateway_session_key(gateway);
    gateway_free(gateway);
    until(there().streams == 0);
    assert_int_equal(gateway_new(&config, &gateway), 0);
    assert_int_equal(gateway_resume(gateway, &url, GATEWAY_N8N, has_extensions, &key, NULL), 0);
    until(state_now() == RECONNECT_OPEN);
}

static void send_extensions(const char *id)
{
    char text[256];

    fake_gateway_raw(server, STR("data: {\"type\":\"gatehouse-query\",\"payload\":{\"requestId\":"
                                 "\"q\",\"query\":\"rules\"}}\n\n"));
    fake_gateway_raw(server, STR("data: {\"type\":\"gatehouse-decision\",\"payload\":{"
                                 "\"questionId\":\"7\",\"answer\":\"allowOnce\"}}\n\n"));
    snprintf(text, sizeof(text),
             "data: {\"type\":\"gatehouse-cancel\",\"payload\":{\"requestId\":\"%s\"}}\n\n", id);
    fake_gateway_raw(server, str_from(text));
}

static void another_server_cannot_use_our_extensions(void **state)
{
    (void)state;
    resume(false);
    call("one");
    until(seen.calls == 1);
    send_extensions(seen.ids[0]);
    call("two"); /* comes after them */
    until(seen.calls == 2);
    assert_int_equal(seen.queries + seen.cancelled + seen.decisions, 0);
    assert_int_equal(gateway_answer(gateway, str_from(seen.ids[0]), STR("{\"content\":[]}")), 0);
    assert_int_equal(gateway_report(gateway, &(struct gateway_report){.event = STR("{}")}),
                     ERR_UNSUPPORTED);
}

static void our_server_asks_decides_and_cancels(void **state)
{
    (void)state;
    resume(true);
    call("one");
    until(seen.calls == 1);
    send_extensions(seen.ids[0]);
    until(seen.cancelled == 1);
    assert_int_equal(seen.queries, 1);
    assert_int_equal(seen.decisions, 1);
    send_extensions(seen.ids[0]);
    call("two");
    until(seen.calls == 2);
    assert_int_equal(seen.cancelled, 1); /* it is gone */
}

static int report_it(const char *key, bool is_vital)
{
    return gateway_report(
        gateway,
        &(struct gateway_report){.key = str_from(key), .event = STR("{}"), .is_vital = is_vital});
}

static void reports_are_gathered_replaced_and_limited(void **state)
{
    char key[16];

    (void)state;
    resume(true);
    fake_gateway_fail(server, FAKE_OTHER, 200, 100, STR("{}"));
    /* The newest of a key remains, so they never fill the queue. */
    for (int i = 0; i < 2 * GATEWAY_MAX_REPORTS; i++)
        assert_int_equal(report_it("same", false), 0);
    for (int i = 1; i < GATEWAY_MAX_REPORTS; i++) {
        snprintf(key, sizeof(key), "%d", i);
        assert_int_equal(report_it(key, false), 0);
    }
    assert_int_equal(report_it("one more", false), ERR_BUSY);
    assert_int_equal(report_it("a question", true), 0);
    assert_int_equal(there().hits[FAKE_OTHER], 0);
    pass(GATEWAY_REPORT_MS);
    until(there().hits[FAKE_OTHER] == 1);
    assert_int_equal(report_it("one more", false), 0);
}

static void reports_share_a_connection(void **state)
{
    uint64_t before;

    (void)state;
    resume(true);
    fake_gateway_fail(server, FAKE_OTHER, 200, 100, STR("{}"));
    before = there().connections;
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(report_it("", false), 0);
        pass(GATEWAY_REPORT_MS);
        until(there().hits[FAKE_OTHER] == i && gateway->reporting == NULL);
    }
    assert_true(there().connections <= before + 1);
}

static void a_server_that_lacks_the_endpoint_is_told_nothing_more(void **state)
{
    (void)state;
    resume(true);
    assert_int_equal(report_it("", true), 0);
    pass(0);
    until(!status_now().has_extensions); /* 404 */
    assert_int_equal(report_it("", true), ERR_UNSUPPORTED);
    assert_int_equal(there().hits[FAKE_OTHER], 1);
}

/* ---- the table of section 3 ---- */

static void a_dropped_stream_is_reopened_after_a_second(void **state)
{
    (void)state;
    pair();
    for (unsigned i = 1; i <= 3; i++) {
        fake_gateway_drop(server, i == 2);
        until(state_now() == RECONNECT_WAITING);
        pass(999);
        assert_int_equal(state_now(), RECONNECT_WAITING);
        pass(status_now().retry_ms - 999);
        until(state_now() == RECONNECT_OPEN);
        assert_int_equal(there().hits[FAKE_EVENTS], i + 1);
    }
    assert_int_equal(there().hits[FAKE_INIT], 1);
}

static void failures_are_tried_again_ever_later(void **state)
{
    static const int64_t seconds[] = {1, 2, 4, 8, 16, 30, 30};
    static const struct {
        int status;
        const char *body;
    } ways[] = {{500, ""}, {204, ""}, {200, "{}"}, {0, ""}, {503, ""}, {404, ""}, {502, ""}};

    (void)state;
    pair();
    fake_gateway_fail(server, FAKE_EVENTS, ways[0].status, 1, str_from(ways[0].body));
    fake_gateway_drop(server, false);
    until(state_now() == RECONNECT_WAITING);
    pass_delay(1000);
    for (size_t i = 0; i < array_size(seconds); i++) {
        until(state_now() == RECONNECT_WAITING);
        assert_true(why_now().code < 0);
        if (i + 1 < array_size(ways))
            fake_gateway_fail(server, FAKE_EVENTS, ways[i + 1].status, 1,
                              str_from(ways[i + 1].body));
        pass(seconds[i] * 1000 - 1);
        assert_int_equal(state_now(), RECONNECT_WAITING);
        pass_delay(seconds[i] * 1000);
        assert_int_not_equal(state_now(), RECONNECT_WAITING);
    }
    until(state_now() == RECONNECT_OPEN);
    assert_int_equal(why_now().code, 0);
    assert_int_equal(there().hits[FAKE_INIT], 1);
}

static void daemons_do_not_all_return_at_the_same_moment(void **state)
{
    int64_t first_ms = 0;
    bool differs = false;

    (void)state;
    pair();
    /* By chance alone they would all be equal once in 200^10 runs. */
    for (unsigned i = 0; i <= 10; i++) {
        fake_gateway_drop(server, false);
        until(state_now() == RECONNECT_WAITING);
        if (i == 0)
            first_ms = status_now().retry_ms;
        differs = differs || status_now().retry_ms != first_ms;
        pass_delay(1000);
        until(state_now() == RECONNECT_OPEN);
    }
    assert_true(differs);
}

static void a_server_that_is_away_is_waited_for(void **state)
{
    (void)state;
    pair();
    fake_gateway_free(server);
    server = NULL;
    until(state_now() == RECONNECT_WAITING);
    pass_delay(1000);
    until(state_now() == RECONNECT_WAITING);
    assert_int_equal(why_now().code, ERR_UNREACHABLE);
    /* It comes back at the same place, and has forgotten us. */
    serve();
    pass_delay(1000);
    until(state_now() == RECONNECT_RENEW_WAITING);
}

static void a_denied_stream_leads_to_init_with_the_session_key(void **state)
{
    (void)state;
    pair();
    fake_gateway_fail(server, FAKE_EVENTS, 403, 1, STR("{}"));
    fake_gateway_drop(server, false);
    until(state_now() == RECONNECT_WAITING);
    pass_delay(1000);
    until(state_now() == RECONNECT_RENEW_WAITING);
    assert_int_equal(there().hits[FAKE_INIT], 1);
    pass_delay(1000);
    until(state_now() == RECONNECT_OPEN);
    assert_int_equal(there().hits[FAKE_INIT], 2);
    assert_int_equal(seen.ended, 0);
}

static void a_refused_key_is_tried_on_until_a_token_comes(void **state)
{
    (void)state;
    pair();
    fake_gateway_forget(server);
    until(state_now() == RECONNECT_WAITING);
    pass_delay(1000);
    until(state_now() == RECONNECT_RENEW_WAITING);
    pass_delay(1000);
    until(state_now() == RECONNECT_REFUSED);
    assert_int_equal(why_now().code, ERR_GATEWAY_DENIED);
    pass_delay(2000);
    until(state_now() == RECONNECT_REFUSED && there().hits[FAKE_INIT] == 3);
    assert_int_equal(seen.ended, 0);
    pair();
    assert_true(str_eq_c(secret_reveal(gateway_session_key(gateway)), there().session_key));
    assert_int_equal(seen.ended, 0);
}

static void the_server_can_end_the_session(void **state)
{
    (void)state;
    pair();
    call("slow");
    until(seen.calls == 1);
    fake_gateway_raw(server,
                     STR("data: {\"type\":\"gateway-disconnect\"}\n\n"
                         "data: {\"type\":\"filesystem-request\",\"payload\":{\"requestId\":"
                         "\"late\",\"toolCall\":{\"name\":\"x\"}}}\n\n"));
    until(seen.ended == 1);
    assert_int_equal(seen.end, GATEWAY_END_DISMISSED);
    assert_int_equal(state_now(), RECONNECT_OFF);
    assert_null(gateway_session_key(gateway));
    /* What stood behind the end is nobody's, and what was asked before is forgotten. */
    assert_int_equal(seen.calls, 1);
    assert_int_equal(status_now().pending, 0);
    assert_int_equal(gateway_answer(gateway, str_from(seen.ids[0]), STR("{}")), ERR_NOT_FOUND);
    /* Nobody is told again that it is over. */
    assert_int_equal(there().hits[FAKE_DISCONNECT], 0);
    pass(100000);
    assert_int_equal(state_now(), RECONNECT_OFF);
    pair();
}

static void the_user_can_end_it(void **state)
{
    (void)state;
    pair();
    fake_gateway_drop(server, false);
    until(state_now() == RECONNECT_WAITING);
    gateway_leave(gateway);
    assert_int_equal(state_now(), RECONNECT_LEAVING);
    until(seen.ended == 1);
    assert_int_equal(seen.end, GATEWAY_END_LEFT);
    assert_int_equal(seen.err.code, 0);
    assert_int_equal(there().hits[FAKE_DISCONNECT], 1);
    assert_false(there().is_connected);
}

static void a_server_that_does_not_answer_holds_nobody_up(void **state)
{
    (void)state;
    pair();
    fake_gateway_fail(server, FAKE_DISCONNECT, -1, 1, STR_EMPTY);
    gateway_leave(gateway);
    until(there().hits[FAKE_DISCONNECT] == 1);
    pass(GATEWAY_LEAVE_MS - 1);
    assert_int_equal(state_now(), RECONNECT_LEAVING);
    pass(1);
    until(seen.ended == 1);
    assert_int_equal(seen.end, GATEWAY_END_LEFT);
    assert_int_equal(seen.err.code, ERR_TIMED_OUT);
}

static void an_end_in_the_middle_of_a_call_is_no_harm(void **state)
{
    (void)state;
    pair();
    seen.leaves_at_call = true;
    call("one");
    until(seen.ended == 1);
    assert_int_equal(status_now().pending, 0);
}

static void silence_means_that_the_stream_is_dead(void **state)
{
    (void)state;
    pair();
    pass(GATEWAY_SILENCE_MS - 1);
    /* Whatever comes is not silence. */
    call("x");
    until(seen.calls == 1);
    pass(GATEWAY_SILENCE_MS - 1);
    assert_int_equal(state_now(), RECONNECT_OPEN);
    pass(1);
    assert_int_equal(state_now(), RECONNECT_WAITING);
    assert_int_equal(why_now().code, ERR_TIMED_OUT);
    pass_delay(1000);
    until(state_now() == RECONNECT_OPEN);
    assert_int_equal(there().hits[FAKE_INIT], 1);
}

static void the_time_of_day_means_nothing(void **state)
{
    (void)state;
    pair();
    fake.fake_wall_ms += INT64_C(365) * 24 * 3600 * 1000;
    loop_run_due_timers(loop);
    assert_int_equal(state_now(), RECONNECT_OPEN);
    fake.fake_wall_ms = 0;
    loop_run_due_timers(loop);
    assert_int_equal(state_now(), RECONNECT_OPEN);
    /* A machine that slept: one look at the clock, one reopening. */
    pass(INT64_C(8) * 3600 * 1000);
    assert_int_equal(state_now(), RECONNECT_WAITING);
    pass_delay(1000);
    until(state_now() == RECONNECT_OPEN);
    assert_int_equal(there().hits[FAKE_EVENTS], 2);
}

/* ---- calls ---- */

static void many_calls_at_once_are_answered(void **state)
{
    (void)state;
    pair();
    for (int i = 0; i < MANY; i++)
        call("x");
    until(seen.calls == MANY);
    assert_int_equal(status_now().pending, MANY);
    /* In another order than they came. */
    for (size_t i = MANY; i > 0; i--)
        assert_int_equal(
            gateway_answer(gateway, str_from(seen.ids[i - 1]), STR("{\"content\":[]}")), 0);
    until(answers == MANY);
    until(status_now().pending == 0);
    assert_str(buf_view(&got), "{\"result\":{\"content\":[]}}");
    assert_int_equal(there().refused, 0);
    assert_int_equal(seen.undelivered, 0);
}

static void too_many_calls_are_refused_and_not_lost(void **state)
{
    (void)state;
    pair();
    for (int i = 0; i < GATEWAY_MAX_CALLS + 3; i++)
        call("x");
    until(answers == 3);
    assert_non_null(strstr(got.data, "{\"error\":\"Too many calls"));
    assert_int_equal(seen.calls, GATEWAY_MAX_CALLS);
}

static void the_same_call_twice_is_one(void **state)
{
    const struct str twice =
        STR("data: {\"type\":\"filesystem-request\",\"payload\":{\"requestId\":"
            "\"gw_1\",\"toolCall\":{\"name\":\"x\"}}}\n\n");

    (void)state;
    pair();
    fake_gateway_raw(server, twice);
    fake_gateway_raw(server, twice);
    call("y");
    until(seen.calls == 2);
    assert_string_equal(seen.name, "y");
    assert_int_equal(gateway_answer(gateway, STR("gw_1"), STR("{}")), 0);
    assert_int_equal(gateway_answer(gateway, STR("gw_1"), STR("{}")), ERR_NOT_FOUND);
}

static void nonsense_on_the_stream_is_passed_over(void **state)
{
    (void)state;
    pair();
    fake_gateway_raw(
        server,
        STR("event: named\r\ndata: {\"type\":\"gateway-disconnect\"}\r\n\r\n"
            "data: not json\n\ndata\n\n:\n\nid: 7\nretry: 1\n\nfield: x\n\n"
            "data: {\"type\":\"unknown\"}\n\n"
            "data: {\"type\":\"filesystem-request\",\ndata: \"payload\":{\"requestId\":\"gw_m\",\n"
            "data: \"toolCall\":{\"name\":\"lines\"}}}\n\n"));
    until(seen.calls == 1);
    assert_string_equal(seen.name, "lines");
    assert_int_equal(state_now(), RECONNECT_OPEN);
}

static void an_event_without_end_costs_the_stream(void **state)
{
    static char junk[1 << 20];

    (void)state;
    pair();
    memset(junk, 'x', sizeof(junk));
    fake_gateway_raw(server, STR("data: "));
    until((fake_gateway_raw(server, (struct str){junk, sizeof(junk)}),
           state_now() == RECONNECT_WAITING));
    assert_int_equal(why_now().code, ERR_TOO_LARGE);
    pass_delay(1000);
    until(state_now() == RECONNECT_OPEN);
}

static void a_call_that_makes_no_sense_is_refused(void **state)
{
    char id[FAKE_ID_BYTES];

    (void)state;
    pair();
    fake_gateway_call(server, "x", STR("[]"), id);
    until(answers == 1);
    assert_str(buf_view(&got),
               "{\"error\":\"Invalid call: it needs the name of a tool, and arguments that "
               "are an object.\"}");
    assert_int_equal(seen.calls, 0);
}

static void ids_are_escaped_in_paths(void **state)
{
    (void)state;
    pair();
    seen.answers_at_once = true;
    fake_gateway_raw(server,
                     STR("data: {\"type\":\"filesystem-request\",\"payload\":{\"requestId\":"
                         "\"a?b#c&d\",\"toolCall\":{\"name\":\"x\"}}}\n\n"));
    until(there().hits[FAKE_RESPONSE] == 1);
    /* The server got the id and not a query, and does not know it. */
    until(seen.undelivered == 1);
    assert_string_equal(seen.undelivered_err.message,
                        "the server responded with 404: Gateway request not found or already "
                        "resolved");
}

static void a_large_answer_goes_whole(void **state)
{
    cleanup_buf struct buf result = BUF_INIT(TEXT_BYTES);

    (void)state;
    pair();
    call("x");
    until(seen.calls == 1);
    assert_int_equal(buf_reserve(&result, LARGE_BYTES), 0);
    memset(result.data, 'a', LARGE_BYTES);
    result.data[0] = '"';
    result.data[LARGE_BYTES - 1] = '"';
    result.len = LARGE_BYTES;
    assert_int_equal(gateway_answer(gateway, str_from(seen.ids[0]), buf_view(&result)), 0);
    until(answers == 1);
    assert_int_equal(got.len, LARGE_BYTES + strlen("{\"result\":}"));
    until(status_now().pending == 0);
}

static void a_result_that_is_too_large_becomes_a_word_about_it(void **state)
{
    cleanup_buf struct buf result = BUF_INIT(TEXT_BYTES);

    (void)state;
    pair();
    call("x");
    until(seen.calls == 1);
    assert_int_equal(buf_reserve(&result, 2 * LARGE_BYTES), 0);
    memset(result.data, '1', 2 * LARGE_BYTES);
    result.len = 2 * LARGE_BYTES;
    assert_int_equal(gateway_answer(gateway, str_from(seen.ids[0]), buf_view(&result)), 0);
    until(answers == 1);
    assert_str(buf_view(&got), "{\"error\":\"The result is larger than the server accepts.\"}");
    /* The same where the server's own ceiling is lower. */
    call("y");
    until(seen.calls == 2);
    fake_gateway_fail(server, FAKE_RESPONSE, 413, 1, STR("{}"));
    assert_int_equal(gateway_answer(gateway, str_from(seen.ids[1]), STR("{}")), 0);
    until(answers == 2);
    assert_str(buf_view(&got), "{\"error\":\"The result is larger than the server accepts.\"}");
}

static void an_answer_is_tried_again_when_the_server_stumbles(void **state)
{
    (void)state;
    pair();
    seen.answers_at_once = true;
    /* Twice: on a connection that was kept the client tries again by itself. */
    fake_gateway_fail(server, FAKE_RESPONSE, 0, 2, STR_EMPTY);
    call("x");
    until(status_now().retrying == 1);
    assert_int_equal(there().hits[FAKE_RESPONSE], 2);
    assert_int_equal(status_now().pending, 1);
    fake_gateway_fail(server, FAKE_RESPONSE, 503, 1, STR("{}"));
    pass(GATEWAY_RETRY_MS);
    until(there().hits[FAKE_RESPONSE] == 3 && status_now().retrying == 1);
    pass(2 * GATEWAY_RETRY_MS);
    until(answers == 1);
    assert_str(buf_view(&got), "{\"result\":{\"content\":[]}}");
    assert_int_equal(seen.undelivered, 0);
}

static void and_given_up_at_last(void **state)
{
    (void)state;
    pair();
    seen.answers_at_once = true;
    fake_gateway_fail(server, FAKE_RESPONSE, 500, 100, STR("{\"message\":\"broken\"}"));
    call("x");
    for (unsigned i = 1; i < GATEWAY_MAX_TRIES; i++) {
        until(there().hits[FAKE_RESPONSE] == i && status_now().retrying == 1);
        pass((int64_t)GATEWAY_RETRY_MS << (i - 1));
    }
    until(seen.undelivered == 1);
    assert_string_equal(seen.undelivered_err.message, "the server responded with 500: broken");
    assert_int_equal(status_now().pending, 0);
    assert_int_equal(state_now(), RECONNECT_OPEN);
}

/* Four of 15 MB wait for another try; for a fifth there is no room, and nobody holds it. */
static void answers_that_wait_hold_memory_up_to_a_ceiling(void **state)
{
    enum { FIT = GATEWAY_MAX_RETRY_BYTES / LARGE_BYTES };
    cleanup_buf struct buf result = BUF_INIT(TEXT_BYTES);

    (void)state;
    assert_int_equal(buf_reserve(&result, LARGE_BYTES), 0);
    memset(result.data, 'a', LARGE_BYTES);
    result.data[0] = '"';
    result.data[LARGE_BYTES - 1] = '"';
    result.len = LARGE_BYTES;
    pair();
    fake_gateway_fail(server, FAKE_RESPONSE, 503, FIT + 1, STR_EMPTY);
    for (size_t i = 0; i <= FIT; i++) {
        call("read_file");
        until(seen.calls == i + 1);
        assert_int_equal(gateway_answer(gateway, str_from(seen.ids[i]), buf_view(&result)), 0);
        until(status_now().retrying == i + 1 || seen.undelivered > 0);
    }
    assert_int_equal(status_now().retrying, FIT);
    assert_int_equal(seen.undelivered, 1);
    /* What is delivered makes room. */
    pass(GATEWAY_RETRY_MS);
    until(answers == FIT && status_now().pending == 0);
    assert_int_equal(status_now().retrying, 0);
}

static void calls_outlive_a_stream_that_drops(void **state)
{
    (void)state;
    pair();
    call("x");
    until(seen.calls == 1);
    fake_gateway_drop(server, false);
    until(state_now() == RECONNECT_WAITING);
    assert_int_equal(gateway_answer(gateway, str_from(seen.ids[0]), STR("{}")), 0);
    until(answers == 1);
    assert_int_equal(state_now(), RECONNECT_WAITING);
}

static void an_end_without_a_word_leaves_nothing_behind(void **state)
{
    (void)state;
    pair();
    seen.answers_at_once = true;
    fake_gateway_fail(server, FAKE_RESPONSE, -1, 3, STR_EMPTY);
    for (int i = 0; i < 5; i++)
        call("x");
    until(there().hits[FAKE_RESPONSE] == 5);
    gateway_free(gateway);
    gateway = NULL;
    until(there().streams == 0);
    assert_int_equal(there().hits[FAKE_DISCONNECT], 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
TEST_MAIN(
    CASE(a_token_becomes_a_session), CASE(a_server_of_the_older_kind_is_spoken_to_in_its_way),
    CASE(a_key_never_stands_in_an_address_of_the_newer_kind), CASE(a_static_key_stays_what_it_is),
    CASE(a_pairing_that_fails_says_why), CASE(no_gateway_at_all_is_told),
    CASE(one_session_at_a_time), CASE(a_session_from_before_goes_on),
    CASE(another_server_cannot_use_our_extensions), CASE(our_server_asks_decides_and_cancels),
    CASE(reports_are_gathered_replaced_and_limited), CASE(reports_share_a_connection),
    CASE(a_server_that_lacks_the_endpoint_is_told_nothing_more),
    CASE(a_dropped_stream_is_reopened_after_a_second), CASE(failures_are_tried_again_ever_later),
    CASE(daemons_do_not_all_return_at_the_same_moment), CASE(a_server_that_is_away_is_waited_for),
    CASE(a_denied_stream_leads_to_init_with_the_session_key),
    CASE(a_refused_key_is_tried_on_until_a_token_comes), CASE(the_server_can_end_the_session),
    CASE(the_user_can_end_it), CASE(a_server_that_does_not_answer_holds_nobody_up),
    CASE(an_end_in_the_middle_of_a_call_is_no_harm), CASE(silence_means_that_the_stream_is_dead),
    CASE(the_time_of_day_means_nothing), CASE(many_calls_at_once_are_answered),
    CASE(too_many_calls_are_refused_and_not_lost), CASE(the_same_call_twice_is_one),
    CASE(nonsense_on_the_stream_is_passed_over), CASE(an_event_without_end_costs_the_stream),
    CASE(a_call_that_makes_no_sense_is_refused), CASE(ids_are_escaped_in_paths),
    CASE(a_large_answer_goes_whole), CASE(a_result_that_is_too_large_becomes_a_word_about_it),
    CASE(an_answer_is_tried_again_when_the_server_stumbles), CASE(and_given_up_at_last),
    CASE(answers_that_wait_hold_memory_up_to_a_ceiling), CASE(calls_outlive_a_stream_that_drops),
    CASE(an_end_without_a_word_leaves_nothing_behind))
