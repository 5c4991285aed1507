/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/calls.h"

#include <stdlib.h>
#include <string.h>

#include "browser/browsertools.h"
#include "browser/firsthalf.h"
#include "call/engine.h"
#include "call/joint.h"
#include "call/workers.h"
#include "files/filesprovider.h"
#include "programs/mcp/addresses.h"
#include "programs/mcp/elicit.h"
#include "programs/mcp/subscriptions.h"
#include "protocol/toolresult.h"
#include "screen/screentools.h"
#include "session/callrecord.h"
#include "shell/shellprovider.h"
#include "workspace/revival.h"
#include "workspace/tools.h"

enum {
    WORKERS = 4,
    ABANDONED_MAX = 8,
    GRACE_MS = 2000,
    ARENA_BYTES = 512 << 20, /* the message that a call comes from has its own ceiling */
    RESULT_BYTES = 1 << 30,
    ERROR_BYTES = 1 << 20,
    FORM_BYTES = 1 << 20,
    ASK_MS = MCP_DEFAULT_ASK_MS, /* so long the user may take at a terminal */
};

#define HOW_TO_ASK "run `gatehouse ask` in a terminal, then try again"

struct calls {
    struct front_config config;
    struct calls_events events;
    struct addresses addresses;
    struct screen_tools *screen; /* NULL without a screen */
    struct browser_tools *browser;
    struct workspace_tools *workspace;
    struct workspace_conversation conversation; /* the only one: there is one client */
    struct workspace_revival *revival;
    struct open_questions questions;
    struct provider_use providers[5];
    size_t provider_count;
    struct workers *workers;
    struct joint *joint;
    struct executor *executors[2];
    struct call_engine *engine;
    struct subscriptions *subscriptions;
    bool is_closed;
    bool has_told; /* the user, that nobody can be asked */
};

/* ---- the engine's side ---- */

static void finish_refused(const struct calls *calls, struct mcp_call *call, const struct err *err)
{
    cleanup_buf struct buf result = BUF_INIT(ERROR_BYTES);

    if (toolresult_write_error(err, calls->config.result_form, &result) == 0)
        mcp_call_finish(call, buf_view(&result));
    else
        mcp_call_fail(call, err);
}

static void record(const struct calls *calls, const struct call *call, const struct call_end *end)
{
    const struct call_input *input = call_input(call);
    struct err failure = end->err;
    enum permission_choice answer;

    if (mcp_call_request(call_data(call))->kind != MCP_TOOL_CALL)
        return;
    if (end->outcome == CALL_DONE)
        (void)toolresult_is_error(end->result, &failure);
    callrecord_write(&(struct callrecord){
        .scope = calls->config.files,
        .tool = input->tool,
        .arguments = input->arguments,
        .number = input->number,
        .client = mcp_call_client(call_data(call)),
        .decision = end->outcome == CALL_REFUSED ? NULL : permission_source_name(call_source(call)),
        .refused_by = end->refused_by,
        .err = &failure,
        .result = end->result,
        .change = end->change,
        .answer = call_was_asked(call, &answer) ? permission_choice_name(answer) : NULL,
        .variables = calls->config.variables,
        .took_ms = loop_now_ms(calls->config.loop) - call_since_ms(call),
    });
}

/* The agent's program may not show its refusals, so the log says it too. */
static void tell_user(struct calls *calls, const struct call_end *end)
{
    if (calls->has_told || end->outcome == CALL_DONE || end->err.code != ERR_ASK_UNAVAILABLE)
        return;
    calls->has_told = true;
    log_write(calls->config.log, LOG_WARN,
              "a call needs your permission, but there is nobody to ask: " HOW_TO_ASK);
}

/* A refused tool call gets a result that says so; other requests, and failures, an error. */
static void on_end(void *data, struct call *call, const struct call_end *end)
{
    struct calls *calls = data;
    struct mcp_call *request = call_data(call);

    record(calls, call, end);
    tell_user(calls, end);
    if (end->outcome == CALL_DONE)
        mcp_call_finish(request, end->result);
    else if (end->outcome == CALL_REFUSED && mcp_call_request(request)->kind == MCP_TOOL_CALL)
        finish_refused(calls, request, &end->err);
    else
        mcp_call_fail(request, &end->err);
    calls->events.on_answered(calls->events.data);
}

