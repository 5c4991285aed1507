/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonwrite.h"
#include "base/printable.h"
#include "browser/browsertools.h"
#include "browser/firsthalf.h"
#include "call/engine.h"
#include "call/joint.h"
#include "call/workers.h"
#include "loop/timer.h"
#include "permission/confirmation.h"
#include "protocol/toolresult.h"
#include "screen/screentools.h"
#include "session/callrecord.h"
#include "shell/shellprovider.h"

enum {
    ARENA_BYTES = 96 << 20,
    RESULT_BYTES = 4 << 20, /* of what is said here: an error, a question for the instance */
    COMMAND_RESULT_BYTES = 1 << 30, /* commands have their own ceiling */
    WORKERS = 4,
    NEWS_MS = 200, /* in which the output of jobs is gathered for who looks on */
    GRACE_MS = 2000,
    AGENT_BYTES = 32,   /* of its name, so that the host behind it fits into a record */
    TOLD_RESOURCES = 4, /* of one call; the others are counted */
    TOLD_FIELDS = TOLD_RESOURCES + 6,
};

struct calls {
    struct calls_config config;
    struct confirmations *confirmations; /* where the instance asks */
    struct provider_use providers[3];
    struct screen_tools *screen; /* NULL without a screen */
    struct browser_tools *browser;
    struct open_questions questions;
    struct workers *workers;
    struct joint *joint;
    struct executor *executors[3];
    struct call_engine *engine;
    atomic_uint running; /* jobs on workers, including hanging ones */
    atomic_uint changing;
    int64_t followed_until_ms; /* somebody looks at the jobs */
    struct timer news;
};

/* A call's data, in the arena of its input. */
struct given {
    struct calls *calls;
    struct str id;
    struct str confirmation; /* the answer that the instance brought; or empty */
    struct str client;
};

/* Whether the server wants more than answers. */
static bool reports(const struct calls *calls)
{
    return calls->config.reports != NULL && calls->config.reports(calls->config.data);
}

/* ---- what the person who watches is told ---- */

/* A file that is looked up, created and changed is one. Returns how many fields there are. */
static size_t tell_resources(const struct provider_subject *subject, struct log_field *fields)
{
    struct str told[TOLD_RESOURCES];
    size_t told_count = 0;
    size_t count = 0;
    size_t others = 0;

    for (size_t i = 0; i < subject->count; i++) {
        struct str name = permission_resource_name(&subject->resources[i]);
        bool is_told = false;

        for (size_t k = 0; k < told_count && !is_told; k++)
            is_told = str_eq(name, told[k]);
        if (is_told)
            continue;
        if (told_count == TOLD_RESOURCES) {
            others++;
            continue;
        }
        told[told_count++] = name;
        fields[count++] = (struct log_field)LOG_STR("on", name);
    }
    if (others > 0)
        fields[count++] = (struct log_field)LOG_INT("others", (int64_t)others);
    return count;
}

/* Omits empty fields. */
static void tell(const struct calls *calls, const struct call *call, const char *what_happened,
                 const struct err *err)
{
    const struct calls_config *config = &calls->config;
    const struct provider_subject *subject = call_subject(call);
    struct log_field fields[TOLD_FIELDS] = {LOG_STR("tool", call_input(call)->tool->name)};
    size_t count = 1;

    if (!log_wants(config->log, LOG_INFO))
        return;
    count += tell_resources(subject, fields + count);
    if (subject->count > 0 && subject->resources[0].cwd.len > 0)
        fields[count++] = (struct log_field)LOG_STR("cwd", subject->resources[0].cwd);
    fields[count++] = (struct log_field)LOG_TEXT("by", permission_source_name(call_source(call)));
    fields[count++] =
        (struct log_field)LOG_INT("ms", loop_now_ms(config->loop) - call_since_ms(call));
    if (err != NULL)
        fields[count++] = (struct log_field)LOG_TEXT("why", err->message);
    log_write_fields(config->log, LOG_INFO, what_happened, fields, count);
}

static const char *word_of(const struct err *err)
{
    return err_category(err->code) == ERR_POLICY ? "refused" : "failed";
}

