/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/daemonquery.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/status.h"

enum { READ_BYTES = 4096, MOMENT_MS = 50 };

static int no_answer(struct err *err, int errno_value)
{
    bool is_slow = errno_value == EAGAIN || errno_value == EINPROGRESS;

    return err_set(err, is_slow ? ERR_TIMED_OUT : ERR_IO, "the daemon does not answer: %s",
                   is_slow ? "it is busy or stopped" : err_errno_text(errno_value));
}

/* Paths of any length work, because the socket is reached relative to its directory. */
static int connect_in(const char *directory, const struct daemon_query *query, int *out_fd,
                      pid_t *out_pid, struct err *err)
{
    const struct timeval wait = {.tv_sec = query->wait_ms / 1000,
                                 .tv_usec = query->wait_ms % 1000 * 1000};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[STATUS_NAME_BYTES];
    cleanup_fd int dir_fd = -1;
    cleanup_fd int fd = -1;
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);

    dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return err_set_plain(err, ERR_NOT_FOUND);
    status_socket_name(query->port, name);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir_fd, name);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0)
        return no_answer(err, errno);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return errno == ENOENT || errno == ECONNREFUSED ? err_set_plain(err, ERR_NOT_FOUND)
                                                        : no_answer(err, errno);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return no_answer(err, errno);
    if (peer.uid != geteuid())
        return err_set(err, ERR_PERMISSION_DENIED, "the socket is another user's: it is not asked");
    *out_fd = steal_fd(&fd);
    *out_pid = peer.pid;
    return 0;
}

static int connect_to(const struct daemon_query *query, int *out_fd, pid_t *out_pid,
                      struct err *err)
{
    char directory[PATH_MAX];
    int r = ERR_NOT_FOUND;

    for (enum status_place place = 0; r == ERR_NOT_FOUND && place < STATUS_PLACES; place++)
        if (status_socket_place(place, directory))
            r = connect_in(directory, query, out_fd, out_pid, err);
    return r == ERR_NOT_FOUND ? err_set_plain(err, r) : r;
}

static int write_all(int fd, struct str bytes, struct err *err)
{
    while (bytes.len > 0) {
        ssize_t sent = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return no_answer(err, errno);
        bytes = str_slice(bytes, (size_t)sent, SIZE_MAX);
    }
    return 0;
}

/* 0 for another name. */
static uint16_t port_of(const char *name)
{
    const char *digits = strchr(name, '-');
    unsigned long port = digits != NULL ? strtoul(digits + 1, NULL, 10) : 0;
    char own[STATUS_NAME_BYTES];

    if (port > UINT16_MAX)
        return 0;
    status_socket_name((uint16_t)port, own);
    return strcmp(name, own) == 0 ? (uint16_t)port : 0;
}

/* In order, and each once. */
static size_t add_port(uint16_t port, uint16_t *ports, size_t count)
{
    size_t at = 0;

    while (at < count && ports[at] < port)
        at++;
    if (count == DAEMON_QUERY_MAX_PORTS || (at < count && ports[at] == port))
        return count;
    memmove(ports + at + 1, ports + at, (count - at) * sizeof(*ports));
    ports[at] = port;
    return count + 1;
}

static size_t add_ports_in(const char *directory, uint16_t *ports, size_t count)
{
    cleanup_fd int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent *entry;
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (dir == NULL)
        return count;
    (void)steal_fd(&fd);
    while ((entry = readdir(dir)) != NULL) {
        uint16_t port = port_of(entry->d_name);

        if (port > 0)
            count = add_port(port, ports, count);
    }
    closedir(dir);
    return count;
}

size_t daemon_query_ports(uint16_t out_ports[DAEMON_QUERY_MAX_PORTS])
{
    char directory[PATH_MAX];
    size_t count = 0;
    bool has_runtime = status_socket_place(STATUS_PLACE_RUNTIME, directory);

    for (enum status_place place = 0; place < STATUS_PLACES; place++)
        if ((place != STATUS_PLACE_LOGIN || !has_runtime) && status_socket_place(place, directory))
            count = add_ports_in(directory, out_ports, count);
    return count;
}

int daemon_query_send(const struct daemon_query *query, int *out_fd, pid_t *out_pid,
                      struct err *err)
{
    cleanup_fd int fd = -1;
    int r = connect_to(query, &fd, out_pid, err);

    /* SAFETY: no wrapper in this libc; the arguments are those of pidfd_open(2). */
    if (r == 0 && query->out_pidfd != NULL)
        *query->out_pidfd = (int)syscall(SYS_pidfd_open, *out_pid, 0);
    for (size_t i = 0; r == 0 && i < query->part_count; i++)
        r = write_all(fd, query->parts[i], err);
    if (r == 0)
        *out_fd = steal_fd(&fd);
    return r;
}

static bool wait_until(int fd, int64_t end_ms)
{
    int64_t left_ms = end_ms - clock_monotonic_ms(&clock_system);
    struct pollfd wanted = {.fd = fd, .events = POLLIN};

    return poll(&wanted, 1, left_ms > MOMENT_MS ? (int)left_ms : MOMENT_MS) != 0;
}

int daemon_query_read(int fd, int64_t end_ms, struct buf *out, struct err *err)
{
    ssize_t got;

    do {
        int r = buf_reserve(out, READ_BYTES);

        if (r < 0)
            return err_set(err, r, "the daemon's answer is too long");
        if (!wait_until(fd, end_ms))
            return no_answer(err, EAGAIN);
        got = recv(fd, out->data + out->len, READ_BYTES, MSG_DONTWAIT);
        if (got > 0)
            out->len += (size_t)got;
    } while (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)));
    return got < 0 ? no_answer(err, errno) : 0;
}

int daemon_query_ask(const struct daemon_query *query, struct buf *out, pid_t *out_pid,
                     struct err *err)
{
    cleanup_fd int fd = -1;
    int r = daemon_query_send(query, &fd, out_pid, err);

    return r == 0
               ? daemon_query_read(fd, clock_monotonic_ms(&clock_system) + query->wait_ms, out, err)
               : r;
}
