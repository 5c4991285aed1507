/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/proxy.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "net/address.h"

enum { MAPPED_BITS = 96, IP_BITS = 128 };

/* "%40" is an at sign. Refuses what cannot be decoded, or would end a header. */
static int decode_credentials(struct str text, struct secret *out)
{
    char bytes[SECRET_MAX_BYTES];
    size_t len = 0;
    int r;

    while (text.len > 0) {
        int byte = hex_take_percent(&text);

        if (byte < 0)
            return ERR_INVALID_ARGUMENT;
        if (len == sizeof(bytes))
            return ERR_TOO_LARGE;
        bytes[len++] = (char)byte;
    }
    r = secret_set(out, (struct str){bytes, len});
    secret_wipe(bytes, sizeof(bytes));
    return r;
}

int httpproxy_parse(struct str text, struct httpproxy *out_proxy, struct err *err)
{
    cleanup_buf struct buf plain = BUF_INIT(HTTPURL_HOST_BYTES + HTTPURL_PATH_BYTES);
    struct httpproxy proxy = {.credentials = SECRET_INIT};
    size_t scheme = str_find(text, STR("://"));
    struct str rest = scheme == SIZE_MAX ? text : str_slice(text, scheme + 3, SIZE_MAX);
    size_t at = rest.len;
    int r;

    if (scheme != SIZE_MAX && !str_eq_nocase(str_slice(text, 0, scheme), STR("http")))
        return err_set(err, ERR_INVALID_ARGUMENT, "write a proxy as http://host:port");
    while (at > 0 && rest.ptr[at - 1] != '@')
        at--;
    r = buf_append_str(&plain, STR("http://"));
    if (r == 0)
        r = buf_append_str(&plain, str_slice(rest, at, SIZE_MAX));
    if (r == 0)
        r = httpurl_parse(buf_view(&plain), &proxy.url, NULL);
    if (r == 0 && at > 1)
        r = decode_credentials(str_slice(rest, 0, at - 1), &proxy.credentials);
    if (r == 0 && proxy.url.path[0] != '\0')
        r = ERR_INVALID_ARGUMENT;
    if (r < 0) {
        secret_done(&proxy.credentials);
        return err_set(err, ERR_INVALID_ARGUMENT, "write a proxy as http://host:port");
    }
    *out_proxy = proxy;
    secret_done(&proxy.credentials);
    return 0;
}

