/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/copiesapi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/serve.h"
#include "copies/request.h"
#include "loop/worker.h"
#include "programs/server/answer.h"
#include "programs/server/pageapi.h"

enum {
    JOB = 1, /* of the errand: there is only one */
    TIME_MS = 120 * 1000,
    MAX_WAITING = 8, /* requests behind the one at work */
    GRACE_MS = 2000,
    ARENA_BYTES = 1 << 20,
};

/* ---- starting ---- */

int copiesapi_start(const struct option_values *values, bool is_for_all, const char *state_path,
                    struct errand **out_errand, struct err *err)
{
    const char *users = getenv(SERVE_COPIES_STATE_ENV);
    char state_dir[PATH_MAX];
    const char *const words[] = {WORKSPACE_PROGRAM, WORKSPACE_PAGE_WORD, "--state-dir", state_dir,
                                 NULL};
    const char *const *const jobs[] = {NULL, words};
    const struct errand_config config = {.program = WORKSPACE_PROGRAM,
                                         .libexec = GATEHOUSE_LIBEXECDIR,
                                         .jobs = jobs,
                                         .job_end = array_size(jobs),
                                         .error_fd = STDERR_FILENO,
                                         .time_ms = TIME_MS};

    if (!options_is_on(values, SERVE_OPTION_COPIES))
        return 0;
    if (is_for_all || options_text(values, SERVE_OPTION_PUBLIC_URL) != NULL ||
        options_list(values, SERVE_OPTION_TRUSTED_PROXY).count > 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "--copies is for a server that only its own user reaches: it needs an "
                       "address of this machine in --listen, and no --public-url and "
                       "--trusted-proxy");
    /* The user's, which has the server's in it. */
    snprintf(state_dir, sizeof(state_dir), "%s", users != NULL ? users : state_path);
    if (users == NULL)
        *strrchr(state_dir, '/') = '\0';
    return errand_start(&config, out_errand, err);
}

struct copiesapi {
    struct logins *logins;
    struct errand *errand; /* or NULL */
    struct worker_pool *pool;
    size_t count;
};

int copiesapi_new(struct loop *loop, struct logins *logins, struct errand *errand,
                  struct copiesapi **out_api)
{
    const struct worker_config config = {
        .threads = 1, .queue_max = MAX_WAITING, .abandoned_max = 1, .grace_ms = GRACE_MS};
    struct copiesapi *api = calloc(1, sizeof(*api));
    int r = 0;

    if (api == NULL)
        return ERR_NO_MEMORY;
    api->logins = logins;
    api->errand = errand;
    if (errand != NULL)
        r = worker_pool_new(loop, &config, &api->pool);
    if (r < 0)
        free(api);
    else
        *out_api = api;
    return r;
}

void copiesapi_free(struct copiesapi *api)
{
    if (api == NULL)
        return;
    if (api->pool != NULL)
        worker_pool_free(api->pool);
    free(api);
}

bool copiesapi_is_for(const struct copiesapi *api, int64_t user)
{
    return api->errand != NULL && user == STORE_OWNER;
}

size_t copiesapi_count(const struct copiesapi *api)
{
    return api->count;
}

/* ---- one request ---- */

/* In the worker. */
struct work {
    struct errand *errand;
    struct buf body;
    struct buf answer;
    enum errand_end end;
    struct err err;
};

/* On the loop. */
struct asked {
    struct copiesapi *api;
    struct exchange *exchange; /* NULL: the page has left */
    uint64_t job;
    bool is_change;
};

static int run(void *data, struct cancel *token)
{
    struct work *work = data;

    return errand_ask(work->errand, JOB, buf_view(&work->body), token, &work->answer, &work->end,
                      &work->err);
}

static void free_work(void *data)
{
    struct work *work = data;

    buf_done(&work->body);
    buf_done(&work->answer);
    free(work);
}

static int judge(const struct work *work, struct str *out_document, struct err *err)
{
    switch (work->end) {
    case ERRAND_ENDED_WELL:
    case ERRAND_ENDED_BADLY:
        return copies_answer_parse(buf_view(&work->answer), out_document, err);
    case ERRAND_ENDED_OVERTIME:
        return err_set(err, ERR_TIMED_OUT, "gatehouse-workspace takes longer than %d seconds",
                       TIME_MS / 1000);
    case ERRAND_ENDED_NOT_STARTED:
        break;
    }
    return err_set(err, ERR_UNSUPPORTED, "gatehouse-workspace is not installed");
}

static void on_done(void *context, int result, void *data)
{
    struct asked *asked = context;
    const struct work *work = data;
    struct str document = STR_EMPTY;
    struct err err = ERR_INIT;

    asked->api->count--;
    if (result < 0 && errand_is_lost(asked->api->errand))
        result = err_set(&err, ERR_UNSUPPORTED,
                         "what starts gatehouse-workspace was killed: restart the server");
    else if (result < 0)
        err_set(&err, result, "%s",
                work != NULL && work->err.code != 0 ? work->err.message : err_text(result));
    else
        result = judge(work, &document, &err);
    if (asked->exchange != NULL && result < 0)
        pageapi_answer_error(asked->exchange, &err);
    else if (asked->exchange != NULL)
        answer_json(asked->exchange, 200, document);
    free(asked);
}

