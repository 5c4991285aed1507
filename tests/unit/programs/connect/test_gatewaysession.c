/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of the daemon, from start to end, with a gateway in the same process and a clock that
 * the test moves. Its toolhost and its calls are replaced by ones that only record what they were
 * given.
 */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../authority/scene.h"
#include "base/clock.h"
#include "fake_gateway.h"
#include "loop_until.h"
#include "programs/connect/calls.h"
#include "programs/connect/gatewaysession.h"
#include "programs/connect/hostlink.h"

enum { LINES_BYTES = 64 << 10 };

static const int64_t START_MS = 1700000000000;

static const char TERMS[] = "what was agreed to";

static struct clock fake;
static struct loop *loop;
static struct fake_gateway_config serving;
static struct fake_gateway *server;
static struct scene scene;
static struct connect_choices choices;
static struct gateway_session_config asked;
static struct gateway_session *session;
static struct secret token;
static struct log log_of_session;
static struct buf lines; /* of the log */

/* What the owner was told. */
static struct {
    unsigned changes;
    unsigned over;
    enum gateway_session_end end;
    struct err err;
} seen;

/* ---- the toolhost and the calls ---- */

static struct hostlink_config host;
static struct calls_config calls_given; /* of the session's; a keeper of NULL: none are there */
static unsigned calls_ended;

int hostlink_new(const struct hostlink_config *config, struct hostlink **out_link, struct err *err)
{
    (void)err;
    host = *config;
    /* SAFETY: nobody looks into it but the functions here, which do not. */
    *out_link = (struct hostlink *)(void *)&host;
    return 0;
}

void hostlink_free(struct hostlink *link)
{
    (void)link;
}

bool hostlink_has(const struct hostlink *link, const struct catalog_tool *tool)
{
    (void)link;
    return tool->group == CATALOG_FILESYSTEM_READ;
}

void hostlink_tell_rules(struct hostlink *link)
{
    (void)link;
}

/* Always busy: no tree is to be had. */
static int prepare_nothing(struct executor *executor, const struct work_request *request,
                           struct work **out_work, struct err *err)
{
    (void)executor;
    (void)request;
    (void)out_work;
    return err_set_plain(err, ERR_BUSY);
}

struct executor *hostlink_executor(struct hostlink *link)
{
    static const struct executor_ops ops = {.prepare = prepare_nothing};
    static struct executor busy = {&ops};

    (void)link;
    return &busy;
}

int calls_new(const struct calls_config *config, struct calls **out_calls)
{
    calls_given = *config;
    /* SAFETY: as above. */
    *out_calls = (struct calls *)(void *)&calls_given;
    return 0;
}

void calls_free(struct calls *calls)
{
    (void)calls;
    calls_given.keeper = NULL;
}

bool calls_have(const struct calls *calls, const struct catalog_tool *tool)
{
    (void)calls;
    return tool->group == CATALOG_FILESYSTEM_READ;
}

void calls_begin(struct calls *calls, const struct gateway_call *given)
{
    (void)calls;
    (void)given;
}

void calls_cancel(struct calls *calls, struct str id)
{
    (void)calls;
    (void)id;
}

void calls_write_piece(const struct shell_piece *piece, struct json_writer *json)
{
    (void)piece;
    (void)json;
}

void calls_show_job(struct calls *calls, struct str id, struct str job, uint64_t from)
{
    (void)calls;
    (void)id;
    (void)job;
    (void)from;
}

void calls_list_jobs(struct calls *calls, struct str id)
{
    (void)calls;
    (void)id;
}

void calls_stop_job(struct calls *calls, struct str id, struct str job)
{
    (void)calls;
    (void)id;
    (void)job;
}

void calls_end_session(struct calls *calls)
{
    if (calls == NULL)
        return;
    calls_ended++;
    permission_end_session(keeper_permission(calls_given.keeper));
}

bool calls_stop_workers(struct calls *calls)
{
    (void)calls;
    return true;
}

