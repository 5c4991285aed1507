/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/url.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "net/http/path.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, MAX_PORT = 65535, MAX_PORT_DIGITS = 5 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool cut_scheme(struct str *rest, bool *out_is_tls)
{
    const struct str http = STR("http://");
    const struct str https = STR("https://");

    if (str_eq_nocase(str_slice(*rest, 0, http.len), http)) {
        *rest = str_slice(*rest, http.len, SIZE_MAX);
        *out_is_tls = false;
        return true;
    }
    if (str_eq_nocase(str_slice(*rest, 0, https.len), https)) {
        *rest = str_slice(*rest, https.len, SIZE_MAX);
        *out_is_tls = true;
        return true;
    }
    return false;
}

/* Splits "host:port" or "[::1]:port"; the port is empty if there is none. */
static bool split_authority(struct str authority, struct str *out_host, struct str *out_port)
{
    size_t end = 0;
    bool is_bracketed = authority.len > 0 && authority.ptr[0] == '[';

    while (end < authority.len && authority.ptr[end] != (is_bracketed ? ']' : ':'))
        end++;
    if (is_bracketed) {
        if (end == authority.len)
            return false;
        end++;
    }
    *out_host = str_slice(authority, 0, end);
    *out_port = str_slice(authority, end, SIZE_MAX);
    if (out_port->len == 0)
        return true;
    if (out_port->ptr[0] != ':' || out_port->len == 1)
        return false;
    *out_port = str_slice(*out_port, 1, SIZE_MAX);
    return true;
}

static bool read_port(struct str text, bool is_tls, uint16_t *out_port)
{
    int64_t port = is_tls ? HTTPS_PORT : HTTP_PORT;

    if (text.len > 0 && (text.len > MAX_PORT_DIGITS || text.ptr[0] == '-' ||
                         !str_to_int64(text, &port) || port < 1 || port > MAX_PORT))
        return false;
    *out_port = (uint16_t)port;
    return true;
}

/* Digits and dots only: the system takes that for an address, in more notations than we do. */
static bool looks_like_ipv4(const char *host)
{
    size_t last = strlen(host);

    while (last > 0 && host[last - 1] != '.')
        last--;
    return host[last] >= '0' && host[last] <= '9';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

static bool read_host(struct str text, char out_host[HTTPURL_HOST_BYTES])
{
    struct in6_addr v6;
    struct in_addr v4;

    if (text.len > 2 && text.ptr[0] == '[') {
        text = str_slice(text, 1, text.len - 2);
        if (text.len >= INET6_ADDRSTRLEN || str_has_nul(text))
            return false;
        snprintf(out_host, HTTPURL_HOST_BYTES, "%.*s", STR_ARG(text));
        return inet_pton(AF_INET6, out_host, &v6) == 1 &&
               inet_ntop(AF_INET6, &v6, out_host, HTTPURL_HOST_BYTES) != NULL;
    }
    if (text.len == 0 || text.len >= HTTPURL_HOST_BYTES || text.ptr[0] == '.' ||
        text.ptr[0] == '-' || str_find(text, STR("..")) != SIZE_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        out_host[i] = lower(text.ptr[i]);
        if (!is_name_char(out_host[i]))
            return false;
    }
    out_host[text.len] = '\0';
    return !looks_like_ipv4(out_host) || inet_pton(AF_INET, out_host, &v4) == 1;
}

static bool read_path(struct str text, char out_path[HTTPURL_PATH_BYTES])
{
    cleanup_buf struct buf space = BUF_INIT(HTTPURL_PATH_BYTES);
    struct str decoded;

    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= 0x20 || text.ptr[i] >= 0x7f)
            return false;
    if (text.len >= HTTPURL_PATH_BYTES)
        return false;
    if (text.len > 0 && httppath_decode(text, &space, &decoded) < 0)
        return false;
    while (text.len > 0 && text.ptr[text.len - 1] == '/')
        text.len--;
    snprintf(out_path, HTTPURL_PATH_BYTES, "%.*s", STR_ARG(text));
    return true;
}