static void on_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    mcp_call_progress(data, done, total, what);
}

static bool may_begin(void *data)
{
    const struct calls *calls = data;

    return !calls->is_closed && calls->events.may_begin(calls->events.data);
}

static bool can_ask(void *data, const struct call *call)
{
    (void)data;
    return mcp_call_can_ask(call_data(call), MCP_ASK_FORM);
}

/* A legacy client answers during the call, a modern one repeats it with the answer. */
static int ask(void *data, struct call *call, const struct question *question, uint64_t mark,
               struct err *err)
{
    cleanup_buf struct buf form = BUF_INIT(FORM_BYTES);
    struct mcp_question asked = {.key = ELICIT_KEY, .kind = MCP_ASK_FORM};
    const struct mcp_round round = {
        .questions = &asked,
        .count = 1,
        .state = {(const char *)&mark, sizeof(mark)},
    };
    int r = elicit_write(question, &form);

    (void)data;
    if (r < 0)
        return err_set_plain(err, r);
    asked.params = buf_view(&form);
    return mcp_call_ask(call_data(call), &round, err);
}

/* ---- the library's side ---- */

static int make_input(const struct mcp_call *call, struct call_input **out_input)
{
    const struct mcp_request *request = mcp_call_request(call);
    struct call_input *input = call_input_new(ARENA_BYTES);
    struct json_value text;
    const struct json_value *arguments = &text;

    if (input == NULL)
        return ERR_NO_MEMORY;
    if (request->kind == MCP_TOOL_CALL) {
        input->tool = request->tool.tool;
        arguments = request->tool.arguments;
    } else {
        input->tool = addresses_request(request, &text);
    }
    if (input->tool != NULL && arena_copy_str(&input->arena, mcp_call_client(call), &input->client))
        input->arguments = json_copy(&input->arena, arguments);
    if (input->arguments == NULL) {
        int error = input->tool != NULL ? input->arena.error : ERR_UNSUPPORTED;

        call_input_unref(input);
        return error;
    }
    *out_input = input;
    return 0;
}

/* A call that repeats an earlier one contains its answer. */
static void take_answer(const struct calls *calls, const struct mcp_call *call,
                        struct call_request *request)
{
    struct str state = mcp_call_state(call);

    if (state.len != sizeof(request->mark))
        return;
    memcpy(&request->mark, state.ptr, sizeof(request->mark));
    request->has_answer = true;
    request->answer = elicit_read(call, call_engine_choices(calls->engine));
}

static int start(struct calls *calls, struct mcp_call *call)
{
    struct call_request request = {
        .session = calls, /* all clients of one process share their jobs */
        .timeout_ms = calls->config.timeout_ms,
        .wants_progress = mcp_call_wants_progress(call),
        .data = call,
    };
    struct call *made;
    int r = make_input(call, &request.input);

    if (r < 0)
        return r;
    take_answer(calls, call, &request);
    r = call_new(calls->engine, &request, &made);
    if (r < 0)
        return r;
    mcp_call_set_data(call, made);
    call_start(made);
    return 0;
}

/* SAFETY: see calls.h. */
static struct calls *calls_of(void *data)
{
    return *(struct calls **)data;
}

void calls_take(void *data, struct mcp_call *call)
{
    struct calls *calls = calls_of(data);
    struct err err = ERR_INIT;
    int r;

    if (mcp_call_request(call)->kind == MCP_SUBSCRIBE) {
        subscriptions_add(calls->subscriptions, call);
        return;
    }
    r = start(calls, call);
    if (r < 0) {
        err_set_plain(&err, r);
        mcp_call_fail(call, &err);
    }
}

