/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/toolhost/host.h"

#include <stdlib.h>

#include "loop/reader.h"
#include "loop/timer.h"
#include "loop/writer.h"
#include "permission/rules/denials.h"
#include "programs/toolhost/calls.h"
#include "protocol/toolwire.h"

enum {
    /* A front that asks and does not read is not read from either. */
    OUTPUT_PAUSE_BYTES = 4 << 20,
    /* How long the last words may take. */
    FAREWELL_MS = 1000,
    ERROR_BYTES = 8 << 10,
    RULES_ARENA_BYTES = 128 << 20,
};

struct host {
    struct host_config config;
    struct calls *calls;
    struct reader *reader;
    struct writer *writer;
    struct toolwire_decoder decoder;
    struct timer farewell;
    struct loop_task finish;
    int error; /* why it ends */
    bool is_ending;
    bool is_over;
};

/* ---- the end ---- */

static void finish(void *data)
{
    struct host *host = data;

    timer_stop(&host->farewell);
    loop_task_cancel(&host->finish);
    if (host->is_over)
        return;
    host->is_over = true;
    host->config.on_end(host->config.data, host->error);
}

static void finish_soon(struct host *host)
{
    loop_defer(host->config.loop, &host->finish);
}

static void write_frame(struct host *host, uint32_t call, enum toolwire_type type, struct str body)
{
    char header[TOOLWIRE_HEADER_BYTES];
    const struct str parts[] = {{header, sizeof(header)}, body};

    toolwire_write_header(call, type, body.len, header);
    /* on_broken reports what cannot be sent; the limit is above everything that can be pending. */
    if (writer_send(host->writer, parts, array_size(parts)) == ERR_TOO_LARGE) {
        host->error = ERR_TOO_LARGE;
        finish_soon(host);
    }
}

/* Reads no more. Sends the reason last, if the front end still reads. */
static void end(struct host *host, const struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(ERROR_BYTES);

    if (host->is_ending)
        return;
    host->is_ending = true;
    host->error = err->code;
    reader_pause(host->reader);
    log_error(host->config.log, "closing the connection to the front end", err);
    if (toolwire_write_error(err, false, &body) == 0)
        write_frame(host, TOOLWIRE_NO_CALL, TOOLWIRE_ERROR, buf_view(&body));
    if (writer_kept(host->writer) == 0)
        finish_soon(host);
    else
        timer_start(&host->farewell, FAREWELL_MS);
}

/* ---- out ---- */

static void on_send(void *data, uint32_t call, enum toolwire_type type, struct str body)
{
    struct host *host = data;

    if (host->is_ending)
        return;
    write_frame(host, call, type, body);
    if (writer_kept(host->writer) > OUTPUT_PAUSE_BYTES) {
        reader_pause(host->reader);
        calls_hold(host->calls, true);
    }
}

static void on_fail(void *data, const struct err *err)
{
    end(data, err);
}

static void on_drained(void *data)
{
    struct host *host = data;

    if (host->is_ending) {
        finish_soon(host);
        return;
    }
    reader_resume(host->reader);
    calls_hold(host->calls, false);
}

static void on_broken(void *data, int error)
{
    struct host *host = data;

    (void)error; /* the front end has closed: as good an end as any */
    host->is_ending = true;
    reader_pause(host->reader);
    finish_soon(host);
}

/* ---- in ---- */

/* They apply to everything from now on, even to running calls. */
static int take_rules(struct host *host, struct str body, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(RULES_ARENA_BYTES);
    struct rule *rules;
    size_t count;
    int r = denials_read(&arena, body, &rules, &count, err);

    return r == 0 ? keeper_set_rules(host->config.keeper, rules, count, err) : r;
}

static int on_frame(void *data, const struct toolwire_frame *frame, struct err *err)
{
    struct host *host = data;

    switch (frame->type) {
    case TOOLWIRE_PREPARE:
    case TOOLWIRE_RUN:
    case TOOLWIRE_DROP:
    case TOOLWIRE_CANCEL:
    case TOOLWIRE_PREVIEW:
        return calls_take(host->calls, frame, err);
    case TOOLWIRE_RULES:
        return take_rules(host, frame->body, err);
    case TOOLWIRE_READY:
    case TOOLWIRE_PREPARED:
    case TOOLWIRE_PREVIEWED:
    case TOOLWIRE_CHANGE:
    case TOOLWIRE_RESULT:
    case TOOLWIRE_ERROR:
    case TOOLWIRE_PROGRESS:
    case TOOLWIRE_LOST:
        break; /* never from a front: the decoder has seen to that */
    }
    return err_set_plain(err, ERR_INTERNAL);
}

static void on_bytes(void *data, struct str bytes)
{
    struct host *host = data;
    struct err err = ERR_INIT;

    if (!host->is_ending && toolwire_feed(&host->decoder, bytes, on_frame, host, &err) < 0)
        end(host, &err);
}

static void on_input_end(void *data, int error)
{
    struct host *host = data;

    (void)error;
    host->is_ending = true;
    finish_soon(host);
}

/* ---- making ---- */

static int make_parts(struct host *host)
{
    const struct host_config *config = &host->config;
    const struct toolhost_calls_config calls = {
        .loop = config->loop,
        .box = config->box,
        .running = config->running,
        .changing = config->changing,
        .max_request_bytes = config->max_request_bytes,
        .max_answer_bytes = config->max_answer_bytes,
        .send = on_send,
        .fail = on_fail,
        .data = host,
    };
    const struct reader_events reader = {
        .on_bytes = on_bytes, .on_end = on_input_end, .data = host};
    const struct writer_events writer = {
        .on_drained = on_drained, .on_broken = on_broken, .data = host};
    /* The answers of all workers may come at once; each call may be refused besides. */
    size_t owed = (CALLS_WORKERS + 1) * config->max_answer_bytes + CALLS_MAX * ERROR_BYTES;
    int r = calls_new(&calls, &host->calls);

    if (r == 0)
        r = writer_new(config->loop, config->output_fd, owed, &writer, &host->writer);
    if (r == 0)
        r = reader_new(config->loop, config->input_fd, &reader, &host->reader);
    return r;
}

int host_new(const struct host_config *config, struct host **out_host, struct err *err)
{
    struct host *host = calloc(1, sizeof(*host));
    int r;

    if (host == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    host->config = *config;
    timer_init(&host->farewell, config->loop, finish, host);
    loop_task_init(&host->finish, finish, host);
    toolwire_decoder_init(&host->decoder, TOOLWIRE_FRONT, config->max_request_bytes);
    r = make_parts(host);
    if (r < 0) {
        host_free(host);
        return err_set(err, r, "cannot serve the front end: %s", err_text(r));
    }
    write_frame(host, TOOLWIRE_NO_CALL, TOOLWIRE_READY, config->ready);
    *out_host = host;
    return 0;
}

void host_run(struct host *host)
{
    calls_run_loop(host->calls);
}

void host_free(struct host *host)
{
    if (host == NULL)
        return;
    host->is_ending = true;
    timer_stop(&host->farewell);
    reader_free(host->reader);
    calls_free(host->calls);
    writer_free(host->writer);
    loop_task_cancel(&host->finish);
    toolwire_decoder_done(&host->decoder);
    free(host);
}