int httpurl_parse(struct str text, struct httpurl *out_url, struct err *err)
{
    struct httpurl url = {0};
    struct str rest = text;
    struct str host;
    struct str port;
    size_t end = 0;

    if (!cut_scheme(&rest, &url.is_tls))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "a server URL must begin with http:// or https://");
    while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?' && rest.ptr[end] != '#')
        end++;
    if (memchr(rest.ptr, '@', end) != NULL)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "a server URL must not contain a user name or password");
    if (memchr(rest.ptr, '?', rest.len) != NULL || memchr(rest.ptr, '#', rest.len) != NULL)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "a server URL must not contain a query or a fragment");
    if (!split_authority(str_slice(rest, 0, end), &host, &port) || !read_host(host, url.host))
        return err_set(err, ERR_INVALID_ARGUMENT, "invalid host name");
    if (!read_port(port, url.is_tls, &url.port))
        return err_set(err, ERR_INVALID_ARGUMENT, "invalid port");
    if (!read_path(str_slice(rest, end, SIZE_MAX), url.path))
        return err_set(err, ERR_INVALID_ARGUMENT, "invalid path in the server URL");
    *out_url = url;
    return 0;
}

int httpurl_append_authority(const struct httpurl *url, bool with_port, struct buf *out)
{
    bool is_v6 = strchr(url->host, ':') != NULL;
    bool is_usual = url->port == (url->is_tls ? HTTPS_PORT : HTTP_PORT);

    if (is_usual && !with_port)
        return buf_printf(out, is_v6 ? "[%s]" : "%s", url->host);
    return buf_printf(out, is_v6 ? "[%s]:%u" : "%s:%u", url->host, url->port);
}

int httpurl_append_origin(const struct httpurl *url, struct buf *out)
{
    int r = buf_append_str(out, url->is_tls ? STR("https://") : STR("http://"));

    return r < 0 ? r : httpurl_append_authority(url, false, out);
}

static bool is_this_machine(const char *host)
{
    struct str name = str_from(host);
    struct in6_addr v6;
    struct in_addr v4;

    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return str_eq(name, STR("localhost")) || str_ends_with(name, STR(".localhost"));
}

bool httpurl_is_exposed(const struct httpurl *url)
{
    return !url->is_tls && !is_this_machine(url->host);
}

bool httpurl_same_origin(const struct httpurl *a, const struct httpurl *b)
{
    return a->is_tls == b->is_tls && a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* A star matches some characters of one label. Steps: at most the product of both lengths. */
static bool fits_host(struct str pattern, struct str host)
{
    size_t p = 0;
    size_t h = 0;
    size_t star = SIZE_MAX;
    size_t from = 0;

    while (h < host.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            from = h;
        } else if (p < pattern.len && lower(pattern.ptr[p]) == host.ptr[h]) {
            p++;
            h++;
        } else if (star != SIZE_MAX && host.ptr[from] != '.') {
            p = star + 1;
            h = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

static bool fits(const struct httpurl *url, struct str pattern)
{
    struct str host;
    struct str port_text;
    uint16_t port;
    bool is_tls;

    if (!cut_scheme(&pattern, &is_tls) || is_tls != url->is_tls)
        return false;
    if (pattern.len > 0 && pattern.ptr[pattern.len - 1] == '/')
        pattern.len--;
    if (!split_authority(pattern, &host, &port_text))
        return false;
    if (!str_eq(port_text, STR("*")) && (!read_port(port_text, is_tls, &port) || port != url->port))
        return false;
    if (host.len > 2 && host.ptr[0] == '[') {
        char v6[HTTPURL_HOST_BYTES];

        return read_host(host, v6) && strcmp(v6, url->host) == 0;
    }
    return host.len > 0 && fits_host(host, str_from(url->host));
}

bool httpurl_is_among(const struct httpurl *url, const struct str *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fits(url, str_trim(patterns[i])))
            return true;
    return false;
}
