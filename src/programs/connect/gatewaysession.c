/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/gatewaysession.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "programs/connect/about.h"
#include "programs/connect/advice.h"
#include "programs/connect/gatewaysession_internal.h"
#include "programs/connect/tree.h"

enum {
    FLUSH_MS = 1000, /* reads are recorded at the latest after this */
    REPORT_BYTES = 64 << 10,
};

/* ---- the record ---- */

static void write_record(struct gateway_session *session)
{
    struct session_state *state = &session->file_session->state;
    const char *words = session_state_flush(state);

    if (words != NULL)
        log_write(session->config.log, LOG_WARN, words, LOG_TEXT("directory", state->state_path));
}

static void tell_lost_answers(struct gateway_session *session)
{
    if (session->lost_answers > 1)
        log_write(session->config.log, LOG_WARN, "cannot send more results to the server",
                  LOG_INT("count", (int64_t)session->lost_answers - 1),
                  LOG_TEXT("why", session->lost_why.message));
    session->lost_answers = 0;
}

static void tell_unreadable_calls(struct gateway_session *session)
{
    if (session->unreadable_calls > 1)
        log_write(session->config.log, LOG_WARN, "the server sent more calls that cannot be read",
                  LOG_INT("count", (int64_t)session->unreadable_calls - 1));
    session->unreadable_calls = 0;
}

static void flush(void *data)
{
    struct gateway_session *session = data;

    write_record(session);
    tell_lost_answers(session);
    tell_unreadable_calls(session);
}

/* ---- the server ---- */

static bool offers(void *data, const struct catalog_tool *tool)
{
    const struct gateway_session *session = data;

    return !tool->is_internal &&
           session->config.choices->modes.of[tool->group] != PERMISSION_DENY &&
           calls_have(session->calls, tool);
}

static int describe(void *data, enum gateway_dialect dialect, struct json_writer *writer)
{
    struct gateway_session *session = data;
    const struct machine_about about = {.root_path = session->file_session->folders[0].root_path,
                                        .offers = offers,
                                        .data = session};

    if (dialect == GATEWAY_N8N)
        return about_write(&about, writer);
    /* Fetched when it is needed: see on_failed(). */
    return session->has_tree ? tree_write(session->file_session->folders[0].root_path,
                                          buf_view(&session->tree), writer)
                             : ERR_UNSUPPORTED;
}

static void on_call(void *data, const struct gateway_call *call)
{
    const struct gateway_session *session = data;

    calls_begin(session->calls, call);
}

static void on_query(void *data, const struct gateway_call *query)
{
    const struct gateway_session *session = data;

    queries_take(session->queries, query);
}

static void on_cancel(void *data, struct str id)
{
    const struct gateway_session *session = data;

    calls_cancel(session->calls, id);
}

static bool reports(void *data)
{
    const struct gateway_session *session = data;
    struct gateway_status status;

    gateway_status(connection_gateway(session->connection), &status);
    return status.has_extensions;
}

static void on_progress(void *data, struct str id, uint64_t done, uint64_t total, const char *what)
{
    cleanup_buf struct buf event = BUF_INIT(REPORT_BYTES);
    const struct gateway_session *session = data;
    struct json_writer json;

    json_writer_init(&json, &event);
    json_begin_object(&json);
    json_put_str(&json, STR("type"), STR("progress"));
    json_put_str(&json, STR("requestId"), id);
    json_put_int(&json, STR("done"), (int64_t)(done & INT64_MAX));
    if (total > 0)
        json_put_int(&json, STR("total"), (int64_t)(total & INT64_MAX));
    json_put_str_lossy(&json, STR("what"), str_from(what != NULL ? what : ""));
    json_end_object(&json);
    if (json_writer_finish(&json) == 0) /* the newest of a call replaces those before it */
        (void)gateway_report(connection_gateway(session->connection),
                             &(struct gateway_report){.key = id, .event = buf_view(&event)});
}

static void report(const struct gateway_session *session, struct json_writer *json,
                   const struct buf *event)
{
    json_end_object(json);
    if (json_writer_finish(json) == 0)
        (void)gateway_report(connection_gateway(session->connection),
                             &(struct gateway_report){.event = buf_view(event)});
}

