/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Screen and keyboard through `gatehouse mcp`, on the X server of $DISPLAY: a screenshot beside the
 * original's own tool and scrot, a region, waiting, typing, and the memory of the idle companion.
 * Arguments: gatehouse, a folder to work in; Node, the peer's program and its modules, or none of
 * them.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "mcp_peer.h"
#include "process.h"

enum {
    ROUNDS = 15,
    ROUND_MS = 60,
    ALONE_ROUNDS = 9,
    COLD_ROUNDS = 5,
    TYPED = 900,
    REQUEST_BYTES = 4096,
    MAX_FAMILY = 16,
};

#define CALL                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":%%ld,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","      \
    "\"arguments\":%s}}\n"

/* 53 characters, most of which no US keyboard has. */
#define MIXED "Hello, Wörld! € 日本語 😀 привет αβγδεζηθ éèêëçñß ÅØæ œ ¿¡ Жук"

struct request {
    struct mcp_peer *server;
    char line[REQUEST_BYTES];
};

static void fail(const char *what)
{
    fprintf(stderr, "bench_screen: %s\n", what);
    exit(1);
}

static void prepare(struct request *request, struct mcp_peer *server, const char *tool,
                    const char *arguments)
{
    request->server = server;
    snprintf(request->line, sizeof(request->line), CALL, tool, arguments);
}

static void call(void *context)
{
    struct request *request = context;

    mcp_peer_ask(request->server, request->line);
    if (str_find(buf_view(&request->server->line), STR("\"isError\":true")) != SIZE_MAX)
        fail("the server refuses a call");
}

/* ---- peers ---- */

struct peer {
    FILE *to;
    FILE *from;
    pid_t pid;
};

static void start_peer(struct peer *peer, char *node, char *program, char *modules)
{
    char *const argv[] = {node, program, modules, NULL};
    posix_spawn_file_actions_t actions;
    int to[2];
    int from[2];

    if (pipe(to) < 0 || pipe(from) < 0)
        fail("no pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, to[1]);
    if (posix_spawn(&peer->pid, node, &actions, NULL, argv, environ) != 0)
        fail("the peer does not start");
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    peer->to = fdopen(to[1], "w");
    peer->from = fdopen(from[0], "r");
}

static void peer_shoots(void *context)
{
    const struct peer *peer = context;
    char line[32] = "";

    if (fputs("shoot\n", peer->to) < 0 || fflush(peer->to) != 0 ||
        fgets(line, sizeof(line), peer->from) == NULL || line[0] == '0')
        fail("the peer takes no screenshots here");
}

static void stop_peer(struct peer *peer)
{
    fclose(peer->to);
    fclose(peer->from);
    waitpid(peer->pid, NULL, 0);
}

static void scrot_shoots(void *context)
{
    char program[] = "/usr/bin/scrot";
    char option[] = "-o";
    char quality[] = "-q85";
    char *const argv[] = {program, option, quality, context, NULL};
    pid_t pid;
    int status;

    if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) < 0 || status != 0)
        fail("scrot takes no screenshots here");
}

/* ---- goals ---- */

static void compare_pictures(struct request *shoot, const char *folder, char **peer_words)
{
    struct peer peer;
    char path[REQUEST_BYTES];
    struct bench_contender all[] = {
        {.name = "gatehouse", .run = call, .context = shoot},
        {.name = "scrot", .run = scrot_shoots, .context = path},
        {.name = "the original", .run = peer_shoots, .context = &peer},
    };
    bool has_scrot = access("/usr/bin/scrot", X_OK) == 0;
    size_t count = has_scrot && peer_words != NULL ? 3 : has_scrot ? 2 : 1;

    snprintf(path, sizeof(path), "%s/shot.jpg", folder);
    if (peer_words != NULL)
        start_peer(&peer, peer_words[0], peer_words[1], peer_words[2]);
    if (peer_words != NULL && !has_scrot) {
        all[1] = all[2];
        count = 2;
    }
    bench_compare(all, count, ROUNDS, ROUND_MS);
    for (size_t i = 0; i < count; i++)
        printf("screenshot, %s: %.1f ms\n", all[i].name, all[i].middle_ns / 1e6);
    if (peer_words != NULL) {
        stop_peer(&peer);
        bench_goal_at_least("screenshot: the original takes", bench_ratio(&all[count - 1], &all[0]),
                            8);
    }
}

