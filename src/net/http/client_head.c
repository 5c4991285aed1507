/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/client_internal.h"

#include "base/base64.h"

/* The URL twice, the path before the target, and headers for a proxy. */
enum { REST_BYTES = 4 << 10 };

/* Headers that only the client itself sets. */
static const struct str RESERVED[] = {
    STR_LITERAL("host"),
    STR_LITERAL("connection"),
    STR_LITERAL("content-length"),
    STR_LITERAL("transfer-encoding"),
    STR_LITERAL("proxy-authorization"),
    STR_LITERAL("expect"),
    STR_LITERAL("upgrade"),
};

static bool is_usable_field(const struct http_field *field)
{
    for (size_t i = 0; i < array_size(RESERVED); i++)
        if (str_eq_nocase(field->name, RESERVED[i]))
            return false;
    return http_is_token(field->name) && http_is_field_value(field->value);
}

static bool is_usable_target(struct str target)
{
    for (size_t i = 0; i < target.len; i++)
        if (target.ptr[i] <= 0x20 || target.ptr[i] >= 0x7f || target.ptr[i] == '#')
            return false;
    return target.len > 0 && target.len <= HTTPCLIENT_MAX_TARGET_BYTES && target.ptr[0] == '/';
}

/* Upper limit of the bytes; the rest is short. */
static size_t room_for(const struct httpclient_request *request)
{
    size_t room = REST_BYTES + request->target.len;

    for (size_t i = 0; i < request->field_count; i++)
        room += request->fields[i].name.len + request->fields[i].value.len + 4;
    return room;
}

static int write_credentials(const struct httpproxy *proxy, struct buf *out)
{
    struct str revealed;
    int r;

    if (proxy->credentials.len == 0)
        return 0;
    /* The proxy wants to see it. */
    revealed = secret_reveal(&proxy->credentials);
    r = buf_append_str(out, STR("Proxy-Authorization: Basic "));
    if (r == 0)
        r = base64_append(out, revealed);
    return r < 0 ? r : buf_append_str(out, STR("\r\n"));
}

static int write_first_line(const struct httpclient_request *request, const struct httpproxy *proxy,
                            struct buf *out)
{
    const struct httpurl *url = request->url;
    int r = buf_printf(out, "%.*s ", STR_ARG(http_method_name(request->method)));

    /* A proxy for plain requests gets the whole address. */
    if (r == 0 && proxy != NULL && !url->is_tls)
        r = httpurl_append_origin(url, out);
    if (r == 0)
        r = buf_printf(out, "%s%.*s HTTP/1.1\r\nHost: ", url->path, STR_ARG(request->target));
    if (r == 0)
        r = httpurl_append_authority(url, false, out);
    return r < 0 ? r : buf_append_str(out, STR("\r\n"));
}

int httpclient_head_write(const struct httpclient_request *request, const struct httpproxy *proxy,
                          struct buf *out, struct err *err)
{
    bool has_body = request->body != NULL || request->method == HTTP_METHOD_POST ||
                    request->method == HTTP_METHOD_PUT || request->method == HTTP_METHOD_PATCH;
    int r;

    if (!is_usable_target(request->target) || request->field_count > HTTPCLIENT_MAX_FIELDS)
        return err_set(err, ERR_INVALID_ARGUMENT, "not a valid request path");
    /* In one piece from the start: growing would leave keys behind in memory. */
    r = buf_reserve(out, room_for(request));
    if (r == 0)
        r = write_first_line(request, proxy, out);
    for (size_t i = 0; i < request->field_count && r == 0; i++) {
        const struct http_field *field = &request->fields[i];

        if (!is_usable_field(field))
            return err_set(err, ERR_INVALID_ARGUMENT, "not a valid request header");
        r = buf_printf(out, "%.*s: %.*s\r\n", STR_ARG(field->name), STR_ARG(field->value));
    }
    if (r == 0 && proxy != NULL && !request->url->is_tls)
        r = write_credentials(proxy, out);
    if (r == 0 && has_body)
        r = buf_printf(out, "Content-Length: %zu\r\n",
                       request->body != NULL ? request->body->len : 0);
    if (r == 0)
        r = buf_append_str(out, STR("\r\n"));
    return r < 0 ? err_set_plain(err, r) : 0;
}

int httpclient_head_write_tunnel(const struct httpurl *url, const struct httpproxy *proxy,
                                 struct buf *out)
{
    int r = buf_append_str(out, STR("CONNECT "));

    if (r == 0)
        r = httpurl_append_authority(url, true, out);
    if (r == 0)
        r = buf_append_str(out, STR(" HTTP/1.1\r\nHost: "));
    if (r == 0)
        r = httpurl_append_authority(url, true, out);
    if (r == 0)
        r = buf_append_str(out, STR("\r\n"));
    if (r == 0)
        r = write_credentials(proxy, out);
    return r < 0 ? r : buf_append_str(out, STR("\r\n"));
}