static void on_call_ended(void *data, const struct calls_ended *ended)
{
    cleanup_buf struct buf event = BUF_INIT(REPORT_BYTES);
    const struct gateway_session *session = data;
    struct json_writer json;

    json_writer_init(&json, &event);
    json_begin_object(&json);
    json_put_str(&json, STR("type"), STR("activity"));
    json_put_str(&json, STR("requestId"), ended->id);
    json_put_str(&json, STR("tool"), ended->tool);
    json_put_str(&json, STR("outcome"), str_from(ended->outcome));
    if (ended->decision != NULL)
        json_put_str(&json, STR("decision"), str_from(ended->decision));
    if (ended->decision != NULL && ended->rule != NULL && ended->rule[0] != '\0')
        json_put_str_lossy(&json, STR("rule"), str_from(ended->rule));
    json_put_int(&json, STR("ms"), ended->took_ms);
    report(session, &json, &event);
}

static void on_job_output(void *data, const struct shell_piece *piece)
{
    cleanup_buf struct buf event = BUF_INIT(8 * REPORT_BYTES);
    const struct gateway_session *session = data;
    struct json_writer json;

    json_writer_init(&json, &event);
    json_begin_object(&json);
    json_put_str(&json, STR("type"), STR("job-output"));
    calls_write_piece(piece, &json);
    report(session, &json, &event);
}

static void send_question(void *data, struct str key, struct str event)
{
    const struct gateway_session *session = data;

    (void)gateway_report(connection_gateway(session->connection),
                         &(struct gateway_report){.key = key, .event = event, .is_vital = true});
}

static void on_decision(void *data, struct str question, struct str answer)
{
    struct gateway_session *session = data;

    if (session->questions != NULL)
        (void)remote_questions_decide(session->questions, question, answer);
}

/* From now on the page of a server of ours shows questions, besides the terminal. */
static void ask_there_too(struct gateway_session *session)
{
    const struct gateway_session_config *config = &session->config;
    const struct remote_questions_config questions = {.queue = config->queue,
                                                      .may_keep = config->allows_remote_always,
                                                      .send = send_question,
                                                      .data = session};
    int r = 0;

    if (!config->asks_there_too || config->queue == NULL || !reports(session))
        return;
    if (session->questions != NULL)
        remote_questions_resend(session->questions);
    else
        r = remote_questions_new(&questions, &session->questions);
    if (r < 0)
        log_write(config->log, LOG_WARN, "the server's page will not show questions",
                  LOG_TEXT("why", err_text(r)));
}

/* As list_allowed_directories tells them. */
static void write_others(const struct session *session, struct json_writer *json)
{
    if (session->folder_count == 1)
        return;
    json_key(json, STR("otherFolders"));
    json_begin_array(json);
    for (size_t i = 1; i < session->folder_count; i++) {
        json_begin_object(json);
        json_put_str_lossy(json, STR("path"), str_from(session->folders[i].root_path));
        json_put_str(json, STR("access"),
                     session->folders[i].may_write ? STR("write") : STR("read"));
        json_end_object(json);
    }
    json_end_array(json);
}

/* "session": who works where, on which terms, and since when. */
static void write_session(void *data, struct json_writer *json)
{
    const struct gateway_session *session = data;
    const struct gateway_session_config *config = &session->config;
    const struct permission_modes *modes = &config->choices->modes;
    char since[CLOCK_ISO_BYTES];

    json_put_str(json, STR("client"), STR("gatehouse connect"));
    json_put_str(json, STR("version"), STR(GATEHOUSE_VERSION));
    json_put_str(json, STR("id"), str_from(session->name));
    json_put_str_lossy(json, STR("folder"), str_from(session->file_session->folders[0].root_path));
    write_others(session->file_session, json);
    if (session->open_wall_ms != 0) {
        clock_format_iso(session->open_wall_ms, since);
        json_put_str(json, STR("connectedAt"), str_from(since));
    }
    json_key(json, STR("modes"));
    json_begin_object(json);
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        json_put_str(json, str_from(catalog_group_name((enum catalog_group)i)),
                     str_from(permission_mode_name(modes->of[i])));
    json_put_str(json, STR("sensitive"), str_from(permission_mode_name(modes->sensitive)));
    json_end_object(json);
    json_put_str(json, STR("asks"), config->queue != NULL ? STR("client") : STR("instance"));
    json_put_bool(json, STR("allowRemoteAlways"), config->allows_remote_always);
    json_put_bool(json, STR("commands"), session->commands != NULL);
}

