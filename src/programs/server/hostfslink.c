/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/hostfslink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"
#include "hostfs/errors.h"
#include "loop/reader.h"
#include "loop/writer.h"

enum {
    FIRST_OWN_FD = 4,
    SENT_REQUESTS = 4, /* of the largest size, not read yet */
    ERROR_BYTES = 4 << 10,
};

enum state { READY, STARTING, LOST };

struct hostfslink {
    struct hostfslink_config config;
    int fd;
    int fd_again; /* for the other direction */
    struct reader *reader;
    struct writer *writer;
    struct frames_decoder decoder;
    struct map asked; /* by number */
    uint32_t last_number;
    enum state state;
};

/* A request whose answer is awaited. */
struct asked {
    uint32_t number; /* the key in link->asked */
    enum hostfs_major major;
    struct exchange *exchange; /* NULL: the client has left */
};

static struct str key_of(const uint32_t *number)
{
    return (struct str){(const char *)number, sizeof(*number)};
}

/* ---- answers ---- */

/* Answers with the JSON that the process or the server has made. */
static void answer_json(struct exchange *exchange, int status, struct str body)
{
    const struct http_field fields[] = {
        {STR("Cache-Control"), STR("no-store")},
        {STR("WWW-Authenticate"), STR("Bearer")},
    };

    exchange_answer(exchange, &(struct http_answer){.status = status,
                                                    .type = STR("application/json"),
                                                    .fields = fields,
                                                    .field_count = status == 401 ? 2 : 1,
                                                    .parts = &body,
                                                    .part_count = 1});
}

void hostfslink_answer_error(struct exchange *exchange, enum hostfs_major major,
                             const struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(ERROR_BYTES);
    int status = hostfs_write_error(major, err, &body);

    answer_json(exchange, status, buf_view(&body));
}

static void on_gone(void *data)
{
    struct asked *asked = data;

    asked->exchange = NULL; /* its answer will be dropped */
}

/* The process is gone: nothing that was asked is answered any more. */
static void fail_all(struct hostfslink *link, int code)
{
    const struct err err = {.code = code};
    size_t cursor = 0;
    struct str key;
    void *value;

    while (map_next(&link->asked, &cursor, &key, &value)) {
        struct asked *asked = value;

        if (asked->exchange != NULL)
            hostfslink_answer_error(asked->exchange, asked->major, &err);
        free(asked);
    }
    map_done(&link->asked);
    link->asked = (struct map)MAP_INIT(HOSTFSLINK_MAX_ASKED);
}

static void lose(struct hostfslink *link)
{
    if (link->state == LOST)
        return;
    link->state = LOST;
    if (link->reader != NULL)
        reader_pause(link->reader);
    log_write(link->config.log, LOG_ERROR, "a process of host.fs has ended; it is started again");
    fail_all(link, ERR_WORKERS_LOST);
    link->config.on_lost(link->config.data);
}

static int on_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    struct hostfslink *link = data;
    struct asked *asked;
    struct str body;
    int status;
    int r;

    if (frame->type == HOSTFS_READY && link->state == STARTING) {
        link->state = READY;
        return 0;
    }
    r = frame->type == HOSTFS_ANSWER ? hostfs_read_answer(frame, &status, &body)
                                     : ERR_INVALID_ARGUMENT;

    if (r < 0)
        return err_set(err, r, "an answer of an unknown form");
    asked = map_remove(&link->asked, key_of(&frame->number));
    if (asked == NULL)
        return err_set(err, ERR_INVALID_ARGUMENT, "an answer that nobody asked for");
    if (asked->exchange != NULL)
        answer_json(asked->exchange, status, body);
    free(asked);
    return 0;
}

static void on_bytes(void *data, struct str bytes)
{
    struct hostfslink *link = data;
    const struct frames_events events = {
        .check = hostfs_check_answer, .on_frame = on_frame, .data = link};
    struct err err = ERR_INIT;

    if (link->state == LOST || frames_feed(&link->decoder, bytes, &events, &err) == 0)
        return;
    log_error(link->config.log, "invalid message from gatehouse-hostfs", &err);
    lose(link);
}

