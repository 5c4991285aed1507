/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/hostfs/host.h"

#include <stdlib.h>

#include "base/list.h"
#include "hostfs/errors.h"
#include "hostfs/runs.h"
#include "loop/reader.h"
#include "loop/worker.h"
#include "loop/writer.h"

enum {
    THREADS = 8,
    LOST_MAX = 8, /* hanging threads, before it refuses work */
    GRACE_MS = 1000,
    TIMEOUT_MS = 60 * 1000,
    WAITING_MAX = 64,             /* requests; more are not read */
    OUTPUT_PAUSE_BYTES = 4 << 20, /* of unread answers: no work is begun */
    ERROR_BYTES = 4 << 10,
    KEPT_RUNS = 2, /* results of the largest size, of all runs together */
};

struct host {
    struct hostfs_host_config config;
    struct reader *reader;
    struct writer *writer;
    struct worker_pool *pool;
    struct frames_decoder decoder;
    struct runs runs;
    struct list waiting;
    unsigned waiting_count;
    unsigned at_work;
    size_t max_answer;
    bool is_beginning;
    bool is_ending;
    struct loop_task finish;
    int error;
};

/* A request, from its frame to its answer; a thread that hangs keeps the second part. */
struct asked {
    struct list node;
    struct host *host;
    uint32_t number;
    enum hostfs_operation operation;
    enum hostfs_major major;
    struct work *work;
};

struct work {
    const struct hostfs *hostfs;
    atomic_uint *running;
    atomic_uint *changing;
    struct hostfs_request request;
    struct hostfs_answer answer;
    struct buf out;
    char body[];
};

/* ---- out ---- */

static void finish(void *data)
{
    struct host *host = data;

    host->config.on_end(host->config.data, host->error);
}

static void end(struct host *host, int error)
{
    if (host->is_ending)
        return;
    host->is_ending = true;
    host->error = error;
    if (host->reader != NULL)
        reader_pause(host->reader);
    loop_defer(host->config.loop, &host->finish);
}

static void send_frame(struct host *host, uint32_t number, uint8_t type, struct str head,
                       struct str body)
{
    char header[FRAMES_HEADER_BYTES];
    const struct str parts[] = {{header, sizeof(header)}, head, body};

    if (host->is_ending)
        return;
    frames_write_header(number, type, head.len + body.len, header);
    /* on_broken reports what cannot be sent. */
    if (writer_send(host->writer, parts, array_size(parts)) == ERR_TOO_LARGE)
        end(host, ERR_TOO_LARGE);
}

static void send_answer(struct host *host, uint32_t number, int status, struct str body)
{
    char head[HOSTFS_ANSWER_HEAD];

    hostfs_write_answer_head(status, head);
    send_frame(host, number, HOSTFS_ANSWER, (struct str){head, sizeof(head)}, body);
}

static void send_error(struct host *host, uint32_t number, enum hostfs_major major, int code)
{
    cleanup_buf struct buf body = BUF_INIT(ERROR_BYTES);
    const struct err err = {.code = code};
    int status = hostfs_write_error(major, &err, &body);

    send_answer(host, number, status, buf_view(&body));
}

/* ---- work ---- */

static bool may_change(enum hostfs_operation operation)
{
    return operation != HOSTFS_READ && operation != HOSTFS_STAT && operation != HOSTFS_LIST;
}

static int run_work(void *data, struct cancel *token)
{
    struct work *work = data;
    bool changes = may_change(work->request.operation);

    atomic_fetch_add(work->running, 1);
    if (changes)
        atomic_fetch_add(work->changing, 1);
    work->answer = hostfs_handle(work->hostfs, &work->request, token, &work->out);
    if (changes)
        atomic_fetch_sub(work->changing, 1);
    atomic_fetch_sub(work->running, 1);
    return 0;
}

static void free_work(void *data)
{
    struct work *work = data;

    buf_done(&work->out);
    free(work);
}

static void begin_work(struct host *host);