static void on_answer(void *data, struct str id, struct str result)
{
    struct gateway_session *session = data;

    /* A call that the server has abandoned is unknown by now, which does not matter. */
    (void)gateway_answer(connection_gateway(session->connection), id, result);
    if (!session->flush.is_started)
        timer_start(&session->flush, FLUSH_MS);
}

/* ---- for the next start ---- */

/* The server knows the key from init on, before the first stream is open. */
static bool is_joined(enum reconnect_state state)
{
    return state == RECONNECT_OPENING || state == RECONNECT_OPEN || state == RECONNECT_WAITING;
}

static int lock_kept(struct gateway_session *session, struct err *err)
{
    return session->kept_lock_fd >= 0
               ? 0
               : saved_session_lock(session->file_session->state.audit_dir_fd, &session->config.url,
                                    &session->kept_lock_fd, err);
}

static void keep(struct gateway_session *session, const struct gateway_status *status)
{
    const struct secret *key = gateway_session_key(connection_gateway(session->connection));
    const struct session_state *state = &session->file_session->state;
    struct saved_session *kept = &session->kept;
    struct err err = ERR_INIT;

    if (!session->config.keeps || key == NULL || !is_joined(status->state))
        return;
    if (session->is_kept && secret_eq(&session->kept_key, secret_reveal(key))) /* to compare */
        return;
    session->is_kept = true; /* tried once */
    session->kept_key = *key;
    kept->dialect = status->dialect;
    kept->has_extensions = status->has_extensions;
    kept->key = *key;
    snprintf(kept->terms, sizeof(kept->terms), "%s", session->config.terms);
    snprintf(kept->root_path, sizeof(kept->root_path), "%s",
             session->file_session->folders[0].root_path);
    saved_session_name_others(session->file_session, kept->others);
    if (lock_kept(session, &err) < 0 || saved_session_write(state->authority, state->state_path,
                                                            &session->config.url, kept, &err) < 0)
        log_error(session->config.log, "cannot save the session for the next start", &err);
    secret_done(&kept->key);
}

static void forget(struct gateway_session *session)
{
    const struct session_state *state = &session->file_session->state;

    session->is_kept = false;
    /* A lock leaves a file behind, which is only for sessions that are saved. */
    if (session->kept_lock_fd < 0 &&
        !saved_session_is_there(state->authority, state->state_path, &session->config.url))
        return;
    /* What another daemon uses is its own. */
    if (lock_kept(session, NULL) == 0)
        saved_session_remove(state->authority, state->state_path, &session->config.url);
    cleanup_fd_(&session->kept_lock_fd);
    session->kept_lock_fd = -1;
}

/* A saved session has ended, but there is a token: tries again with it. */
static bool pair_anew(struct gateway_session *session)
{
    struct err err = ERR_INIT;
    int r;

    if (session->key.len == 0)
        return false;
    calls_end_session(session->calls); /* permissions were for the previous one */
    r = gateway_pair(connection_gateway(session->connection), &session->config.url, &session->key,
                     &err);
    secret_done(&session->key);
    if (r < 0)
        log_error(session->config.log, "cannot use the new token", &err);
    session->is_kept = false;
    return r == 0;
}

static void tell_open(struct gateway_session *session)
{
    const struct log *log = session->config.log;
    const char *folder = session->file_session->folders[0].root_path;

    if (session->tries_untold > 0)
        log_write(log, LOG_INFO, "connected", LOG_TEXT("folder", folder),
                  LOG_INT("tries_not_told", session->tries_untold));
    else
        log_write(log, LOG_INFO, "connected", LOG_TEXT("folder", folder));
    session->tries_untold = 0;
    session->told_why[0] = '\0';
    session->is_refusal_told = false;
}

