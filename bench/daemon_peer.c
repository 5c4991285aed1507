/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_gateway.h"
#include "loop/timer.h"
#include "ordinary_user.h"
#include "process.h"

enum {
    ANSWER_MAX_BYTES = 64 << 20,
    ARENA_MAX_BYTES = 256 << 20,
    WORD_BYTES = 512,
    PATIENCE_MS = 60000,
    FAMILY = 64, /* processes of a daemon */
};

_Static_assert((int)DAEMON_PEER_ID_BYTES == (int)FAKE_ID_BYTES, "ids fit");

void daemon_peer_fail(const struct daemon_peer *peer, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, peer->config.name, what);
    if (peer->answer.len > 0)
        fprintf(stderr, "%.*s\n", (int)(peer->answer.len < 400 ? peer->answer.len : 400),
                peer->answer.data);
    if (peer->pid > 0)
        kill(peer->pid, SIGKILL);
    exit(1);
}

double daemon_peer_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- the server ---- */

static void on_answer(void *data, const struct fake_answer *answer)
{
    struct daemon_peer *peer = data;

    buf_clear(&peer->answer);
    if (buf_append_str(&peer->answer, answer->body) < 0)
        daemon_peer_fail(peer, "answers without end");
    for (size_t i = 0; i < DAEMON_PEER_CALLS; i++) {
        struct daemon_call *call = &peer->calls[i];

        if (call->id[0] == '\0' || !str_eq_c(answer->id, call->id))
            continue;
        call->took_ns = (double)answer->arrived_ns - call->since_ns;
        call->id[0] = '\0';
        return;
    }
    daemon_peer_fail(peer, "answers what nobody asked");
}

static size_t open_streams(const struct daemon_peer *peer)
{
    struct fake_gateway_state state;

    fake_gateway_state(peer->gateway, &state);
    return state.streams;
}

static void on_change(void *data)
{
    struct daemon_peer *peer = data;

    if (peer->connected_ns == 0 && open_streams(peer) > 0)
        peer->connected_ns = daemon_peer_now_ns();
}

static int make_filter(void *data, struct filter **out_filter)
{
    const struct daemon_peer *peer = data;

    return tls_server_new(peer->config.tls, out_filter);
}

void daemon_peer_init(struct daemon_peer *peer, const struct daemon_peer_config *config)
{
    struct fake_gateway_config serving = {
        .loop = config->loop,
        .ping_ms = 15000,
        .make_filter = config->tls != NULL ? make_filter : NULL,
        .takes_any_answer = true,
        .on_answer = on_answer,
        .on_change = on_change,
        .data = peer,
    };

    *peer = (struct daemon_peer){.config = *config};
    buf_init(&peer->answer, ANSWER_MAX_BYTES);
    arena_init(&peer->arena, ARENA_MAX_BYTES);
    /* What a daemon leaves behind when it is killed comes to us, who can wait for it. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        daemon_peer_fail(peer, "no kernel for that");
    if (fake_gateway_new(&serving, &peer->gateway) < 0)
        daemon_peer_fail(peer, "no server");
}

void daemon_peer_done(struct daemon_peer *peer)
{
    fake_gateway_free(peer->gateway);
    buf_done(&peer->answer);
    arena_done(&peer->arena);
}

/* ---- patience ---- */

static void on_impatience(void *data)
{
    daemon_peer_fail(data, "does nothing for a minute");
}

/* Runs the loop until that is so. */
static void run_until(struct daemon_peer *peer,
                      bool (*is_so)(const struct daemon_peer *peer, size_t number), size_t number)
{
    struct timer patience;

    timer_init(&patience, peer->config.loop, on_impatience, peer);
    timer_start(&patience, PATIENCE_MS);
    while (!is_so(peer, number))
        loop_run_once(peer->config.loop);
    timer_stop(&patience);
}

/* ---- the daemon ---- */

/* One word, with the address and the token of this start in it. */
static void fill_in(struct daemon_peer *peer, const char *word, char out[WORD_BYTES])
{
    size_t len = 0;

    while (*word != '\0' && len < WORD_BYTES - 1) {
        if (strncmp(word, "{url}", 5) == 0) {
            len += (size_t)snprintf(out + len, WORD_BYTES - len, "%s://127.0.0.1:%u",
                                    peer->config.tls != NULL ? "https" : "http",
                                    fake_gateway_port(peer->gateway));
            word += 5;
        } else if (strncmp(word, "{token}", 7) == 0) {
            len += (size_t)snprintf(out + len, WORD_BYTES - len, "%s",
                                    fake_gateway_token(peer->gateway));
            word += 7;
        } else {
            out[len++] = *word++;
        }
    }
    if (len >= WORD_BYTES - 1)
        daemon_peer_fail(peer, "a word of its command line is too long");
    out[len] = '\0';
}

/* In the child. */
__attribute__((noreturn)) static void become(char *const *argv, char *const *environment)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 &&
        dup2(nothing, STDERR_FILENO) >= 0 && ordinary_user_become() == 0)
        execve(argv[0], argv, environment);
    _exit(127);
}

static bool is_connected(const struct daemon_peer *peer, size_t number)
{
    (void)number;
    if (peer->connected_ns == 0 && waitpid(peer->pid, NULL, WNOHANG) != 0)
        daemon_peer_fail(peer, "ended before it was connected");
    return peer->connected_ns != 0;
}

static bool is_left(const struct daemon_peer *peer, size_t number)
{
    (void)number;
    return open_streams(peer) == 0;
}

