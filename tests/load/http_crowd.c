/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thousands of random clients that connect, stall, send partial and invalid requests, read or do
 * not, and vanish. Afterwards the server has as much memory and as many descriptors as before, and
 * an idle event stream has cost no more than its limit.
 *
 *     http_crowd CONNECTIONS SEED
 */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "draw.h"
#include "http_fixture.h"
#include "net/http/router.h"
#include "net/sse/writer.h"

enum {
    ROUNDS = 3,
    ACTIONS_EACH = 6,
    TURN_EVERY = 16,
    STREAM_MAX_BYTES = 1536, /* user-space memory of an idle stream, all included */
    SLACK_BYTES = 32 << 10,  /* tables keep the size that they had to have */
    SPARE_DESCRIPTORS = 64,
    MIN_CONNECTIONS = 400,
    SKIPPED = 77,
};

struct crowd {
    struct http_fixture fixture;
    struct sse_hub *hub;
    struct router router;
    struct exchange *parked; /* one at a time is answered later */
    int *fds;
    size_t count;
    uint64_t streams_gone;
    uint64_t parked_gone;
};

static struct crowd crowd;

/* ---- the server's side ---- */

static void note_stream_gone(void *data)
{
    (void)data;
    crowd.streams_gone++;
}

static void open_stream(void *data, struct exchange *exchange)
{
    struct sse_stream *stream;

    (void)data;
    (void)sse_open(crowd.hub, exchange, note_stream_gone, NULL, &stream);
}

static void answer(struct exchange *exchange)
{
    const struct str body = STR("{\"ok\":true}\n");

    exchange_answer(exchange, &(struct http_answer){.status = 200,
                                                    .type = STR("application/json"),
                                                    .parts = &body,
                                                    .part_count = 1});
}

static void answer_now(void *data, struct exchange *exchange)
{
    (void)data;
    answer(exchange);
}

static void forget_parked(void *data)
{
    (void)data;
    crowd.parked = NULL;
    crowd.parked_gone++;
}

static const struct exchange_events PARKED_EVENTS = {.on_gone = forget_parked};

static void answer_later(void *data, struct exchange *exchange)
{
    struct exchange *before = crowd.parked;

    (void)data;
    crowd.parked = exchange;
    exchange_watch(exchange, &PARKED_EVENTS, NULL);
    if (before != NULL)
        answer(before);
}

static void answer_large(void *data, struct exchange *exchange)
{
    static char large[1 << 20];
    const struct str body = {large, sizeof(large)};

    (void)data;
    exchange_answer(exchange,
                    &(struct http_answer){.status = 200, .parts = &body, .part_count = 1});
}

static const struct route ROUTES[] = {
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/events"), .handle = open_stream},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/now"), .handle = answer_now},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/later"), .handle = answer_later},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/large"), .handle = answer_large},
    {.method = HTTP_METHOD_POST,
     .path = STR_LITERAL("/now"),
     .max_body_bytes = 4096,
     .handle = answer_now},
};

/* ---- the clients' side ---- */

static const char *const PIECES[] = {
    "GET /events HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /now HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /now HTTP/1.1\r\nHost: x\r\n\r\nGET /now HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /later HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /large HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST /now HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
    "0123456789",
    "POST /now HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    "5\r\nabcde\r\n",
    "0\r\n\r\n",
    "GET /now HTTP/1.1\r\nHost: ",
    "GET /no",
    "nonsense\r\n",
    "X: y\r\n",
    "\r\n",
};

static void connect_one(size_t i)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 ||
        connect(fd, (struct sockaddr *)&crowd.fixture.address, crowd.fixture.address_len) < 0) {
        /* A backlog that is full for the moment. */
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    crowd.fds[i] = fd;
}

static void act(size_t i)
{
    char space[16384];

    if (crowd.fds[i] < 0) {
        connect_one(i);
        return;
    }
    switch (draw(8)) {
    case 0:
        close(crowd.fds[i]);
        crowd.fds[i] = -1;
        break;
    case 1:
        shutdown(crowd.fds[i], SHUT_WR);
        break;
    case 2:
    case 3:
        while (read(crowd.fds[i], space, sizeof(space)) > 0) {
        }
        break;
    case 4:
        break; /* stalls */
    default:
        for (size_t n = 1 + draw(3); n > 0; n--) {
            const char *piece = PIECES[draw(array_size(PIECES))];
            size_t len = strlen(piece);

            (void)send(crowd.fds[i], piece, draw(4) == 0 ? 1 + draw(len) : len, MSG_NOSIGNAL);
        }
    }
}

static void close_all(void)
{
    for (size_t i = 0; i < crowd.count; i++) {
        if (crowd.fds[i] >= 0)
            close(crowd.fds[i]);
        crowd.fds[i] = -1;
        if (i % TURN_EVERY == 0)
            http_fixture_turn(&crowd.fixture);
    }
    for (size_t turns = 0; http_fixture_connections(&crowd.fixture) > 0 && turns < crowd.count;
         turns++)
        http_fixture_pass(&crowd.fixture, 1000);
}

