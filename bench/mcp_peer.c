/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ordinary_user.h"
#include "process.h"

enum { LINE_MAX_BYTES = 64 << 20, ARENA_MAX_BYTES = 256 << 20, READ_BYTES = 256 << 10 };

__attribute__((noreturn)) static void fail(const struct mcp_peer *peer, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, peer->name, what);
    if (peer->line.len > 0)
        fprintf(stderr, "%.*s\n", (int)(peer->line.len < 400 ? peer->line.len : 400),
                peer->line.data);
    exit(1);
}

double mcp_peer_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void send_all(const struct mcp_peer *peer, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t wrote = write(peer->to_fd, text, len);

        if (wrote <= 0)
            fail(peer, "does not read");
        text += wrote;
        len -= (size_t)wrote;
    }
}

/* One answer at a time, so what was read ends with its line. */
static void read_line(struct mcp_peer *peer)
{
    buf_clear(&peer->line);
    do {
        ssize_t got;

        if (buf_reserve(&peer->line, READ_BYTES) < 0)
            fail(peer, "answers without end");
        got = read(peer->from_fd, peer->line.data + peer->line.len, READ_BYTES);
        if (got <= 0)
            fail(peer, "ended");
        peer->line.len += (size_t)got;
    } while (peer->line.data[peer->line.len - 1] != '\n');
}

void mcp_peer_ask(struct mcp_peer *peer, const char *request)
{
    cleanup_buf struct buf message = BUF_INIT(LINE_MAX_BYTES);
    double start;
    int r = 0;

    peer->last_id++;
    for (const char *at = request; r == 0 && at != NULL;) {
        const char *id = strstr(at, "%ld");

        r = buf_append_str(&message,
                           id != NULL ? (struct str){at, (size_t)(id - at)} : str_from(at));
        if (r == 0 && id != NULL)
            r = buf_append_int(&message, peer->last_id);
        at = id != NULL ? id + 3 : NULL;
    }
    if (r < 0 || buf_append_char(&message, '\n') < 0)
        fail(peer, "cannot be asked");
    start = mcp_peer_now_ns();
    send_all(peer, message.data, message.len);
    read_line(peer);
    peer->last_call_ns = mcp_peer_now_ns() - start;
}

const struct json_value *mcp_peer_result(struct mcp_peer *peer)
{
    const struct json_limits limits = {LINE_MAX_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *document;
    const struct json_value *result;
    bool is_error = false;
    int64_t id;

    arena_reset(&peer->arena);
    if (json_parse(&peer->arena, buf_view(&peer->line), limits, &document, NULL) < 0 ||
        !json_get_int(document, STR("id"), &id) || id != peer->last_id)
        fail(peer, "answered something else");
    result = json_get(document, STR("result"));
    if (result == NULL || (json_get_bool(result, STR("isError"), &is_error) && is_error))
        fail(peer, "refused");
    return result;
}

struct str mcp_peer_text(struct mcp_peer *peer)
{
    const struct json_value *content = json_get(mcp_peer_result(peer), STR("content"));
    struct str text;

    if (content == NULL || content->type != JSON_ARRAY || content->size == 0 ||
        !json_get_str(content + 1, STR("text"), &text))
        fail(peer, "answered without text");
    return text;
}

void mcp_peer_go_to(const struct mcp_peer *peer)
{
    if (sched_setaffinity(0, sizeof(peer->cores), &peer->cores) < 0)
        fail(peer, "runs where we may not");
}

/* In the child. */
__attribute__((noreturn)) static void become(char *const *argv, int input, int output)
{
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

    /* Errors go where nobody reads: there it greets whoever started it. */
    if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
        dup2(nothing, STDERR_FILENO) >= 0 && ordinary_user_become() == 0)
        execv(argv[0], argv);
    _exit(127);
}

void mcp_peer_start(struct mcp_peer *peer, const char *name, char *const *argv)
{
    int to[2];
    int from[2];

    *peer = (struct mcp_peer){.name = name};
    sched_getaffinity(0, sizeof(peer->cores), &peer->cores);
    buf_init(&peer->line, LINE_MAX_BYTES);
    arena_init(&peer->arena, ARENA_MAX_BYTES);
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        fail(peer, "no pipes");
    /* As cheap as a fork can be: the time to the first answer is measured. */
    peer->pid = vfork();
    if (peer->pid == 0)
        become(argv, to[0], from[1]);
    if (peer->pid < 0)
        fail(peer, "cannot be started");
    close(to[0]);
    close(from[1]);
    peer->to_fd = to[1];
    peer->from_fd = from[0];
    mcp_peer_ask(peer, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"initialize\",\"params\":{"
                       "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                       "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}");
    send_all(peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n", 55);
}

void mcp_peer_end(struct mcp_peer *peer)
{
    int status;

    close(peer->to_fd);
    close(peer->from_fd);
    if (waitpid(peer->pid, &status, 0) != peer->pid)
        fail(peer, "is gone");
    buf_done(&peer->line);
    arena_done(&peer->arena);
}

double mcp_peer_cpu_ns(const struct mcp_peer *peer)
{
    double spent = process_cpu_ns(peer->pid);

    if (spent < 0)
        fail(peer, "has no clock");
    return spent;
}

double mcp_peer_pss_kb(const struct mcp_peer *peer)
{
    return process_pss_kb(peer->pid);
}