/* A command's output cannot imitate it: quotes are escaped there. */
static bool has_timed_out(const struct call *call, struct str result)
{
    return call_input(call)->tool->group == CATALOG_SHELL &&
           str_find(result, STR("\"timedOut\":true")) != SIZE_MAX;
}

/* ---- answers ---- */

static void answer_error(const struct calls *calls, struct str id, const struct err *err)
{
    cleanup_buf struct buf result = BUF_INIT(RESULT_BYTES);

    /* Only memory can be missing, and then the server's own time ends it. */
    if (toolresult_write_error(err, TOOLRESULT_JSON, &result) == 0)
        calls->config.answer(calls->config.data, id, buf_view(&result));
}

static void record(const struct calls *calls, const struct call *call, const struct call_end *end,
                   const struct err *err)
{
    const struct call_input *input = call_input(call);
    enum permission_choice answer;

    if (calls->config.recorded == NULL)
        return;
    callrecord_write(&(struct callrecord){
        .scope = calls->config.recorded,
        .tool = input->tool,
        .arguments = input->arguments,
        .number = input->number,
        .client = ((const struct given *)call_data(call))->client,
        .decision = end->outcome == CALL_REFUSED ? NULL : permission_source_name(call_source(call)),
        .refused_by = end->refused_by,
        .err = err,
        .result = end->result,
        .change = end->change,
        .answer = call_was_asked(call, &answer) ? permission_choice_name(answer) : NULL,
        .variables = calls->config.variables,
        .took_ms = loop_now_ms(calls->config.loop) - call_since_ms(call),
    });
}

static void report_end(const struct calls *calls, const struct call *call,
                       const struct call_end *end, const struct err *failure)
{
    const struct calls_config *config = &calls->config;

    if (config->ended == NULL || !reports(calls))
        return;
    config->ended(config->data, &(struct calls_ended){
                                    .id = ((const struct given *)call_data(call))->id,
                                    .tool = call_input(call)->tool->name,
                                    .outcome = end->outcome != CALL_DONE ? word_of(&end->err)
                                               : failure->code < 0       ? "failed"
                                               : has_timed_out(call, end->result) ? "timed out"
                                                                                  : "done",
                                    .decision = end->outcome == CALL_REFUSED
                                                    ? end->refused_by
                                                    : permission_source_name(call_source(call)),
                                    .rule = call_rule(call),
                                    .took_ms = loop_now_ms(config->loop) - call_since_ms(call),
                                });
}

static void on_end(void *data, struct call *call, const struct call_end *end)
{
    struct calls *calls = data;
    const struct given *given = call_data(call);
    struct err failure = end->err;

    if (end->outcome == CALL_DONE)
        (void)toolresult_is_error(end->result, &failure);
    record(calls, call, end, &failure);
    report_end(calls, call, end, &failure);
    if (end->outcome != CALL_DONE) {
        tell(calls, call, word_of(&end->err), &end->err);
        answer_error(calls, given->id, &end->err);
        return;
    }
    if (failure.code < 0)
        tell(calls, call, "failed", &failure);
    else
        tell(calls, call, has_timed_out(call, end->result) ? "timed out" : "done", NULL);
    calls->config.answer(calls->config.data, given->id, end->result);
}

static void on_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    const struct given *given = data;
    const struct calls_config *config = &given->calls->config;

    if (config->progress != NULL)
        config->progress(config->data, given->id, done, total, what);
}

/* ---- asking by way of the instance ---- */

static bool can_ask(void *data, const struct call *call)
{
    const struct calls *calls = data;

    (void)call;
    return calls->confirmations != NULL;
}

/* The question is sent as the answer, and the next call contains the user's answer. */
static int ask(void *data, struct call *call, const struct question *question, uint64_t mark,
               struct err *err)
{
    cleanup_buf struct buf result = BUF_INIT(8 * RESULT_BYTES);
    struct calls *calls = data;
    const struct given *given = call_data(call);
    int r = confirmation_write_result(question, &result);

