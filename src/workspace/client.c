/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/client.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "ipc/frames.h"
#include "isolate/companion.h"
#include "loop/reader.h"
#include "loop/writer.h"
#include "workspace/wire.h"

#define PROGRAM "gatehouse-workspacehost"

enum { START_MS = 10000, END_MS = 8000 };

struct waiting {
    struct list node;
    uint32_t number;
    struct workspace_client_events events;
};

struct workspace_client {
    int fd;
    int write_fd; /* a copy: the loop watches a descriptor for one thing only */
    struct loop *loop;
    struct reader *reader;
    struct writer *writer;
    struct loop_task fail;
    struct frames_decoder decoder;
    struct list calls;
    uint32_t last_number;
    bool is_broken;
    void (*on_lost)(void *data); /* or NULL */
    void *lost_data;
    bool is_ready;
    struct err refused; /* the answer to SETUP */
};

/* ---- messages ---- */

static int send_frame(struct workspace_client *client, uint32_t number,
                      enum workspace_wire_type type, struct str body)
{
    char header[FRAMES_HEADER_BYTES];
    const struct str parts[] = {{header, sizeof(header)}, body};

    if (client->is_broken || client->writer == NULL)
        return ERR_CONNECTION_LOST;
    frames_write_header(number, (uint8_t)type, body.len, header);
    return writer_send(client->writer, parts, array_size(parts));
}

static struct waiting *find(struct workspace_client *client, uint32_t number)
{
    list_each (node, &client->calls) {
        struct waiting *waiting = list_entry(node, struct waiting, node);

        if (waiting->number == number)
            return waiting;
    }
    return NULL;
}

static void finish(struct waiting *waiting, const struct err *err, struct str object)
{
    const struct workspace_client_events events = waiting->events;

    list_remove(&waiting->node);
    free(waiting);
    events.on_done(events.data, err, object);
}

static void fail_all(struct workspace_client *client)
{
    struct err err = ERR_INIT;

    err_set(&err, ERR_CONNECTION_LOST,
            client->on_lost != NULL
                ? PROGRAM " has ended, and is being started again: try again in a few seconds"
                : PROGRAM " has ended: restart Gatehouse to use workspaces again");
    while (!list_is_empty(&client->calls))
        finish(list_entry(client->calls.next, struct waiting, node), &err, STR_EMPTY);
}

/* Loop task. */
static void tell_lost(void *data)
{
    struct workspace_client *client = data;

    if (client->on_lost != NULL)
        client->on_lost(client->lost_data);
    fail_all(client);
}

static void break_down(struct workspace_client *client)
{
    client->is_broken = true;
    if (client->reader != NULL)
        reader_pause(client->reader);
    if (client->loop != NULL)
        loop_defer(client->loop, &client->fail);
}

static void read_failure(struct str body, struct err *out_err)
{
    struct workspace_wire_failure failure = {.code = ERR_INTERNAL};

    if (body.len >= sizeof(failure))
        memcpy(&failure, body.ptr, sizeof(failure));
    body = str_slice(body, sizeof(failure), body.len);
    err_set(out_err, failure.code < 0 ? failure.code : ERR_INTERNAL, "%.*s", STR_ARG(body));
}

static void take_progress(const struct waiting *waiting, struct str body)
{
    struct workspace_wire_progress progress;

    if (waiting == NULL || body.len != sizeof(progress))
        return;
    memcpy(&progress, body.ptr, sizeof(progress));
    if (waiting->events.on_progress != NULL)
        waiting->events.on_progress(waiting->events.data, progress.bytes);
}

static int on_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    struct workspace_client *client = data;
    struct waiting *waiting = find(client, frame->number);
    struct err failed = ERR_INIT;

    switch (frame->type) {
    case WORKSPACE_WIRE_READY:
        client->is_ready = true;
        return 0;
    case WORKSPACE_WIRE_DONE:
        if (waiting != NULL)
            finish(waiting, NULL, frame->body);
        return 0;
    case WORKSPACE_WIRE_FAILED:
        read_failure(frame->body, &failed);
        if (waiting != NULL)
            finish(waiting, &failed, STR_EMPTY);
        else if (!client->is_ready)
            client->refused = failed;
        return 0;
    case WORKSPACE_WIRE_PROGRESS:
        take_progress(waiting, frame->body);
        return 0;
    default:
        return err_set(err, ERR_INVALID_REQUEST, "invalid message from " PROGRAM);
    }
}

