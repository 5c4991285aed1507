/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two HTTP servers that do the same work, ours and the one written for Node:
 *
 *     bench_http OURS THEIRS [OURS-TLS THEIRS-TLS]       each PID:PORT, on 127.0.0.1
 *
 * What a small request costs a server, what a stream that waits for events costs it, and how long
 * an event takes to reach ten thousand of them. The servers take turns, so that a busy moment of
 * the machine hits both. See bench/peers/http.mjs for what they are asked.
 */
#include <openssl/opensslv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "http_peer.h"
#include "process.h"

enum {
    LINKS = 32,          /* at once, where more than one is asked */
    WARM_UP = 6000,      /* requests, so that the other's compiler has seen enough */
    FIRST_STREAMS = 200, /* before memory is measured: what is there once is not a stream's */
    ROUNDS = 15,
    REQUESTS = 1920, /* in a round; a multiple of LINKS */
    STREAMS = 10000,
    TLS_STREAMS = 2000, /* each one a handshake */
    STREAM_ROUNDS = 4,
    PUSHES = 10, /* in a round */
    SOURCES = 8, /* addresses that streams come from, in each round others */
    SETTLE_SECONDS = 2,
    FILES_BESIDE_STREAMS = 100,
    MARK_BYTES = 24,
};

static const double request_goal = 1.0 / 3; /* of the other's */
static const double stream_goal_kb = 1.5;
static const double stream_goal = 1.0 / 7;
/* From 3.2 on OpenSSL holds 8 KB more for a connection, as docs/internals/net-tls.md tells. */
static const double tls_stream_goal_kb = OPENSSL_VERSION_NUMBER >= 0x30200000L ? 28 : 20;
static const double push_goal = 1;

#define HEAD "Host: 127.0.0.1\r\nAuthorization: Bearer bench\r\n"
#define JSON_HEAD                                                                                  \
    HEAD "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"

static const char stream_request[] =
    "GET /stream HTTP/1.1\r\n" HEAD "Accept: text/event-stream\r\n\r\n";
static const char call_head[] =
    "POST /mcp HTTP/1.1\r\n" JSON_HEAD "MCP-Protocol-Version: 2026-07-28\r\n"
    "Mcp-Method: tools/call\r\nMcp-Name: test_simple_text\r\n"
    "Content-Length: %zu\r\n\r\n%s";
static const char call_body[] =
    "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\",\"params\":{"
    "\"name\":\"test_simple_text\",\"arguments\":{},\"_meta\":{"
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
    "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
static const char call_text[] = "This is a simple text response for testing.";
static const char push_head[] = "POST /push HTTP/1.1\r\n" JSON_HEAD "Content-Length: %zu\r\n\r\n%s";

static int missed;

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "bench_http: %s\n", what);
    exit(1);
}

/* ---- numbers ---- */

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return values[count / 2];
}

static void goal_at_most_kb(const char *what, double value, double goal)
{
    printf("  %-58s %7.2f KB  goal <= %.2f KB  %s\n", what, value, goal,
           value <= goal ? "met" : "MISSED");
    missed += value > goal;
}

/* Two servers, and what was measured of each in every round. */
enum { OURS, THEIRS, SERVERS };
enum { MOST_ROUNDS = STREAM_ROUNDS * PUSHES > ROUNDS ? STREAM_ROUNDS *PUSHES : ROUNDS };

struct results {
    double values[SERVERS][MOST_ROUNDS];
    size_t count;
};

/* Of what ran side by side; sorts the values of each. */
static double ratio_of(struct results *results, double *out_ours, double *out_theirs)
{
    double ratios[MOST_ROUNDS];

    for (size_t i = 0; i < results->count; i++)
        ratios[i] = results->values[OURS][i] / results->values[THEIRS][i];
    *out_ours = median(results->values[OURS], results->count);
    *out_theirs = median(results->values[THEIRS], results->count);
    return median(ratios, results->count);
}

/* ---- small requests ---- */

static void send_call(struct http_link *link, long id)
{
    char body[sizeof(call_body) + 24];
    char request[sizeof(call_head) + sizeof(body) + 24];
    size_t len = (size_t)snprintf(body, sizeof(body), call_body, id);

    http_link_send(link, request, (size_t)snprintf(request, sizeof(request), call_head, len, body));
}

