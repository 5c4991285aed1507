/* SPDX-License-Identifier: Apache-2.0 */
#include "media/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/frames.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "media/internal.h"

enum {
    WAIT_MS = 50, /* between two looks at the token */
    READ_BYTES = 64 << 10,
    END_MS = 2000, /* for the copy to end; then it is killed with us */
};

struct media_client {
    int fd;
    int error_fd;
    char libexec[PATH_MAX];
    pthread_mutex_t turn; /* serves workers: who has it may use the rest */
    bool is_lost;
    uint32_t number;
    struct frames_decoder decoder;
};

/* A request on its way. */
struct asking {
    struct media_client *client;
    struct str parts[2]; /* left to send */
    struct buf *space;
    bool is_too_large;
    bool has_ended;
    enum media_end end;
};

/* ---- starting ---- */

struct birth {
    struct media_client *client;
    int fd;
};

/* In the copy; the exit status. */
static int live(void *data)
{
    const struct birth *birth = data;
    const int kept[] = {birth->client->error_fd, birth->fd};

    if (confine_close_fds(kept, array_size(kept), NULL) < 0)
        return EXIT_FAILURE;
    return media_starter_run(birth->fd, birth->client->libexec, birth->client->error_fd);
}

int media_client_start(const char *libexec, int error_fd, struct media_client **out_client,
                       struct err *err)
{
    struct media_client *client = calloc(1, sizeof(*client));
    struct birth birth = {.client = client};
    int ends[2];
    int r;

    if (client == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        r = err_set(err, err_from_errno(errno), "cannot create sockets: %s", err_errno_text(errno));
        free(client);
        return r;
    }
    snprintf(client->libexec, sizeof(client->libexec), "%s", libexec);
    client->error_fd = error_fd;
    client->fd = ends[0];
    pthread_mutex_init(&client->turn, NULL);
    frames_decoder_init(&client->decoder, MEDIA_CHUNK_BYTES);
    birth.fd = ends[1];
    r = companion_fork(live, &birth, err);
    close(ends[1]);
    if (r == 0 && fcntl(client->fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
        r = err_set(err, err_from_errno(errno), "the socket: %s", err_errno_text(errno));
    if (r < 0) {
        media_client_free(client);
        return r;
    }
    *out_client = client;
    return 0;
}

void media_client_free(struct media_client *client)
{
    if (client == NULL)
        return;
    companion_close(client->fd, END_MS);
    frames_decoder_done(&client->decoder);
    pthread_mutex_destroy(&client->turn);
    free(client);
}

/* ---- asking ---- */

static int check_frame(void *data, const struct frame *frame, struct err *err)
{
    (void)data;
    if ((frame->type == MEDIA_DATA) || (frame->type == MEDIA_END && frame->body.len == 1))
        return 0;
    return err_set(err, ERR_INVALID_ARGUMENT, "an unknown frame");
}

static int on_frame(void *data, const struct frame *frame, struct err *err)
{
    struct asking *asking = data;

    (void)err;
    if (frame->number != asking->client->number)
        return 0; /* of a request that was given up */
    if (frame->type == MEDIA_END) {
        asking->has_ended = true;
        asking->end = (enum media_end)(unsigned char)frame->body.ptr[0];
    } else if (buf_append_str(asking->space, frame->body) < 0) {
        asking->is_too_large = true;
    }
    return 0;
}

static int receive(struct asking *asking)
{
    const struct frames_events events = {
        .check = check_frame, .on_frame = on_frame, .data = asking};
    char bytes[READ_BYTES];
    ssize_t n = read(asking->client->fd, bytes, sizeof(bytes));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return ERR_WORKERS_LOST;
    return frames_feed(&asking->client->decoder, (struct str){bytes, (size_t)n}, &events, NULL) < 0
               ? ERR_WORKERS_LOST
               : 0;
}

static int transmit(struct asking *asking)
{
    struct str *part = &asking->parts[asking->parts[0].len > 0 ? 0 : 1];
    ssize_t n = write(asking->client->fd, part->ptr, part->len);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return ERR_WORKERS_LOST;
    *part = str_slice(*part, (size_t)n, part->len);
    return 0;
}

/*
 * A request that is given up is sent to its end all the same, since the stream has no other marks;
 * its answer is read by the next one.
 */
static int exchange(struct asking *asking, const struct cancel *cancel)
{
    int r = 0;

    while (!asking->has_ended && r == 0) {
        bool sends = asking->parts[0].len > 0 || asking->parts[1].len > 0;
        struct pollfd ready = {.fd = asking->client->fd,
                               .events = (short)(POLLIN | (sends ? POLLOUT : 0))};
        int given_up = sends ? 0 : cancel_check(cancel);

        if (given_up < 0)
            return given_up;
        if (poll(&ready, 1, WAIT_MS) <= 0)
            continue;
        if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0)
            r = receive(asking);
        if (r == 0 && sends && (ready.revents & POLLOUT) != 0)
            r = transmit(asking);
    }
    return r;
}

static int take_turn(struct media_client *client, const struct cancel *cancel)
{
    while (true) {
        struct timespec until;
        int r = cancel_check(cancel);

        if (r < 0)
            return r;
        /* ThreadSanitizer does not know pthread_mutex_clocklock(). */
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        if (pthread_mutex_timedlock(&client->turn, &until) == 0)
            return 0;
    }
}

static int judge(const struct asking *asking, struct media_answer *out_answer, struct err *err)
{
    switch (asking->end) {
    case MEDIA_ENDED_WELL:
        return asking->is_too_large
                   ? err_set(err, ERR_TOO_LARGE, "the result is larger than the limit")
                   : media_read_answer(buf_view(asking->space), out_answer, err);
    case MEDIA_ENDED_BADLY:
        return err_set(err, ERR_MEDIA_LIMIT,
                       "working on it failed: it takes too much memory or time, or is damaged");
    case MEDIA_ENDED_OVERTIME:
        return err_set(err, ERR_MEDIA_LIMIT, "working on it takes longer than %d seconds",
                       MEDIA_TIME_MS / 1000);
    case MEDIA_ENDED_NOT_STARTED:
        break;
    }
    return err_set(err, ERR_UNSUPPORTED, "gatehouse-media is not installed");
}

static int ask_in_turn(struct media_client *client, enum media_job job, struct str body,
                       const struct cancel *cancel, struct buf *space,
                       struct media_answer *out_answer, struct err *err)
{
    char header[FRAMES_HEADER_BYTES];
    struct asking asking = {
        .client = client, .parts = {{header, sizeof(header)}, body}, .space = space};
    int r;