    (void)mark; /* the confirmations know the question */
    if (r == 0)
        r = confirmations_expect(calls->confirmations, question, call_input(call)->arguments);
    if (r < 0)
        return err_set_plain(err, r);
    tell(calls, call, "asked", NULL);
    calls->config.answer(calls->config.data, given->id, buf_view(&result));
    return 1;
}

/* The answer that the instance sent, if exactly this was asked. It counts once. */
static bool find_answer(void *data, struct call *call, const struct question *question,
                        enum permission_choice *out_choice)
{
    struct calls *calls = data;
    struct given *given = call_data(call);
    struct str text = given->confirmation;

    given->confirmation = STR_EMPTY;
    return calls->confirmations != NULL && text.len > 0 &&
           confirmations_use(calls->confirmations, question, call_input(call)->arguments, text,
                             out_choice) == 0;
}

/* ---- arriving ---- */

/* Records a call of a tool in a denied group, which was not offered. */
static void note_not_offered(const struct calls *calls, const struct catalog_tool *tool)
{
    const struct authority_call about = {
        .tool = tool->name.ptr, /* of the catalogue, which ends its texts */
        .decision = permission_source_name(PERMISSION_BY_MODE),
    };
    struct authority_note refusal = {
        .operation = tool->group == CATALOG_SHELL             ? AUTHORITY_OP_EXECUTE
                     : tool->group == CATALOG_FILESYSTEM_READ ? AUTHORITY_OP_READ
                                                              : AUTHORITY_OP_WRITE,
        .outcome = AUTHORITY_DENIED,
        .error = ERR_DENIED_BY_POLICY,
        .policy_source = permission_source_name(PERMISSION_BY_MODE),
    };

    (void)authority_note_call(calls->config.recorded, &about, &refusal);
}

/*
 * "name@host", for the audit log, which must not lose the host: another server could give an agent
 * its name. An agent cannot choose what stands here; of the name, no @ is kept.
 */
static bool name_client(const struct calls *calls, const struct gateway_call *call,
                        struct arena *arena, struct str *out_client)
{
    char name[AGENT_BYTES + PRINTABLE_CUT_BYTES];
    struct str host = calls->config.client;
    size_t len;
    char *text;

    if (call->agent.len == 0 || !reports(calls)) {
        *out_client = host;
        return true;
    }
    len = printable_cut(call->agent, PRINTABLE_LINE, name, AGENT_BYTES);
    for (size_t i = 0; i < len; i++)
        if (name[i] == '@')
            name[i] = '_';
    text = arena_alloc(arena, len + 1 + host.len + 1);
    if (text == NULL)
        return false;
    snprintf(text, len + 1 + host.len + 1, "%s@%.*s", name, STR_ARG(host));
    *out_client = str_from(text);
    return true;
}

static int copy_call(struct calls *calls, const struct gateway_call *call, struct call_input *input,
                     struct given **out_given)
{
    struct given *given = arena_new(&input->arena, struct given);
    const struct json_value *copy = json_copy(&input->arena, call->arguments);

    if (given == NULL || copy == NULL || !arena_copy_str(&input->arena, call->id, &given->id) ||
        !name_client(calls, call, &input->arena, &given->client))
        return input->arena.error;
    /* For questions, where the server alone says nothing new. */
    if (given->client.ptr != calls->config.client.ptr)
        input->client = given->client;
    given->calls = calls;
    *out_given = given;
    return confirmation_take(&input->arena, copy, &input->arguments, &given->confirmation);
}

static int begin(struct calls *calls, const struct gateway_call *given,
                 const struct catalog_tool *tool)
{
    struct call_input *input = call_input_new(ARENA_BYTES);
    struct call_request request = {
        .input = input,
        .session = calls,
        .timeout_ms = given->shape == GATEWAY_SHAPE_DATA ? CALLS_SEED_MS : CALLS_N8N_MS,
        .wants_progress = reports(calls),
    };
    struct given *copy = NULL;
    struct call *call;
    int r;

    if (input == NULL)
        return ERR_NO_MEMORY;
    input->tool = tool;
    r = copy_call(calls, given, input, &copy);
    if (r < 0) {
        call_input_unref(input);
        return r;
    }
    request.data = copy;
    r = call_new(calls->engine, &request, &call);
    if (r == 0)
        call_start(call);
    return r;
}