static int check_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    (void)data;
    (void)frame;
    (void)err;
    return 0;
}

static int feed(struct workspace_client *client, struct str bytes, struct err *err)
{
    const struct frames_events events = {
        .check = check_frame, .on_frame = on_frame, .data = client};

    return frames_feed(&client->decoder, bytes, &events, err);
}

static void on_bytes(void *data, struct str bytes)
{
    if (feed(data, bytes, NULL) < 0)
        break_down(data);
}

static void on_end(void *data, int error)
{
    (void)error;
    break_down(data);
}

static void on_drained(void *data)
{
    (void)data;
}

/* ---- calls ---- */

static struct waiting *new_waiting(struct workspace_client *client,
                                   const struct workspace_client_events *events)
{
    struct waiting *waiting = calloc(1, sizeof(*waiting));

    if (waiting == NULL)
        return NULL;
    client->last_number += client->last_number == UINT32_MAX ? 2 : 1; /* 0 is no call */
    *waiting = (struct waiting){.number = client->last_number, .events = *events};
    return waiting;
}

int workspace_client_call(struct workspace_client *client, struct str message,
                          const struct workspace_client_events *events, uint32_t *out_number)
{
    struct waiting *waiting = new_waiting(client, events);
    int r;

    if (waiting == NULL)
        return ERR_NO_MEMORY;
    r = send_frame(client, waiting->number, WORKSPACE_WIRE_CALL, message);
    if (r == ERR_TOO_LARGE) {
        free(waiting);
        return r;
    }
    list_append(&client->calls, &waiting->node);
    *out_number = waiting->number;
    if (r < 0)
        break_down(client);
    return 0;
}

void workspace_client_cancel(struct workspace_client *client, uint32_t number)
{
    (void)send_frame(client, number, WORKSPACE_WIRE_CANCEL, STR_EMPTY);
}

static int ask(struct workspace_client *client, enum workspace_wire_type type, struct str key,
               const struct workspace_client_events *events)
{
    struct waiting *waiting = new_waiting(client, events);
    int r;

    if (waiting == NULL)
        return ERR_NO_MEMORY;
    r = send_frame(client, waiting->number, type, key);
    if (r < 0)
        free(waiting);
    else
        list_append(&client->calls, &waiting->node);
    return r;
}

int workspace_client_end(struct workspace_client *client, struct str key,
                         const struct workspace_client_events *events)
{
    return ask(client, WORKSPACE_WIRE_END, key, events);
}

int workspace_client_ask_use(struct workspace_client *client, struct str key,
                             const struct workspace_client_events *events)
{
    return ask(client, WORKSPACE_WIRE_USE, key, events);
}

int64_t workspace_client_read_use(struct str object)
{
    struct workspace_wire_use use = {.idle_ms = INT64_MAX};

    if (object.len == sizeof(use))
        memcpy(&use, object.ptr, sizeof(use));
    return use.idle_ms;
}

/* ---- making ---- */

static int write_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t written = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

        if (written <= 0)
            return ERR_CONNECTION_LOST;
        bytes = str_slice(bytes, (size_t)written, bytes.len);
    }
    return 0;
}

static int send_setup(const struct workspace_client *client,
                      const struct workspace_client_config *config)
{
    struct workspace_wire_setup setup = {.settings = *config->settings};
    char header[FRAMES_HEADER_BYTES];
    int r;

    snprintf(setup.adopted, sizeof(setup.adopted), "%s",
             config->adopted != NULL ? config->adopted : "");
    frames_write_header(0, WORKSPACE_WIRE_FILES, config->files.len, header);
    r = write_all(client->fd, (struct str){header, sizeof(header)});
    if (r == 0)
        r = write_all(client->fd, config->files);
    frames_write_header(0, WORKSPACE_WIRE_SETUP, sizeof(setup) + config->setup.len, header);
    if (r == 0)
        r = write_all(client->fd, (struct str){header, sizeof(header)});
    if (r == 0)
        r = write_all(client->fd, (struct str){(const char *)&setup, sizeof(setup)});
    if (r == 0)
        r = write_all(client->fd, config->setup);
    secret_done(&setup.settings.key);
    return r;
}

