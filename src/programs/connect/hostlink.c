/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/hostlink.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/companion.h"
#include "permission/rules/denials.h"
#include "programs/connect/hostlink_internal.h"

enum {
    SENT_REQUESTS = 4, /* of the largest size, not read yet */
    OLD_MS = 10000,    /* one that lived this long did not fail at the start */
    FIRST_OWN_FD = 4,  /* of the second descriptor */
};

static void start(struct hostlink *link);

int hostlink_send(struct hostlink *link, uint32_t number, enum toolwire_type type, struct str body)
{
    char header[TOOLWIRE_HEADER_BYTES];
    const struct str parts[] = {{header, sizeof(header)}, body};

    if (link->writer == NULL)
        return ERR_BUSY;
    toolwire_write_header(number, type, body.len, header);
    return writer_send(link->writer, parts, array_size(parts));
}

void hostlink_replace_soon(struct hostlink *link)
{
    loop_defer(link->config.loop, &link->replace);
}

void hostlink_kill(struct hostlink *link)
{
    if (link->child != NULL)
        (void)child_signal(link->child, SIGKILL);
    hostlink_replace_soon(link);
}

/* ---- its end ---- */

/* The process exits when its socket is closed, after rolling back what it was changing. */
static void leave_process(struct hostlink *link)
{
    child_free(link->child);
    link->child = NULL;
    leftovers_add(link->config.leftovers, link->pid, hostlink_may_be_changing(link));
}

static void let_go(struct hostlink *link)
{
    timer_stop(&link->wait);
    loop_task_cancel(&link->replace);
    reader_free(link->reader);
    writer_free(link->writer);
    toolwire_decoder_done(&link->decoder);
    link->reader = NULL;
    link->writer = NULL;
    /* It is woken first: while it ends, signals are no help to it. */
    if (link->child != NULL)
        leave_process(link);
    if (link->fd_again >= 0)
        close(link->fd_again);
    if (link->fd >= 0)
        close(link->fd);
    medialink_free(steal_ptr(&link->media));
    link->fd = link->fd_again = -1;
    link->state = LINK_ABSENT;
}

/* Starts another one, at once unless they keep dying early. */
static void replace(void *data)
{
    struct hostlink *link = data;
    bool was_old =
        link->state == LINK_READY && loop_now_ms(link->config.loop) - link->since_ms >= OLD_MS;
    struct err err = ERR_INIT;

    let_go(link);
    hostlink_fail_calls(link);
    if (!link->has_begun) {
        link->has_begun = true;
        err_set(&err, ERR_IO, "gatehouse-toolhost does not start; see its messages above");
        link->config.on_begun(link->config.data, &err);
        return;
    }
    if (was_old || link->delay_ms == 0)
        link->delay_ms = HOSTLINK_FIRST_WAIT_MS;
    else if (link->delay_ms * 2 < HOSTLINK_LONGEST_WAIT_MS)
        link->delay_ms *= 2;
    else
        link->delay_ms = HOSTLINK_LONGEST_WAIT_MS;
    log_write(link->config.log, LOG_WARN, "starting another toolhost",
              LOG_INT("after_ms", link->delay_ms));
    timer_start(&link->wait, link->delay_ms);
}

static void on_wait_over(void *data)
{
    struct hostlink *link = data;

    if (link->state == LINK_ABSENT) {
        start(link);
        return;
    }
    log_write(link->config.log, LOG_ERROR, "the toolhost did not become ready in time");
    hostlink_kill(link);
}

static void on_child_exit(void *data, struct child_exit exit)
{
    struct hostlink *link = data;

    log_write(link->config.log, LOG_ERROR, "the toolhost has exited",
              LOG_TEXT("by", exit.end == CHILD_SIGNALED ? "signal" : "exit"),
              LOG_INT("value", exit.value));
    child_free(link->child);
    link->child = NULL;
    hostlink_replace_soon(link);
}

/* ---- what comes from it ---- */

static int on_ready(struct hostlink *link, struct str body, struct err *err)
{
    int r = hostlink_read_ready(link, body, err);

    if (r < 0)
        return r;
    timer_stop(&link->wait);
    link->state = LINK_READY;
    link->since_ms = loop_now_ms(link->config.loop);
    if (!link->has_begun) {
        link->has_begun = true;
        link->config.on_begun(link->config.data, NULL);
    }
    return 0;
}

/* An error about the connection: it ends. */
static void on_own_error(struct hostlink *link, struct str body)
{
    struct err err = ERR_INIT;
    bool has_begun;

    hostlink_read_error(body, &err, &has_begun);
    log_error(link->config.log, "the toolhost asks to be replaced", &err);
    hostlink_replace_soon(link);
}