/* Reports it although it was no call yet, or a server could try forever unnoticed. */
static void refuse(const struct calls *calls, const struct gateway_call *given,
                   const char *what_happened, const struct err *err)
{
    log_write(calls->config.log, LOG_INFO, what_happened, LOG_STR("tool", given->name),
              LOG_TEXT("why", err->message));
    answer_error(calls, given->id, err);
}

void calls_begin(struct calls *calls, const struct gateway_call *given)
{
    const struct catalog_tool *tool = catalog_find(given->name);
    struct err err = ERR_INIT;
    int r;

    if (tool == NULL || !calls->config.offers(calls->config.data, tool)) {
        catalog_refuse(given->name, calls->config.offers, calls->config.data, ERR_NOT_FOUND, &err);
        if (tool != NULL)
            note_not_offered(calls, tool);
        refuse(calls, given, "refused", &err);
        return;
    }
    r = begin(calls, given, tool);
    if (r < 0) {
        err_set_plain(&err, r);
        refuse(calls, given, "failed", &err);
    }
}

static bool has_id(const void *call_data, const void *key)
{
    return str_eq(((const struct given *)call_data)->id, *(const struct str *)key);
}

void calls_cancel(struct calls *calls, struct str id)
{
    struct call *call = calls->engine != NULL ? call_engine_find(calls->engine, has_id, &id) : NULL;

    if (call != NULL)
        call_cancel(call);
}

/* ---- jobs, for the user ---- */

struct job_query {
    struct calls *calls;
    size_t id_len;
    char id[GATEWAY_MAX_ID_BYTES];
};

static void on_jobs(void *data, int error, struct str result)
{
    struct job_query *query = data;
    struct calls *calls = query->calls;
    struct str id = {query->id, query->id_len};
    struct err err = ERR_INIT;

    if (error == 0) {
        calls->config.answer(calls->config.data, id, result);
    } else {
        err_set_plain(&err, error);
        answer_error(calls, id, &err);
    }
    free(query);
}

