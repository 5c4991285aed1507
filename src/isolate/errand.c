/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/frames.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "isolate/errand_internal.h"

enum {
    WAIT_MS = 50, /* between two looks at the token */
    READ_BYTES = 64 << 10,
    END_MS = 2000, /* for the copy to end; then it is killed with us */
};

struct errand {
    int fd;
    pthread_mutex_t turn; /* serves workers: who has it may use the rest */
    atomic_bool is_lost;  /* anybody may read it */
    uint32_t number;
    struct frames_decoder decoder;
};

/* A request on its way. */
struct asking {
    struct errand *errand;
    char header[FRAMES_HEADER_BYTES];
    struct str parts[2]; /* left to send */
    struct buf *space;
    bool is_too_large;
    bool has_ended;
    enum errand_end end;
};

/* ---- starting ---- */

struct birth {
    const struct errand_config *config;
    int fd;
};

/* In the copy; the exit status. */
static int live(void *data)
{
    const struct birth *birth = data;
    const int kept[] = {birth->config->error_fd, birth->fd};

    if (confine_close_fds(kept, array_size(kept), NULL) < 0)
        return EXIT_FAILURE;
    return errand_serve(birth->fd, birth->config);
}

int errand_open(int fd, struct errand **out_errand, struct err *err)
{
    struct errand *errand = calloc(1, sizeof(*errand));

    if (errand == NULL || fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0) {
        int r = errand == NULL
                    ? err_set_plain(err, ERR_NO_MEMORY)
                    : err_set(err, err_from_errno(errno), "the socket: %s", err_errno_text(errno));

        free(errand);
        close(fd);
        return r;
    }
    errand->fd = fd;
    pthread_mutex_init(&errand->turn, NULL);
    frames_decoder_init(&errand->decoder, ERRAND_CHUNK_BYTES);
    *out_errand = errand;
    return 0;
}

int errand_start(const struct errand_config *config, struct errand **out_errand, struct err *err)
{
    struct birth birth = {.config = config};
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create sockets: %s",
                       err_errno_text(errno));
    birth.fd = ends[1];
    r = companion_fork(live, &birth, err);
    close(ends[1]);
    if (r < 0) {
        close(ends[0]);
        return r;
    }
    return errand_open(ends[0], out_errand, err);
}

void errand_free(struct errand *errand)
{
    if (errand == NULL)
        return;
    companion_close(errand->fd, END_MS);
    frames_decoder_done(&errand->decoder);
    pthread_mutex_destroy(&errand->turn);
    free(errand);
}

/* ---- asking ---- */

static int check_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    (void)data;
    if ((frame->type == ERRAND_DATA) || (frame->type == ERRAND_END && frame->body.len == 1))
        return 0;
    return err_set(err, ERR_INVALID_ARGUMENT, "an unknown frame");
}

static int on_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    struct asking *asking = data;

    (void)err;
    if (frame->number != asking->errand->number)
        return 0; /* of a request that was given up */
    if (frame->type == ERRAND_END) {
        asking->has_ended = true;
        asking->end = (enum errand_end)(unsigned char)frame->body.ptr[0];
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
    ssize_t n = read(asking->errand->fd, bytes, sizeof(bytes));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return ERR_WORKERS_LOST;
    return frames_feed(&asking->errand->decoder, (struct str){bytes, (size_t)n}, &events, NULL) < 0
               ? ERR_WORKERS_LOST
               : 0;
}

static int transmit(struct asking *asking)
{
    struct str *part = &asking->parts[asking->parts[0].len > 0 ? 0 : 1];
    ssize_t n = write(asking->errand->fd, part->ptr, part->len);

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
        struct pollfd ready = {.fd = asking->errand->fd,
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

static int take_turn(struct errand *errand, const struct cancel *cancel)
{
    while (true) {
        struct timespec until;
        int r = cancel_check(cancel);

        if (r < 0)
            return r;
        /* ThreadSanitizer does not know pthread_mutex_clocklock(). */
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        if (pthread_mutex_timedlock(&errand->turn, &until) == 0)
            return 0;
    }
}

/* So that the process does not go on for nobody. The next request would end it as well. */
static void end_given_up(struct errand *errand)
{
    char header[FRAMES_HEADER_BYTES];

    frames_write_header(++errand->number, 0, 0, header);
    /* A socket that takes no few bytes has a copy behind it that hangs. */
    if (write(errand->fd, header, sizeof(header)) != (ssize_t)sizeof(header))
        errand->is_lost = true;
}

static int ask_in_turn(struct errand *errand, unsigned job, struct str body,
                       const struct cancel *cancel, struct asking *asking, struct err *err)
{
    int r;

    if (errand->is_lost)
        return err_set(err, ERR_UNSUPPORTED,
                       "the process that starts helpers did not start, or has ended");
    errand->number++;
    frames_write_header(errand->number, (uint8_t)job, body.len, asking->header);
    asking->parts[0] = (struct str){asking->header, sizeof(asking->header)};
    asking->parts[1] = body;
    r = exchange(asking, cancel);
    if (r == ERR_WORKERS_LOST)
        errand->is_lost = true;
    else if (r < 0)
        end_given_up(errand);
    return r < 0 ? err_set_plain(err, r) : 0;
}

int errand_ask(struct errand *errand, unsigned job, struct str body, const struct cancel *cancel,
               struct buf *space, enum errand_end *out_end, struct err *err)
{
    struct asking asking = {.errand = errand, .space = space};
    int r = take_turn(errand, cancel);

    if (r < 0)
        return err_set_plain(err, r);
    r = ask_in_turn(errand, job, body, cancel, &asking, err);
    pthread_mutex_unlock(&errand->turn);
    if (r == 0 && asking.end == ERRAND_ENDED_WELL && asking.is_too_large)
        r = err_set(err, ERR_TOO_LARGE, "the result is larger than the limit");
    if (r == 0)
        *out_end = asking.end;
    return r;
}

bool errand_is_lost(const struct errand *errand)
{
    return atomic_load(&errand->is_lost);
}
