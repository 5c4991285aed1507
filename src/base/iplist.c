/* SPDX-License-Identifier: Apache-2.0 */
#include "base/iplist.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hostrange.h"

enum { BITS = 128, V4_BITS = 32, V4_AT = 12 };

static const uint8_t v4_prefix[V4_AT] = {[10] = 0xff, [11] = 0xff};

static bool is_v4(const uint8_t ip[IPLIST_IP_BYTES])
{
    return memcmp(ip, v4_prefix, sizeof(v4_prefix)) == 0;
}

bool iplist_is_v4(const struct iplist_network *network)
{
    return network->bits >= BITS - V4_BITS && is_v4(network->ip);
}

/* "1.2.3.4" or "2001:db8::1"; true with how many bits it can have. */
static bool read_ip(struct str text, uint8_t out_ip[IPLIST_IP_BYTES], int64_t *out_bits)
{
    char copy[INET6_ADDRSTRLEN + 1];

    if (text.len >= sizeof(copy) || str_has_nul(text))
        return false;
    snprintf(copy, sizeof(copy), "%.*s", STR_ARG(text));
    memcpy(out_ip, v4_prefix, sizeof(v4_prefix));
    *out_bits = V4_BITS;
    if (inet_pton(AF_INET, copy, out_ip + V4_AT) == 1)
        return true;
    *out_bits = BITS;
    return inet_pton(AF_INET6, copy, out_ip) == 1;
}

/* Sets all bits behind the network's to the same value. */
static void fill(const struct iplist_network *network, bool value, uint8_t out_ip[IPLIST_IP_BYTES])
{
    for (unsigned i = 0; i < IPLIST_IP_BYTES; i++) {
        const unsigned left = network->bits > i * 8 ? network->bits - i * 8 : 0;
        const unsigned host = left >= 8 ? 0 : 0xffU >> left;

        out_ip[i] = (uint8_t)((network->ip[i] & ~host) | (value ? host : 0));
    }
}

/*
 * Whether nothing in it is public. Both ends tell, unless it is so large that there is always
 * something: no range that is not public begins or ends inside a smaller one but at its ends.
 */
static bool is_useless(const struct iplist_network *network)
{
    enum { LARGE_V4 = BITS - V4_BITS + 8, LARGE_V6 = 3 };
    uint8_t last[IPLIST_IP_BYTES];

    fill(network, true, last);
    return network->bits >= (iplist_is_v4(network) ? LARGE_V4 : LARGE_V6) &&
           !hostrange_is_public_ip(network->ip) && !hostrange_is_public_ip(last);
}

int iplist_add(struct iplist *list, struct str text, bool is_denied)
{
    struct iplist_network network = {.is_denied = is_denied};
    struct str address = STR_EMPTY;
    struct str rest = text;
    int64_t most = 0;
    int64_t bits;

    if (!str_cut(&rest, '/', &address) || !read_ip(address, network.ip, &most))
        return ERR_INVALID_ARGUMENT;
    bits = most;
    if (address.len < text.len &&
        (rest.len == 0 || rest.ptr[0] == '-' || !str_to_int64(rest, &bits) || bits > most))
        return ERR_INVALID_ARGUMENT;
    network.bits = (uint8_t)(BITS - most + bits);
    fill(&network, false, network.ip);
    if (!is_denied && is_useless(&network))
        return ERR_DENIED_BY_POLICY;
    if (list->count >= IPLIST_MAX)
        return ERR_TOO_LARGE;
    list->networks[list->count++] = network;
    return 0;
}

bool iplist_has_allowed(const struct iplist *list)
{
    for (size_t i = 0; i < list->count && i < IPLIST_MAX; i++)
        if (!list->networks[i].is_denied)
            return true;
    return false;
}

static bool contains(const struct iplist_network *network, const uint8_t ip[IPLIST_IP_BYTES])
{
    struct iplist_network other = {.bits = network->bits};

    if (iplist_is_v4(network) != is_v4(ip))
        return false;
    memcpy(other.ip, ip, sizeof(other.ip));
    fill(&other, false, other.ip);
    return memcmp(other.ip, network->ip, sizeof(other.ip)) == 0;
}

bool iplist_allows(const struct iplist *list, const uint8_t ip[IPLIST_IP_BYTES])
{
    bool is_allowed = false;

    for (size_t i = 0; i < list->count && i < IPLIST_MAX; i++) {
        if (!contains(&list->networks[i], ip))
            continue;
        if (list->networks[i].is_denied)
            return false;
        is_allowed = true;
    }
    return is_allowed && hostrange_is_public_ip(ip);
}

void iplist_format(const struct iplist_network *network, char out_text[IPLIST_TEXT_BYTES])
{
    const bool is_short = iplist_is_v4(network);
    char address[INET6_ADDRSTRLEN] = "";

    (void)inet_ntop(is_short ? AF_INET : AF_INET6, network->ip + (is_short ? V4_AT : 0), address,
                    sizeof(address));
    snprintf(out_text, IPLIST_TEXT_BYTES, "%s/%d", address,
             network->bits - (is_short ? BITS - V4_BITS : 0));
}

int iplist_write(const struct iplist *list, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < list->count && i < IPLIST_MAX && r == 0; i++) {
        char text[IPLIST_TEXT_BYTES];

        iplist_format(&list->networks[i], text);
        r = buf_printf(out, "%s%s%s", i > 0 ? " " : "", list->networks[i].is_denied ? "-" : "",
                       text);
    }
    return r;
}

int iplist_read(struct str text, struct iplist *out_list)
{
    struct iplist list = {.count = 0};
    struct str part;

    while (text.len > 0 && str_cut(&text, ' ', &part)) {
        const bool is_denied = part.len > 0 && part.ptr[0] == '-';
        int r = iplist_add(&list, str_slice(part, is_denied ? 1 : 0, part.len), is_denied);

        if (r < 0)
            return r;
    }
    *out_list = list;
    return 0;
}
