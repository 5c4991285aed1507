/* SPDX-License-Identifier: Apache-2.0 */
#include "stdio/front.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/jsonwrite.h"
#include "loop/reader.h"
#include "loop/timer.h"
#include "loop/worker.h"
#include "loop/writer.h"
#include "mcp/mcp.h"
#include "protocol/requestid.h"
#include "stdio/job.h"
#include "stdio/lines.h"
#include "stdio/subscriptions.h"
#include "tools/resources.h"

enum {
    WORKERS = 4,
    ABANDONED_MAX = 8,
    GRACE_MS = 2000,
    PROGRESS_MS = 100,
    /* Handed to the workers at a time; the others wait here, where they can be held back. */
    RUNNING_MAX = 2 * WORKERS,
    /* A client that sends and does not read is neither read from nor worked for. */
    OUTPUT_PAUSE_BYTES = 4 << 20,
    OUTPUT_MAX_BYTES = 1 << 30,
    /* Every byte of a file may be escaped as six. */
    ESCAPED_BYTES = 6,
    TEMPLATE_BYTES = 64 << 10,
};

/* A call and its job, on the loop's side. */
struct task {
    struct list link; /* of those that wait, or that run */
    struct front *front;
    struct mcp_call *call;
    struct job *job; /* until its done was called; the worker's besides */
    bool is_running;
    int64_t due_ms; /* it is answered by then, waiting included */
    uint64_t id;    /* of the worker's job, once it runs */
    uint64_t told;  /* progress */
};

struct front {
    struct front_config config;
    struct mcp_server server;
    const struct catalog_tool **tools;
    struct buf templates;
    struct mcp_session *session;
    struct worker_pool *pool;
    struct subscriptions *subscriptions;
    struct reader *reader;
    struct writer *writer;
    struct lines lines;
    struct requestid long_line; /* whose the line is that is passed over */
    struct list waiting;
    struct list running;
    size_t running_count;
    struct timer progress;
    struct loop_task give_up;
    struct loop_task finish;
    bool has_input;
    bool is_stopping;
    bool is_over;
};

/* ---- the end ---- */

static void finish(void *data)
{
    struct front *front = data;

    front->is_over = true;
    front->config.on_end(front->config.data);
}

/* The input has ended: when the last answer is out, so have we. */
static void finish_if_idle(struct front *front)
{
    if (front->has_input || front->is_over || mcp_session_call_count(front->session) > 0 ||
        writer_kept(front->writer) > 0)
        return;
    loop_defer(front->config.loop, &front->finish);
}

/* Ends a call that no worker has. */
static void fail_task(struct task *task, int error)
{
    struct err err = ERR_INIT;

    list_remove(&task->link);
    job_free(task->job);
    err_set_plain(&err, error);
    mcp_call_fail(task->call, &err);
    free(task);
}

static void give_up(void *data)
{
    struct front *front = data;

    list_each_safe (node, &front->running)
        worker_cancel(front->pool, list_entry(node, struct task, link)->id);
    list_each_safe (node, &front->waiting)
        fail_task(list_entry(node, struct task, link), ERR_CANCELLED);
    finish_if_idle(front);
}

void front_run(struct front *front)
{
    worker_run_loop(front->pool);
}

void front_stop(struct front *front)
{
    front->has_input = false;
    front->is_stopping = true;
    reader_pause(front->reader);
    /* Later: this may be in the middle of an answer. */
    loop_defer(front->config.loop, &front->give_up);
}

/* ---- work ---- */

static void tell_progress(void *data)
{
    struct front *front = data;

    list_each (node, &front->running) {
        struct task *task = list_entry(node, struct task, link);
        const char *what = atomic_load_explicit(&task->job->what, memory_order_acquire);
        uint64_t done = atomic_load_explicit(&task->job->done, memory_order_relaxed);

        if (what == NULL || done <= task->told)
            continue;
        task->told = done;
        mcp_call_progress(task->call, done,
                          atomic_load_explicit(&task->job->total, memory_order_relaxed), what);
    }
}

static void start_waiting(struct front *front);

static bool is_change(const struct mcp_call *call)
{
    return mcp_call_work(call) == MCP_TOOL_CALL &&
           mcp_call_tool(call)->group == CATALOG_FILESYSTEM_WRITE;
}