static void measure(struct mcp_peer *server, const char *what, const char *tool,
                    const char *arguments, double goal_ms)
{
    struct request request;
    struct bench_contender alone = {.name = what, .run = call, .context = &request};

    prepare(&request, server, tool, arguments);
    bench_compare(&alone, 1, ALONE_ROUNDS, 1);
    bench_goal_at_most_of(what, alone.middle_ns / 1e6, goal_ms, "ms");
}

/* A region counts the pixels of the last image, so that the second one is of this size, too. */
static void measure_region(struct mcp_peer *server)
{
    static const char region[] = "{\"x\":0,\"y\":0,\"width\":200,\"height\":200}";
    struct request request;

    prepare(&request, server, "screen_screenshot_region", region);
    call(&request);
    call(&request);
    measure(server, "region of 200 x 200", "screen_screenshot_region", region, 3);
}

static int compare_numbers(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;

    return (*left > *right) - (*left < *right);
}

/* Each time anew: after a second without a call, the keys that it had to borrow are given back. */
static void measure_mixed(struct mcp_peer *server)
{
    struct request request;
    double taken_ms[COLD_ROUNDS];

    prepare(&request, server, "keyboard_type", "{\"text\":\"" MIXED "\"}");
    for (int i = 0; i < COLD_ROUNDS; i++) {
        double start_ns;

        sleep(2);
        start_ns = mcp_peer_now_ns();
        call(&request);
        taken_ms[i] = (mcp_peer_now_ns() - start_ns) / 1e6;
    }
    qsort(taken_ms, COLD_ROUNDS, sizeof(taken_ms[0]), compare_numbers);
    bench_goal_at_most_of("typing 53 characters of many scripts", taken_ms[COLD_ROUNDS / 2], 500,
                          "ms");
}

static void measure_typing(struct mcp_peer *server)
{
    char arguments[REQUEST_BYTES] = "{\"text\":\"";
    size_t len = strlen(arguments);

    for (int i = 0; i < TYPED; i++)
        arguments[len++] = "The quick brown Fox; jumps over THE lazy dog! "[i % 46];
    snprintf(arguments + len, sizeof(arguments) - len, "\"}");
    measure(server, "typing 900 ASCII characters", "keyboard_type", arguments, 100);
    measure_mixed(server);
}

/* Two processes: the one that works, and its parent. */
static void measure_memory(const struct mcp_peer *server)
{
    pid_t family[MAX_FAMILY];
    size_t count = process_family(server->pid, family, MAX_FAMILY);
    double kb = 0;

    for (size_t i = 0; i < count; i++)
        if (family[i] != server->pid)
            kb += process_pss_kb(family[i]);
    bench_goal_at_most_of("gatehouse-screen, idle", kb / 1024, 4, "MB");
}

static double family_cpu_ms(const struct mcp_peer *server)
{
    pid_t family[MAX_FAMILY];
    size_t count = process_family(server->pid, family, MAX_FAMILY);
    double ns = 0;

    for (size_t i = 0; i < count; i++)
        ns += process_cpu_ns(family[i]);
    return ns / 1e6;
}

/* Of our processes, while nothing changes. */
static void measure_waiting(struct mcp_peer *server)
{
    struct request request;
    double before_ms;

    prepare(&request, server, "screen_wait", "{\"until\":\"change\",\"timeoutMs\":2000}");
    before_ms = family_cpu_ms(server);
    call(&request);
    bench_goal_at_most_of("processor time of waiting for 2 s", family_cpu_ms(server) - before_ms,
                          50, "ms");
}

int main(int argc, char **argv)
{
    char option[] = "--permission-computer";
    char allow[] = "allow";
    char command[] = "mcp";
    struct request shoot;
    struct mcp_peer server;

    if (argc != 3 && argc != 6)
        return 2;
    mcp_peer_start(&server, "gatehouse",
                   (char *const[]){argv[1], command, option, allow, argv[2], NULL});
    measure_memory(&server);
    prepare(&shoot, &server, "screen_screenshot", "{}");
    compare_pictures(&shoot, argv[2], argc == 6 ? argv + 3 : NULL);
    measure_region(&server);
    measure_waiting(&server);
    measure_typing(&server);
    mcp_peer_end(&server);
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}