/* Once for each reason: a server may be unavailable for days. */
void gateway_session_tell_waiting(struct gateway_session *session, int64_t after_ms,
                                  const struct err *why)
{
    if (strcmp(session->told_why, why->message) == 0) {
        session->tries_untold++;
        return;
    }
    snprintf(session->told_why, sizeof(session->told_why), "%s", why->message);
    log_write(session->config.log, LOG_WARN, "not connected; retrying",
              LOG_INT("after_ms", after_ms), LOG_TEXT("why", why->message));
}

static void tell_refusal(struct gateway_session *session)
{
    const struct gateway_session_config *config = &session->config;

    if (session->is_refusal_told) {
        session->tries_untold++;
        return;
    }
    session->is_refusal_told = true;
    if (config->is_static_key)
        log_write(config->log, LOG_ERROR, "the server rejects the key; retrying",
                  LOG_TEXT("advice", advice_for(ERR_GATEWAY_DENIED, true, config->url.is_tls)));
    else
        log_write(config->log, LOG_ERROR,
                  "the server has forgotten this session: a new pairing token is needed, from the "
                  "server's page or with another 'gatehouse connect'");
}

static void tell_state(struct gateway_session *session, const struct gateway_status *status)
{
    switch (status->state) {
    case RECONNECT_OPEN:
        tell_open(session);
        break;
    case RECONNECT_WAITING:
    case RECONNECT_RENEW_WAITING:
        gateway_session_tell_waiting(session, status->retry_ms, &status->why);
        break;
    case RECONNECT_REFUSED:
        if (!pair_anew(session))
            tell_refusal(session);
        break;
    case RECONNECT_OFF:
    case RECONNECT_PAIRING:
    case RECONNECT_OPENING:
    case RECONNECT_RENEWING:
    case RECONNECT_LEAVING:
        break;
    }
}

/* Between two refusals it retries, which does not change the state. */
static bool is_between_refusals(enum reconnect_state state)
{
    return state == RECONNECT_REFUSED || state == RECONNECT_RENEWING ||
           state == RECONNECT_RENEW_WAITING;
}

static void on_status(void *data, const struct gateway_status *status)
{
    struct gateway_session *session = data;

    session->is_refused = status->state == RECONNECT_REFUSED ||
                          (session->is_refused && is_between_refusals(status->state));
    keep(session, status);
    /* The server knows one session; until now the other one could have continued. */
    if (is_joined(status->state) && !session->has_joined) {
        session->has_joined = true;
        if (!session->config.keeps)
            forget(session);
    }
    /* Used up by the first init that went well, or not needed: the session from before lives. */
    if (status->state == RECONNECT_OPEN || (session->is_pairing && status->state != RECONNECT_OFF &&
                                            status->state != RECONNECT_PAIRING))
        secret_done(&session->key);
    if (status->state == session->told)
        return;
    session->told = status->state;
    if (status->state == RECONNECT_OPEN && session->open_wall_ms == 0)
        session->open_wall_ms = loop_wall_ms(session->config.loop);
    if (status->state == RECONNECT_OPEN)
        ask_there_too(session);
    tell_state(session, status);
    session->config.on_change(session->config.data);
}

void gateway_session_fail(const struct gateway_session *session, const struct err *err)
{
    const struct gateway_session_config *config = &session->config;
    const char *advice = advice_for(err->code, config->is_static_key, config->url.is_tls);
    struct err told = *err;

    if (advice != NULL)
        err_set(&told, err->code, "%s: %s", err->message, advice);
    config->on_over(config->data, GATEWAY_SESSION_FAILED, &told);
}

/* A server without the newer paths needs a tree: fetches it, and tries the same token again. */
static void on_failed(struct gateway_session *session, const struct err *err)
{
    if (err->code == ERR_UNSUPPORTED && !session->has_tree && session->key.len > 0)
        gateway_session_join_with_tree(session);
    else if (!gateway_session_try_again(session, err))
        gateway_session_fail(session, err);
}

