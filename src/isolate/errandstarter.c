/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/errand_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "ipc/frames.h"
#include "isolate/companion.h"

enum { EXIT_STEP_MS = 1 };

/* Bytes on their way. */
struct stock {
    size_t at;
    size_t len;
    char bytes[FRAMES_HEADER_BYTES + ERRAND_CHUNK_BYTES];
};

struct starter {
    int client;
    const struct errand_config *config;
    bool is_over; /* the program has closed */
    struct stock in;
    struct stock out;
};

struct request {
    uint32_t number;
    size_t left; /* of the request, not read yet */
    struct companion worker;
    bool is_fed;  /* it has the whole request, or closed before that */
    bool is_done; /* it has closed */
    bool is_overtime;
    bool is_unwanted;
    int64_t deadline_ms;
};

static bool is_empty(const struct stock *stock)
{
    return stock->at == stock->len;
}

/* False if the other side has closed. */
static bool fill(int fd, struct stock *stock, size_t from, size_t len, size_t *out_len)
{
    ssize_t n = read(fd, stock->bytes + from, len);

    *out_len = n > 0 ? (size_t)n : 0;
    stock->at = 0;
    stock->len = n > 0 ? from + (size_t)n : 0;
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool drain(int fd, struct stock *stock)
{
    ssize_t n = write(fd, stock->bytes + stock->at, stock->len - stock->at);

    if (n > 0)
        stock->at += (size_t)n;
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* ---- one request ---- */

static void from_client(struct starter *starter, struct request *request)
{
    size_t most = request->left < ERRAND_CHUNK_BYTES ? request->left : ERRAND_CHUNK_BYTES;
    size_t len;

    if (request->left == 0) {
        request->is_unwanted = true; /* the next request, or the end: read later */
        return;
    }
    if (!fill(starter->client, &starter->in, 0, most, &len))
        starter->is_over = true;
    request->left -= len;
    if (request->is_fed)
        starter->in.at = starter->in.len; /* it closed early: nobody takes this */
}

static void to_worker(struct starter *starter, struct request *request)
{
    if (drain(request->worker.fd, &starter->in))
        return;
    request->is_fed = true;
    starter->in.at = starter->in.len;
}

static void from_worker(struct starter *starter, struct request *request)
{
    size_t len;

    if (!fill(request->worker.fd, &starter->out, FRAMES_HEADER_BYTES, ERRAND_CHUNK_BYTES, &len))
        request->is_done = true;
    if (len > 0)
        frames_write_header(request->number, ERRAND_DATA, len, starter->out.bytes);
    else
        starter->out.at = starter->out.len = 0;
}

static void move_bytes(struct starter *starter, struct request *request,
                       const struct pollfd ready[2])
{
    if ((ready[0].revents & POLLOUT) != 0 && !is_empty(&starter->out) &&
        !drain(starter->client, &starter->out))
        starter->is_over = true;
    if ((ready[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && is_empty(&starter->in))
        from_client(starter, request);
    if (!is_empty(&starter->in) && !request->is_fed)
        to_worker(starter, request);
    if (!request->is_fed && request->left == 0 && is_empty(&starter->in)) {
        request->is_fed = true;
        (void)shutdown(request->worker.fd, SHUT_WR);
    }
    if ((ready[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && is_empty(&starter->out) &&
        !request->is_done)
        from_worker(starter, request);
}

/* Until it is done and all of it is sent, or it must end. */
static void carry(struct starter *starter, struct request *request)
{
    while (!starter->is_over && !request->is_unwanted && !request->is_overtime) {
        int64_t left_ms = request->deadline_ms - clock_monotonic_ms(&clock_system);
        struct pollfd ready[2] = {
            {.fd = starter->client,
             .events = (short)((is_empty(&starter->in) ? POLLIN : 0) |
                               (is_empty(&starter->out) ? 0 : POLLOUT))},
            {.fd = request->is_done && is_empty(&starter->in) ? -1 : request->worker.fd,
             .events = (short)((is_empty(&starter->in) || request->is_fed ? 0 : POLLOUT) |
                               (is_empty(&starter->out) && !request->is_done ? POLLIN : 0))},
        };

        if (request->is_done && is_empty(&starter->out) && request->left == 0)
            return;
        if (request->is_done)
            ready[1].fd = -1; /* it hangs up all the time */
        if (left_ms <= 0)
            request->is_overtime = true;
        else if (poll(ready, 2, (int)left_ms) > 0)
            move_bytes(starter, request, ready);
    }
}

/* Blocks, but only while the program reads nothing. */
static void send_end(struct starter *starter, uint32_t number, enum errand_end how)
{
    struct stock *out = &starter->out;

    /* What is left of a piece comes first: the program knows its length. */
    while (!is_empty(out) && !starter->is_over) {
        struct pollfd ready = {.fd = starter->client, .events = POLLOUT};

        if (poll(&ready, 1, -1) > 0 && !drain(starter->client, out))
            starter->is_over = true;
    }
    if (starter->is_over)
        return;
    frames_write_header(number, ERRAND_END, 1, out->bytes);
    out->bytes[FRAMES_HEADER_BYTES] = (char)how;
    out->at = 0;
    out->len = FRAMES_HEADER_BYTES + 1;
    while (!is_empty(out) && !starter->is_over) {
        struct pollfd ready = {.fd = starter->client, .events = POLLOUT};

        if (poll(&ready, 1, -1) > 0 && !drain(starter->client, out))
            starter->is_over = true;
    }
}

static void set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* What the request still has is not for anybody. */
static void skip_request(struct starter *starter, struct request *request)
{
    request->is_fed = true;
    while (request->left > 0 && !starter->is_over) {
        struct pollfd ready = {.fd = starter->client, .events = POLLIN};

        if (poll(&ready, 1, -1) > 0)
            from_client(starter, request);
    }
    starter->in.at = starter->in.len = 0;
}

/* Its exit status. One that has closed may still not exit: it has its time, as any other. */
static int wait_for_worker(struct request *request)
{
    const struct timespec step = {.tv_nsec = EXIT_STEP_MS * 1000000L};
    int status = 0;

    while (request->is_done && !request->is_unwanted && !request->is_overtime) {
        if (waitpid(request->worker.pid, &status, WNOHANG) != 0)
            return status;
        if (clock_monotonic_ms(&clock_system) >= request->deadline_ms)
            request->is_overtime = true;
        else
            nanosleep(&step, NULL);
    }
    (void)kill(request->worker.pid, SIGKILL);
    while (waitpid(request->worker.pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static enum errand_end end_worker(struct request *request)
{
    int status;

    close(request->worker.fd);
    status = wait_for_worker(request);
    if (request->is_overtime)
        return ERRAND_ENDED_OVERTIME;
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS ? ERRAND_ENDED_WELL
                                                                    : ERRAND_ENDED_BADLY;
}

static void serve_one(struct starter *starter, uint32_t number, unsigned job, size_t len)
{
    const struct errand_config *config = starter->config;
    const char *const *words = job > 0 && job < config->job_end ? config->jobs[job] : NULL;
    struct request request = {.number = number,
                              .left = len,
                              .deadline_ms = clock_monotonic_ms(&clock_system) + config->time_ms};
    enum errand_end how = ERRAND_ENDED_NOT_STARTED;

    starter->in.at = starter->in.len = 0;
    starter->out.at = starter->out.len = 0;
    if (words != NULL && companion_start(config->program, config->libexec, words, config->error_fd,
                                         &request.worker, NULL) == 0) {
        set_nonblocking(request.worker.fd);
        carry(starter, &request);
        how = end_worker(&request);
    }
    skip_request(starter, &request);
    send_end(starter, number, how);
}

/* ---- all of them ---- */

static bool read_header(struct starter *starter, char out_header[FRAMES_HEADER_BYTES])
{
    size_t got = 0;

    while (got < FRAMES_HEADER_BYTES) {
        struct pollfd ready = {.fd = starter->client, .events = POLLIN};
        ssize_t n;

        if (poll(&ready, 1, -1) < 0 && errno != EINTR)
            return false;
        n = read(starter->client, out_header + got, FRAMES_HEADER_BYTES - got);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        got += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static uint32_t number_at(const char *bytes)
{
    uint32_t number = 0;

    for (size_t i = 0; i < sizeof(number); i++)
        number |= (uint32_t)(unsigned char)bytes[i] << (8 * i);
    return number;
}

int errand_serve(int fd, const struct errand_config *config)
{
    struct starter *starter = calloc(1, sizeof(*starter));
    char header[FRAMES_HEADER_BYTES];

    if (starter == NULL)
        return EXIT_FAILURE;
    starter->client = fd;
    starter->config = config;
    set_nonblocking(fd);
    while (!starter->is_over && read_header(starter, header)) {
        size_t counted = number_at(header);

        if (counted < FRAMES_HEADER_BYTES - FRAMES_UNCOUNTED_BYTES)
            break;
        serve_one(starter, number_at(header + FRAMES_UNCOUNTED_BYTES),
                  (unsigned char)header[FRAMES_HEADER_BYTES - 1],
                  counted - (FRAMES_HEADER_BYTES - FRAMES_UNCOUNTED_BYTES));
    }
    free(starter);
    return EXIT_SUCCESS;
}

/* ---- refusing them ---- */

bool errand_refusal_is_between(const struct errand_refusal *refusal)
{
    return refusal->got == 0;
}

static int refuse_whole(int fd, struct errand_refusal *refusal)
{
    char answer[FRAMES_HEADER_BYTES + 1];

    frames_write_header(number_at(refusal->header + FRAMES_UNCOUNTED_BYTES), ERRAND_END, 1, answer);
    answer[FRAMES_HEADER_BYTES] = (char)ERRAND_ENDED_NOT_STARTED;
    *refusal = (struct errand_refusal){0};
    /* Who waits for an answer has room for it. */
    return send(fd, answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(answer)
               ? 0
               : ERR_IO;
}

int errand_refuse(int fd, struct errand_refusal *refusal)
{
    char body[ERRAND_CHUNK_BYTES];
    bool has_header = refusal->got == FRAMES_HEADER_BYTES;
    size_t most = FRAMES_HEADER_BYTES - refusal->got;
    ssize_t n;

    if (has_header)
        most = refusal->left < sizeof(body) ? refusal->left : sizeof(body);
    n = recv(fd, has_header ? body : refusal->header + refusal->got, most, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return ERR_IO;
    if (has_header) {
        refusal->left -= (size_t)n;
    } else {
        refusal->got += (size_t)n;
        if (refusal->got < FRAMES_HEADER_BYTES)
            return 0;
        refusal->left = number_at(refusal->header);
        if (refusal->left < FRAMES_HEADER_BYTES - FRAMES_UNCOUNTED_BYTES)
            return ERR_IO;
        refusal->left -= FRAMES_HEADER_BYTES - FRAMES_UNCOUNTED_BYTES;
    }
    return refusal->left == 0 ? refuse_whole(fd, refusal) : 0;
}
