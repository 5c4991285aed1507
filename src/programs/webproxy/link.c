/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of a program to the web proxy, in a thread: names take their time to resolve. */
#include "programs/webproxy/webproxy.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hostrange.h"
#include "isolate/pump.h"

enum {
    HEAD_MS = 30 * 1000,
    CONNECT_MS = 10 * 1000,
    SEND_MS = 30 * 1000,
    LAST_MS = 30 * 1000, /* for what a sandbox has sent before its end */
    MAX_TRIES = 4,       /* addresses of a host */
    IP_BYTES = 16,
    ANSWER_BYTES = 1024,
    STACK_BYTES = 256 << 10, /* resolving a name takes some */
    HTTP_DENIED = 403,
    HTTP_BAD_GATEWAY = 502,
    HTTP_BUSY = 503,
};

struct link {
    int fd;
    struct webproxy_box *box;
    size_t len;
    char head[WEBPROXY_HEAD_BYTES]; /* and what came behind it */
};

static atomic_int link_count;

/* ---- answers ---- */

static bool send_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        ssize_t sent = send(fd, bytes.ptr, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent > 0)
            bytes = str_slice(bytes, (size_t)sent, SIZE_MAX);
        else if (errno != EINTR && (errno != EAGAIN || poll(&ready, 1, SEND_MS) != 1))
            return false;
    }
    return true;
}

/* Many programs show the words of the status line only. */
static void refuse(int fd, int status, const char *words, const char *more)
{
    char text[ANSWER_BYTES];
    int len = snprintf(text, sizeof(text),
                       "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                       "Connection: close\r\n\r\n%s",
                       status, words, strlen(more), more);

    if (len > 0 && (size_t)len < sizeof(text))
        (void)send_all(fd, (struct str){text, (size_t)len});
    (void)shutdown(fd, SHUT_WR);
}

static void refuse_host(const struct link *link, const struct webproxy_request *request)
{
    char more[ANSWER_BYTES / 2];

    snprintf(more, sizeof(more),
             "Gatehouse: commands may not reach %.*s, port %u. The user can allow hosts with "
             "--shell-domain, or --domain of gatehouse sandbox run and create; who asks a sandbox "
             "service, with allowed_domains.\n",
             STR_ARG(request->host), request->port);
    refuse(link->fd, HTTP_DENIED, "Host not allowed by Gatehouse", more);
}

/* ---- where to ---- */

static void to_ip(const struct sockaddr *address, uint8_t out_ip[IP_BYTES])
{
    static const uint8_t mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    struct sockaddr_in6 six;
    struct sockaddr_in four;

    if (address->sa_family == AF_INET6) {
        memcpy(&six, address, sizeof(six));
        memcpy(out_ip, &six.sin6_addr, IP_BYTES);
        return;
    }
    memcpy(&four, address, sizeof(four));
    memcpy(out_ip, mapped, sizeof(mapped));
    memcpy(out_ip + sizeof(mapped), &four.sin_addr, sizeof(four.sin_addr));
}

/* Only those can be bound to. */
static bool is_of_this_machine(const struct addrinfo *found)
{
    cleanup_fd int any = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage address = {0};

    memcpy(&address, found->ai_addr, found->ai_addrlen);
    /* The port is at the same place in both; 0 is any. */
    ((struct sockaddr_in *)&address)->sin_port = 0;
    return any < 0 || bind(any, (const struct sockaddr *)&address, found->ai_addrlen) == 0 ||
           errno != EADDRNOTAVAIL;
}

static bool is_allowed(const struct addrinfo *found)
{
    uint8_t ip[IP_BYTES];

    if (found->ai_family != AF_INET && found->ai_family != AF_INET6)
        return false;
    to_ip(found->ai_addr, ip);
    return hostrange_is_public_ip(ip) && !is_of_this_machine(found);
}

/* The connected socket, or -1. */
static int connect_to(const struct addrinfo *found)
{
    cleanup_fd int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    const int on = 1;
    int code = 0;
    socklen_t len = sizeof(code);

    if (fd < 0 || (connect(fd, found->ai_addr, found->ai_addrlen) < 0 &&
                   (errno != EINPROGRESS || poll(&ready, 1, CONNECT_MS) != 1 ||
                    getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0 || code != 0)))
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return steal_fd(&fd);
}

/* The server's socket; or -1, and the program has its answer. */
static int reach(const struct link *link, const struct webproxy_request *request)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    char host[DOMAINLIST_HOST_BYTES];
    char port[8];
    struct addrinfo *all = NULL;
    bool is_any_allowed = false;
    int tries = 0;
    int fd = -1;

    if (!domainlist_allows(&link->box->hosts, request->host, request->port)) {
        refuse_host(link, request);
        return -1;
    }
    /* A dot at the end is not known to every source of names. */
    snprintf(host, sizeof(host), "%.*s", STR_ARG(request->host));
    if (str_ends_with(request->host, STR(".")))
        host[request->host.len - 1] = '\0';
    snprintf(port, sizeof(port), "%u", request->port);
    if (getaddrinfo(host, port, &hints, &all) != 0) {
        refuse(link->fd, HTTP_BAD_GATEWAY, "Host not found", "The host's name has no address.\n");
        return -1;
    }
    for (const struct addrinfo *at = all; at != NULL && fd < 0 && tries < MAX_TRIES;
         at = at->ai_next) {
        if (!is_allowed(at))
            continue;
        is_any_allowed = true;
        tries++;
        fd = connect_to(at);
    }
    freeaddrinfo(all);
    if (fd < 0 && !is_any_allowed)
        refuse(link->fd, HTTP_DENIED, "Private address not allowed by Gatehouse",
               "Gatehouse: the host's name leads to this machine or a private network.\n");
    else if (fd < 0)
        refuse(link->fd, HTTP_BAD_GATEWAY, "Host not reachable", "The host does not answer.\n");
    return fd;
}