static void on_done(void *context, int result, void *data)
{
    struct task *task = context;
    struct front *front = task->front;
    const struct job *job = data; /* NULL when a worker still has it */
    struct err err = ERR_INIT;

    list_remove(&task->link);
    front->running_count--;
    if (list_is_empty(&front->running))
        timer_stop(&front->progress);
    if (result >= 0) {
        mcp_call_finish(task->call, buf_view(&job->result));
    } else {
        if (job != NULL && job->err.code == result)
            err = job->err;
        else if (result == ERR_TIMED_OUT && is_change(task->call))
            err_set(&err, result,
                    "not finished within its time; it may still have been made: look before "
                    "repeating it");
        else
            err_set_plain(&err, result);
        mcp_call_fail(task->call, &err);
    }
    free(task);
    front->config.on_answered(front->config.data);
    start_waiting(front);
    finish_if_idle(front);
}

static int run_task(struct front *front, struct task *task)
{
    const struct worker_job spec = {
        .run = job_run,
        .done = on_done,
        .free_data = job_free,
        .data = task->job,
        .context = task,
        .timeout_ms = task->due_ms - loop_now_ms(front->config.loop),
    };
    int r = spec.timeout_ms > 0 ? worker_submit(front->pool, &spec, &task->id) : ERR_TIMED_OUT;

    if (r < 0)
        return r;
    task->is_running = true;
    list_remove(&task->link);
    list_append(&front->running, &task->link);
    front->running_count++;
    if (mcp_call_wants_progress(task->call) && !front->progress.is_started)
        timer_start_repeating(&front->progress, PROGRESS_MS);
    return 0;
}

/* As many as may run, and none while the client does not take what is finished. */
static void start_waiting(struct front *front)
{
    while (!list_is_empty(&front->waiting) && front->running_count < RUNNING_MAX &&
           writer_kept(front->writer) <= OUTPUT_PAUSE_BYTES && !front->is_stopping) {
        struct task *task = list_entry(front->waiting.next, struct task, link);
        int r = run_task(front, task);

        if (r < 0)
            fail_task(task, r);
    }
}

static int add_task(struct front *front, struct mcp_call *call)
{
    struct task *task = calloc(1, sizeof(*task));
    int r = task != NULL ? job_new(front->config.box, front->config.running, front->config.changing,
                                   call, &task->job)
                         : ERR_NO_MEMORY;

    if (r < 0) {
        free(task);
        return r;
    }
    task->front = front;
    task->call = call;
    task->due_ms = loop_now_ms(front->config.loop) + front->config.timeout_ms;
    mcp_call_set_data(call, task);
    list_append(&front->waiting, &task->link);
    start_waiting(front);
    return 0;
}

static void on_start(void *data, struct mcp_call *call)
{
    struct front *front = data;
    struct err err = ERR_INIT;
    int r;

    if (mcp_call_work(call) == MCP_SUBSCRIBE) {
        subscriptions_add(front->subscriptions, call);
        return;
    }
    r = add_task(front, call);
    if (r < 0) {
        err_set_plain(&err, r);
        mcp_call_fail(call, &err);
    }
}

static void on_cancel(void *data, struct mcp_call *call)
{
    struct front *front = data;
    struct task *task = mcp_call_data(call);

    if (task != NULL && task->is_running)
        worker_cancel(front->pool, task->id);
    else if (task != NULL)
        fail_task(task, ERR_CANCELLED);
}

static void on_unsubscribe(void *data, struct mcp_session *session, struct str uri)
{
    struct front *front = data;

    (void)session;
    subscriptions_remove(front->subscriptions, uri);
}

/* What the client works on. We serve what the user named, and only say so when that is elsewhere.
 */
static void on_roots(void *data, struct mcp_session *session, const struct json_value *roots)
{
    struct front *front = data;
    char name[PATH_MAX];
    size_t len;

    (void)session;
    json_each_item (root, roots) {
        struct str uri;

        if (json_get_str(root, STR("uri"), &uri) &&
            resource_name_of_uri(front->config.box, uri, name, &len, NULL) == 0)
            return;
    }
    log_write(front->config.log, LOG_WARN,
              "none of the roots that the client works on lies in the folder it was given");
}

static void on_updated(void *data, struct str uri)
{
    struct front *front = data;

    mcp_session_resource_updated(front->session, uri);
}