static void on_ended(void *data, enum gateway_end end, const struct err *err)
{
    struct gateway_session *session = data;
    const struct gateway_session_config *config = &session->config;

    session->told = RECONNECT_OFF;
    remote_questions_free(steal_ptr(&session->questions));
    calls_end_session(session->calls);
    if (session->has_joined)
        forget(session);
    switch (end) {
    case GATEWAY_END_FAILED:
        on_failed(session, err);
        break;
    case GATEWAY_END_LEFT:
        if (!session->has_joined)
            log_write(config->log, LOG_INFO, "stopped before it was connected");
        else if (err->code != 0)
            log_write(
                config->log, LOG_WARN,
                "ended, but could not notify the server, which may still wait for this machine",
                LOG_TEXT("why", err->message));
        else
            log_write(config->log, LOG_INFO, "disconnected");
        config->on_over(config->data, GATEWAY_SESSION_LEFT, NULL);
        break;
    case GATEWAY_END_DISMISSED:
        log_write(config->log, LOG_INFO, "the server ended the session");
        config->on_over(config->data, GATEWAY_SESSION_DISMISSED, NULL);
        break;
    }
}

/* Logs the first at once and counts the following ones. */
static void on_undelivered(void *data, struct str id, const struct err *err)
{
    struct gateway_session *session = data;

    (void)id;
    session->lost_why = *err;
    if (session->lost_answers++ == 0)
        log_write(session->config.log, LOG_WARN, "cannot send a result to the server",
                  LOG_TEXT("why", err->message));
    if (!session->flush.is_started)
        timer_start(&session->flush, FLUSH_MS);
}

/* The same. */
static void on_unreadable(void *data, const struct err *err)
{
    struct gateway_session *session = data;

    if (session->unreadable_calls++ == 0)
        log_write(session->config.log, LOG_WARN, "the server sent a call that cannot be read",
                  LOG_TEXT("why", err->message));
    if (!session->flush.is_started)
        timer_start(&session->flush, FLUSH_MS);
}

static const struct gateway_owner owner = {
    .describe = describe,
    .on_call = on_call,
    .on_query = on_query,
    .on_cancel = on_cancel,
    .on_decision = on_decision,
    .on_status = on_status,
    .on_ended = on_ended,
    .on_undelivered = on_undelivered,
    .on_unreadable = on_unreadable,
};

/* ---- when there is a toolhost ---- */

int gateway_session_join(struct gateway_session *session, struct err *err)
{
    struct gateway *gateway = connection_gateway(session->connection);
    const struct httpurl *url = &session->config.url;
    int r;

    if (session->kept.key.len > 0) {
        session->has_joined = true;
        r = gateway_resume(gateway, url, session->kept.dialect, session->kept.has_extensions,
                           &session->kept.key, err);
        secret_done(&session->kept.key);
        return r;
    }
    session->is_pairing = true;
    return gateway_pair(gateway, url, &session->key, err);
}

/* A saved session may be of the older dialect, whose init may be required again. */
static int join(struct gateway_session *session, struct err *err)
{
    if (session->kept.key.len == 0 || session->kept.dialect != GATEWAY_SEED)
        return gateway_session_join(session, err);
    gateway_session_join_with_tree(session);
    return 0;
}

/* Prepares TLS while the toolhost starts; connects to nobody yet. */
static int make_connection(struct gateway_session *session, struct err *err)
{
    const struct connection_config connection = {
        .loop = session->config.loop,
        .url = session->config.url,
        .authorities_pem = session->config.authorities_pem,
        .owner = &owner,
        .data = session,
    };

    return connection_new(&connection, &session->connection, err);
}

/* ---- credentials ---- */

static int create_credential(void *data, struct buf *body, gateway_credential_fn *done,
                             void *context, void **out_handle, struct err *err)
{
    const struct gateway_session *session = data;
    struct gateway_credential *credential;
    int r;

    if (session->connection == NULL)
        return err_set(err, ERR_CONNECTION_LOST, "there is no session with a server");
    r = gateway_create_credential(connection_gateway(session->connection), body, done, context,
                                  &credential, err);
    if (r == 0)
        *out_handle = credential;
    return r;
}