static void read_call(struct http_link *link, long id)
{
    char answer[HTTP_ANSWER_BYTES];
    char wanted[40];

    snprintf(wanted, sizeof(wanted), "\"id\":%ld,", id);
    if (http_link_answer(link, false, answer) != 200 || strstr(answer, call_text) == NULL)
        http_peer_fail(link->peer, "answered something else");
    /* The id may be the last member. */
    if (strstr(answer, wanted) == NULL) {
        snprintf(wanted, sizeof(wanted), "\"id\":%ld}", id);
        if (strstr(answer, wanted) == NULL)
            http_peer_fail(link->peer, "answered another request");
    }
}

/* Returns the CPU time of the server for each. */
static double cost_of_requests(struct http_link *links, int at_once, int requests)
{
    static long last_id;
    pid_t pid = links[0].peer->pid;
    double start = process_cpu_ns(pid);

    for (int i = 0; i < requests; i += at_once) {
        long first = last_id + 1;

        for (int j = 0; j < at_once; j++)
            send_call(&links[j], ++last_id);
        for (int j = 0; j < at_once; j++)
            read_call(&links[j], first + j);
    }
    return (process_cpu_ns(pid) - start) / requests;
}

/* Which server has the next turn: each is the first in every other round. */
static int in_turn(int round, int i)
{
    return (round + i) % SERVERS;
}

/*
 * Where a server runs: with us on one core, or wherever. Waking another core costs the one who
 * wakes it, several microseconds on a virtual machine, which is not the server's work; so of each
 * server the better of its two places counts.
 */
enum { NEAR, FREE, PLACES };

static void place(const struct http_peer *peers, int where)
{
    static cpu_set_t all;
    static bool is_known;
    cpu_set_t one;
    size_t last = 0;

    if (!is_known)
        sched_getaffinity(0, sizeof(all), &all);
    is_known = true;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all))
            last = i;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    sched_setaffinity(0, sizeof(all), where == NEAR ? &one : &all);
    for (int i = 0; i < SERVERS; i++)
        process_run_on(peers[i].pid, where == NEAR ? &one : &all);
}

static double better(const double costs[PLACES])
{
    return costs[NEAR] < costs[FREE] ? costs[NEAR] : costs[FREE];
}

static void compare_requests(const struct http_peer *peers, int at_once, const char *what)
{
    static struct http_link links[SERVERS][LINKS];
    static struct results results[PLACES];
    double costs[SERVERS][PLACES];
    double ratio;

    for (int i = 0; i < SERVERS; i++) {
        for (int j = 0; j < at_once; j++)
            http_link_open(&links[i][j], &peers[i], 0);
        cost_of_requests(links[i], at_once, WARM_UP / at_once * at_once);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int where = NEAR; where < PLACES; where++) {
            place(peers, where);
            for (int i = 0; i < SERVERS; i++) {
                int server = in_turn(round, i);

                results[where].values[server][round] =
                    cost_of_requests(links[server], at_once, REQUESTS);
            }
        }
    }
    place(peers, FREE);
    for (int i = 0; i < SERVERS; i++)
        for (int j = 0; j < at_once; j++)
            http_link_close(&links[i][j]);
    for (int where = NEAR; where < PLACES; where++) {
        results[where].count = ROUNDS;
        ratio_of(&results[where], &costs[OURS][where], &costs[THEIRS][where]);
    }
    ratio = better(costs[OURS]) / better(costs[THEIRS]);
    printf("%s: ours %.1f us of CPU on one core, %.1f on any; theirs %.1f us on one core, %.1f on "
           "any\n",
           what, costs[OURS][NEAR] / 1e3, costs[OURS][FREE] / 1e3, costs[THEIRS][NEAR] / 1e3,
           costs[THEIRS][FREE] / 1e3);
    if (peers[OURS].is_tls)
        printf("  %-58s %7.2f x   no goal\n", what, ratio);
    else
        bench_goal_at_most(what, ratio, request_goal);
}

/* ---- streams ---- */