void calls_answered(void *data, struct mcp_call *call)
{
    if (elicit_is_late(call))
        call_lapse(mcp_call_data(call));
    else
        call_answer(mcp_call_data(call),
                    elicit_read(call, call_engine_choices(calls_of(data)->engine)));
}

void calls_cancel(void *data, struct mcp_call *call)
{
    (void)data;
    if (mcp_call_data(call) != NULL) /* else a subscription, which looks by itself */
        call_cancel(mcp_call_data(call));
}

void calls_unsubscribe(void *data, struct mcp_session *session, struct str uri)
{
    subscriptions_remove(calls_of(data)->subscriptions, session, uri);
}

void calls_client_leaves(struct calls *calls)
{
    call_engine_client_leaves(calls->engine);
}

void calls_go_on(struct calls *calls)
{
    workers_go_on(calls->workers);
}

void calls_run(struct calls *calls)
{
    worker_run_loop(workers_pool(calls->workers));
}

void calls_close(struct calls *calls)
{
    calls->is_closed = true;
    call_engine_close(calls->engine);
}

void calls_give_up(struct calls *calls)
{
    call_engine_cancel_all(calls->engine);
}

/* ---- making ---- */

static int make_engine(struct calls *calls)
{
    const struct front_config *config = &calls->config;
    const struct call_engine_config engine = {
        .loop = config->loop,
        .log = config->log,
        .executors = calls->executors,
        .executor_count = array_size(calls->executors),
        .running = config->running,
        .keeper = config->keeper,
        .queue = config->queue,
        .how_to_ask = HOW_TO_ASK,
        .questions = &calls->questions,
        .keeps_clients_answers = config->allows_remote_always,
        .can_ask = can_ask,
        .ask = ask,
        .ask_ms = ASK_MS,
        .on_end = on_end,
        .on_progress = on_progress,
        .data = calls,
    };

    return call_engine_new(&engine, &calls->engine);
}

static int make_parts(struct calls *calls)
{
    const struct front_config *config = &calls->config;
    const struct workers_config workers = {
        .loop = config->loop,
        .providers = calls->providers,
        .provider_count = calls->provider_count,
        .pool = {.threads = WORKERS,
                 .queue_max = MCP_MAX_CALLS,
                 .abandoned_max = ABANDONED_MAX,
                 .grace_ms = GRACE_MS},
        .max_at_work = 2 * WORKERS,
        .max_result_bytes = RESULT_BYTES,
        .running = config->running,
        .changing = config->changing,
        .may_begin = may_begin,
        .data = calls,
    };
    int r = workers_new(&workers, &calls->workers);

    if (r < 0)
        return r;
    r = joint_new(&(struct joint_config){.first = workers_executor(calls->workers),
                                         .second = workers_executor(calls->workers),
                                         .first_tool = browser_first_tool,
                                         .write_arguments = browser_write_first_arguments},
                  &calls->joint);
    if (r < 0)
        return r;
    calls->executors[0] =
        joint_executor(calls->joint); /* before the one that has its second half */
    calls->executors[1] = workers_executor(calls->workers);
    r = make_engine(calls);
    if (r < 0)
        return r;
    if (config->first_dir != NULL)
        browser_tools_use_files(calls->browser, workers_executor(calls->workers),
                                config->first_dir);
    return subscriptions_new(
        &(struct subscriptions_config){
            .loop = config->loop,
            .pool = workers_pool(calls->workers),
            .box = config->box,
            .names = config->names,
            .files = config->files,
            .running = config->running,
        },
        &calls->subscriptions);
}

static int make_screen(struct calls *calls)
{
    const struct screen_tools_config config = {.client = calls->config.screen,
                                               .form = calls->config.result_form,
                                               .recorded = calls->config.files,
                                               .questions = &calls->questions};
    int r = calls->config.screen != NULL ? screen_tools_new(&config, &calls->screen, NULL) : 0;

    calls->providers[calls->provider_count++] =
        (struct provider_use){&screen_provider, calls->screen};
    return r;
}

