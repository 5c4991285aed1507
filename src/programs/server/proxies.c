/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/proxies.h"

#include <stdio.h>
#include <string.h>

enum { IPV6_NETWORK_BYTES = 8 };

/* An address as people and proxies write it: with or without port and brackets. */
static bool parse_ip(struct str text, struct address *out_address)
{
    char copy[ADDRESS_TEXT_BYTES + 4];
    bool is_bare_ipv6 = text.len > 0 && text.ptr[0] != '[' &&
                        memchr(text.ptr, ':', text.len) != memrchr(text.ptr, ':', text.len);

    if (text.len == 0 || text.len >= ADDRESS_TEXT_BYTES || str_eq_nocase(text, STR("localhost")))
        return false;
    if (!is_bare_ipv6 && address_parse(text, out_address) == 0)
        return out_address->is_ip;
    snprintf(copy, sizeof(copy), is_bare_ipv6 ? "[%.*s]:0" : "%.*s:0", STR_ARG(text));
    return address_parse(str_from(copy), out_address) == 0 && out_address->is_ip;
}

int proxies_add(struct trusted_proxies *proxies, const char *address, struct err *err)
{
    if (proxies->count == PROXIES_MAX)
        return err_set(err, ERR_INVALID_OPTION, "--trusted-proxy: at most %d addresses",
                       PROXIES_MAX);
    if (!parse_ip(str_from(address), &proxies->list[proxies->count]))
        return err_set(err, ERR_INVALID_OPTION,
                       "--trusted-proxy: '%s' is not an address like 192.0.2.7 or 2001:db8::7",
                       address);
    proxies->count++;
    return 0;
}

static bool is_proxy(const struct trusted_proxies *proxies, const struct address *peer)
{
    for (size_t i = 0; i < proxies->count; i++)
        if (peer->is_ip && memcmp(peer->ip, proxies->list[i].ip, ADDRESS_IP_BYTES) == 0)
            return true;
    return false;
}

static bool is_ipv4(const struct address *address)
{
    static const uint8_t mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    return memcmp(address->ip, mapped, sizeof(mapped)) == 0;
}

/* Without the port, which changes with every connection. */
static void format_ip(const struct address *address, char out_text[PROXIES_CLIENT_BYTES])
{
    struct address plain = *address;
    size_t len;

    plain.port = 0;
    address_format(&plain, out_text);
    len = strlen(out_text);
    if (plain.is_ip && len > 2)
        out_text[len - 2] = '\0'; /* ":0" */
}

void proxies_client_of(const struct trusted_proxies *proxies, const struct address *peer,
                       const struct http_request *request, char out_text[PROXIES_CLIENT_BYTES])
{
    size_t count = request != NULL && is_proxy(proxies, peer) ? request->header_count : 0;
    struct address address = *peer;
    struct str last = STR_EMPTY;
    struct address said;

    /* What stands before its last address may come from anybody. */
    for (size_t i = 0; i < count; i++) {
        struct http_field field = http_header_at(request, i);
        struct str part;

        if (str_eq_nocase(field.name, STR("X-Forwarded-For")))
            while (str_cut(&field.value, ',', &part))
                last = str_trim(part);
    }
    if (parse_ip(last, &said))
        address = said;
    format_ip(&address, out_text);
}

void proxies_client(const struct trusted_proxies *proxies, const struct exchange *exchange,
                    char out_text[PROXIES_CLIENT_BYTES])
{
    proxies_client_of(proxies, exchange_peer(exchange), exchange_request(exchange), out_text);
}

struct str proxies_network(const char *client, char space[ADDRESS_IP_BYTES])
{
    struct address address;

    if (!parse_ip(str_from(client), &address))
        return str_from(client);
    memcpy(space, address.ip, ADDRESS_IP_BYTES);
    return (struct str){space, is_ipv4(&address) ? ADDRESS_IP_BYTES : IPV6_NETWORK_BYTES};
}

bool proxies_user_of(const struct trusted_proxies *proxies, const struct address *peer,
                     const struct http_request *request, struct str *out_name)
{
    size_t count = 0;

    if (proxies->header.len == 0 || request == NULL || !is_proxy(proxies, peer))
        return false;
    for (size_t i = 0; i < request->header_count; i++) {
        struct http_field field = http_header_at(request, i);

        if (!str_eq_nocase(field.name, proxies->header))
            continue;
        *out_name = str_trim(field.value);
        count++;
    }
    return count == 1 && out_name->len > 0;
}

bool proxies_user(const struct trusted_proxies *proxies, const struct exchange *exchange,
                  struct str *out_name)
{
    return proxies_user_of(proxies, exchange_peer(exchange), exchange_request(exchange), out_name);
}