static void make_trouble(void)
{
    for (size_t i = 0; i < crowd.count * ACTIONS_EACH; i++) {
        act(draw(crowd.count));
        if (i % TURN_EVERY == 0)
            http_fixture_turn(&crowd.fixture);
        if (i % 256 == 0)
            http_fixture_pass(&crowd.fixture, (int64_t)draw(500));
        if (i % 1024 == 0)
            (void)sse_hub_send(crowd.hub, &(struct sse_event){.data = STR("tick")});
    }
    close_all();
}

/* ---- what it costs ---- */

static size_t held_bytes(void)
{
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");

    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir != NULL)
        closedir(dir);
    return count;
}

static bool streams_are_cheap(void)
{
    size_t before = held_bytes();
    size_t each;

    for (size_t i = 0; i < crowd.count; i++) {
        connect_one(i);
        if (crowd.fds[i] < 0 ||
            !http_fixture_send(&crowd.fixture, crowd.fds[i], str_from(PIECES[0]))) {
            fprintf(stderr, "stream %zu does not open\n", i);
            return false;
        }
        http_fixture_turn(&crowd.fixture);
    }
    if (sse_hub_count(crowd.hub) != crowd.count) {
        fprintf(stderr, "%zu streams instead of %zu\n", sse_hub_count(crowd.hub), crowd.count);
        return false;
    }
    each = (held_bytes() - before) / crowd.count;
    printf("%zu streams, %zu bytes each\n", crowd.count, each);
    close_all();
    return each <= STREAM_MAX_BYTES;
}

/* Both ends of every connection are in this process, which may be allowed fewer descriptors. */
static size_t possible(size_t connections)
{
    const rlim_t wanted = 2 * connections + SPARE_DESCRIPTORS;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur < wanted ? (limit.rlim_cur - SPARE_DESCRIPTORS) / 2 : connections;
}

static int run(void)
{
    size_t before_bytes;
    size_t before_descriptors;
    size_t after_bytes;
    struct httpserver_stats stats;

    if (!streams_are_cheap())
        return 1;
    make_trouble(); /* once, for what grows and stays */
    before_bytes = held_bytes();
    before_descriptors = open_descriptors();
    for (int i = 0; i < ROUNDS; i++)
        make_trouble();
    after_bytes = held_bytes();
    httpserver_stats(crowd.fixture.server, &stats);
    printf("%llu connections, %llu requests, %llu refused, %llu streams and %llu others left; "
           "%zu bytes before, %zu after\n",
           (unsigned long long)stats.accepted, (unsigned long long)stats.requests,
           (unsigned long long)stats.refused, (unsigned long long)crowd.streams_gone,
           (unsigned long long)crowd.parked_gone, before_bytes, after_bytes);
    if (stats.connections != 0 || sse_hub_count(crowd.hub) != 0) {
        fprintf(stderr, "%zu connections and %zu streams are left\n", stats.connections,
                sse_hub_count(crowd.hub));
        return 1;
    }
    if (stats.requests <= crowd.count || stats.refused == 0 || crowd.parked_gone == 0)
        return 1;
    return after_bytes <= before_bytes + SLACK_BYTES && open_descriptors() == before_descriptors
               ? 0
               : 1;
}

int main(int argc, char **argv)
{
    const struct sse_hub_config hub_config = {.keepalive_ms = 2000};
    struct httpserver_config config = {.on_request = router_handle, .data = &crowd.router};
    int64_t connections;
    int64_t seed;
    int r;

    if (argc != 3 || !str_to_int64(str_from(argv[1]), &connections) || connections < 1 ||
        !str_to_int64(str_from(argv[2]), &seed) || seed < 1)
        return 2;
    crowd.count = possible((size_t)connections);
    if (crowd.count < MIN_CONNECTIONS && crowd.count < (size_t)connections) {
        printf("skipped: the process may have too few descriptors\n");
        return SKIPPED;
    }
    draw_seed = (uint64_t)seed;
    crowd.fds = malloc(crowd.count * sizeof(crowd.fds[0]));
    if (crowd.fds == NULL)
        return 2;
    for (size_t i = 0; i < crowd.count; i++)
        crowd.fds[i] = -1;
    crowd.router = (struct router){.routes = ROUTES, .count = array_size(ROUTES)};
    config.max_connections = (unsigned)crowd.count;
    http_fixture_init(&crowd.fixture, &config);
    if (sse_hub_new(crowd.fixture.loop, &hub_config, &crowd.hub) < 0)
        return 2;
    r = run();
    sse_hub_free(crowd.hub);
    http_fixture_done(&crowd.fixture);
    free(crowd.fds);
    return r;
}