static int make_browser(struct calls *calls)
{
    const struct browser_tools_config config = {
        .client = calls->config.browser,
        .loop = calls->config.loop,
        .keeper = calls->config.keeper,
        .form = calls->config.result_form,
        .recorded = calls->config.files,
        .default_browser = calls->config.default_browser,
        .staging_dir = calls->config.staging_dir,
        .own_port = calls->config.own_port,
    };
    int r = config.client != NULL ? browser_tools_new(&config, &calls->browser, NULL) : 0;

    calls->providers[calls->provider_count++] =
        (struct provider_use){&browser_provider, calls->browser};
    return r;
}

/* The revival's callback. */
static void on_workspace_lost(void *data)
{
    const struct calls *calls = data;

    log_write(calls->config.log, LOG_ERROR,
              "the process that holds the workspace has ended; it is started again");
    if (!calls->config.workspace_outlives)
        workspace_tools_lose(calls->workspace);
}

/* Either the files and commands of this machine, or those of a workspace: never both. */
static int make_workspace(struct calls *calls)
{
    const struct front_config *config = &calls->config;
    const struct workspace_tools_config tools = {
        .client = config->workspace,
        .loop = config->loop,
        .provider = config->workspace_provider,
        .form = config->result_form,
        .only = &calls->conversation,
    };
    int r;

    if (config->workspace != NULL) {
        calls->conversation =
            (struct workspace_conversation){.key = "mcp", .recorded = config->files};
        r = workspace_tools_new(&tools, &calls->workspace, NULL);
        if (r == 0)
            r = workspace_revival_new(config->loop, config->workspace_starter, &calls->revival);
        if (r == 0)
            workspace_revival_watch(calls->revival, config->workspace_provider, config->workspace,
                                    on_workspace_lost, calls);
        calls->providers[calls->provider_count++] =
            (struct provider_use){&workspace_family, calls->workspace};
        return r;
    }
    calls->providers[calls->provider_count++] = (struct provider_use){&files_provider, config->box};
    calls->providers[calls->provider_count++] =
        (struct provider_use){&shell_provider, config->shell};
    calls->providers[calls->provider_count++] =
        (struct provider_use){&addresses_provider, &calls->addresses};
    return 0;
}

int calls_new(const struct front_config *config, const struct calls_events *events,
              struct calls **out_calls)
{
    struct calls *calls = calloc(1, sizeof(*calls));
    int r;

    if (calls == NULL)
        return ERR_NO_MEMORY;
    calls->config = *config;
    if (config->board != NULL)
        calls->questions = (struct open_questions){
            .tell = noticeboard_tell_call, .others = noticeboard_others_ask, .data = config->board};
    calls->events = *events;
    calls->addresses = (struct addresses){.box = config->box, .keeper = config->keeper};
    r = make_workspace(calls);
    if (r == 0)
        r = make_screen(calls);
    if (r == 0)
        r = make_browser(calls);
    if (r == 0)
        r = make_parts(calls);
    if (r < 0) {
        calls_end(calls);
        calls_free(calls);
        return r;
    }
    *out_calls = calls;
    return 0;
}

void calls_end(struct calls *calls)
{
    if (calls == NULL)
        return;
    calls->is_closed = true;
    if (calls->engine != NULL) {
        call_engine_close(calls->engine);
        call_engine_cancel_all(calls->engine);
        call_engine_free(calls->engine);
        calls->engine = NULL;
    }
    browser_tools_drop_files(calls->browser);
    if (calls->workers != NULL)
        workers_stop(calls->workers); /* subscriptions end with it */
    browser_tools_free(calls->browser);
    calls->browser = NULL;
    workspace_revival_free(calls->revival);
    calls->revival = NULL;
    workspace_tools_free(calls->workspace);
    calls->workspace = NULL;
}

void calls_free(struct calls *calls)
{
    if (calls == NULL)
        return;
    subscriptions_free(calls->subscriptions);
    joint_free(calls->joint);
    workers_free(calls->workers);
    screen_tools_free(calls->screen);
    free(calls);
}
