/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "command/output.h"
#include "command/status.h"

enum {
    ANSWER_MAX_BYTES = 64 << 10,
    READ_BYTES = 4096,
    PARSE_MAX_BYTES = 256 << 10,
    ANSWER_DEPTH = 8,
    WAIT_S = 5, /* for each step of a daemon that does not answer */
};

static int nobody_there(uint16_t port, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND,
                   "no daemon of yours has port %u (another one: --port). 'gatehouse connect' "
                   "starts one",
                   port);
}

static int no_answer(struct err *err, int errno_value)
{
    bool is_slow = errno_value == EAGAIN || errno_value == EINPROGRESS;

    return err_set(err, is_slow ? ERR_TIMED_OUT : ERR_IO, "the daemon does not answer: %s",
                   is_slow ? "it is busy or stopped" : err_errno_text(errno_value));
}

/* Names of any length fit, because the socket is found from its directory on. */
static int connect_in(const char *directory, uint16_t port, int *out_fd, struct err *err)
{
    const struct timeval wait = {.tv_sec = WAIT_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[STATUS_NAME_BYTES];
    cleanup_fd int dir_fd = -1;
    cleanup_fd int fd = -1;
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);

    dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return nobody_there(port, err);
    status_socket_name(port, name);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir_fd, name);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0)
        return no_answer(err, errno);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return errno == ENOENT || errno == ECONNREFUSED ? nobody_there(port, err)
                                                        : no_answer(err, errno);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return no_answer(err, errno);
    if (peer.uid != geteuid())
        return err_set(err, ERR_PERMISSION_DENIED, "the socket is another user's: it is not asked");
    *out_fd = steal_fd(&fd);
    return 0;
}

/* In the place where one of our own would be, then where others may have put theirs. */
static int connect_to(uint16_t port, int *out_fd, struct err *err)
{
    char directory[PATH_MAX];
    int r = status_socket_dir(directory, err);

    for (enum status_place place = 0; r == 0 && place < STATUS_PLACES; place++) {
        if (!status_socket_place(place, directory))
            continue;
        r = connect_in(directory, port, out_fd, err);
        if (r != ERR_NOT_FOUND)
            return r;
        r = 0;
    }
    return r == 0 ? nobody_there(port, err) : r;
}

static int ask(int fd, struct buf *out, struct err *err)
{
    struct str request = STR(STATUS_REQUEST);
    ssize_t got;

    while (request.len > 0) {
        ssize_t sent = send(fd, request.ptr, request.len, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return no_answer(err, errno);
        request = str_slice(request, (size_t)sent, SIZE_MAX);
    }
    do {
        int r = buf_reserve(out, READ_BYTES);

        if (r < 0)
            return err_set(err, r, "the daemon's answer is too long");
        got = recv(fd, out->data + out->len, READ_BYTES, 0);
        if (got > 0)
            out->len += (size_t)got;
    } while (got > 0 || (got < 0 && errno == EINTR));
    return got < 0 ? no_answer(err, errno) : 0;
}

struct answer {
    struct str text;
    bool is_connected;
    struct str dir;
    struct str url;
    struct str since;
    struct str state;  /* empty, as the next two: an older daemon */
    struct str server; /* also while it is not connected */
    struct str reason;
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
                            .reason = STR_EMPTY};
    size_t end = str_find(bytes, STR("\r\n\r\n"));

    if (!str_starts_with(bytes, STR("HTTP/1.1 200 ")) || end == SIZE_MAX)
        return err_set(err, ERR_HTTP_ANSWER, "what answers there is no daemon of ours");
    answer.text = str_slice(bytes, end + 4, SIZE_MAX);
    if (json_parse(arena, answer.text, limits, &document, NULL) < 0 ||
        !json_get_bool(document, STR("connected"), &answer.is_connected) ||
        !json_get_str(document, STR("dir"), &answer.dir))
        return err_set(err, ERR_HTTP_ANSWER, "the daemon's answer is not understood");
    json_get_str(document, STR("url"), &answer.url);
    json_get_str(document, STR("connectedAt"), &answer.since);
    json_get_str(document, STR("state"), &answer.state);
    json_get_str(document, STR("server"), &answer.server);
    json_get_str(document, STR("reason"), &answer.reason);
    *out_answer = answer;
    return 0;
}

/* What it is about a server that it is not connected to. */
static const struct {
    struct str state;
    struct str before;
    struct str behind;
} without_connection[] = {
    {STR_LITERAL("asking"), STR_LITERAL("Not connected; it asks in its terminal whether to, to "),
     STR_LITERAL("")},
    {STR_LITERAL("connecting"), STR_LITERAL("Connecting to "), STR_LITERAL("")},
    {STR_LITERAL("reconnecting"), STR_LITERAL("Not connected to "), STR_LITERAL("; trying again")},
    {STR_LITERAL("refused"), STR_LITERAL("Not connected to "),
     STR_LITERAL(", which does not take this session's key any more")},
    {STR_LITERAL("leaving"), STR_LITERAL("Disconnecting from "), STR_LITERAL("")},
};

static int tell_three(struct str before, struct str shown, struct str behind, struct buf *out)
{
    int r = buf_append_str(out, before);

    if (r == 0)
        r = output_show(shown, out);
    return r == 0 ? buf_append_str(out, behind) : r;
}

static int tell_connection(const struct answer *answer, struct buf *out)
{
    bool is_open = answer->state.len == 0 || str_eq(answer->state, STR("connected"));
    int r;

    if (answer->is_connected) {
        r = tell_three(STR("Connected to "), answer->url, STR(" since "), out);
        if (r == 0)
            r = tell_three(STR(""), answer->since,
                           is_open ? STR("") : STR("; the stream broke and is opened anew"), out);
        return r;
    }
    for (size_t i = 0; i < array_size(without_connection); i++)
        if (str_eq(answer->state, without_connection[i].state))
            return tell_three(without_connection[i].before, answer->server,
                              without_connection[i].behind, out);
    return buf_append_str(out, STR("Not connected; waiting for a page or a token"));
}

static int tell_person(const struct answer *answer, struct buf *out)
{
    int r = tell_connection(answer, out);

    if (r == 0)
        r = buf_append_str(out, STR(".\n"));
    if (r == 0 && answer->reason.len > 0)
        r = tell_three(STR("Reason: "), answer->reason, STR("\n"), out);
    return r == 0 ? tell_three(STR("Folder: "), answer->dir, STR("\n"), out) : r;
}

int status_tell(uint16_t port, bool as_json, struct buf *out, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(PARSE_MAX_BYTES);
    cleanup_buf struct buf bytes = BUF_INIT(ANSWER_MAX_BYTES);
    cleanup_fd int fd = -1;
    struct answer answer = {0};
    int r = connect_to(port, &fd, err);

    if (r == 0)
        r = ask(fd, &bytes, err);
    if (r == 0)
        r = read_answer(&arena, buf_view(&bytes), &answer, err);
    if (r < 0)
        return r;
    if (as_json) {
        r = buf_append_str(out, str_trim(answer.text));
        if (r == 0)
            r = buf_append_char(out, '\n');
    } else {
        r = tell_person(&answer, out);
    }
    return r < 0 ? err_set_plain(err, r) : 0;
}