/* ---- the connection ---- */

/* The length of the head with its empty line, 0 if there is none in time. */
static size_t read_head(struct link *link)
{
    for (;;) {
        struct pollfd ready = {.fd = link->fd, .events = POLLIN};
        size_t end = str_find((struct str){link->head, link->len}, STR("\r\n\r\n"));
        ssize_t got;

        if (end != SIZE_MAX)
            return end + 4;
        if (link->len == sizeof(link->head) || poll(&ready, 1, HEAD_MS) != 1)
            return 0;
        got = recv(link->fd, link->head + link->len, sizeof(link->head) - link->len, 0);
        if (got <= 0)
            return 0;
        link->len += (size_t)got;
    }
}

/* Waits for the sockets, and for the sandbox's end. False when there is nothing to wait for. */
static bool wait_for_any(const struct link *link, struct pollfd waits[PUMP_ENDS],
                         int64_t *deadline_ms)
{
    struct pollfd all[PUMP_ENDS + 1];
    int64_t left_ms = -1;

    if (*deadline_ms >= 0) {
        left_ms = *deadline_ms - clock_monotonic_ms(&clock_system);
        if (left_ms <= 0)
            return false;
    }
    memcpy(all, waits, PUMP_ENDS * sizeof(*waits));
    all[PUMP_ENDS] = (struct pollfd){.fd = left_ms < 0 ? link->box->life : -1, .events = POLLIN};
    if (poll(all, PUMP_ENDS + 1, (int)left_ms) < 0)
        return errno == EINTR;
    memcpy(waits, all, PUMP_ENDS * sizeof(*waits));
    if (all[PUMP_ENDS].revents != 0)
        *deadline_ms = clock_monotonic_ms(&clock_system) + LAST_MS;
    return true;
}

static void pass_on(struct link *link, int server)
{
    struct pump pump;
    int64_t deadline_ms = -1; /* none before the sandbox has ended */
    bool is_sound = true;

    if (!pump_open(&pump, link->fd, server)) {
        close(server);
        return;
    }
    link->fd = -1;
    while (is_sound && !pump_is_over(&pump) && (deadline_ms < 0 || !pump.halves[0].is_shut)) {
        struct pollfd waits[PUMP_ENDS];

        pump_waits(&pump, waits);
        if (!wait_for_any(link, waits, &deadline_ms))
            break;
        is_sound = pump_work(&pump, waits);
    }
    pump_close(&pump, !is_sound);
}

static void serve(struct link *link)
{
    cleanup_buf struct buf head = BUF_INIT(2 * WEBPROXY_HEAD_BYTES);
    size_t len = read_head(link);
    struct str rest = {link->head + len, link->len - len};
    struct webproxy_request request;
    int status = len > 0 ? webproxy_read_head((struct str){link->head, len}, &request) : 0;
    int server;

    if (len == 0)
        return;
    if (status != 0) {
        refuse(link->fd, status, "Not understood",
               "This is the web proxy of sandboxed commands: it takes CONNECT and http://\n");
        return;
    }
    server = reach(link, &request);
    if (server < 0)
        return;
    if ((request.is_tunnel
             ? send_all(link->fd, STR("HTTP/1.1 200 Connection established\r\n\r\n"))
             : webproxy_write_head(&request, &head) == 0 && send_all(server, buf_view(&head))) &&
        send_all(server, rest))
        pass_on(link, server);
    else
        close(server);
}

static void count_link(struct webproxy_box *box, int change)
{
    if (box->owner != NULL)
        atomic_fetch_add(&box->owner->links, change);
}

static void *live(void *data)
{
    struct link *link = data;

    serve(link);
    if (link->fd >= 0)
        close(link->fd);
    count_link(link->box, -1);
    webproxy_box_unref(link->box);
    free(link);
    atomic_fetch_sub(&link_count, 1);
    return NULL;
}

/*
 * An owner gets no more than are left then, so that with any number of sandboxes nobody takes all
 * of the others'.
 */
static bool may_have_more(const struct webproxy_box *box, int left)
{
    return left > 0 && atomic_load(&box->uses) <= WEBPROXY_BOX_LINKS &&
           (box->owner == NULL || atomic_load(&box->owner->links) < left);
}

void webproxy_link_start(int fd, struct webproxy_box *box, int max_links)
{
    struct link *link = NULL;
    pthread_attr_t attributes;
    pthread_t thread;
    bool is_started = false;

    if (may_have_more(box, max_links - atomic_fetch_add(&link_count, 1)))
        link = calloc(1, sizeof(*link));
    if (link != NULL && pthread_attr_init(&attributes) == 0) {
        link->fd = fd;
        link->box = webproxy_box_ref(box);
        count_link(box, 1);
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        is_started = pthread_create(&thread, &attributes, live, link) == 0;
        pthread_attr_destroy(&attributes);
    }
    if (is_started)
        return;
    refuse(fd, HTTP_BUSY, "Too many connections", "Too many connections at a time.\n");
    close(fd);
    if (link != NULL && link->box != NULL) {
        count_link(box, -1);
        webproxy_box_unref(link->box);
    }
    free(link);
    atomic_fetch_sub(&link_count, 1);
}