/* The result of a run is kept; its request is answered with the run. */
static void answer_run(struct host *host, const struct asked *asked, const struct work *work)
{
    cleanup_buf struct buf body = BUF_INIT(ERROR_BYTES);
    int r = runs_add(&host->runs, buf_view(&work->out), work->answer.has_failed,
                     loop_wall_ms(host->config.loop), &body);

    if (r < 0)
        send_error(host, asked->number, asked->major, r);
    else
        send_answer(host, asked->number, work->answer.status, buf_view(&body));
}

static void on_worked(void *context, int result, void *data)
{
    struct asked *asked = context;
    struct host *host = asked->host;
    const struct work *work = data;

    if (result < 0 || work == NULL)
        send_error(host, asked->number, asked->major, result);
    else if (work->answer.is_run)
        answer_run(host, asked, work);
    else
        send_answer(host, asked->number, work->answer.status, buf_view(&work->out));
    free(asked);
    host->at_work--;
    if (host->is_ending)
        return;
    host->config.on_answered(host->config.data);
    begin_work(host);
}

static void submit(struct host *host, struct asked *asked)
{
    const struct worker_job job = {
        .run = run_work,
        .done = on_worked,
        .free_data = free_work,
        .data = asked->work,
        .context = asked,
        .timeout_ms = TIMEOUT_MS,
    };
    uint64_t id;
    int r;

    host->at_work++;
    r = worker_submit(host->pool, &job, &id);
    if (r == 0)
        return;
    host->at_work--;
    send_error(host, asked->number, asked->major, r);
    free_work(asked->work);
    free(asked);
}

static void begin_work(struct host *host)
{
    /* A job may be done before the call that submits it returns. */
    if (host->is_beginning)
        return;
    host->is_beginning = true;
    while (!list_is_empty(&host->waiting) && host->at_work < THREADS && !host->is_ending &&
           writer_kept(host->writer) < OUTPUT_PAUSE_BYTES) {
        struct asked *asked = list_entry(host->waiting.next, struct asked, node);

        list_remove(&asked->node);
        host->waiting_count--;
        submit(host, asked);
    }
    host->is_beginning = false;
    if (host->waiting_count < WAITING_MAX && !host->is_ending)
        reader_resume(host->reader);
}

/* ---- in ---- */

/* What is only remembered needs no thread. */
static void answer_about_run(struct host *host, uint32_t number,
                             const struct hostfs_request *request)
{
    cleanup_buf struct buf body = BUF_INIT(host->max_answer);
    int r = request->operation == HOSTFS_RUN_GET
                ? runs_write(&host->runs, request->body, &body)
                : runs_write_events(&host->runs, request->body, &body);

    if (r < 0)
        send_error(host, number, request->major, r);
    else
        send_answer(host, number, 200, buf_view(&body));
}

static struct asked *make_asked(struct host *host, uint32_t number,
                                const struct hostfs_request *request)
{
    struct asked *asked = malloc(sizeof(*asked));
    struct work *work = malloc(sizeof(*work) + request->body.len);

    if (asked == NULL || work == NULL) {
        free(asked);
        free(work);
        return NULL;
    }
    *asked = (struct asked){.host = host,
                            .number = number,
                            .operation = request->operation,
                            .major = request->major,
                            .work = work};
    *work = (struct work){.hostfs = host->config.hostfs,
                          .running = host->config.running,
                          .changing = host->config.changing,
                          .request = *request};
    buf_init(&work->out, host->max_answer);
    memcpy(work->body, request->body.ptr, request->body.len);
    work->request.body = (struct str){work->body, request->body.len};
    return asked;
}

