/* SPDX-License-Identifier: Apache-2.0 */
#include "net/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/timer.h"
#include "loop/worker.h"

enum {
    LOOKUP_THREADS = 2,
    LOOKUPS_HUNG_MAX = 8,
    LOOKUP_GRACE_MS = 100,
    HOST_BYTES = 256,
    /* A server that vanished without a word is noticed after this, though nothing is sent. */
    KEEPALIVE_IDLE_S = 60,
    KEEPALIVE_EVERY_S = 15,
    KEEPALIVE_TRIES = 4,
};

struct dialer {
    struct loop *loop;
    struct worker_pool *workers;
    dial_lookup_fn *lookup;
};

/* One address. A separate object, because libuv releases a handle only an iteration later. */
struct attempt {
    uv_poll_t poll;
    struct dial *dial; /* NULL when it is over */
    int fd;
};

enum dial_state {
    DIAL_LOOKING_UP,
    DIAL_CONNECTING,
    DIAL_OVER, /* on_done is on its way */
};

struct dial {
    struct dialer *dialer;
    enum dial_state state;
    uint64_t job;
    struct dial_addresses addresses;
    size_t next;
    struct attempt *attempt;
    struct timer timer;
    struct loop_task tell;
    int error;
    int fd;
    void (*on_done)(void *data, int error, int fd);
    void *data;
};

/* ---- names ---- */

struct lookup {
    dial_lookup_fn *run;
    char host[HOST_BYTES];
    uint16_t port;
    struct dial_addresses found;
};

static int look_up_with_system(const char *host, uint16_t port, struct dial_addresses *out)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int r = getaddrinfo(host, NULL, &hints, &list);

    if (r != 0)
        return r == EAI_MEMORY ? ERR_NO_MEMORY : ERR_HOST_UNKNOWN;
    for (const struct addrinfo *at = list; at != NULL && out->count < DIAL_MAX_ADDRESSES;
         at = at->ai_next) {
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;

        if (at->ai_family == AF_INET && at->ai_addrlen == sizeof(v4)) {
            memcpy(&v4, at->ai_addr, sizeof(v4));
            v4.sin_port = htons(port);
            memcpy(&out->list[out->count++], &v4, sizeof(v4));
        } else if (at->ai_family == AF_INET6 && at->ai_addrlen == sizeof(v6)) {
            memcpy(&v6, at->ai_addr, sizeof(v6));
            v6.sin6_port = htons(port);
            memcpy(&out->list[out->count++], &v6, sizeof(v6));
        }
    }
    freeaddrinfo(list);
    return out->count > 0 ? 0 : ERR_HOST_UNKNOWN;
}

static int run_lookup(void *data, struct cancel *token)
{
    struct lookup *lookup = data;

    (void)token; /* the resolver cannot be stopped: the pool gives its thread up */
    return lookup->run(lookup->host, lookup->port, &lookup->found);
}

/* True for a numeric address, which needs no lookup. */
static bool set_numeric(struct dial *dial, const char *host, uint16_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
        memcpy(&dial->addresses.list[0], &v4, sizeof(v4));
    else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1)
        memcpy(&dial->addresses.list[0], &v6, sizeof(v6));
    else
        return false;
    dial->addresses.count = 1;
    return true;
}

/* ---- connecting ---- */

static void on_poll_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void end_attempt(struct dial *dial)
{
    struct attempt *attempt = dial->attempt;

    if (attempt == NULL)
        return;
    dial->attempt = NULL;
    attempt->dial = NULL;
    uv_poll_stop(&attempt->poll);
    /* SAFETY: the poll was stopped, so libuv looks at the descriptor no more. */
    if (attempt->fd >= 0)
        close(attempt->fd);
    uv_close((uv_handle_t *)&attempt->poll, on_poll_closed);
}

static void finish(struct dial *dial, int error, int fd)
{
    end_attempt(dial);
    timer_stop(&dial->timer);
    dial->state = DIAL_OVER;
    dial->error = error;
    dial->fd = fd;
    loop_defer(dial->dialer->loop, &dial->tell);
}

static void try_next(struct dial *dial);

/*
 * On this machine, a connect to a port nobody listens on can be answered by the very socket that
 * connects.
 */
static bool is_connected_to_itself(int fd)
{
    struct sockaddr_storage here = {0};
    struct sockaddr_storage there = {0};
    socklen_t here_len = sizeof(here);
    socklen_t there_len = sizeof(there);

    return getsockname(fd, (struct sockaddr *)&here, &here_len) == 0 &&
           getpeername(fd, (struct sockaddr *)&there, &there_len) == 0 && here_len == there_len &&
           memcmp(&here, &there, here_len) == 0;
}

static void on_connected(uv_poll_t *poll, int status, int events)
{
    struct attempt *attempt = poll->data;
    struct dial *dial = attempt->dial;
    int problem = 0;
    socklen_t len = sizeof(problem);

    (void)events;
    if (dial == NULL)
        return;
    if (status < 0 || getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &problem, &len) < 0 ||
        problem != 0 || is_connected_to_itself(attempt->fd)) {
        try_next(dial);
        return;
    }
    uv_poll_stop(&attempt->poll);
    finish(dial, 0, steal_fd(&attempt->fd));
}

static int open_socket(const struct sockaddr_storage *address, int *out_fd)
{
    static const struct {
        int level;
        int name;
        int value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_TRIES},
        {IPPROTO_TCP, TCP_NODELAY, 1},
    };
    cleanup_fd int fd =
        socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    socklen_t len =
        address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

    if (fd < 0)
        return err_from_errno(errno);
    for (size_t i = 0; i < array_size(options); i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
    if (connect(fd, (const struct sockaddr *)address, len) < 0 && errno != EINPROGRESS)
        return ERR_UNREACHABLE;
    *out_fd = steal_fd(&fd);
    return 0;
}