/* A stream, and how much of the mark of an event it has brought: each counts once. */
struct stream {
    struct http_link link;
    size_t matched;
    bool is_served;
};

static struct stream streams[STREAMS];
static int waiting; /* the epoll that has them all */

/* How many of the mark's bytes end at this one: its first byte stands nowhere else in it. */
static size_t match(const char *mark, size_t matched, char byte)
{
    if (mark[matched] == byte)
        return matched + 1;
    return mark[0] == byte ? 1 : 0;
}

/* Takes what has come; returns whether that completes the mark. */
static bool has_brought(struct stream *stream, const char *mark)
{
    bool was_served = stream->is_served;
    char bytes[4096];
    size_t got;

    while ((got = http_link_read(&stream->link, bytes, sizeof(bytes))) > 0) {
        for (size_t i = 0; i < got && !stream->is_served; i++) {
            stream->matched = match(mark, stream->matched, bytes[i]);
            stream->is_served = mark[stream->matched] == '\0';
        }
        /* What a socket had is all of it where there is no TLS to hold more back. */
        if (got < sizeof(bytes) && stream->link.tls == NULL)
            break;
    }
    return stream->is_served && !was_served;
}

static void open_streams(const struct http_peer *peer, int count, int round)
{
    char answer[HTTP_ANSWER_BYTES];

    waiting = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < count; i++) {
        struct stream *stream = &streams[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = stream};

        http_link_open(&stream->link, peer, (unsigned)(1 + round * SOURCES + i % SOURCES));
        http_link_send(&stream->link, stream_request, strlen(stream_request));
        if (http_link_answer(&stream->link, true, answer) != 200 ||
            strstr(answer, "text/event-stream") == NULL)
            http_peer_fail(peer, "does not open a stream");
        http_link_stop_waiting(&stream->link);
        if (epoll_ctl(waiting, EPOLL_CTL_ADD, stream->link.fd, &event) < 0)
            die("no epoll");
    }
}

static void close_streams(int count)
{
    for (int i = 0; i < count; i++)
        http_link_close(&streams[i].link);
    close(waiting);
}

/* Returns how long one event took to all of them. */
static double push_once(struct http_link *link, int count)
{
    static struct epoll_event events[1024];
    static long last_push;
    char answer[HTTP_ANSWER_BYTES];
    char mark[MARK_BYTES];
    char body[MARK_BYTES + 16];
    char request[sizeof(push_head) + sizeof(body) + 24];
    double start;
    double spent;
    size_t len;

    snprintf(mark, sizeof(mark), "tick-%010ld.", ++last_push);
    len = (size_t)snprintf(body, sizeof(body), "{\"event\":\"%s\"}", mark);
    len = (size_t)snprintf(request, sizeof(request), push_head, len, body);
    for (int i = 0; i < count; i++) {
        streams[i].matched = 0;
        streams[i].is_served = false;
    }
    start = now_ns();
    http_link_send(link, request, len);
    for (int left = count; left > 0;) {
        int ready = epoll_wait(waiting, events, sizeof(events) / sizeof(events[0]), 60000);

        if (ready <= 0)
            http_peer_fail(link->peer, "keeps an event to itself");
        for (int i = 0; i < ready; i++)
            left -= has_brought(events[i].data.ptr, mark);
    }
    spent = now_ns() - start;
    if (http_link_answer(link, false, answer) != 202)
        http_peer_fail(link->peer, "does not accept an event");
    return spent;
}

/* What each of them makes the server hold; below 0 where that may not be seen. */
static double memory_of_streams(const struct http_peer *peer, int count)
{
    double before;
    double after;

    open_streams(peer, FIRST_STREAMS, 0);
    close_streams(FIRST_STREAMS);
    sleep(SETTLE_SECONDS);
    before = process_pss_kb(peer->pid);
    open_streams(peer, count, 0);
    sleep(SETTLE_SECONDS);
    after = process_pss_kb(peer->pid);
    close_streams(count);
    return before < 0 || after < 0 ? -1 : (after - before) / count;
}