static int on_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    struct host *host = data;
    struct hostfs_request request;
    struct asked *asked;
    int r = hostfs_read_request(frame, &request, err);

    if (r < 0)
        return r;
    if (request.operation == HOSTFS_RUN_GET || request.operation == HOSTFS_RUN_EVENTS) {
        answer_about_run(host, frame->number, &request);
        return 0;
    }
    asked = make_asked(host, frame->number, &request);
    if (asked == NULL) {
        send_error(host, frame->number, request.major, ERR_NO_MEMORY);
        return 0;
    }
    list_append(&host->waiting, &asked->node);
    if (++host->waiting_count >= WAITING_MAX)
        reader_pause(host->reader);
    begin_work(host);
    return 0;
}

static void on_bytes(void *data, struct str bytes)
{
    struct host *host = data;
    const struct frames_events events = {
        .check = hostfs_check_request, .on_frame = on_frame, .data = host};
    struct err err = ERR_INIT;

    if (host->is_ending || frames_feed(&host->decoder, bytes, &events, &err) == 0)
        return;
    log_error(host->config.log, "invalid message from the server", &err);
    end(host, err.code);
}

static void on_input_end(void *data, int error)
{
    (void)error;
    end(data, 0);
}

static void on_drained(void *data)
{
    begin_work(data);
}

static void on_broken(void *data, int error)
{
    (void)error; /* the server has closed: as good an end as any */
    end(data, 0);
}

/* ---- making ---- */

static int make_parts(struct host *host)
{
    const struct hostfs_host_config *config = &host->config;
    const struct worker_config pool = {
        .threads = THREADS, .queue_max = THREADS, .abandoned_max = LOST_MAX, .grace_ms = GRACE_MS};
    const struct reader_events reader = {
        .on_bytes = on_bytes, .on_end = on_input_end, .data = host};
    const struct writer_events writer = {
        .on_drained = on_drained, .on_broken = on_broken, .data = host};
    /* The answers of all threads may come at once. */
    size_t owed = OUTPUT_PAUSE_BYTES + (THREADS + 2) * host->max_answer;
    int r = worker_pool_new(config->loop, &pool, &host->pool);

    if (r == 0)
        r = writer_new(config->loop, config->output_fd, owed, &writer, &host->writer);
    if (r == 0)
        r = reader_new(config->loop, config->input_fd, &reader, &host->reader);
    return r;
}

int host_new(const struct hostfs_host_config *config, struct host **out_host)
{
    struct host *host = calloc(1, sizeof(*host));
    char ready[HOSTFS_READY_BYTES];
    int r;

    if (host == NULL)
        return ERR_NO_MEMORY;
    host->config = *config;
    host->max_answer = hostfs_max_answer(config->hostfs->max_file_bytes);
    list_init(&host->waiting);
    loop_task_init(&host->finish, finish, host);
    runs_init(&host->runs, KEPT_RUNS * host->max_answer);
    frames_decoder_init(&host->decoder,
                        HOSTFS_REQUEST_HEAD + hostfs_max_request(config->hostfs->max_file_bytes));
    r = make_parts(host);
    if (r < 0) {
        host_free(host);
        return r;
    }
    hostfs_write_ready(config->hostfs->features, ready);
    send_frame(host, 0, HOSTFS_READY, (struct str){ready, sizeof(ready)}, STR_EMPTY);
    *out_host = host;
    return 0;
}

void host_run(struct host *host)
{
    worker_run_loop(host->pool);
}

bool host_is_idle(const struct host *host)
{
    return host->at_work == 0 && list_is_empty(&host->waiting) && writer_kept(host->writer) == 0;
}

void host_free(struct host *host)
{
    if (host == NULL)
        return;
    host->is_ending = true;
    reader_free(host->reader);
    if (host->pool != NULL)
        worker_pool_free(host->pool); /* each request is given up */
    while (!list_is_empty(&host->waiting)) {
        struct asked *asked = list_entry(host->waiting.next, struct asked, node);

        list_remove(&asked->node);
        free_work(asked->work);
        free(asked);
    }
    writer_free(host->writer);
    loop_task_cancel(&host->finish);
    frames_decoder_done(&host->decoder);
    runs_done(&host->runs);
    free(host);
}
