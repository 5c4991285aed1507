/* SPDX-License-Identifier: Apache-2.0 */
#include "raw_server.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop_until.h"
#include "net/address.h"

enum { READ_BYTES = 64 << 10, IDLE_TURNS = 3 };

void raw_server_init(struct raw_server *server, struct loop *loop)
{
    struct address address;

    server->loop = loop;
    assert(address_parse(STR("127.0.0.1:0"), &address) == 0);
    assert(address_listen(&address, NULL, &server->fd) == 0);
    assert(address_of(server->fd, &address) == 0);
    server->port = address.port;
}

void raw_server_done(struct raw_server *server)
{
    if (server->fd >= 0)
        close(server->fd);
    server->fd = -1;
}

static bool try_accept(struct raw_server *server, int *out_fd)
{
    *out_fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return *out_fd >= 0;
}

int raw_server_accept(struct raw_server *server)
{
    int fd;

    loop_until(server->loop, try_accept(server, &fd));
    return fd;
}

bool raw_server_is_alone(struct raw_server *server)
{
    int fd;

    for (int i = 0; i < IDLE_TURNS; i++)
        loop_until_step(server->loop);
    if (!try_accept(server, &fd))
        return true;
    close(fd);
    return false;
}

static bool read_some(int fd, struct buf *out)
{
    ssize_t got;

    assert(buf_reserve(out, READ_BYTES) == 0);
    got = read(fd, out->data + out->len, READ_BYTES);
    assert(got > 0 || (got < 0 && errno == EAGAIN));
    if (got > 0)
        out->len += (size_t)got;
    return got > 0;
}

static bool ends_now(int fd, struct buf *out, struct str ending)
{
    while (read_some(fd, out))
        ;
    return str_ends_with(buf_view(out), ending);
}

void raw_server_read(struct raw_server *server, int fd, struct buf *out, struct str ending)
{
    loop_until(server->loop, ends_now(fd, out, ending));
}

void raw_server_read_head(struct raw_server *server, int fd, struct buf *out)
{
    raw_server_read(server, fd, out, STR("\r\n\r\n"));
}

void raw_server_write(struct raw_server *server, int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t sent = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

        if (sent > 0)
            bytes = str_slice(bytes, (size_t)sent, SIZE_MAX);
        else
            assert(errno == EAGAIN);
        loop_until_step(server->loop);
    }
}

static bool has_closed(int fd)
{
    char bytes[1024];
    ssize_t got = read(fd, bytes, sizeof(bytes));

    return got == 0 || (got < 0 && errno != EAGAIN);
}

void raw_server_await_close(struct raw_server *server, int fd)
{
    loop_until(server->loop, has_closed(fd));
    close(fd);
}
