/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/status.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/when.h"
#include "cli/daemonquery.h"
#include "cli/output.h"
#include "cli/status.h"
#include "cli/workspace.h"
#include "programs/gatehouse/services.h"
#include "programs/gatehouse/upplace.h"

/* Of a daemon that does not answer. */
#define SILENCE "it is busy or stopped"

enum {
    ANSWER_MAX_BYTES = 4 << 20, /* with many folders of long names, and many globs */
    PARSE_MAX_BYTES = 16 << 20,
    SHOWN_GLOBS = 16, /* of a list */
    ANSWER_DEPTH = 8,
    WAIT_MS = 1000,    /* for the answers of all daemons */
    SEND_MS = 100,     /* for one that no longer takes connections, too */
    WAIT_UP_MS = 5000, /* to find each that could be ended */
};

static int nobody_there(uint16_t port, struct err *err)
{
    if (port > 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no daemon of yours uses port %u. Without --port, all of yours are shown",
                       port);
    return err_set(err, ERR_NOT_FOUND,
                   "no daemon of yours is running: start one with 'gatehouse up DIR' or 'gatehouse "
                   "connect'");
}

struct answer {
    struct str text;
    bool is_connected;
    struct str dir;
    const struct json_value *others;  /* NULL: there is one folder */
    const struct json_value *denied;  /* globs; NULL: none */
    const struct json_value *allowed; /* the same */
    struct str url;
    struct str since;
    struct str state;  /* empty, as the next two: an older daemon */
    struct str server; /* also while it is not connected */
    struct str reason;
    struct str command;
    pid_t pid;
};

static int read_answer(struct arena *arena, struct str bytes, struct answer *out_answer,
                       struct err *err)
{
    const struct json_limits limits = {ANSWER_MAX_BYTES, ANSWER_DEPTH};
    const struct json_value *document;
    struct answer answer = {.url = STR_EMPTY,
                            .since = STR_EMPTY,
                            .state = STR_EMPTY,
                            .server = STR_EMPTY,
                            .reason = STR_EMPTY,
                            .command = STR_EMPTY};
    size_t end = str_find(bytes, STR("\r\n\r\n"));

    if (!str_starts_with(bytes, STR("HTTP/1.1 200 ")) || end == SIZE_MAX)
        return err_set(err, ERR_HTTP_ANSWER, "the process that answered is not a Gatehouse daemon");
    answer.text = str_slice(bytes, end + 4, SIZE_MAX);
    if (json_parse(arena, answer.text, limits, &document, NULL) < 0 ||
        !json_get_bool(document, STR("connected"), &answer.is_connected) ||
        !json_get_str(document, STR("dir"), &answer.dir))
        return err_set(err, ERR_HTTP_ANSWER, "the daemon sent an invalid response");
    answer.others = json_get(document, STR("otherFolders"));
    answer.denied = json_get(document, STR("denied"));
    answer.allowed = json_get(document, STR("allowed"));
    json_get_str(document, STR("url"), &answer.url);
    json_get_str(document, STR("connectedAt"), &answer.since);
    json_get_str(document, STR("state"), &answer.state);
    json_get_str(document, STR("server"), &answer.server);
    json_get_str(document, STR("reason"), &answer.reason);
    json_get_str(document, STR("command"), &answer.command);
    *out_answer = answer;
    return 0;
}

/* A daemon that a question was sent to. */
struct asked {
    uint16_t port;
    int fd;
    pid_t pid; /* 0: not known */
    int r;     /* of sending */
    struct err err;
};

static const struct str status_request = STR_LITERAL(STATUS_REQUEST);

static void ask(uint16_t port, struct asked *out_asked)
{
    const struct daemon_query query = {
        .port = port, .wait_ms = SEND_MS, .parts = &status_request, .part_count = 1};

    *out_asked = (struct asked){.port = port, .fd = -1};
    out_asked->r = daemon_query_send(&query, &out_asked->fd, &out_asked->pid, &out_asked->err);
}

static bool is_up(const struct answer *answer)
{
    return str_eq(answer->command, STR(STATUS_NAME_OF_UP));
}

/* The text for each state without a connection. */
static const struct {
    struct str state;
    struct str before;
    struct str behind;
} without_connection[] = {
    {STR_LITERAL("asking"), STR_LITERAL("Not connected; waiting for your answer in its terminal: "),
     STR_LITERAL("")},
    {STR_LITERAL("connecting"), STR_LITERAL("Connecting to "), STR_LITERAL("")},
    {STR_LITERAL("reconnecting"), STR_LITERAL("Not connected to "), STR_LITERAL("; reconnecting")},
    {STR_LITERAL("refused"), STR_LITERAL("Not connected to "),
     STR_LITERAL(", which no longer accepts this session's key")},
    {STR_LITERAL("leaving"), STR_LITERAL("Disconnecting from "), STR_LITERAL("")},
};

static int tell_three(struct str before, struct str shown, struct str behind, struct buf *out)
{
    int r = buf_append_str(out, before);

    if (r == 0)
        r = printable_append(out, shown, PRINTABLE_LINE);
    return r == 0 ? buf_append_str(out, behind) : r;
}

