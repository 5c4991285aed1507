/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

enum {
    BACKLOG = 511,
    /* A peer that vanished without a word is noticed after this, though nothing is sent. */
    KEEPALIVE_IDLE_S = 60,
    KEEPALIVE_EVERY_S = 15,
    KEEPALIVE_TRIES = 4,
    MAPPED_PREFIX_BYTES = 12,
    MAX_PORT = 65535,
};

static const uint8_t MAPPED_PREFIX[MAPPED_PREFIX_BYTES] = {[10] = 0xff, [11] = 0xff};

static bool is_mapped(const struct address *address)
{
    return memcmp(address->ip, MAPPED_PREFIX, MAPPED_PREFIX_BYTES) == 0;
}

static void set_v4(struct address *address, const struct in_addr *v4)
{
    memcpy(address->ip, MAPPED_PREFIX, MAPPED_PREFIX_BYTES);
    memcpy(address->ip + MAPPED_PREFIX_BYTES, v4, sizeof(*v4));
}

struct address address_from(const struct sockaddr_storage *storage)
{
    struct address address = {.is_ip = true};
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (storage->ss_family == AF_INET) {
        memcpy(&v4, storage, sizeof(v4));
        set_v4(&address, &v4.sin_addr);
        address.port = ntohs(v4.sin_port);
    } else if (storage->ss_family == AF_INET6) {
        memcpy(&v6, storage, sizeof(v6));
        memcpy(address.ip, &v6.sin6_addr, sizeof(address.ip));
        address.port = ntohs(v6.sin6_port);
    } else {
        address.is_ip = false;
    }
    return address;
}

void address_format(const struct address *address, char out_text[ADDRESS_TEXT_BYTES])
{
    char ip[INET6_ADDRSTRLEN] = "";

    if (!address->is_ip) {
        snprintf(out_text, ADDRESS_TEXT_BYTES, "unix");
        return;
    }
    if (is_mapped(address)) {
        inet_ntop(AF_INET, address->ip + MAPPED_PREFIX_BYTES, ip, sizeof(ip));
        snprintf(out_text, ADDRESS_TEXT_BYTES, "%s:%u", ip, address->port);
    } else {
        inet_ntop(AF_INET6, address->ip, ip, sizeof(ip));
        snprintf(out_text, ADDRESS_TEXT_BYTES, "[%s]:%u", ip, address->port);
    }
}

bool address_is_loopback(const struct address *address)
{
    static const uint8_t v6_loopback[ADDRESS_IP_BYTES] = {[15] = 1};

    if (!address->is_ip)
        return true;
    return is_mapped(address) ? address->ip[MAPPED_PREFIX_BYTES] == 127
                              : memcmp(address->ip, v6_loopback, ADDRESS_IP_BYTES) == 0;
}

static bool port_from(struct str text, uint16_t *out_port)
{
    int64_t port;

    if (text.len == 0 || text.ptr[0] == '-' || !str_to_int64(text, &port) || port > MAX_PORT)
        return false;
    *out_port = (uint16_t)port;
    return true;
}

int address_parse(struct str text, struct address *out_address)
{
    struct address address = {.is_ip = true};
    char host[INET6_ADDRSTRLEN];
    struct in_addr v4;
    size_t colon = text.len;
    struct str name;

    while (colon > 0 && text.ptr[colon - 1] != ':')
        colon--;
    if (colon == 0 || !port_from(str_slice(text, colon, SIZE_MAX), &address.port))
        return ERR_INVALID_ARGUMENT;
    name = str_slice(text, 0, colon - 1);
    if (str_eq(name, STR("localhost")))
        name = STR("127.0.0.1");
    if (name.len > 2 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']') {
        name = str_slice(name, 1, name.len - 2);
        if (name.len >= sizeof(host) || str_has_nul(name))
            return ERR_INVALID_ARGUMENT;
        snprintf(host, sizeof(host), "%.*s", STR_ARG(name));
        if (inet_pton(AF_INET6, host, address.ip) != 1)
            return ERR_INVALID_ARGUMENT;
    } else {
        if (name.len >= sizeof(host) || str_has_nul(name))
            return ERR_INVALID_ARGUMENT;
        snprintf(host, sizeof(host), "%.*s", STR_ARG(name));
        if (inet_pton(AF_INET, host, &v4) != 1)
            return ERR_INVALID_ARGUMENT;
        set_v4(&address, &v4);
    }
    *out_address = address;
    return 0;
}

/* Options that accepted sockets inherit cost nothing per connection. */
static int set_options(int fd, bool is_v6_of_all)
{
    static const struct {
        int level;
        int name;
        int value;
    } options[] = {
        {SOL_SOCKET, SO_REUSEADDR, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_TRIES},
        /* Answers leave in one write each, and events must not wait for each other. */
        {IPPROTO_TCP, TCP_NODELAY, 1},
    };
    int zero = 0;

    for (size_t i = 0; i < array_size(options); i++)
        if (setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int)) < 0)
            return err_from_errno(errno);
    if (is_v6_of_all && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) < 0)
        return err_from_errno(errno);
    return 0;
}

static socklen_t to_sockaddr(const struct address *address, struct sockaddr_storage *out)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(address->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(address->port)};

    memset(out, 0, sizeof(*out));
    if (is_mapped(address)) {
        memcpy(&v4.sin_addr, address->ip + MAPPED_PREFIX_BYTES, sizeof(v4.sin_addr));
        memcpy(out, &v4, sizeof(v4));
        return sizeof(v4);
    }
    memcpy(&v6.sin6_addr, address->ip, sizeof(v6.sin6_addr));
    memcpy(out, &v6, sizeof(v6));
    return sizeof(v6);
}

static const char *remedy(int errno_value)
{
    switch (errno_value) {
    case EADDRINUSE:
        return "; stop the program that uses this port, or choose another port";
    case EACCES:
        return "; ports below 1024 are for root: choose another port";
    case EADDRNOTAVAIL:
        return "; choose an address of this machine";
    default:
        return "";
    }
}

int address_listen(const struct address *address, struct err *err, int *out_fd)
{
    static const uint8_t any[ADDRESS_IP_BYTES];
    char text[ADDRESS_TEXT_BYTES];
    struct sockaddr_storage storage;
    socklen_t len;
    cleanup_fd int fd = -1;
    int r;

    address_format(address, text);
    if (!address->is_ip)
        return err_set_field(err, ERR_INVALID_ARGUMENT, text, "not a valid address to listen on");
    len = to_sockaddr(address, &storage);
    fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set_field(err, err_from_errno(errno), text, "cannot create a socket for %s: %s",
                             text, err_errno_text(errno));
    r = set_options(fd,
                    storage.ss_family == AF_INET6 && memcmp(address->ip, any, sizeof(any)) == 0);
    if (r < 0)
        return err_set_field(err, r, text, "cannot set up a socket for %s", text);
    if (bind(fd, (struct sockaddr *)&storage, len) < 0 || listen(fd, BACKLOG) < 0) {
        r = errno == EADDRINUSE ? ERR_ALREADY_EXISTS : err_from_errno(errno);
        return err_set_field(err, r, text, "cannot listen on %s: %s%s", text, err_errno_text(errno),
                             remedy(errno));
    }
    *out_fd = steal_fd(&fd);
    return 0;
}

int address_of(int fd, struct address *out_address)
{
    struct sockaddr_storage storage = {0};
    socklen_t len = sizeof(storage);

    if (getsockname(fd, (struct sockaddr *)&storage, &len) < 0)
        return err_from_errno(errno);
    *out_address = address_from(&storage);
    return 0;
}