/* With the tool, which needs no permission: the jobs are this session's. */
static int list_jobs(struct calls *calls, struct str id, struct err *err)
{
    static const struct json_value none = {.type = JSON_OBJECT, .span = 1};
    struct shell_events events = {.on_done = on_jobs, .session = calls};
    struct job_query *query = calloc(1, sizeof(*query));
    struct shell_call *call;
    int r;

    if (query == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = shell_prepare(calls->config.shell, catalog_find(STR("shell_list")), &none, &call, err);
    if (r < 0) {
        free(query);
        return r;
    }
    query->calls = calls;
    query->id_len = id.len;
    memcpy(query->id, id.ptr, id.len);
    events.data = query;
    (void)shell_run(call, &events);
    return 0;
}

/* What they print is only for somebody who looks; what they have changed concerns more. */
static void show_news(void *data)
{
    const struct calls *calls = data;
    bool is_followed = loop_now_ms(calls->config.loop) < calls->followed_until_ms;

    (is_followed ? shell_peek_news : shell_peek_ends)(calls->config.shell, calls,
                                                      calls->config.job_output, calls->config.data);
}

static void on_news(void *data)
{
    struct calls *calls = data;

    if (!calls->news.is_started && reports(calls))
        timer_start(&calls->news, NEWS_MS);
}

void calls_list_jobs(struct calls *calls, struct str id)
{
    cleanup_buf struct buf empty = BUF_INIT(1024);
    struct err err = ERR_INIT;

    calls->followed_until_ms = loop_now_ms(calls->config.loop) + CALLS_FOLLOW_MS;
    if (calls->config.shell != NULL) {
        if (list_jobs(calls, id, &err) < 0)
            answer_error(calls, id, &err);
    } else if (toolresult_write_object(&empty, STR("{\"jobs\":[]}"), TOOLRESULT_JSON, false) == 0) {
        calls->config.answer(calls->config.data, id, buf_view(&empty));
    }
}

struct shown_job {
    const struct calls *calls;
    struct str id;
};

static void answer_piece(void *data, const struct shell_piece *piece)
{
    cleanup_buf struct buf object = BUF_INIT(RESULT_BYTES);
    cleanup_buf struct buf result = BUF_INIT(4 * RESULT_BYTES);
    const struct shown_job *shown = data;
    struct json_writer json;

    json_writer_init(&json, &object);
    json_begin_object(&json);
    calls_write_piece(piece, &json);
    json_end_object(&json);
    if (json_writer_finish(&json) == 0 &&
        toolresult_write_object(&result, buf_view(&object), TOOLRESULT_JSON, false) == 0)
        shown->calls->config.answer(shown->calls->config.data, shown->id, buf_view(&result));
}

void calls_write_piece(const struct shell_piece *piece, struct json_writer *json)
{
    json_put_str(json, STR("jobId"), str_from(piece->job));
    json_put_int(json, STR("from"), (int64_t)piece->from);
    json_put_str_lossy(json, STR("data"), piece->text);
    json_put_str(json, STR("state"), piece->is_running ? STR("running") : STR("ended"));
}

void calls_show_job(struct calls *calls, struct str id, struct str job, uint64_t from)
{
    struct shown_job shown = {calls, id};
    struct err err = ERR_INIT;

    if (calls->config.shell != NULL &&
        shell_peek_job(calls->config.shell, calls, job, from, answer_piece, &shown) == 0)
        return;
    err_set(&err, ERR_NOT_FOUND, "there is no such job");
    answer_error(calls, id, &err);
}

/* As if the tool had been called, by the user. */
static void record_stop(const struct calls *calls, const struct err *err)
{
    if (calls->config.recorded != NULL)
        callrecord_write(
            &(struct callrecord){.scope = calls->config.recorded,
                                 .tool = catalog_find(STR("shell_stop")),
                                 .client = calls->config.client,
                                 .decision = permission_source_name(PERMISSION_BY_USER),
                                 .err = err});
}

void calls_stop_job(struct calls *calls, struct str id, struct str job)
{
    struct err err = ERR_INIT;

    if (calls->config.shell == NULL || shell_stop_job(calls->config.shell, calls, job) < 0)
        err_set(&err, ERR_NOT_FOUND, "there is no such job");
    record_stop(calls, &err);
    if (err.code < 0)
        answer_error(calls, id, &err);
    else
        calls_list_jobs(calls, id);
}

bool calls_have(const struct calls *calls, const struct catalog_tool *tool)
{
    return call_engine_has(calls->engine, tool);
}

void calls_end_session(struct calls *calls)
{
    if (calls->engine != NULL)
        call_engine_end_session(calls->engine, calls);
    if (calls->confirmations != NULL)
        confirmations_forget_all(calls->confirmations);
}

/* ---- making ---- */

static int make_browser(struct calls *calls)
{
    const struct browser_tools_config config = {
        .client = calls->config.browser,
        .loop = calls->config.loop,
        .keeper = calls->config.keeper,
        .form = TOOLRESULT_JSON,
        .recorded = calls->config.recorded,
        .default_browser = calls->config.default_browser,
        .staging_dir = calls->config.staging_dir,
        .credentials = calls->config.credentials,
        .own_port = calls->config.own_port,
        .server_host = calls->config.server_host,
        .server_port = calls->config.server_port,
    };
    int r = config.client != NULL ? browser_tools_new(&config, &calls->browser, NULL) : 0;

    calls->providers[2] = (struct provider_use){&browser_provider, calls->browser};
    return r;
}

static int make_workers(struct calls *calls)
{
    const struct workers_config config = {
        .loop = calls->config.loop,
        .providers = calls->providers,
        .provider_count = array_size(calls->providers),
        .pool = {.threads = WORKERS,
                 .queue_max = WORKERS,
                 .abandoned_max = WORKERS,
                 .grace_ms = GRACE_MS},
        .max_at_work = WORKERS,
        .max_result_bytes = COMMAND_RESULT_BYTES,
        .running = &calls->running,
        .changing = &calls->changing,
    };

    const struct screen_tools_config screen = {.client = calls->config.screen,
                                               .form = TOOLRESULT_JSON,
                                               .recorded = calls->config.recorded,
                                               .questions = &calls->questions};
    int r = screen.client != NULL ? screen_tools_new(&screen, &calls->screen, NULL) : 0;

    calls->providers[0] = (struct provider_use){&shell_provider, calls->config.shell};
    calls->providers[1] = (struct provider_use){&screen_provider, calls->screen};
    if (r == 0)
        r = make_browser(calls);
    return r == 0 ? workers_new(&config, &calls->workers) : r;
}

static int make_engine(struct calls *calls)
{
    const struct calls_config *config = &calls->config;
    const struct call_engine_config engine = {
        .loop = config->loop,
        .log = config->log,
        .executors = calls->executors,
        .executor_count = array_size(calls->executors),
        .running = &calls->running,
        .keeper = config->keeper,
        .queue = config->queue,
        .keeps_clients_answers = config->keeps_answers,
        .how_to_ask = "run `gatehouse ask` in a terminal, then try again",
        .questions = &calls->questions,
        .can_ask = can_ask,
        .ask = ask,
        .find_answer = find_answer,
        .charges_thinking = true,
        .max_held_bytes = CALLS_MAX_HELD_BYTES,
        .on_end = on_end,
        .on_progress = on_progress,
        .data = calls,
    };
    int r;

    r = joint_new(&(struct joint_config){.first = config->files,
                                         .second = workers_executor(calls->workers),
                                         .first_tool = browser_first_tool,
                                         .write_arguments = browser_write_first_arguments},
                  &calls->joint);
    if (r < 0)
        return r;
    calls->executors[0] =
        joint_executor(calls->joint); /* before the one that has its second half */
    calls->executors[1] = config->files;
    calls->executors[2] = workers_executor(calls->workers);
    return call_engine_new(&engine, &calls->engine);
}

int calls_new(const struct calls_config *config, struct calls **out_calls)
{
    struct calls *calls = calloc(1, sizeof(*calls));
    int r;

    if (calls == NULL)
        return ERR_NO_MEMORY;
    calls->config = *config;
    if (config->board != NULL)
        calls->questions = (struct open_questions){
            .tell = noticeboard_tell_call, .others = noticeboard_others_ask, .data = config->board};
    timer_init(&calls->news, config->loop, show_news, calls);
    if (config->shell != NULL && config->job_output != NULL)
        shell_watch_jobs(config->shell, on_news, calls);
    r = make_workers(calls);
    if (r == 0)
        r = make_engine(calls);
    if (r == 0)
        browser_tools_use_files(calls->browser, config->files, config->first_dir);
    if (r == 0 && config->queue == NULL)
        r = confirmations_new(&clock_system, &calls->confirmations);
    if (r < 0) {
        calls_free(calls);
        return r;
    }
    *out_calls = calls;
    return 0;
}

bool calls_stop_workers(struct calls *calls)
{
    timer_stop(&calls->news);
    browser_tools_drop_files(calls->browser);
    if (calls->config.shell != NULL && calls->config.job_output != NULL)
        shell_watch_jobs(calls->config.shell, NULL, NULL);
    calls->config.shell = NULL; /* it may be freed before this */
    call_engine_free(calls->engine);
    calls->engine = NULL;
    joint_free(calls->joint);
    calls->joint = NULL;
    workers_free(calls->workers);
    calls->workers = NULL;
    return atomic_load(&calls->running) == 0;
}

void calls_free(struct calls *calls)
{
    bool is_alone;

    if (calls == NULL)
        return;
    is_alone = calls_stop_workers(calls);
    browser_tools_free(calls->browser);
    calls->browser = NULL;
    confirmations_free(calls->confirmations);
    /* SAFETY: a thread that hangs counts there when it goes on, so it has it for good. */
    if (is_alone) {
        screen_tools_free(calls->screen);
        free(calls);
    }
}