double daemon_peer_start(struct daemon_peer *peer)
{
    static char words[DAEMON_PEER_MAX_WORDS][WORD_BYTES];
    static char environment[DAEMON_PEER_MAX_WORDS][WORD_BYTES];
    char *argv[DAEMON_PEER_MAX_WORDS + 1] = {NULL};
    char *envp[DAEMON_PEER_MAX_WORDS + 1] = {NULL};
    double start;

    for (size_t i = 0; i < DAEMON_PEER_MAX_WORDS && peer->config.argv[i] != NULL; i++) {
        fill_in(peer, peer->config.argv[i], words[i]);
        argv[i] = words[i];
    }
    for (size_t i = 0; i < DAEMON_PEER_MAX_WORDS && peer->config.environment[i] != NULL; i++) {
        fill_in(peer, peer->config.environment[i], environment[i]);
        envp[i] = environment[i];
    }
    peer->connected_ns = 0;
    start = daemon_peer_now_ns();
    /* As cheap as a fork can be. */
    peer->pid = vfork();
    if (peer->pid == 0)
        become(argv, envp);
    if (peer->pid < 0)
        daemon_peer_fail(peer, "cannot be started");
    run_until(peer, is_connected, 0);
    return peer->connected_ns - start;
}

void daemon_peer_stop(struct daemon_peer *peer)
{
    pid_t pids[FAMILY];
    size_t count = process_family(peer->pid, pids, FAMILY);

    /* Its children end with their connection to it. */
    kill(peer->pid, SIGKILL);
    for (size_t i = 0; i < count; i++)
        if (waitpid(pids[i], NULL, 0) < 0 && errno != ECHILD)
            daemon_peer_fail(peer, "does not end");
    peer->pid = 0;
    run_until(peer, is_left, 0);
}

/* ---- calls ---- */

void daemon_peer_send(struct daemon_peer *peer, size_t place, const char *tool,
                      const char *arguments)
{
    struct daemon_call *call = &peer->calls[place];

    call->since_ns = daemon_peer_now_ns();
    fake_gateway_call(peer->gateway, tool, str_from(arguments), call->id);
}

bool daemon_peer_waits(const struct daemon_peer *peer, size_t place)
{
    return peer->calls[place].id[0] != '\0';
}

static bool is_answered(const struct daemon_peer *peer, size_t place)
{
    return !daemon_peer_waits(peer, place);
}

double daemon_peer_wait(struct daemon_peer *peer, size_t place)
{
    run_until(peer, is_answered, place);
    return peer->calls[place].took_ns;
}

double daemon_peer_ask(struct daemon_peer *peer, const char *tool, const char *arguments)
{
    daemon_peer_send(peer, 0, tool, arguments);
    return daemon_peer_wait(peer, 0);
}

static bool has_room(const struct daemon_peer *peer, size_t at_once)
{
    for (size_t i = 0; i < at_once; i++)
        if (!daemon_peer_waits(peer, i))
            return true;
    return false;
}

double daemon_peer_ask_often(struct daemon_peer *peer, const char *tool, const char *arguments,
                             size_t count, size_t at_once)
{
    double start = daemon_peer_now_ns();

    for (size_t sent = 0; sent < count;) {
        run_until(peer, has_room, at_once);
        for (size_t i = 0; i < at_once && sent < count; i++) {
            if (daemon_peer_waits(peer, i))
                continue;
            daemon_peer_send(peer, i, tool, arguments);
            sent++;
        }
    }
    for (size_t i = 0; i < at_once; i++)
        daemon_peer_wait(peer, i);
    return daemon_peer_now_ns() - start;
}

const struct json_value *daemon_peer_content(struct daemon_peer *peer)
{
    const struct json_limits limits = {ANSWER_MAX_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *document;
    const struct json_value *result;
    const struct json_value *content;
    bool is_error = false;

    arena_reset(&peer->arena);
    if (json_parse(&peer->arena, buf_view(&peer->answer), limits, &document, NULL) < 0)
        daemon_peer_fail(peer, "answered something else");
    result = json_get(document, STR("result"));
    if (result == NULL || (json_get_bool(result, STR("isError"), &is_error) && is_error))
        daemon_peer_fail(peer, "refused");
    content = json_get(result, STR("structuredContent"));
    if (content == NULL)
        daemon_peer_fail(peer, "answered without structure");
    return content;
}

/* ---- what it uses ---- */

double daemon_peer_cpu_ns(const struct daemon_peer *peer)
{
    pid_t pids[FAMILY];
    size_t count = process_family(peer->pid, pids, FAMILY);
    double spent = 0;

    for (size_t i = 0; i < count; i++) {
        double of_one = process_cpu_ns(pids[i]);

        if (of_one < 0)
            daemon_peer_fail(peer, "has no clock");
        spent += of_one;
    }
    return spent;
}

double daemon_peer_pss_kb(const struct daemon_peer *peer)
{
    pid_t pids[FAMILY];
    size_t count = process_family(peer->pid, pids, FAMILY);
    double held = 0;

    for (size_t i = 0; i < count; i++) {
        double of_one = process_pss_kb(pids[i]);

        if (of_one < 0)
            return -1;
        held += of_one;
    }
    return held;
}

void daemon_peer_run_on(const struct daemon_peer *peer, const cpu_set_t *cores)
{
    pid_t pids[FAMILY];
    size_t count = process_family(peer->pid, pids, FAMILY);

    for (size_t i = 0; i < count; i++)
        process_run_on(pids[i], cores);
}