static int on_frame(void *data, const struct toolwire_frame *frame, struct err *err)
{
    struct hostlink *link = data;
    bool is_own_error = frame->call == TOOLWIRE_NO_CALL && frame->type == TOOLWIRE_ERROR;

    if (!is_own_error && (frame->type == TOOLWIRE_READY) != (link->state == LINK_STARTING))
        return err_set(err, ERR_INVALID_ARGUMENT, "READY must come first, and once");
    if (frame->type == TOOLWIRE_READY)
        return on_ready(link, frame->body, err);
    if (frame->type == TOOLWIRE_LOST)
        hostlink_replace_soon(link);
    else if (is_own_error)
        on_own_error(link, frame->body);
    else
        return hostlink_take_frame(link, frame, err);
    return 0;
}

static void on_bytes(void *data, struct str bytes)
{
    struct hostlink *link = data;
    struct err err = ERR_INIT;

    if (toolwire_feed(&link->decoder, bytes, on_frame, link, &err) == 0)
        return;
    log_error(link->config.log, "invalid message from the toolhost", &err);
    reader_pause(link->reader);
    hostlink_replace_soon(link);
}

static void on_stream_end(void *data, int error)
{
    (void)error;
    hostlink_replace_soon(data);
}

static void on_drained(void *data)
{
    (void)data;
}

/* ---- starting ---- */

static int open_streams(struct hostlink *link)
{
    const struct reader_events reader = {
        .on_bytes = on_bytes, .on_end = on_stream_end, .data = link};
    const struct writer_events writer = {
        .on_drained = on_drained, .on_broken = on_stream_end, .data = link};
    size_t most = SENT_REQUESTS * toolwire_max_request(link->config.max_file_bytes);
    int r;

    toolwire_decoder_init(&link->decoder, TOOLWIRE_HOST,
                          toolwire_max_answer(link->config.max_file_bytes));
    link->fd_again = fcntl(link->fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    if (link->fd_again < 0)
        return err_from_errno(errno);
    r = writer_new(link->config.loop, link->fd_again, most, &writer, &link->writer);
    if (r == 0)
        r = reader_new(link->config.loop, link->fd, &reader, &link->reader);
    return r;
}

static int start_process(struct hostlink *link, struct err *err)
{
    const struct medialink_config media = {.loop = link->config.loop,
                                           .log = link->config.log,
                                           .libexec = link->config.libexec,
                                           .leftovers = link->config.leftovers};
    cleanup_fd int theirs = -1;
    cleanup_fd int media_fd = -1;
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set_plain(err, err_from_errno(errno));
    link->fd = ends[0];
    theirs = ends[1];
    r = medialink_new(&media, &link->media, &media_fd);
    if (r < 0)
        return err_set_plain(err, r);
    r = companion_start_with("gatehouse-toolhost", link->config.libexec, link->config.argv,
                             (const int[2]){theirs, media_fd}, link->config.log->fd, &link->pid,
                             err);
    if (r < 0)
        return r;
    r = child_watch(link->config.loop, link->pid, on_child_exit, link, &link->child);
    if (r == 0)
        r = open_streams(link);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* A failure here is handled as if the process had died. */
static void start(struct hostlink *link)
{
    struct err err = ERR_INIT;
    int r;

    link->state = LINK_STARTING;
    r = start_process(link, &err);
    if (r < 0) {
        log_error(link->config.log, "cannot start the toolhost", &err);
        hostlink_replace_soon(link);
        return;
    }
    timer_start(&link->wait, HOSTLINK_READY_MS);
    hostlink_tell_rules(link);
}

int hostlink_new(const struct hostlink_config *config, struct hostlink **out_link, struct err *err)
{
    struct hostlink *link = calloc(1, sizeof(*link));

    if (link == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    link->executor.ops = &hostlink_ops;
    link->config = *config;
    link->fd = link->fd_again = -1;
    link->calls = (struct map)MAP_INIT(HOSTLINK_MAX_CALLS);
    timer_init(&link->wait, config->loop, on_wait_over, link);
    loop_task_init(&link->replace, replace, link);
    start(link);
    *out_link = link;
    return 0;
}

void hostlink_free(struct hostlink *link)
{
    if (link == NULL)
        return;
    /* It finishes or puts back a change that it has begun, and goes by itself. */
    let_go(link);
    hostlink_free_calls(link);
    free(link);
}

struct executor *hostlink_executor(struct hostlink *link)
{
    return &link->executor;
}

bool hostlink_has(const struct hostlink *link, const struct catalog_tool *tool)
{
    return tool->id < HOSTLINK_MOST_TOOLS && link->has_tool[tool->id];
}

void hostlink_tell_rules(struct hostlink *link)
{
    cleanup_buf struct buf body = BUF_INIT(toolwire_max_request(link->config.max_file_bytes));
    cleanup_rulebook struct rulebook *book =
        permission_book(keeper_permission(link->config.keeper));
    int r = denials_write(book, loop_wall_ms(link->config.loop), &body);

    if (r == 0)
        r = hostlink_send(link, TOOLWIRE_NO_CALL, TOOLWIRE_RULES, buf_view(&body));
    if (r == 0 || link->writer == NULL)
        return; /* the next one is told when it starts */
    log_write(link->config.log, LOG_ERROR, "cannot send the rules to the toolhost",
              LOG_TEXT("error", err_text(r)));
    hostlink_replace_soon(link);
}
