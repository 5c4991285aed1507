/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hostrange.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static bool is_private_v4(uint32_t address)
{
    static const struct {
        uint32_t network;
        unsigned bits;
    } ranges[] = {{0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},
                  {0xa9fe0000, 16}, {0xac100000, 12}, {0xc0000000, 24}, {0xc0a80000, 16},
                  {0xc6120000, 15}, {0xe0000000, 4},  {0xf0000000, 4}};

    for (size_t i = 0; i < array_size(ranges); i++)
        if (((address ^ ranges[i].network) >> (32 - ranges[i].bits)) == 0)
            return true;
    return false;
}

static bool is_loopback_v6(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

/* The IPv4 address in its last bytes. */
static uint32_t embedded_v4(const struct in6_addr *address)
{
    return (uint32_t)address->s6_addr[12] << 24 | (uint32_t)address->s6_addr[13] << 16 |
           (uint32_t)address->s6_addr[14] << 8 | address->s6_addr[15];
}

static bool is_private_v6(const struct in6_addr *address)
{
    return is_loopback_v6(address) || IN6_IS_ADDR_LINKLOCAL(address) ||
           IN6_IS_ADDR_SITELOCAL(address) || IN6_IS_ADDR_MULTICAST(address) ||
           (address->s6_addr[0] & 0xfe) == 0xfc ||
           ((IN6_IS_ADDR_V4MAPPED(address) || IN6_IS_ADDR_V4COMPAT(address)) &&
            is_private_v4(embedded_v4(address)));
}

bool hostrange_is_public_ip(const uint8_t ip[16])
{
    struct in6_addr address;

    memcpy(&address, ip, sizeof(address));
    if (IN6_IS_ADDR_V4MAPPED(&address))
        return !is_private_v4(embedded_v4(&address));
    if ((ip[0] & 0xe0) != 0x20)
        return false;
    /* 2002::/16 and, in 2001::/23, Teredo: tunnels to IPv4 addresses. */
    return !(ip[0] == 0x20 && (ip[1] == 0x02 || (ip[1] == 0x01 && (ip[2] & 0xfe) == 0)));
}

enum kind { NAME, V4, V6 };

static enum kind address_of(struct str host, struct in_addr *out_v4, struct in6_addr *out_v6)
{
    char text[INET6_ADDRSTRLEN + 1];

    if (host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
        host = str_slice(host, 1, host.len - 2);
    if (host.len >= sizeof(text))
        return NAME;
    snprintf(text, sizeof(text), "%.*s", STR_ARG(host));
    if (inet_pton(AF_INET, text, out_v4) == 1)
        return V4;
    return inet_pton(AF_INET6, text, out_v6) == 1 ? V6 : NAME;
}

static bool ends_in(struct str host, struct str name)
{
    if (host.len > 0 && host.ptr[host.len - 1] == '.')
        host.len--;
    if (host.len < name.len || !str_eq_nocase(str_slice(host, host.len - name.len, name.len), name))
        return false;
    return host.len == name.len || host.ptr[host.len - name.len - 1] == '.';
}

bool hostrange_is_loopback(struct str host)
{
    struct in_addr v4;
    struct in6_addr v6;

    switch (address_of(host, &v4, &v6)) {
    case V4:
        return ntohl(v4.s_addr) >> 24 == 127 || v4.s_addr == 0;
    case V6:
        return is_loopback_v6(&v6);
    case NAME:
        break;
    }
    return ends_in(host, STR("localhost")) || ends_in(host, STR("localdomain"));
}

bool hostrange_is_private(struct str host)
{
    static const struct str names[] = {STR_LITERAL("local"), STR_LITERAL("internal"),
                                       STR_LITERAL("intranet"), STR_LITERAL("lan"),
                                       STR_LITERAL("home.arpa")};
    struct in_addr v4;
    struct in6_addr v6;

    switch (address_of(host, &v4, &v6)) {
    case V4:
        return is_private_v4(ntohl(v4.s_addr));
    case V6:
        return is_private_v6(&v6);
    case NAME:
        break;
    }
    for (size_t i = 0; i < array_size(names); i++)
        if (ends_in(host, names[i]))
            return true;
    return hostrange_is_loopback(host);
}