/* As the daemon wrote it, if that is no time. */
static int tell_since(struct str since, struct buf *out)
{
    int64_t now_ms = clock_wall_ms(&clock_system);
    struct clock_iso time;
    char when[WHEN_BYTES];
    char ago[WHEN_BYTES];

    if (!clock_parse_iso(since, &time))
        return printable_append(out, since, PRINTABLE_LINE);
    when_format(clock_iso_ms(&time), now_ms, WHEN_MINUTES, when);
    when_relative(clock_iso_ms(&time), now_ms, ago);
    return buf_printf(out, "%s (%s)", when, ago);
}

static int tell_connection(const struct answer *answer, struct buf *out)
{
    bool is_open = answer->state.len == 0 || str_eq(answer->state, STR("connected"));
    int r;

    if (answer->is_connected) {
        r = tell_three(STR("Connected to "), answer->url, STR(" since "), out);
        if (r == 0)
            r = tell_since(answer->since, out);
        if (r == 0 && !is_open)
            r = buf_append_str(out, STR("; the event stream broke and is being reopened"));
        return r;
    }
    for (size_t i = 0; i < array_size(without_connection); i++)
        if (str_eq(answer->state, without_connection[i].state))
            return tell_three(without_connection[i].before, answer->server,
                              without_connection[i].behind, out);
    return buf_append_str(out, STR("Not connected; waiting for a page or a token"));
}

/* Its page asks for a link in a browser that has not been there. */
static int tell_login(const struct answer *answer, struct buf *out)
{
    char state[PATH_MAX];
    int r = buf_append_str(out, STR("For another browser: gatehouse user "));

    if (r == 0 && upplace_own_state(answer->dir, state))
        r = tell_three(STR("--state-dir \""), str_from(state), STR("\" "), out);
    return r == 0 ? buf_append_str(out, STR("login-link\n")) : r;
}

static int tell_others(const struct answer *answer, struct buf *out)
{
    struct str access = STR_EMPTY;
    struct str path = STR_EMPTY;
    int r = 0;

    if (answer->others == NULL || answer->others->type != JSON_ARRAY)
        return 0;
    json_each_item (item, answer->others)
        if (r == 0 && json_get_str(item, STR("path"), &path) &&
            json_get_str(item, STR("access"), &access))
            r = tell_three(STR("  and "), path,
                           str_eq(access, STR("write")) ? STR("\n") : STR(" (read only)\n"), out);
    return r;
}

static int tell_globs(const char *title, const struct json_value *globs, struct buf *out)
{
    size_t count = 0;
    int r = 0;

    if (globs == NULL || globs->type != JSON_ARRAY)
        return 0;
    json_each_item (item, globs) {
        if (r == 0 && ++count <= SHOWN_GLOBS)
            r = tell_three(str_from(count == 1 ? title : ", "), json_str(item), STR_EMPTY, out);
    }
    if (r == 0 && count > SHOWN_GLOBS)
        r = buf_printf(out, " and %zu more", count - SHOWN_GLOBS);
    return r == 0 && count > 0 ? buf_append_char(out, '\n') : r;
}

static int tell_person(const struct answer *answer, struct buf *out)
{
    int r = is_up(answer) ? tell_three(STR("'gatehouse up' is running; its page is "),
                                       answer->server, STR(".\n"), out)
                          : 0;

    if (r == 0 && is_up(answer))
        r = tell_login(answer, out);
    if (r == 0)
        r = tell_connection(answer, out);
    if (r == 0)
        r = buf_append_str(out, STR(".\n"));
    if (r == 0 && answer->reason.len > 0)
        r = tell_three(STR("Reason: "), answer->reason, STR("\n"), out);
    if (r == 0)
        r = tell_three(STR("Folder: "), answer->dir, STR("\n"), out);
    if (r == 0)
        r = tell_others(answer, out);
    if (r == 0)
        r = tell_globs("Hidden files: ", answer->denied, out);
    if (r == 0)
        r = tell_globs("No files but: ", answer->allowed, out);
    if (r == 0 && is_up(answer))
        r = buf_append_str(out,
                           STR("Ctrl-C in its terminal stops it, and so does 'gatehouse down'.\n"));
    return r;
}

/* One that does not answer runs, too. */
static int tell_silent(const struct asked *asked, struct buf *out)
{
    int r = buf_printf(out, "The daemon of port %u", asked->port);

    if (r == 0 && asked->pid > 0)
        r = buf_printf(out, " (process %d)", (int)asked->pid);
    return r == 0 ? buf_append_str(out, STR(" does not answer: " SILENCE ".\n")) : r;
}

/* With all members that others have. */
static int tell_silent_json(const struct asked *asked, struct buf *out)
{
    int r = buf_printf(out,
                       "{\"connected\":false,\"dir\":null,\"connectedAt\":null,\"url\":null,"
                       "\"state\":\"silent\",\"server\":null,\"reason\":\"" SILENCE "\","
                       "\"command\":null,\"port\":%u,\"pid\":",
                       asked->port);

    if (r < 0)
        return r;
    return asked->pid > 0 ? buf_printf(out, "%d}", (int)asked->pid)
                          : buf_append_str(out, STR("null}"));
}

