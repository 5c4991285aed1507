/* SPDX-License-Identifier: Apache-2.0 */
#include "sandboxd_link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 120, LINE_BYTES = 1024 };

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "bench_sandboxd: %s\n", what);
    exit(1);
}

void link_open(struct link *link, unsigned short port, const char *key)
{
    const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int on = 1;

    *link = (struct link){.key = key, .port = port, .buffer = malloc(LINK_BUFFER_BYTES)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    link->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->buffer == NULL || link->fd < 0)
        die("no socket");
    setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(link->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        die("the service cannot be reached");
}

void link_close(struct link *link)
{
    close(link->fd);
    free(link->buffer);
}

void link_send(struct link *link, const char *method, const char *path, const char *body)
{
    char request[LINK_BODY_BYTES];
    int len = snprintf(request, sizeof(request),
                       "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Api-Key: %s\r\n"
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                       method, path, link->port, link->key, body != NULL ? strlen(body) : 0,
                       body != NULL ? body : "");

    if (len >= (int)sizeof(request) || send(link->fd, request, (size_t)len, MSG_NOSIGNAL) != len)
        die("a request was not sent");
}

static void send_all(struct link *link, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t done = send(link->fd, bytes, len, MSG_NOSIGNAL);

        if (done <= 0)
            die("a request was not sent");
        bytes += done;
        len -= (size_t)done;
    }
}

void link_send_large(struct link *link, const char *path, const char *type, const char *before,
                     size_t count, const char *after)
{
    static char filling[LINK_BUFFER_BYTES];
    char head[LINK_BODY_BYTES];
    int len =
        snprintf(head, sizeof(head),
                 "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Api-Key: %s\r\n"
                 "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                 path, link->port, link->key, type, strlen(before) + count + strlen(after), before);

    if (len >= (int)sizeof(head))
        die("a head is too long");
    memset(filling, LINK_COUNTED, sizeof(filling));
    send_all(link, head, (size_t)len);
    for (size_t left = count; left > 0;) {
        size_t some = left < sizeof(filling) ? left : sizeof(filling);

        send_all(link, filling, some);
        left -= some;
    }
    send_all(link, after, strlen(after));
}

static void fill(struct link *link)
{
    ssize_t got = recv(link->fd, link->buffer, LINK_BUFFER_BYTES, 0);

    if (got <= 0)
        die("the service has closed the connection, or says nothing any more");
    link->at = 0;
    link->len = (size_t)got;
}

static void read_line(struct link *link, char out_line[LINE_BYTES])
{
    size_t len = 0;

    for (;;) {
        char byte;

        if (link->at == link->len)
            fill(link);
        byte = link->buffer[link->at++];
        if (byte == '\n')
            break;
        if (len == LINE_BYTES - 1)
            die("a line of an answer is too long");
        if (byte != '\r')
            out_line[len++] = byte;
    }
    out_line[len] = '\0';
}

/* Keeps the beginning and the end of a body. */
static size_t keep(struct link *link, size_t kept, const char *bytes, size_t count)
{
    const size_t half = LINK_BODY_BYTES / 2;
    size_t more = LINK_BODY_BYTES - kept < count ? LINK_BODY_BYTES - kept : count;
    size_t last;

    memcpy(link->body + kept, bytes, more);
    kept += more;
    bytes += more;
    count -= more;
    if (count == 0)
        return kept;
    last = count < half ? count : half;
    memmove(link->body + half, link->body + half + last, half - last);
    memcpy(link->body + LINK_BODY_BYTES - last, bytes + count - last, last);
    return kept;
}

static size_t count_bytes(const char *bytes, size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += bytes[i] == LINK_COUNTED;
    return found;
}

static size_t take_bytes(struct link *link, size_t kept, size_t count)
{
    while (count > 0) {
        size_t part;

        if (link->at == link->len)
            fill(link);
        part = link->len - link->at < count ? link->len - link->at : count;
        link->counted += count_bytes(link->buffer + link->at, part);
        kept = keep(link, kept, link->buffer + link->at, part);
        link->at += part;
        count -= part;
    }
    return kept;
}

static size_t take_chunks(struct link *link)
{
    char line[LINE_BYTES];
    size_t kept = 0;

    for (;;) {
        size_t count;

        read_line(link, line);
        count = strtoul(line, NULL, 16);
        kept = take_bytes(link, kept, count);
        read_line(link, line);
        if (count == 0)
            return kept;
    }
}

int link_answer(struct link *link)
{
    char line[LINE_BYTES];
    bool is_chunked = false;
    size_t count = 0;
    int status;

    link->counted = 0;
    read_line(link, line);
    status = strncmp(line, "HTTP/1.1 ", 9) == 0 ? (int)strtol(line + 9, NULL, 10) : 0;
    for (;;) {
        read_line(link, line);
        if (line[0] == '\0')
            break;
        if (strncasecmp(line, "content-length:", 15) == 0)
            count = strtoul(line + 15, NULL, 10);
        if (strncasecmp(line, "transfer-encoding:", 18) == 0)
            is_chunked = true;
    }
    count = is_chunked ? take_chunks(link) : take_bytes(link, 0, count);
    link->body[count] = '\0';
    return status;
}