/* ---- bytes ---- */

/* A list of tools has more parts than one write takes. */
static int join(struct buf *joined, const struct str *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int r = buf_append_str(joined, parts[i]);

        if (r < 0)
            return r;
    }
    return 0;
}

static int send_line(struct front *front, const struct str *parts, size_t count)
{
    cleanup_buf struct buf joined = BUF_INIT(OUTPUT_MAX_BYTES);
    struct str all[WRITER_MAX_PARTS];

    if (count < WRITER_MAX_PARTS) {
        for (size_t i = 0; i < count; i++)
            all[i] = parts[i];
    } else {
        int r = join(&joined, parts, count);

        if (r < 0)
            return r;
        all[0] = buf_view(&joined);
        count = 1;
    }
    all[count] = STR("\n");
    return writer_send(front->writer, all, count + 1);
}

static void on_send(void *data, const struct mcp_call *call, const struct str *parts, size_t count)
{
    struct front *front = data;
    int r = send_line(front, parts, count);

    (void)call;
    /* What cannot be sent is told through on_broken; a backlog that large is broken too. */
    if (r == ERR_TOO_LARGE || r == ERR_NO_MEMORY)
        front_stop(front);
    if (writer_kept(front->writer) > OUTPUT_PAUSE_BYTES)
        reader_pause(front->reader);
}

static void on_drained(void *data)
{
    struct front *front = data;

    if (front->has_input)
        reader_resume(front->reader);
    start_waiting(front);
    finish_if_idle(front);
}

static void on_broken(void *data, int error)
{
    struct front *front = data;

    log_write(front->config.log, LOG_INFO, "the client has closed our output",
              LOG_TEXT("error", err_text(error)));
    front_stop(front);
}

static void on_line(void *data, struct str line)
{
    struct front *front = data;

    mcp_session_receive(front->session, line);
}

static void on_long_piece(void *data, struct str piece)
{
    struct front *front = data;

    requestid_feed(&front->long_line, piece);
}

static void on_long_line(void *data)
{
    struct front *front = data;
    struct err err = ERR_INIT;

    err_set(&err, ERR_TOO_LARGE, "a message may have at most %zu bytes", front->lines.begun.max);
    mcp_session_refuse(front->session, requestid_end(&front->long_line), &err);
    requestid_init(&front->long_line);
}

static struct lines_events line_events(struct front *front)
{
    return (struct lines_events){.on_line = on_line,
                                 .on_long_piece = on_long_piece,
                                 .on_long_line = on_long_line,
                                 .data = front};
}

static void on_bytes(void *data, struct str bytes)
{
    struct front *front = data;
    const struct lines_events events = line_events(front);

    lines_feed(&front->lines, bytes, &events);
}

/* Requests that came before the end are answered. */
static void on_input_end(void *data, int error)
{
    struct front *front = data;
    const struct lines_events events = line_events(front);

    if (error < 0)
        log_write(front->config.log, LOG_WARN, "the input failed",
                  LOG_TEXT("error", err_text(error)));
    lines_end(&front->lines, &events);
    front->has_input = false;
    finish_if_idle(front);
}

/* ---- making ---- */

static int choose_tools(struct front *front)
{
    front->tools = calloc(catalog_tool_count, sizeof(*front->tools));
    if (front->tools == NULL)
        return ERR_NO_MEMORY;
    front->server.tools = front->tools;
    for (size_t i = 0; i < catalog_tool_count; i++)
        if (toolbox_has(front->config.box, &catalog_tools[i]))
            front->tools[front->server.tool_count++] = &catalog_tools[i];
    return 0;
}

/* One form of address for all files: the folder's own, and a path below it. */
static int describe_templates(struct front *front)
{
    cleanup_buf struct buf address = BUF_INIT(TEMPLATE_BYTES);
    struct json_writer json;
    int r = resource_append_uri(front->config.box, STR_EMPTY, &address);

    if (r == 0 && !str_ends_with(buf_view(&address), STR("/")))
        r = buf_append_char(&address, '/');
    if (r == 0)
        r = buf_append_str(&address, STR("{+path}"));
    if (r < 0)
        return r;
    json_writer_init(&json, &front->templates);
    json_begin_array(&json);
    json_begin_object(&json);
    json_key(&json, STR("uriTemplate"));
    json_write_str(&json, buf_view(&address));
    json_key(&json, STR("name"));
    json_write_str(&json, STR("file"));
    json_key(&json, STR("title"));
    json_write_str(&json, STR("A file of the folder"));
    json_end_object(&json);
    json_end_array(&json);
    r = json_writer_finish(&json);
    front->server.resource_templates = buf_view(&front->templates);
    return r;
}