static int tell_answer(struct str bytes, bool as_json, struct buf *out, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(PARSE_MAX_BYTES);
    struct answer answer = {0};
    int r = read_answer(&arena, bytes, &answer, err);

    if (r < 0)
        return r;
    r = as_json ? buf_append_str(out, str_trim(answer.text)) : tell_person(&answer, out);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* Of one daemon. */
static int tell_one(struct asked *asked, int64_t end_ms, bool as_json, struct buf *out,
                    struct err *err)
{
    cleanup_buf struct buf bytes = BUF_INIT(ANSWER_MAX_BYTES);
    cleanup_buf struct buf text = BUF_INIT(ANSWER_MAX_BYTES);
    cleanup_fd int fd = steal_fd(&asked->fd);
    int r = asked->r;

    if (r == 0)
        r = daemon_query_read(fd, end_ms, &bytes, &asked->err);
    if (r == 0)
        r = tell_answer(buf_view(&bytes), as_json, &text, &asked->err);
    else if (r == ERR_TIMED_OUT)
        r = as_json ? tell_silent_json(asked, &text) : tell_silent(asked, &text);
    if (r < 0)
        return err_set(err, r, "%s", asked->err.message);
    if (out->len > 0 && !as_json)
        r = buf_append_char(out, '\n');
    if (r == 0)
        r = buf_append_str(out, buf_view(&text));
    if (r == 0 && as_json)
        r = buf_append_char(out, '\n');
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int64_t end_of_wait(void)
{
    return clock_monotonic_ms(&clock_system) + WAIT_MS;
}

/* All are asked before one is waited for. The first error comes back. */
static void tell_daemons(bool as_json, struct buf *out, struct err *first)
{
    uint16_t ports[DAEMON_QUERY_MAX_PORTS];
    struct asked asked[DAEMON_QUERY_MAX_PORTS];
    size_t count = daemon_query_ports(ports);
    int64_t end_ms = end_of_wait();

    for (size_t i = 0; i < count; i++)
        ask(ports[i], &asked[i]);
    for (size_t i = 0; i < count; i++) {
        struct err why = ERR_INIT;
        int r = tell_one(&asked[i], end_ms, as_json, out, &why);

        if (r < 0 && r != ERR_NOT_FOUND && first->code == 0)
            *first = why;
    }
}

/* One that answers wrongly is told of, unless it is the only one: then that is the error. */
static int tell_all(const char *state_dir, bool as_json, struct buf *out, struct err *err)
{
    char state[PATH_MAX];
    struct err first = ERR_INIT;

    tell_daemons(as_json, out, &first);
    if (workspace_find_state(state_dir, state, NULL) == 0 && services_tell(state, as_json, out) < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (first.code != 0 && (out->len == 0 || as_json))
        return err_set(err, first.code, "%s", first.message);
    if (first.code != 0 && buf_printf(out, "\nOf another one: %s.\n", first.message) < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    return out->len > 0 ? 0 : nobody_there(0, err);
}

int status_tell(uint16_t port, const char *state_dir, bool as_json, struct buf *out,
                struct err *err)
{
    char directory[PATH_MAX];
    struct asked asked;
    /* Without any possible place that is an error of its own. */
    int r = status_socket_dir(directory, err);

    if (r < 0)
        return r;
    if (port == 0)
        return tell_all(state_dir, as_json, out, err);
    ask(port, &asked);
    r = tell_one(&asked, end_of_wait(), as_json, out, err);
    return r == ERR_NOT_FOUND ? nobody_there(port, err) : r;
}

/* The bytes hold the answer's texts. */
static int ask_up(uint16_t port, struct arena *arena, struct buf *bytes, int *out_pidfd,
                  struct answer *out_answer)
{
    int pidfd = -1;
    const struct daemon_query query = {.port = port,
                                       .wait_ms = WAIT_UP_MS,
                                       .parts = &status_request,
                                       .part_count = 1,
                                       .out_pidfd = &pidfd};
    pid_t pid = 0;
    int r = daemon_query_ask(&query, bytes, &pid, NULL);

    *out_pidfd = pidfd;
    if (r == 0)
        r = read_answer(arena, buf_view(bytes), out_answer, NULL);
    out_answer->pid = pid;
    return r;
}

int status_each_up(int (*visit)(void *data, const struct status_up *up), void *data)
{
    uint16_t ports[DAEMON_QUERY_MAX_PORTS];
    size_t count = daemon_query_ports(ports);
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++) {
        cleanup_arena struct arena arena = ARENA_INIT(PARSE_MAX_BYTES);
        cleanup_buf struct buf bytes = BUF_INIT(ANSWER_MAX_BYTES);
        cleanup_fd int pidfd = -1;
        struct answer answer = {0};

        if (ask_up(ports[i], &arena, &bytes, &pidfd, &answer) == 0 && is_up(&answer))
            r = visit(data, &(struct status_up){.page = answer.server,
                                                .folder = answer.dir,
                                                .pid = answer.pid,
                                                .pidfd = pidfd});
    }
    return r;
}
