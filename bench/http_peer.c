/* SPDX-License-Identifier: Apache-2.0 */
#include "http_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 60 };

void http_peer_fail(const struct http_peer *peer, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, peer->name, what);
    exit(1);
}

/* Nobody is in between on this machine, so nobody's certificate is asked for. */
static SSL_CTX *client_side(const struct http_peer *peer)
{
    static SSL_CTX *context;

    if (context == NULL) {
        context = SSL_CTX_new(TLS_client_method());
        if (context == NULL)
            http_peer_fail(peer, "no TLS here");
        SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
        /* Ten thousand of them live in this process. */
        SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    }
    return context;
}

static void start_tls(struct http_link *link)
{
    link->tls = SSL_new(client_side(link->peer));
    if (link->tls == NULL || SSL_set_fd(link->tls, link->fd) != 1 || SSL_connect(link->tls) != 1)
        http_peer_fail(link->peer, "no TLS connection");
}

void http_link_open(struct http_link *link, const struct http_peer *peer, unsigned source)
{
    const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(peer->port)};
    const int on = 1;

    *link = (struct http_link){.peer = peer};
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + source);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    link->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->fd < 0)
        http_peer_fail(peer, "no more sockets: the limit of open files is too low");
    setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(link->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    /* The port is chosen when the other end is known, so that it need not be free for all others.
     */
    setsockopt(link->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    if (bind(link->fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
        connect(link->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        http_peer_fail(peer, "cannot be reached");
    if (peer->is_tls)
        start_tls(link);
}

void http_link_close(struct http_link *link)
{
    SSL_free(link->tls);
    close(link->fd);
    link->tls = NULL;
    link->fd = -1;
}

void http_link_stop_waiting(struct http_link *link)
{
    if (fcntl(link->fd, F_SETFL, O_NONBLOCK) < 0)
        http_peer_fail(link->peer, "a socket that only waits");
}

void http_link_send(struct http_link *link, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t wrote = link->tls != NULL ? SSL_write(link->tls, text, (int)len)
                                          : send(link->fd, text, len, MSG_NOSIGNAL);

        if (wrote <= 0)
            http_peer_fail(link->peer, "does not read");
        text += wrote;
        len -= (size_t)wrote;
    }
}

static bool is_nothing_there(const struct http_link *link, int got)
{
    return link->tls != NULL ? SSL_get_error(link->tls, got) == SSL_ERROR_WANT_READ
                             : errno == EAGAIN;
}

size_t http_link_read(struct http_link *link, char *out, size_t size)
{
    ssize_t got =
        link->tls != NULL ? SSL_read(link->tls, out, (int)size) : recv(link->fd, out, size, 0);

    if (got > 0)
        return (size_t)got;
    /* A socket that waits gives up after a while. */
    if (!is_nothing_there(link, (int)got) || (fcntl(link->fd, F_GETFL) & O_NONBLOCK) == 0)
        http_peer_fail(link->peer, "closed the connection, or says nothing any more");
    return 0;
}

/* How long the body is that follows this head; its end is where the head has its empty line. */
static size_t body_length(const struct http_peer *peer, const char *head, const char *end)
{
    for (const char *line = strstr(head, "\r\n"); line != NULL && line < end;
         line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, "content-length:", 15) == 0)
            return strtoul(line + 17, NULL, 10);
    http_peer_fail(peer, "does not say how long its answer is");
}

int http_link_answer(struct http_link *link, bool is_head, char *out)
{
    size_t len = 0;

    for (;;) {
        const char *end;

        if (len == HTTP_ANSWER_BYTES - 1)
            http_peer_fail(link->peer, "answers too much");
        len += http_link_read(link, out + len, HTTP_ANSWER_BYTES - 1 - len);
        out[len] = '\0';
        end = strstr(out, "\r\n\r\n");
        if (end == NULL)
            continue;
        if (strncmp(out, "HTTP/1.1 ", 9) != 0)
            http_peer_fail(link->peer, "does not speak HTTP/1.1");
        if (is_head || len >= (size_t)(end + 4 - out) + body_length(link->peer, out, end))
            return (int)strtol(out + 9, NULL, 10);
    }
}