static void cancel_credential(void *handle)
{
    gateway_credential_cancel(handle);
}

static int begin(struct gateway_session *session, struct err *err)
{
    const struct gateway_session_config *config = &session->config;
    const struct calls_config calls = {
        .loop = config->loop,
        .log = config->log,
        .files = hostlink_executor(session->link),
        .shell = commands_shell(session->commands),
        .variables = config->shell_env,
        .screen = session->screen,
        .browser = session->browser,
        .default_browser = config->choices->browser,
        .first_dir = session->file_session->folders[0].root_path,
        .staging_dir = session->file_session->staging.path,
        .credentials = &session->credentials,
        .own_port = config->own_port,
        .server_host = config->url.host,
        .server_port = config->url.port,
        .keeper = session->file_session->keeper,
        .recorded = session->file_session->folders[0].files,
        .client = str_from(config->url.host),
        .board = config->board,
        .queue = config->queue,
        .keeps_answers = config->allows_remote_always,
        .offers = offers,
        .answer = on_answer,
        .reports = reports,
        .progress = on_progress,
        .ended = on_call_ended,
        .job_output = on_job_output,
        .data = session,
    };
    int r;

    session->credentials = (struct browser_credentials){
        .create = create_credential, .cancel = cancel_credential, .data = session};
    r = calls_new(&calls, &session->calls);
    if (r == 0)
        r = queries_new(&(struct queries_config){.loop = config->loop,
                                                 .log = config->log,
                                                 .session = session->file_session,
                                                 .name = session->name,
                                                 .calls = session->calls,
                                                 .may_widen = config->allows_remote_always,
                                                 .describe = write_session,
                                                 .answer = on_answer,
                                                 .data = session},
                        &session->queries);
    return r == 0 ? join(session, err) : err_set_plain(err, r);
}

static void on_begun(void *data, const struct err *err)
{
    struct gateway_session *session = data;
    struct err why = ERR_INIT;

    if (err != NULL || begin(session, &why) < 0)
        session->config.on_over(session->config.data, GATEWAY_SESSION_FAILED,
                                err != NULL ? err : &why);
}

/* ---- making ---- */

/* The same name may lead elsewhere by now, which the user has not agreed to. */
static int check_kept(struct gateway_session *session, struct err *err)
{
    const struct saved_session *resumed = session->config.resumed;
    char others[SAVED_SESSION_TERMS_BYTES];

    if (resumed == NULL)
        return 0;
    saved_session_name_others(session->file_session, others);
    if (strcmp(resumed->root_path, session->file_session->folders[0].root_path) != 0 ||
        strcmp(resumed->others, others) != 0) {
        forget(session);
        return err_set(err, ERR_INVALID_PATH,
                       "%s from that of the saved session; start again to be asked",
                       others[0] != '\0' ? "one of the folders differs" : "the folder differs");
    }
    session->kept = *session->config.resumed;
    return 0;
}

static int open_all(struct gateway_session *session, struct err *err)
{
    const struct gateway_session_config *config = &session->config;
    struct hostlink_config link = {
        .loop = config->loop,
        .log = config->log,
        .libexec = config->libexec,
        .argv = session->host_words,
        .max_file_bytes = config->max_file_bytes,
        .leftovers = config->leftovers,
        .on_begun = on_begun,
        .data = session,
    };
    int r = gateway_session_open_files(session, err);

    if (r == 0)
        r = check_kept(session, err);
    if (r == 0)
        r = gateway_session_open_commands(session, err);
    if (r == 0)
        gateway_session_open_screen(session);
    if (r == 0)
        gateway_session_open_browser(session);
    if (r == 0)
        r = gateway_session_write_words(session, err);
    if (r == 0)
        r = gateway_session_follow_rules(session, err);
    if (r < 0)
        return r;
    link.keeper = session->file_session->keeper;
    link.recorded = session->file_session->folders[0].files;
    r = hostlink_new(&link, &session->link, err);
    return r == 0 ? make_connection(session, err) : r;
}