static int begin_attempt(struct dial *dial, const struct sockaddr_storage *address)
{
    struct attempt *attempt = malloc(sizeof(*attempt));
    int r;

    if (attempt == NULL)
        return ERR_NO_MEMORY;
    r = open_socket(address, &attempt->fd);
    if (r < 0) {
        free(attempt);
        return r;
    }
    r = uv_poll_init(loop_uv(dial->dialer->loop), &attempt->poll, attempt->fd);
    if (r < 0) {
        close(attempt->fd);
        free(attempt);
        return loop_error(r);
    }
    attempt->poll.data = attempt;
    attempt->dial = dial;
    dial->attempt = attempt;
    return loop_error(uv_poll_start(&attempt->poll, UV_WRITABLE, on_connected));
}

static void try_next(struct dial *dial)
{
    int r = ERR_UNREACHABLE;

    end_attempt(dial);
    timer_stop(&dial->timer);
    dial->state = DIAL_CONNECTING;
    while (dial->next < dial->addresses.count) {
        r = begin_attempt(dial, &dial->addresses.list[dial->next++]);
        if (r == 0) {
            if (dial->next < dial->addresses.count)
                timer_start(&dial->timer, DIAL_ATTEMPT_MS);
            return;
        }
        end_attempt(dial);
        if (r == ERR_NO_MEMORY || r == ERR_TOO_MANY_FILES)
            break;
    }
    finish(dial, r == ERR_NO_MEMORY || r == ERR_TOO_MANY_FILES ? r : ERR_UNREACHABLE, -1);
}

static void on_attempt_too_long(void *data)
{
    try_next(data);
}

static void on_looked_up(void *context, int result, void *data)
{
    struct dial *dial = context;
    const struct lookup *lookup = data;

    dial->job = 0;
    if (dial->state == DIAL_OVER) /* cancelled */
        return;
    if (result < 0) {
        finish(dial, result == ERR_TIMED_OUT ? ERR_HOST_UNKNOWN : result, -1);
        return;
    }
    dial->addresses = lookup->found;
    try_next(dial);
}

static int begin_lookup(struct dial *dial, const char *host, uint16_t port)
{
    size_t len = strlen(host);
    struct lookup *lookup;
    int r;

    if (len == 0 || len >= sizeof(lookup->host))
        return ERR_HOST_UNKNOWN;
    lookup = calloc(1, sizeof(*lookup));
    if (lookup == NULL)
        return ERR_NO_MEMORY;
    memcpy(lookup->host, host, len + 1);
    lookup->run = dial->dialer->lookup;
    lookup->port = port;
    r = worker_submit(dial->dialer->workers,
                      &(struct worker_job){.run = run_lookup,
                                           .done = on_looked_up,
                                           .free_data = free,
                                           .data = lookup,
                                           .context = dial,
                                           .timeout_ms = DIAL_LOOKUP_MS},
                      &dial->job);
    if (r < 0)
        free(lookup);
    return r;
}

/* ---- lives ---- */

static void tell(void *data)
{
    struct dial *dial = data;
    void (*on_done)(void *, int, int) = dial->on_done;
    void *owner = dial->data;
    int error = dial->error;
    int fd = dial->fd;

    free(dial);
    on_done(owner, error, fd);
}

int dial_start(struct dialer *dialer, const char *host, uint16_t port,
               void (*on_done)(void *data, int error, int fd), void *data, struct dial **out_dial)
{
    cleanup_free struct dial *dial = calloc(1, sizeof(*dial));
    int r;

    if (dial == NULL)
        return ERR_NO_MEMORY;
    dial->dialer = dialer;
    dial->on_done = on_done;
    dial->data = data;
    dial->fd = -1;
    timer_init(&dial->timer, dialer->loop, on_attempt_too_long, dial);
    loop_task_init(&dial->tell, tell, dial);
    if (set_numeric(dial, host, port)) {
        try_next(dial);
    } else {
        r = begin_lookup(dial, host, port);
        if (r < 0)
            return r;
    }
    *out_dial = steal_ptr(&dial);
    return 0;
}

void dial_cancel(struct dial *dial)
{
    if (dial == NULL)
        return;
    end_attempt(dial);
    timer_stop(&dial->timer);
    loop_task_cancel(&dial->tell);
    if (dial->fd >= 0)
        close(dial->fd);
    dial->state = DIAL_OVER;
    if (dial->job != 0)
        worker_cancel(dial->dialer->workers, dial->job);
    free(dial);
}

int dialer_new(struct loop *loop, dial_lookup_fn *lookup, struct dialer **out_dialer)
{
    const struct worker_config config = {.threads = LOOKUP_THREADS,
                                         .queue_max = DIAL_MAX_LOOKUPS,
                                         .abandoned_max = LOOKUPS_HUNG_MAX,
                                         .grace_ms = LOOKUP_GRACE_MS};
    cleanup_free struct dialer *dialer = calloc(1, sizeof(*dialer));
    int r;

    if (dialer == NULL)
        return ERR_NO_MEMORY;
    dialer->loop = loop;
    dialer->lookup = lookup != NULL ? lookup : look_up_with_system;
    r = worker_pool_new(loop, &config, &dialer->workers);
    if (r < 0)
        return r;
    *out_dialer = steal_ptr(&dialer);
    return 0;
}

void dialer_free(struct dialer *dialer)
{
    if (dialer == NULL)
        return;
    worker_pool_free(dialer->workers);
    free(dialer);
}