static size_t largest_message(const struct front_config *config)
{
    size_t needed = (size_t)config->max_file_bytes * ESCAPED_BYTES + (64 << 10);

    return needed > MCP_DEFAULT_MESSAGE_BYTES ? needed : MCP_DEFAULT_MESSAGE_BYTES;
}

static int make_parts(struct front *front)
{
    static const struct mcp_host host = {
        .start = on_start,
        .cancel = on_cancel,
        .unsubscribe = on_unsubscribe,
        .roots = on_roots,
        .send = on_send,
    };
    const struct worker_config workers = {
        .threads = WORKERS,
        .queue_max = MCP_MAX_CALLS,
        .abandoned_max = ABANDONED_MAX,
        .grace_ms = GRACE_MS,
    };
    const struct reader_events reader = {
        .on_bytes = on_bytes, .on_end = on_input_end, .data = front};
    const struct writer_events writer = {
        .on_drained = on_drained, .on_broken = on_broken, .data = front};
    const struct front_config *config = &front->config;
    int r = choose_tools(front);

    if (r == 0)
        r = describe_templates(front);
    if (r == 0)
        r = mcp_session_new(&front->server, &host, front, &front->session);
    if (r == 0)
        r = worker_pool_new(config->loop, &workers, &front->pool);
    if (r == 0)
        r = subscriptions_new(
            &(struct subscriptions_config){
                .loop = config->loop,
                .pool = front->pool,
                .box = config->box,
                .names = config->names,
                .files = config->files,
                .running = config->running,
                .on_updated = on_updated,
                .data = front,
            },
            &front->subscriptions);
    if (r == 0)
        r = writer_new(config->loop, config->output_fd, OUTPUT_MAX_BYTES, &writer, &front->writer);
    if (r == 0)
        r = reader_new(config->loop, config->input_fd, &reader, &front->reader);
    return r;
}

int front_new(const struct front_config *config, struct front **out_front, struct err *err)
{
    struct front *front = calloc(1, sizeof(*front));
    int r;

    if (front == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    front->config = *config;
    front->has_input = true;
    front->server = (struct mcp_server){
        .name = STR("gatehouse"),
        .title = STR("Gatehouse"),
        .version = STR(GATEHOUSE_VERSION),
        .instructions = STR("Files of one folder. Names are relative to it; names outside it do "
                            "not exist here."),
        .has_resources = true,
        .has_subscriptions = true,
        .has_completions = true,
        .has_logging = true,
        .max_message_bytes = largest_message(config),
        .max_held_bytes = 4 * largest_message(config),
    };
    buf_init(&front->templates, 2 * TEMPLATE_BYTES);
    list_init(&front->waiting);
    list_init(&front->running);
    lines_init(&front->lines, front->server.max_message_bytes);
    requestid_init(&front->long_line);
    timer_init(&front->progress, config->loop, tell_progress, front);
    loop_task_init(&front->give_up, give_up, front);
    loop_task_init(&front->finish, finish, front);
    r = make_parts(front);
    if (r < 0) {
        front_free(front);
        return err_set(err, r, "the connection cannot be served: %s", err_text(r));
    }
    *out_front = front;
    return 0;
}

void front_free(struct front *front)
{
    if (front == NULL)
        return;
    front->is_over = true;
    front->is_stopping = true;
    timer_stop(&front->progress);
    reader_free(front->reader);
    /* Ends every call, so the session outlives it. */
    if (front->pool != NULL)
        worker_pool_free(front->pool);
    list_each_safe (node, &front->waiting)
        fail_task(list_entry(node, struct task, link), ERR_CANCELLED);
    /* Ends every subscription. */
    if (front->session != NULL)
        mcp_session_free(front->session);
    subscriptions_free(front->subscriptions);
    writer_free(front->writer);
    loop_task_cancel(&front->give_up);
    loop_task_cancel(&front->finish);
    lines_done(&front->lines);
    buf_done(&front->templates);
    free(front->tools);
    free(front);
}
