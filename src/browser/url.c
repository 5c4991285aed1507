/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/url.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/cleanup.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, MAX_PORT = 65535 };

static bool is_plain(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= ' ' || text.ptr[i] == '\\' || text.ptr[i] == 0x7f)
            return false;
    return text.len > 0;
}

static struct str before_any(struct str text, const char *ends)
{
    size_t i = 0;

    while (i < text.len && strchr(ends, text.ptr[i]) == NULL)
        i++;
    return str_slice(text, 0, i);
}

/* Takes ":port" off. */
static bool cut_port(struct str *host, uint16_t *port)
{
    size_t at = host->len;
    int64_t number;

    while (at > 0 && host->ptr[at - 1] >= '0' && host->ptr[at - 1] <= '9')
        at--;
    if (at == 0 || host->ptr[at - 1] != ':' || (host->ptr[0] == '[' && host->ptr[at - 2] != ']'))
        return true;
    if (at < host->len) {
        if (!str_to_int64(str_slice(*host, at, host->len), &number) || number > MAX_PORT)
            return false;
        *port = (uint16_t)number;
    }
    host->len = at - 1;
    return true;
}

static bool parse_web(struct str rest, struct browser_url *url)
{
    struct str place = before_any(rest, "/?#");
    size_t user = str_find(place, STR("@"));

    if (user != SIZE_MAX)
        return false; /* nobody shows a name before the host but those who want to mislead */
    url->host = place;
    return cut_port(&url->host, &url->port) && url->host.len > 0;
}

bool browser_url_parse(struct str text, struct browser_url *out_url)
{
    static const struct {
        struct str prefix;
        uint16_t port;
    } webs[] = {{STR_LITERAL("http://"), HTTP_PORT},
                {STR_LITERAL("https://"), HTTPS_PORT},
                {STR_LITERAL("ws://"), HTTP_PORT},
                {STR_LITERAL("wss://"), HTTPS_PORT}};
    struct browser_url url = {.scheme = BROWSER_OTHER, .host = STR_EMPTY};

    if (text.len >= 5 && str_eq_nocase(str_slice(text, 0, 5), STR("blob:")))
        text = str_slice(text, 5, text.len);
    if ((text.len >= 6 && str_eq_nocase(str_slice(text, 0, 6), STR("about:"))) ||
        (text.len >= 5 && str_eq_nocase(str_slice(text, 0, 5), STR("data:"))) || text.len == 0) {
        url.scheme = BROWSER_BLANK;
        *out_url = url;
        return true;
    }
    for (size_t i = 0; i < array_size(webs); i++) {
        struct str prefix = webs[i].prefix;

        if (!str_eq_nocase(str_slice(text, 0, prefix.len), prefix))
            continue;
        url.scheme = BROWSER_WEB;
        url.port = webs[i].port;
        if (!is_plain(before_any(text, "?#")) ||
            !parse_web(str_slice(text, prefix.len, text.len), &url))
            return false;
    }
    *out_url = url;
    return true;
}

static bool is_private_v4(uint32_t address)
{
    static const struct {
        uint32_t network;
        unsigned bits;
    } ranges[] = {{0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},
                  {0xa9fe0000, 16}, {0xac100000, 12}, {0xc0a80000, 16}, {0xc6120000, 15},
                  {0xe0000000, 4},  {0xf0000000, 4}};

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

static bool is_private_v6(const struct in6_addr *address)
{
    uint32_t mapped = (uint32_t)address->s6_addr[12] << 24 | (uint32_t)address->s6_addr[13] << 16 |
                      (uint32_t)address->s6_addr[14] << 8 | address->s6_addr[15];

    return is_loopback_v6(address) || IN6_IS_ADDR_LINKLOCAL(address) ||
           IN6_IS_ADDR_SITELOCAL(address) || IN6_IS_ADDR_MULTICAST(address) ||
           (address->s6_addr[0] & 0xfe) == 0xfc ||
           ((IN6_IS_ADDR_V4MAPPED(address) || IN6_IS_ADDR_V4COMPAT(address)) &&
            is_private_v4(mapped));
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

bool browser_host_is_loopback(struct str host)
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

bool browser_host_is_private(struct str host)
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
    return browser_host_is_loopback(host);
}