static const char *get_either(const char *(*get)(const char *name), const char *small,
                              const char *large)
{
    const char *value = get(small);

    if (value == NULL && large != NULL)
        value = get(large);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static int read_one(const char *text, const char *name, struct httpproxy *out_proxy, bool *out_has,
                    struct err *err)
{
    int r;

    if (text == NULL)
        return 0;
    r = httpproxy_parse(str_from(text), out_proxy, NULL);
    if (r < 0)
        /* Words behind it: at the end of a text it would pass for half a password, and be hidden.
         */
        return err_set_field(err, r, name,
                             "%s must have the form http://host:port and nothing else", name);
    *out_has = true;
    return 0;
}

int httpproxies_from(const char *(*get)(const char *name), struct httpproxies *out_proxies,
                     struct err *err)
{
    const char *large_http = get("REQUEST_METHOD") == NULL ? "HTTP_PROXY" : NULL;
    const char *none = get_either(get, "no_proxy", "NO_PROXY");
    int r;

    *out_proxies = (struct httpproxies){0};
    if (none != NULL && strlen(none) >= sizeof(out_proxies->none))
        return err_set_field(err, ERR_TOO_LARGE, "no_proxy", "no_proxy is too long");
    if (none != NULL)
        snprintf(out_proxies->none, sizeof(out_proxies->none), "%s", none);
    r = read_one(get_either(get, "http_proxy", large_http), "http_proxy", &out_proxies->http,
                 &out_proxies->has_http, err);
    if (r == 0)
        r = read_one(get_either(get, "https_proxy", "HTTPS_PROXY"), "https_proxy",
                     &out_proxies->https, &out_proxies->has_https, err);
    if (r < 0)
        httpproxies_done(out_proxies);
    return r;
}

void httpproxies_done(struct httpproxies *proxies)
{
    secret_done(&proxies->http.credentials);
    secret_done(&proxies->https.credentials);
    *proxies = (struct httpproxies){0};
}

/* The address in the form of struct address, IPv4 mapped to IPv6. */
static bool ip_of(struct str text, uint8_t out_ip[ADDRESS_IP_BYTES])
{
    char host[INET6_ADDRSTRLEN];
    struct in_addr v4;

    if (text.len >= sizeof(host) || str_has_nul(text))
        return false;
    snprintf(host, sizeof(host), "%.*s", STR_ARG(text));
    if (inet_pton(AF_INET6, host, out_ip) == 1)
        return true;
    if (inet_pton(AF_INET, host, &v4) != 1)
        return false;
    memset(out_ip, 0, ADDRESS_IP_BYTES);
    out_ip[10] = 0xff;
    out_ip[11] = 0xff;
    memcpy(out_ip + 12, &v4, sizeof(v4));
    return true;
}

/* "10.0.0.0/8" */
static bool is_in_net(struct str rule, const uint8_t ip[ADDRESS_IP_BYTES])
{
    uint8_t net[ADDRESS_IP_BYTES];
    struct str address;
    int64_t bits = IP_BITS;
    bool is_v4;

    if (!str_cut(&rule, '/', &address) || !ip_of(address, net))
        return false;
    is_v4 = memchr(address.ptr, ':', address.len) == NULL;
    if (rule.ptr != NULL) {
        if (!str_to_int64(rule, &bits) || bits < 0 || bits > (is_v4 ? 32 : IP_BITS))
            return false;
        bits += is_v4 ? MAPPED_BITS : 0;
    }
    for (int64_t i = 0; i < bits; i++)
        if (((net[i / 8] ^ ip[i / 8]) >> (7 - i % 8)) & 1)
            return false;
    return true;
}

static bool is_excepted(struct str rule, const struct httpurl *url)
{
    uint8_t ip[ADDRESS_IP_BYTES];
    struct str host = str_from(url->host);
    struct str port = STR_EMPTY;
    int64_t number;

    if (str_eq(rule, STR("*")))
        return true;
    if (ip_of(host, ip))
        return is_in_net(rule, ip);
    /* "host:port" */
    if (memchr(rule.ptr, ':', rule.len) != NULL) {
        struct str name = STR_EMPTY;

        port = rule;
        str_cut(&port, ':', &name);
        rule = name;
        if (!str_to_int64(port, &number) || number != url->port)
            return false;
    }
    while (rule.len > 0 && (rule.ptr[0] == '.' || rule.ptr[0] == '*'))
        rule = str_slice(rule, 1, SIZE_MAX);
    if (rule.len == 0 || rule.len > host.len ||
        !str_eq_nocase(str_slice(host, host.len - rule.len, SIZE_MAX), rule))
        return false;
    return rule.len == host.len || host.ptr[host.len - rule.len - 1] == '.';
}

static bool is_this_machine(const struct httpurl *url)
{
    struct address address = {.is_ip = true};
    struct str host = str_from(url->host);

    if (str_eq(host, STR("localhost")) || str_ends_with(host, STR(".localhost")))
        return true;
    return ip_of(host, address.ip) && address_is_loopback(&address);
}

const struct httpproxy *httpproxies_for(const struct httpproxies *proxies,
                                        const struct httpurl *url)
{
    struct str rest;
    struct str rule;

    if (proxies == NULL || !(url->is_tls ? proxies->has_https : proxies->has_http) ||
        is_this_machine(url))
        return NULL;
    rest = str_from(proxies->none);
    while (str_cut(&rest, ',', &rule)) {
        rule = str_trim(rule);
        if (rule.len > 0 && is_excepted(rule, url))
            return NULL;
    }
    return url->is_tls ? &proxies->https : &proxies->http;
}