int gateway_session_new(const struct gateway_session_config *config,
                        struct gateway_session **out_session, struct err *err)
{
    struct gateway_session *session = calloc(1, sizeof(*session));
    uint64_t number;
    int r;

    if (session == NULL) {
        cleanup_fd_(&config->kept_lock_fd);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    session->config = *config;
    session->kept_lock_fd = config->kept_lock_fd;
    session->key = *config->key;
    rand_bytes(&number, sizeof(number));
    snprintf(session->name, sizeof(session->name), "gateway-%016" PRIx64, number);
    buf_init(&session->tree, TREE_MAX_BYTES);
    timer_init(&session->flush, config->loop, flush, session);
    gateway_session_again_init(session);
    r = open_all(session, err);
    if (r < 0)
        gateway_session_free(session);
    else
        *out_session = session;
    return r;
}

void gateway_session_free(struct gateway_session *session)
{
    struct gateway_status status;
    bool hangs = false;

    if (session == NULL)
        return;
    if (session->connection != NULL) {
        gateway_status(connection_gateway(session->connection), &status);
        keep(session, &status);
    }
    remote_questions_free(steal_ptr(&session->questions));
    if (session->calls != NULL) {
        calls_end_session(session->calls);
        hangs = !calls_stop_workers(session->calls); /* they use the shell */
    }
    hangs = !queries_stop(session->queries) || hangs;
    /* SAFETY: what a hanging thread may still use is left to it, and never freed. */
    if (hangs)
        commands_leave(session->commands);
    else
        commands_free(session->commands);
    queries_free(session->queries);
    calls_free(session->calls);
    if (!hangs) {
        screen_client_free(session->screen);
        browser_client_free(session->browser);
    }
    connection_free(session->connection);
    work_release(session->tree_work);
    hostlink_free(session->link);
    ready_watch_free(session->rules);
    timer_stop(&session->flush);
    timer_stop(&session->again);
    tell_lost_answers(session);
    tell_unreadable_calls(session);
    buf_done(&session->tree);
    secret_done(&session->key);
    secret_done(&session->kept.key);
    secret_done(&session->kept_key);
    cleanup_fd_(&session->kept_lock_fd);
    if (session->file_session != NULL)
        write_record(session);
    if (!hangs)
        session_close(session->file_session);
    free(session);
}

void gateway_session_end_calls(struct gateway_session *session)
{
    if (session->calls != NULL)
        calls_end_session(session->calls);
}

void gateway_session_leave(struct gateway_session *session)
{
    struct gateway_status status = {.state = RECONNECT_OFF};

    /* Now, since nobody may wait for the answer of the server. */
    if (session->has_joined || session->kept.key.len > 0)
        forget(session);
    work_release(steal_ptr(&session->tree_work)); /* or it would be joined */
    timer_stop(&session->again);
    if (session->connection != NULL)
        gateway_status(connection_gateway(session->connection), &status);
    if (status.state == RECONNECT_OFF)
        session->config.on_over(session->config.data, GATEWAY_SESSION_LEFT, NULL);
    else
        gateway_leave(connection_gateway(session->connection));
}

void gateway_session_state(const struct gateway_session *session,
                           struct gateway_session_state *out_state)
{
    struct gateway_status status = {.state = RECONNECT_OFF};
    bool has_session;

    if (session->connection != NULL)
        gateway_status(connection_gateway(session->connection), &status);
    has_session = session->open_wall_ms != 0 && is_joined(status.state);
    *out_state = (struct gateway_session_state){
        .state = session->again.is_started ? RECONNECT_RENEW_WAITING : status.state,
        .is_connected = has_session && (status.state == RECONNECT_OPEN || status.failures == 0),
        .has_session = has_session,
        .why = status.why,
        .connected_wall_ms = session->open_wall_ms,
        .needs_token = session->is_refused && is_between_refusals(status.state),
        .folders = session->file_session->folders,
        .folder_count = session->file_session->folder_count,
    };
}