    if (client->is_lost)
        return err_set(err, ERR_UNSUPPORTED, "the process that starts gatehouse-media has ended");
    client->number++;
    frames_write_header(client->number, (uint8_t)job, body.len, header);
    r = exchange(&asking, cancel);
    if (r == ERR_WORKERS_LOST)
        client->is_lost = true;
    return r < 0 ? err_set_plain(err, r) : judge(&asking, out_answer, err);
}

int media_ask(struct media_client *client, enum media_job job, const struct media_request *request,
              const struct cancel *cancel, struct buf *space, struct media_answer *out_answer,
              struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(MEDIA_MAX_BYTES);
    int r = media_write_request(request, &body);

    if (r == 0)
        r = take_turn(client, cancel);
    if (r < 0)
        return err_set_plain(err, r);
    r = ask_in_turn(client, job, buf_view(&body), cancel, space, out_answer, err);
    pthread_mutex_unlock(&client->turn);
    return r;
}

void media_probe(struct media_client *client, struct media_abilities *out_abilities)
{
    static const enum media_job documents[] = {MEDIA_JOB_DOCUMENT, MEDIA_JOB_TEXT};
    cleanup_buf struct buf space = BUF_INIT(READ_BYTES);
    cleanup_free struct media_request *request = calloc(1, sizeof(*request));
    cleanup_free struct media_answer *answer = calloc(1, sizeof(*answer));

    *out_abilities = (struct media_abilities){0};
    if (request == NULL || answer == NULL)
        return;
    request->operation = MEDIA_PROBE;
    if (media_ask(client, MEDIA_JOB_IMAGE, request, NULL, &space, answer, NULL) == 0)
        out_abilities->formats = answer->total;
    out_abilities->has_documents = true;
    for (size_t i = 0; i < array_size(documents); i++) {
        buf_clear(&space);
        if (media_ask(client, documents[i], request, NULL, &space, answer, NULL) < 0)
            out_abilities->has_documents = false;
    }
}