static void on_gone(void *data)
{
    struct asked *asked = data;

    asked->exchange = NULL;
    /* What was begun is finished: the user has said so. */
    if (!asked->is_change)
        (void)worker_cancel(asked->api->pool, asked->job);
}

static int submit(struct copiesapi *api, const struct copies_request *request,
                  struct exchange *exchange)
{
    static const struct exchange_events events = {.on_gone = on_gone};
    struct asked *asked = calloc(1, sizeof(*asked));
    struct work *work = calloc(1, sizeof(*work));
    const struct worker_job job = {.run = run,
                                   .done = on_done,
                                   .free_data = free_work,
                                   .data = work,
                                   .context = asked,
                                   .timeout_ms = WORKER_NO_DEADLINE};
    int r = asked != NULL && work != NULL ? 0 : ERR_NO_MEMORY;

    if (r == 0) {
        *asked = (struct asked){.api = api,
                                .exchange = exchange,
                                .is_change =
                                    request->verb == COPIES_APPLY || request->verb == COPIES_UNDO};
        *work = (struct work){.errand = api->errand,
                              .body = BUF_INIT(COPIES_MAX_REQUEST_BYTES),
                              .answer = BUF_INIT(COPIES_MAX_ANSWER_BYTES)};
        r = copies_request_write(request, &work->body);
    }
    if (r == 0)
        r = worker_submit(api->pool, &job, &asked->job);
    if (r < 0) {
        free(asked);
        if (work != NULL)
            free_work(work);
        return r;
    }
    api->count++;
    exchange_watch(exchange, &events, asked);
    return 0;
}

/* ---- reading it ---- */

/* False after an answer. */
static bool read_chosen(struct exchange *exchange, struct copies_request *request)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *body = pageapi_read_body(&arena, exchange);
    const struct json_value *changes = body != NULL ? json_get(body, STR("changes")) : NULL;
    struct err err = ERR_INIT;
    int r = 0;

    if (body == NULL)
        return false;
    if (changes == NULL || changes->type != JSON_ARRAY)
        r = ERR_INVALID_ARGUMENT;
    else
        json_each_item (item, changes)
            if (r == 0)
                r = item->type == JSON_STRING ? copies_choose(request, json_str(item))
                                              : ERR_INVALID_ARGUMENT;
    if (r == 0 && request->chosen_count == 0)
        r = ERR_INVALID_ARGUMENT;
    if (r == 0)
        return true;
    err_set(&err, r,
            r == ERR_TOO_LARGE ? "choose at most %d changes at a time"
                               : "choose changes that the page shows, at most %d",
            COPIES_MAX_CHOSEN);
    pageapi_answer_error(exchange, &err);
    return false;
}

/* What the path and the method ask for; false if there is no such thing. */
static bool read_path(struct str rest, const struct http_request *http,
                      struct copies_request *request)
{
    bool is_get = http->method == HTTP_METHOD_GET || http->method == HTTP_METHOD_HEAD;
    struct str name;

    request->verb = COPIES_LIST;
    if (rest.len == 0)
        return is_get;
    rest = str_slice(rest, 1, rest.len);
    (void)str_cut(&rest, '/', &name);
    if (rest.ptr == NULL)
        request->verb = COPIES_DIFF;
    else if (str_eq(rest, STR("apply")))
        request->verb = COPIES_APPLY;
    else if (str_eq(rest, STR("undo")))
        request->verb = COPIES_UNDO;
    else
        return false;
    return copies_take_workspace(name, request->name) &&
           (request->verb == COPIES_DIFF ? is_get : http->method == HTTP_METHOD_POST);
}

void copiesapi_handle(struct copiesapi *api, int64_t user, struct str rest,
                      struct exchange *exchange)
{
    const struct http_request *http = exchange_request(exchange);
    cleanup_free struct copies_request *request = calloc(1, sizeof(*request));
    int r = 0;

    if (api->errand != NULL && !copiesapi_is_for(api, user))
        logins_note(api->logins, exchange, user,
                    (struct serveraudit_note){.operation = AUTHORITY_OP_REQUEST,
                                              .what = http->path,
                                              .how = "page",
                                              .error = ERR_DENIED_BY_POLICY});
    if (request == NULL)
        r = ERR_NO_MEMORY;
    else if (!copiesapi_is_for(api, user) || !read_path(rest, http, request))
        r = ERR_NOT_FOUND;
    else if (request->verb == COPIES_APPLY && !read_chosen(exchange, request))
        return;
    if (r == 0)
        r = submit(api, request, exchange);
    if (r < 0)
        exchange_answer_error(exchange, r);
}