static void time_pushes(const struct http_peer *peer, int round, double *out_ns)
{
    struct http_link link;

    http_link_open(&link, peer, 0);
    open_streams(peer, STREAMS, round);
    push_once(&link, STREAMS);
    for (int i = 0; i < PUSHES; i++)
        out_ns[i] = push_once(&link, STREAMS);
    close_streams(STREAMS);
    http_link_close(&link);
}

static void tell_memory(const double *kilobytes, int count, bool is_tls)
{
    if (kilobytes[OURS] < 0 || kilobytes[THEIRS] < 0) {
        printf("memory of a stream: only root may look\n");
        return;
    }
    printf("%d %sstreams that wait: ours %.2f KB each, theirs %.2f KB\n", count,
           is_tls ? "TLS " : "", kilobytes[OURS], kilobytes[THEIRS]);
    if (is_tls) {
        goal_at_most_kb("memory of a TLS stream", kilobytes[OURS], tls_stream_goal_kb);
        return;
    }
    goal_at_most_kb("memory of a stream", kilobytes[OURS], stream_goal_kb);
    bench_goal_at_most("memory of a stream", kilobytes[OURS] / kilobytes[THEIRS], stream_goal);
}

/* First of all: later they have memory to use again. */
static void compare_memory(const struct http_peer *peers)
{
    const bool is_tls = peers[OURS].is_tls;
    const int count = is_tls ? TLS_STREAMS : STREAMS;
    double kilobytes[SERVERS];

    for (int i = 0; i < SERVERS; i++)
        kilobytes[i] = memory_of_streams(&peers[i], count);
    tell_memory(kilobytes, count, is_tls);
}

static void compare_pushes(const struct http_peer *peers)
{
    struct results pushes = {.count = STREAM_ROUNDS * PUSHES};
    double ours;
    double theirs;
    double ratio;

    for (int round = 0; round < STREAM_ROUNDS; round++) {
        for (int i = 0; i < SERVERS; i++) {
            int server = in_turn(round, i);

            time_pushes(&peers[server], 1 + round, pushes.values[server] + round * PUSHES);
        }
    }
    ratio = ratio_of(&pushes, &ours, &theirs);
    printf("one event to all %d: ours %.1f ms, theirs %.1f ms\n", STREAMS, ours / 1e6,
           theirs / 1e6);
    bench_goal_at_most("one event to all streams", ratio, push_goal);
}

/* ---- what is given ---- */

/* PID:PORT */
static struct http_peer peer_of(const char *name, const char *given, bool is_tls)
{
    char *end;
    long pid = strtol(given, &end, 10);
    long port = *end == ':' ? strtol(end + 1, &end, 10) : 0;

    if (pid <= 0 || port <= 0 || port > UINT16_MAX || *end != '\0')
        die("a server is PID:PORT");
    if (process_cpu_ns((pid_t)pid) < 0)
        die("no such process");
    return (struct http_peer){name, (pid_t)pid, (uint16_t)port, is_tls};
}

/* Root may have more than it was given. */
static void allow_files(void)
{
    const struct rlimit wanted = {STREAMS + FILES_BESIDE_STREAMS, STREAMS + FILES_BESIDE_STREAMS};
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= wanted.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
            return;
    }
    if (setrlimit(RLIMIT_NOFILE, &wanted) < 0)
        die("not enough open files are allowed here");
}

int main(int argc, char **argv)
{
    struct http_peer plain[SERVERS];
    struct http_peer tls[SERVERS];

    if (argc != 3 && argc != 5)
        return 2;
    for (int i = 0; i < SERVERS; i++) {
        plain[i] = peer_of(i == OURS ? "ours" : "theirs", argv[1 + i], false);
        if (argc == 5)
            tls[i] = peer_of(i == OURS ? "ours, TLS" : "theirs, TLS", argv[3 + i], true);
    }
    allow_files();
    compare_memory(plain);
    compare_pushes(plain);
    compare_requests(plain, 1, "a small request, one at a time");
    compare_requests(plain, LINKS, "a small request, 32 connections");
    if (argc == 5) {
        compare_memory(tls);
        compare_requests(tls, 1, "a small request over TLS, one at a time");
        compare_requests(tls, LINKS, "a small request over TLS, 32 connections");
    }
    return bench_missed() + missed > 0 ? BENCH_GOALS_MISSED : 0;
}