/* ---- everything around it ---- */

static void on_change(void *data)
{
    (void)data;
    seen.changes++;
}

static void on_over(void *data, enum gateway_session_end end, const struct err *err)
{
    (void)data;
    seen.over++;
    seen.end = end;
    seen.err = err != NULL ? *err : (struct err)ERR_INIT;
}

static void note_line(void *data, enum log_level level, const char *message,
                      const struct log_field *fields, size_t count)
{
    (void)data;
    (void)level;
    (void)fields;
    (void)count;
    assert_int_equal(buf_append_str(&lines, str_from(message)), 0);
    assert_int_equal(buf_append_char(&lines, '\n'), 0);
}

static size_t told(const char *text)
{
    struct str rest = buf_view(&lines);
    size_t count = 0;
    size_t at;

    for (; (at = str_find(rest, str_from(text))) != SIZE_MAX; count++)
        rest = str_slice(rest, at + strlen(text), SIZE_MAX);
    return count;
}

static int set_up(void **state)
{
    char text[64];

    (void)state;
    memset(&seen, 0, sizeof(seen));
    calls_ended = 0;
    session = NULL;
    buf_init(&lines, LINES_BYTES);
    clock_fake_init(&fake, START_MS);
    log_init(&log_of_session, -1, LOG_INFO, &fake);
    log_of_session.also = note_line;
    assert_int_equal(loop_new(&fake, &loop), 0);
    serving = (struct fake_gateway_config){.loop = loop};
    assert_int_equal(fake_gateway_new(&serving, &server), 0);
    scene_make(&scene);
    make_dir(scene.fd, "folder");
    make_dir(scene.fd, "elsewhere");
    choices = (struct connect_choices){.modes.of[CATALOG_FILESYSTEM_READ] = PERMISSION_ASK};
    snprintf(choices.dir, sizeof(choices.dir), "%s/folder", scene.path);
    snprintf(choices.state_dir, sizeof(choices.state_dir), "%s/state", scene.path);
    snprintf(choices.settings_dir, sizeof(choices.settings_dir), "%s/settings", scene.path);
    token = (struct secret)SECRET_INIT;
    asked = (struct gateway_session_config){
        .loop = loop,
        .log = &log_of_session,
        .choices = &choices,
        .key = &token,
        .kept_lock_fd = -1,
        .terms = TERMS,
        .libexec = "/nowhere",
        .on_change = on_change,
        .on_over = on_over,
    };
    snprintf(text, sizeof(text), "http://127.0.0.1:%u", fake_gateway_port(server));
    assert_int_equal(httpurl_parse(str_from(text), &asked.url, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gateway_session_free(session);
    fake_gateway_free(server);
    loop_free(loop);
    scene_drop(&scene);
    secret_done(&token);
    buf_done(&lines);
    return 0;
}

#define until(condition) loop_until(loop, condition)

static void pass(int64_t ms)
{
    clock_fake_advance(&fake, ms);
    loop_run_due_timers(loop);
}

/* Delays are up to a fifth longer, at random. */
static void pass_longest(int64_t delay_ms)
{
    pass(delay_ms + delay_ms / RECONNECT_SPREAD);
}

static struct fake_gateway_state there(void)
{
    struct fake_gateway_state state;

    fake_gateway_state(server, &state);
    return state;
}

static struct gateway_session_state now(void)
{
    struct gateway_session_state state;

    gateway_session_state(session, &state);
    return state;
}

static void start_with(const char *key)
{
    secret_done(&token);
    assert_int_equal(secret_set(&token, str_from(key)), 0);
    assert_int_equal(gateway_session_new(&asked, &session, NULL), 0);
    host.on_begun(host.data, NULL);
}

static void start(void)
{
    start_with(fake_gateway_token(server));
}

static void start_and_join(void)
{
    start();
    until(now().is_connected); /* the gateway is open a moment before its owner hears of it */
}

static void stop(void)
{
    gateway_session_free(session);
    session = NULL;
}

/* What the user allows for the session, and whether that still holds. */
static void consent(void)
{
    const struct permission_resource resource = {.group = CATALOG_FILESYSTEM_READ,
                                                 .given = STR("/r/a")};

    assert_int_equal(permission_allow_for_session(keeper_permission(calls_given.keeper), &resource),
                     0);
}

static bool has_consent(void)
{
    return permission_session_count(keeper_permission(calls_given.keeper)) > 0;
}

/* ---- what is kept ---- */

/* As the next start would find it. */
static bool find_kept(struct saved_session *out_saved)
{
    const struct authority_config about = {.backend = AUTHORITY_LINUX,
                                           .state_dir = choices.state_dir};
    struct authority *authority;
    int r;

    assert_int_equal(authority_new(&about, &authority, NULL), 0);
    r = saved_session_read(authority, choices.state_dir, &asked.url, TERMS, out_saved);
    authority_free(authority);
    return r == 0;
}

static bool is_kept(void)
{
    struct saved_session kept;
    bool is_there_now = find_kept(&kept);

    if (is_there_now)
        secret_done(&kept.key);
    return is_there_now;
}

static bool is_kept_as(const char *key)
{
    struct saved_session kept;
    bool is_same = find_kept(&kept);

    if (is_same) {
        is_same = str_eq_c(secret_reveal(&kept.key), key);
        secret_done(&kept.key);
    }
    return is_same;
}

/* A start with what the one before has kept, and with a token besides unless that is NULL. */
static struct saved_session resumed;

static void start_from_before(const char *key)
{
    assert_true(find_kept(&resumed));
    asked.resumed = &resumed;
    if (key != NULL) {
        start_with(key);
    } else {
        secret_done(&token);
        token = (struct secret)SECRET_INIT;
        assert_int_equal(gateway_session_new(&asked, &session, NULL), 0);
        host.on_begun(host.data, NULL);
    }
    secret_done(&resumed.key);
}

/* ---- joined ---- */

static void a_session_is_joined_with_its_token(void **state)
{
    (void)state;
    start();
    assert_int_equal(now().state, RECONNECT_PAIRING);
    assert_false(now().is_connected);
    assert_false(now().has_session);
    until(now().is_connected);
    assert_true(now().has_session);
    assert_int_equal(now().state, RECONNECT_OPEN);
    assert_false(now().needs_token);
    assert_true(now().connected_wall_ms >= START_MS);
    assert_int_equal(now().why.code, 0);
    assert_int_equal(there().hits[FAKE_INIT], 1);
    assert_true(seen.changes > 0);
    assert_int_equal(told("connected"), 1);
    assert_int_equal(seen.over, 0);
}

static void a_toolhost_that_does_not_come_is_the_end(void **state)
{
    struct err why = ERR_INIT;

    (void)state;
    secret_done(&token);
    assert_int_equal(secret_set(&token, str_from(fake_gateway_token(server))), 0);
    assert_int_equal(gateway_session_new(&asked, &session, NULL), 0);
    err_set(&why, ERR_TIMED_OUT, "it did not begin");
    host.on_begun(host.data, &why);
    assert_int_equal(seen.over, 1);
    assert_int_equal(seen.end, GATEWAY_SESSION_FAILED);
    assert_int_equal(seen.err.code, ERR_TIMED_OUT);
    /* Nobody was spoken to, and the token is as good as before. */
    assert_int_equal(there().hits[FAKE_INIT], 0);
}

static void a_stream_that_drops_does_not_end_the_session(void **state)
{
    int64_t since;

    (void)state;
    start_and_join();
    since = now().connected_wall_ms;
    consent();
    fake_gateway_drop(server, false);
    until(now().state == RECONNECT_WAITING);
    assert_true(now().has_session);
    pass_longest(RECONNECT_FIRST_MS);
    until(now().state == RECONNECT_OPEN && now().is_connected);
    assert_true(has_consent());
    assert_int_equal(now().connected_wall_ms, since);
    assert_int_equal(there().hits[FAKE_INIT], 1);
    assert_int_equal(calls_ended, 0);
}

/* ---- refused ---- */

static void a_token_that_is_refused_ends_it_at_once(void **state)
{
    (void)state;
    asked.is_patient = true; /* which is no help here */
    asked.keeps = true;
    start_with("gw_nobody_knows_this");
    until(seen.over == 1);
    assert_int_equal(seen.end, GATEWAY_SESSION_FAILED);
    assert_int_equal(seen.err.code, ERR_GATEWAY_DENIED);
    assert_null(strstr(seen.err.message, "gw_nobody"));
    assert_int_equal(there().hits[FAKE_INIT], 1);
    assert_false(is_kept());
}

/* The server was started anew: it takes neither the stream nor an init with the session's key. */
static void lose_at_server(void)
{
    fake_gateway_forget(server);
    until(now().state == RECONNECT_WAITING);
    pass_longest(RECONNECT_FIRST_MS);
    until(now().state == RECONNECT_RENEW_WAITING);
    pass_longest(RECONNECT_FIRST_MS);
}

static void a_refused_session_needs_a_token_and_says_so_once(void **state)
{
    (void)state;
    start_and_join();
    lose_at_server();
    until(now().needs_token);
    assert_int_equal(now().state, RECONNECT_REFUSED);
    assert_false(now().is_connected || now().has_session);
    for (unsigned tries = there().hits[FAKE_INIT], i = 1; i <= 3; i++) {
        pass_longest(RECONNECT_MAX_MS);
        until(there().hits[FAKE_INIT] == tries + i && now().state == RECONNECT_REFUSED);
        assert_true(now().needs_token);
    }
    assert_int_equal(told("a new pairing token is needed"), 1);
    /* It goes on being tried; nobody has ended it. */
    assert_int_equal(seen.over, 0);
}

/* ---- where the server is not there yet ---- */

static void who_is_patient_asks_again_ever_later_up_to_a_ceiling(void **state)
{
    static const int64_t seconds[] = {1, 2, 4, 8, 16, 30, 30, 30};

    (void)state;
    asked.is_patient = true;
    fake_gateway_fail(server, FAKE_INIT, 503, array_size(seconds), STR_EMPTY);
    start();
    for (unsigned i = 0; i < array_size(seconds); i++) {
        until(there().hits[FAKE_INIT] == i + 1 && now().state == RECONNECT_RENEW_WAITING);
        assert_false(now().is_connected);
        pass(seconds[i] * 1000 - 1);
        assert_int_equal(now().state, RECONNECT_RENEW_WAITING);
        assert_int_equal(there().hits[FAKE_INIT], i + 1);
        pass_longest(seconds[i] * 1000);
    }
    until(now().state == RECONNECT_OPEN && now().is_connected);
    assert_int_equal(told("not connected; retrying"), 1);
    assert_int_equal(seen.over, 0);
}

static void who_is_not_patient_is_told_at_once(void **state)
{
    (void)state;
    fake_gateway_fail(server, FAKE_INIT, 503, 1, STR_EMPTY);
    start();
    until(seen.over == 1);
    assert_int_equal(seen.end, GATEWAY_SESSION_FAILED);
    assert_int_equal(seen.err.code, ERR_GATEWAY_STATUS);
}

/* ---- kept ---- */

static void a_session_is_kept_for_the_next_start_and_goes_on(void **state)
{
    char key[FAKE_KEY_BYTES];

    (void)state;
    asked.keeps = true;
    start_and_join();
    snprintf(key, sizeof(key), "%s", there().session_key);
    assert_true(is_kept_as(key));
    stop();
    assert_true(is_kept_as(key));
    start_from_before(NULL);
    until(now().state == RECONNECT_OPEN && now().is_connected);
    assert_int_equal(there().hits[FAKE_INIT], 1);
    assert_true(is_kept_as(key));
}

/* A server may give another one whenever it is greeted. */
static void another_key_that_the_server_gives_is_kept_instead(void **state)
{
    (void)state;
    asked.keeps = true;
    start_and_join();
    fake_gateway_fail(server, FAKE_EVENTS, 403, 1, STR_EMPTY);
    fake_gateway_fail(server, FAKE_INIT, 200, 1,
                      STR("{\"data\":{\"ok\":true,\"sessionKey\":\"sess_another\"}}"));
    fake_gateway_drop(server, false);
    until(now().state == RECONNECT_WAITING);
    pass_longest(RECONNECT_FIRST_MS);
    until(now().state == RECONNECT_RENEW_WAITING);
    pass_longest(RECONNECT_FIRST_MS);
    until(there().hits[FAKE_INIT] == 2 && now().state == RECONNECT_RENEW_WAITING);
    assert_true(is_kept_as("sess_another"));
}

static void who_keeps_nothing_leaves_nothing(void **state)
{
    (void)state;
    start_and_join();
    assert_false(is_kept());
    stop();
    assert_false(is_kept());
}

/* The server knows one session: with the next one, what was kept is worthless. */
static void what_was_kept_goes_when_another_is_joined(void **state)
{
    (void)state;
    asked.keeps = true;
    start_and_join();
    stop();
    asked.keeps = false;
    start();
    assert_true(is_kept());
    until(now().state == RECONNECT_OPEN && now().is_connected);
    assert_false(is_kept());
}

static void a_session_of_another_folder_is_not_taken_up(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    asked.keeps = true;
    start_and_join();
    stop();
    assert_true(find_kept(&resumed));
    asked.resumed = &resumed;
    snprintf(choices.dir, sizeof(choices.dir), "%s/elsewhere", scene.path);
    assert_int_equal(gateway_session_new(&asked, &session, &err), ERR_INVALID_PATH);
    secret_done(&resumed.key);
    assert_false(is_kept());
}

static bool has_words(const char *option, const char *value)
{
    for (size_t i = 0; host.argv[i] != NULL; i++)
        if (strcmp(host.argv[i], option) == 0 && strcmp(host.argv[i + 1], value) == 0)
            return true;
    return false;
}

static void the_toolhost_gets_each_folder_with_its_mode(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/elsewhere", scene.path);
    choices.others[choices.other_count++] = (struct connect_folder){"given", path, true};
    for (size_t i = 0; i < 3; i++) {
        bool writes = i > 0;

        choices.modes.of[CATALOG_FILESYSTEM_WRITE] = writes ? PERMISSION_ASK : PERMISSION_DENY;
        choices.only_reads_dir = i == 1;
        start();
        assert_true(has_words(writes ? "--rw" : "--ro", "given"));
        assert_true(has_words("--", choices.dir));
        assert_int_equal(has_words("--write", "--rw"), i == 2);
        assert_int_equal(now().folder_count, 2);
        assert_string_equal(now().folders[1].root_path, path);
        assert_int_equal(now().folders[1].may_write, writes);
        assert_int_equal(now().folders[0].may_write, i == 2);
        stop();
    }
}

/* ---- paired anew ---- */

static void a_session_from_before_that_is_over_is_paired_anew(void **state)
{
    char old_key[FAKE_KEY_BYTES];

    (void)state;
    asked.keeps = true;
    start_and_join();
    snprintf(old_key, sizeof(old_key), "%s", there().session_key);
    stop();
    fake_gateway_forget(server);
    start_from_before(fake_gateway_token(server));
    consent();
    until(now().state == RECONNECT_RENEW_WAITING);
    assert_true(has_consent());
    pass_longest(RECONNECT_FIRST_MS);
    until(now().state == RECONNECT_OPEN && now().is_connected);
    /* What was allowed was for the session before. */
    assert_false(has_consent());
    assert_int_equal(calls_ended, 2); /* the other is the first session's end */
    assert_int_not_equal(strcmp(there().session_key, old_key), 0);
    assert_true(is_kept_as(there().session_key));
    assert_false(now().needs_token);
    assert_int_equal(told("a new pairing token is needed"), 0);
}

/* A token is for one try: one that is refused, too, leaves the session waiting for another. */
static void a_session_that_lives_does_not_use_the_token(void **state)
{
    (void)state;
    asked.keeps = true;
    start_and_join();
    stop();
    start_from_before(fake_gateway_token(server));
    consent();
    until(now().state == RECONNECT_OPEN && now().is_connected);
    assert_true(has_consent());
    assert_int_equal(there().hits[FAKE_INIT], 1);
    /* It is gone by now: when the server forgets this one, somebody has to bring another. */
    lose_at_server();
    until(now().needs_token);
    assert_true(told("a new pairing token is needed") == 1);
}

/* ---- forgotten ---- */

static void a_session_that_the_server_ends_is_forgotten(void **state)
{
    (void)state;
    asked.keeps = true;
    start_and_join();
    consent();
    fake_gateway_dismiss(server);
    until(seen.over == 1);
    assert_int_equal(seen.end, GATEWAY_SESSION_DISMISSED);
    assert_false(has_consent());
    assert_false(is_kept());
    stop();
    assert_false(is_kept());
}

static void a_session_that_the_user_leaves_is_forgotten_at_once(void **state)
{
    (void)state;
    asked.keeps = true;
    start_and_join();
    consent();
    gateway_session_leave(session);
    assert_false(is_kept());
    until(seen.over == 1);
    assert_int_equal(seen.end, GATEWAY_SESSION_LEFT);
    assert_false(has_consent());
    assert_int_equal(there().hits[FAKE_DISCONNECT], 1);
    stop();
    assert_false(is_kept());
}

static void leaving_ends_the_waiting_for_a_server(void **state)
{
    (void)state;
    asked.is_patient = true;
    fake_gateway_fail(server, FAKE_INIT, 503, 100, STR_EMPTY);
    start();
    until(now().state == RECONNECT_RENEW_WAITING);
    gateway_session_leave(session);
    assert_int_equal(seen.over, 1);
    assert_int_equal(seen.end, GATEWAY_SESSION_LEFT);
    pass_longest(RECONNECT_MAX_MS);
    assert_int_equal(there().hits[FAKE_INIT], 1);
}

static void consent_ends_when_the_session_is_let_go(void **state)
{
    (void)state;
    start_and_join();
    consent();
    gateway_session_end_calls(session);
    assert_false(has_consent());
    stop();
    assert_int_equal(calls_ended, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(CASE(a_session_is_joined_with_its_token), CASE(a_toolhost_that_does_not_come_is_the_end),
          CASE(a_stream_that_drops_does_not_end_the_session),
          CASE(a_token_that_is_refused_ends_it_at_once),
          CASE(a_refused_session_needs_a_token_and_says_so_once),
          CASE(who_is_patient_asks_again_ever_later_up_to_a_ceiling),
          CASE(who_is_not_patient_is_told_at_once),
          CASE(a_session_is_kept_for_the_next_start_and_goes_on),
          CASE(another_key_that_the_server_gives_is_kept_instead),
          CASE(who_keeps_nothing_leaves_nothing), CASE(what_was_kept_goes_when_another_is_joined),
          CASE(a_session_of_another_folder_is_not_taken_up),
          CASE(the_toolhost_gets_each_folder_with_its_mode),
          CASE(a_session_from_before_that_is_over_is_paired_anew),
          CASE(a_session_that_lives_does_not_use_the_token),
          CASE(a_session_that_the_server_ends_is_forgotten),
          CASE(a_session_that_the_user_leaves_is_forgotten_at_once),
          CASE(leaving_ends_the_waiting_for_a_server),
          CASE(consent_ends_when_the_session_is_let_go))