static void on_end(void *data, int error)
{
    (void)error;
    lose(data);
}

static void on_drained(void *data)
{
    (void)data;
}

/* ---- requests ---- */

int hostfslink_ask(struct hostfslink *link, const struct hostfs_request *request,
                   struct exchange *exchange)
{
    static const struct exchange_events events = {.on_gone = on_gone};
    char header[FRAMES_HEADER_BYTES];
    char head[HOSTFS_REQUEST_HEAD];
    const struct str parts[] = {{header, sizeof(header)}, {head, sizeof(head)}, request->body};
    struct asked *asked;
    int r;

    if (link->state != READY)
        return ERR_WORKERS_LOST;
    if (link->asked.count >= HOSTFSLINK_MAX_ASKED)
        return ERR_BUSY;
    asked = calloc(1, sizeof(*asked));
    if (asked == NULL)
        return ERR_NO_MEMORY;
    do
        asked->number = ++link->last_number;
    while (asked->number == 0 || map_get(&link->asked, key_of(&asked->number)) != NULL);
    asked->major = request->major;
    asked->exchange = exchange;
    hostfs_write_request_head(request, head);
    frames_write_header(asked->number, (uint8_t)request->operation,
                        sizeof(head) + request->body.len, header);
    r = map_add(&link->asked, key_of(&asked->number), asked);
    if (r == 0) {
        r = writer_send(link->writer, parts, array_size(parts));
        if (r < 0)
            map_remove(&link->asked, key_of(&asked->number));
    }
    if (r < 0) {
        free(asked);
        /* Otherwise it has closed, of which the reader will hear. */
        return r == ERR_TOO_LARGE ? ERR_BUSY : r == ERR_NO_MEMORY ? r : ERR_WORKERS_LOST;
    }
    exchange_watch(exchange, &events, asked);
    return 0;
}

/* ---- making ---- */

static int open_streams(struct hostfslink *link, int fd)
{
    const struct reader_events reader = {.on_bytes = on_bytes, .on_end = on_end, .data = link};
    const struct writer_events writer = {
        .on_drained = on_drained, .on_broken = on_end, .data = link};
    uint64_t most = link->config.max_file_bytes;
    int r;

    link->fd = fd;
    frames_decoder_init(&link->decoder, HOSTFS_ANSWER_HEAD + hostfs_max_answer(most));
    link->fd_again = fcntl(link->fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    if (link->fd_again < 0)
        return err_from_errno(errno);
    r = writer_new(link->config.loop, link->fd_again, SENT_REQUESTS * hostfs_max_request(most),
                   &writer, &link->writer);
    return r == 0 ? reader_new(link->config.loop, link->fd, &reader, &link->reader) : r;
}

static void close_streams(struct hostfslink *link)
{
    reader_free(link->reader);
    writer_free(link->writer);
    link->reader = NULL;
    link->writer = NULL;
    frames_decoder_done(&link->decoder);
    if (link->fd_again >= 0)
        close(steal_fd(&link->fd_again));
    if (link->fd >= 0)
        close(steal_fd(&link->fd));
}

int hostfslink_new(const struct hostfslink_config *config, int fd, struct hostfslink **out_link)
{
    struct hostfslink *link = calloc(1, sizeof(*link));
    int r;

    if (link == NULL) {
        close(fd);
        return ERR_NO_MEMORY;
    }
    link->config = *config;
    link->asked = (struct map)MAP_INIT(HOSTFSLINK_MAX_ASKED);
    r = open_streams(link, fd);
    if (r < 0) {
        hostfslink_free(link);
        return r;
    }
    *out_link = link;
    return 0;
}

int hostfslink_reopen(struct hostfslink *link, int fd)
{
    int r;

    close_streams(link);
    r = open_streams(link, fd);
    link->state = r == 0 ? STARTING : LOST;
    return r;
}

void hostfslink_free(struct hostfslink *link)
{
    if (link == NULL)
        return;
    link->state = LOST; /* an answer may bring the next request of its connection */
    fail_all(link, ERR_BUSY);
    map_done(&link->asked);
    close_streams(link);
    free(link);
}