/* The first frame from the host, while there is no loop. */
static int wait_for_ready(struct workspace_client *client, struct err *err)
{
    int64_t deadline_ms = clock_monotonic_ms(&clock_system) + START_MS;
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};
    char bytes[4096];

    while (!client->is_ready && client->refused.code == 0) {
        int64_t left = deadline_ms - clock_monotonic_ms(&clock_system);
        ssize_t got;

        if (left <= 0)
            return err_set(err, ERR_TIMED_OUT, PROGRAM " does not answer");
        if (poll(&ready, 1, (int)left) <= 0)
            continue;
        got = read(client->fd, bytes, sizeof(bytes));
        if (got <= 0)
            return err_set(err, ERR_CONNECTION_LOST, PROGRAM " has ended at once");
        if (feed(client, (struct str){bytes, (size_t)got}, err) < 0)
            return err_set(err, ERR_INTERNAL, "invalid message from " PROGRAM);
    }
    if (client->refused.code == 0)
        return 0;
    *err = client->refused;
    return client->refused.code;
}

static int take_socket(struct workspace_client *client, int fd)
{
    client->fd = fd;
    client->write_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return client->write_fd < 0 ? ERR_IO : 0;
}

static void close_sockets(struct workspace_client *client)
{
    if (client->write_fd >= 0)
        close(steal_fd(&client->write_fd));
    if (client->fd >= 0)
        close(steal_fd(&client->fd));
}

int workspace_client_start(const struct workspace_client_config *config,
                           struct workspace_client **out_client, struct err *err)
{
    const char *const argv[] = {PROGRAM, "--state-dir", config->state_dir, NULL};
    struct workspace_client *client = calloc(1, sizeof(*client));
    struct companion companion;
    int r;

    if (client == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    client->fd = -1;
    client->write_fd = -1;
    list_init(&client->calls);
    frames_decoder_init(&client->decoder, WORKSPACE_WIRE_BYTES);
    r = companion_start(PROGRAM, config->libexec, argv, config->error_fd, &companion, err);
    if (r == 0) {
        if (take_socket(client, companion.fd) < 0 || send_setup(client, config) < 0)
            r = err_set(err, ERR_CONNECTION_LOST, PROGRAM " has ended at once");
    }
    if (r == 0)
        r = wait_for_ready(client, err);
    if (r < 0) {
        workspace_client_free(client);
        return r;
    }
    *out_client = client;
    return 0;
}

int workspace_client_attach(struct workspace_client *client, struct loop *loop)
{
    const struct reader_events reading = {.on_bytes = on_bytes, .on_end = on_end, .data = client};
    const struct writer_events writing = {
        .on_drained = on_drained, .on_broken = on_end, .data = client};
    int r = reader_new(loop, client->fd, &reading, &client->reader);

    client->loop = loop;
    loop_task_init(&client->fail, tell_lost, client);
    return r == 0
               ? writer_new(loop, client->write_fd, WORKSPACE_WIRE_BYTES, &writing, &client->writer)
               : r;
}

void workspace_client_detach(struct workspace_client *client)
{
    if (client == NULL || client->loop == NULL)
        return;
    client->is_broken = true;
    fail_all(client);
    loop_task_cancel(&client->fail);
    reader_free(client->reader);
    writer_free(client->writer);
    client->reader = NULL;
    client->writer = NULL;
    client->loop = NULL;
}

void workspace_client_on_lost(struct workspace_client *client, void (*on_lost)(void *data),
                              void *data)
{
    client->on_lost = on_lost;
    client->lost_data = data;
}

int workspace_client_reopen(struct workspace_client *client, int fd)
{
    struct loop *loop = client->loop;
    int r;

    workspace_client_detach(client);
    close_sockets(client);
    frames_decoder_done(&client->decoder);
    frames_decoder_init(&client->decoder, WORKSPACE_WIRE_BYTES);
    r = take_socket(client, fd);
    if (r == 0)
        r = workspace_client_attach(client, loop);
    client->loop = loop; /* also for the calls that fail */
    client->is_broken = r < 0;
    return r;
}

void workspace_client_free(struct workspace_client *client)
{
    if (client == NULL)
        return;
    if (client->write_fd >= 0)
        close(client->write_fd);
    /* It ends its workspaces, and closes its end of the socket then. */
    if (client->fd >= 0)
        companion_close(client->fd, END_MS);
    frames_decoder_done(&client->decoder);
    free(client);
}

int workspace_client_hand_over(struct workspace_client *client)
{
    int fd = steal_fd(&client->fd);

    workspace_client_free(client);
    return fd;
}
