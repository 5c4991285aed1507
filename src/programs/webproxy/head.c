/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of requests to the web proxy: read, and written as a server gets them. */
#include "programs/webproxy/webproxy.h"

#include <string.h>

enum { PORT_HTTP = 80, HTTP_BAD = 400, HTTP_NOT_IMPLEMENTED = 501 };

static bool is_token(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < 'A' || text.ptr[i] > 'Z')
            return false;
    return text.len > 0;
}

static bool is_printable(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] == 0x7f)
            return false;
    return text.len > 0;
}

/* What HTTP allows in the name of a header. */
static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_value_char(char c)
{
    return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

/* Servers read other lines in different ways: as more headers than one, or as part of another. */
static bool is_header(struct str line)
{
    size_t colon = str_find(line, STR(":"));

    if (colon == SIZE_MAX || colon == 0)
        return false;
    for (size_t i = 0; i < line.len; i++)
        if (!(i < colon ? is_name_char : is_value_char)(line.ptr[i]))
            return false;
    return true;
}

static struct str take_line(struct str *lines)
{
    size_t end = str_find(*lines, STR("\r\n"));
    struct str line = str_slice(*lines, 0, end);

    *lines = end == SIZE_MAX ? STR_EMPTY : str_slice(*lines, end + 2, SIZE_MAX);
    return line;
}

static bool are_headers(struct str lines)
{
    while (lines.len > 0)
        if (!is_header(take_line(&lines)))
            return false;
    return true;
}

/* Without what a proxy has no business with: a user, a fragment. */
static int read_url(struct str url, struct webproxy_request *request)
{
    const struct str scheme = STR("http://");
    size_t end;

    if (str_find(url, STR("://")) == SIZE_MAX)
        return HTTP_BAD;
    if (url.len < scheme.len || !str_eq_nocase(str_slice(url, 0, scheme.len), scheme))
        return HTTP_NOT_IMPLEMENTED;
    url = str_slice(url, scheme.len, SIZE_MAX);
    for (end = 0; end < url.len && url.ptr[end] != '/' && url.ptr[end] != '?'; end++)
        ;
    request->path = str_slice(url, end, SIZE_MAX);
    return domainlist_split(str_slice(url, 0, end), PORT_HTTP, &request->host, &request->port)
               ? 0
               : HTTP_BAD;
}

int webproxy_read_head(struct str head, struct webproxy_request *out_request)
{
    struct webproxy_request request = {.host = STR_EMPTY, .path = STR_EMPTY};
    size_t line_end = str_find(head, STR("\r\n"));
    struct str line = str_slice(head, 0, line_end);
    struct str target;
    struct str version;
    int r = 0;

    if (line_end == SIZE_MAX || !str_ends_with(head, STR("\r\n\r\n")) ||
        !str_cut(&line, ' ', &request.method) || !str_cut(&line, ' ', &target) ||
        !str_cut(&line, ' ', &version) || line.len > 0 || !is_token(request.method) ||
        !is_printable(target))
        return HTTP_BAD;
    request.is_old = str_eq(version, STR("HTTP/1.0"));
    if (!request.is_old && !str_eq(version, STR("HTTP/1.1")))
        return HTTP_BAD;
    request.headers = str_slice(head, line_end + 2, head.len - line_end - 4);
    if (!are_headers(request.headers))
        return HTTP_BAD;
    request.is_tunnel = str_eq(request.method, STR("CONNECT"));
    if (request.is_tunnel)
        r = domainlist_split(target, 0, &request.host, &request.port) ? 0 : HTTP_BAD;
    else
        r = read_url(target, &request);
    if (r == 0)
        *out_request = request;
    return r;
}

/*
 * Those between this program and the next one, since a server learns nothing of a proxy; and the
 * host, which may be another one than that of the address.
 */
static bool is_dropped(struct str line)
{
    static const char *const names[] = {
        "connection:", "proxy-connection:", "proxy-authorization:", "keep-alive:",
        "host:",       "upgrade:",          "http2-settings:",      "te:"};

    for (size_t i = 0; i < array_size(names); i++) {
        struct str name = str_from(names[i]);

        if (line.len >= name.len && str_eq_nocase(str_slice(line, 0, name.len), name))
            return true;
    }
    return false;
}

/* Only the host that was checked: a server with many names answers for the one it is told. */
static int write_host(const struct webproxy_request *request, struct buf *out)
{
    bool is_v6 = str_find(request->host, STR(":")) != SIZE_MAX;
    int r = buf_printf(out, is_v6 ? "Host: [%.*s]" : "Host: %.*s", STR_ARG(request->host));

    if (r == 0 && request->port != PORT_HTTP)
        r = buf_printf(out, ":%u", request->port);
    return r == 0 ? buf_append_str(out, STR("\r\n")) : r;
}

int webproxy_write_head(const struct webproxy_request *request, struct buf *out)
{
    struct str rest = request->headers;
    bool has_root = str_starts_with(request->path, STR("/"));
    int r = buf_printf(out, "%.*s %s%.*s HTTP/1.%d\r\n", STR_ARG(request->method),
                       has_root ? "" : "/", STR_ARG(request->path), request->is_old ? 0 : 1);

    if (r == 0)
        r = write_host(request, out);
    while (r == 0 && rest.len > 0) {
        struct str line = take_line(&rest);

        if (!is_dropped(line))
            r = buf_append_str(out, line);
        if (r == 0 && !is_dropped(line))
            r = buf_append_str(out, STR("\r\n"));
    }
    return r == 0 ? buf_append_str(out, STR("Connection: close\r\n\r\n")) : r;
}
