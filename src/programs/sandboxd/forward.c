/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/forward.h"

#include "base/err.h"
#include "base/hex.h"

/* Of one connection, or written anew. */
static const struct str hop_fields[] = {
    STR_LITERAL("connection"),
    STR_LITERAL("keep-alive"),
    STR_LITERAL("proxy-connection"),
    STR_LITERAL("proxy-authenticate"),
    STR_LITERAL("te"),
    STR_LITERAL("trailer"),
    STR_LITERAL("upgrade"),
    STR_LITERAL("transfer-encoding"),
    STR_LITERAL("content-length"),
    STR_LITERAL("proxy-authorization"),
};

/* Of a request: ours, or what says more than the sandbox must know. */
static const struct str kept_here[] = {
    STR_LITERAL("host"),
    STR_LITERAL("expect"),
    STR_LITERAL("forwarded"),
    STR_LITERAL("x-forwarded-host"),
    STR_LITERAL("x-forwarded-proto"),
    STR_LITERAL("x-forwarded-for"),
};

/* Of an answer: they would hold for the whole host, not for this sandbox. */
static const struct str kept_there[] = {
    STR_LITERAL("date"),
    STR_LITERAL("content-type"),
    STR_LITERAL("strict-transport-security"),
    STR_LITERAL("alt-svc"),
    STR_LITERAL("public-key-pins"),
};

/* The same, unless the sandbox has a host's name for itself. */
static const struct str of_shared_hosts[] = {
    STR_LITERAL("set-cookie"),
    STR_LITERAL("clear-site-data"),
    STR_LITERAL("service-worker-allowed"),
};

static bool is_among(struct str name, const struct str *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq_nocase(name, names[i]))
            return true;
    return false;
}

#define IS_AMONG(name, names) is_among(name, names, array_size(names))

/* Whether a comma-separated value has this word. */
static bool has_word(struct str value, struct str word)
{
    struct str part;

    while (str_cut(&value, ',', &part))
        if (str_eq_nocase(str_trim(part), word))
            return true;
    return false;
}

/* ---- requests ---- */

static bool is_listed(const struct http_request *request, struct str name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        struct http_field field = http_header_at(request, i);

        if (str_eq_nocase(field.name, STR("connection")) && has_word(field.value, name))
            return true;
    }
    return false;
}

bool forward_is_upgrade(const struct http_request *request)
{
    struct str protocol;

    return request->method == HTTP_METHOD_GET && request->minor > 0 && !request->has_body &&
           http_header(request, STR("Upgrade"), &protocol) &&
           str_eq_nocase(protocol, STR("websocket")) && is_listed(request, STR("upgrade"));
}

/* "Bearer KEY" is KEY. */
static struct str bare_key(struct str value)
{
    const struct str scheme = STR("Bearer ");

    return str_eq_nocase(str_slice(value, 0, scheme.len), scheme)
               ? str_trim(str_slice(value, scheme.len, value.len))
               : value;
}

static bool passes(const struct http_request *request, const struct forward_plan *plan,
                   struct http_field field)
{
    const bool is_shared = plan->prefix.len > 0;

    if (IS_AMONG(field.name, hop_fields) || IS_AMONG(field.name, kept_here) ||
        is_listed(request, field.name) ||
        str_eq_nocase(str_slice(field.name, 0, 10), STR("x-daytona-")))
        return false;
    /* A page at the same host's name has them, maybe of other services of this machine. */
    if (is_shared && (str_eq_nocase(field.name, STR("cookie")) ||
                      /* It has our ticket in its path. */
                      str_eq_nocase(field.name, STR("referer"))))
        return false;
    if (str_eq_nocase(field.name, STR("authorization")) ||
        str_eq_nocase(field.name, STR("x-api-key")))
        return !plan->is_key(plan->data, bare_key(field.value));
    return true;
}

static bool is_ticket(struct str pair)
{
    struct str name = STR_EMPTY;
    const struct str wanted = STR(FORWARD_TICKET_QUERY);

    (void)str_cut(&pair, '=', &name);
    for (size_t i = 0; i < wanted.len; i++)
        if (name.len == 0 || hex_take_percent(&name) != wanted.ptr[i])
            return false;
    return name.len == 0;
}

/* The target without the parameter that has our ticket. */
static int append_target(struct buf *out, struct str target)
{
    struct str path;
    struct str pair;
    char before = '?';
    int r;

    (void)str_cut(&target, '?', &path);
    r = buf_append_str(out, path);
    while (r == 0 && str_cut(&target, '&', &pair)) {
        if (is_ticket(pair))
            continue;
        r = buf_append_char(out, before);
        if (r == 0)
            r = buf_append_str(out, pair);
        before = '&';
    }
    return r;
}

static int append_field(struct buf *out, struct http_field field)
{
    return buf_printf(out, "%.*s: %.*s\r\n", STR_ARG(field.name), STR_ARG(field.value));
}

static int append_framing(struct buf *out, const struct http_request *request)
{
    if (request->is_chunked)
        return buf_append_str(out, STR("Transfer-Encoding: chunked\r\n"));
    if (request->has_body || request->method == HTTP_METHOD_POST ||
        request->method == HTTP_METHOD_PUT || request->method == HTTP_METHOD_PATCH)
        return buf_printf(out, "Content-Length: %llu\r\n",
                          (unsigned long long)request->content_length);
    return 0;
}

struct str forward_scheme(const struct http_request *request, bool has_tls)
{
    struct str given = STR_EMPTY;

    return has_tls || (http_header(request, STR("X-Forwarded-Proto"), &given) &&
                       str_eq(given, STR("https")))
               ? STR("https")
               : STR("http");
}

int forward_write_request(const struct http_request *request, const struct forward_plan *plan,
                          struct buf *out)
{
    struct str method = http_method_name(request->method);
    struct str scheme = forward_scheme(request, plan->has_tls);
    int r = buf_printf(out, "%.*s ", STR_ARG(method));

    if (r == 0)
        r = append_target(out, plan->target);
    if (r == 0)
        r = buf_printf(out, " HTTP/1.1\r\nHost: localhost:%u\r\n", plan->port);
    for (size_t i = 0; i < request->header_count && r == 0; i++) {
        struct http_field field = http_header_at(request, i);

        if (passes(request, plan, field))
            r = append_field(out, field);
    }
    if (r == 0)
        r = buf_printf(out, "X-Forwarded-Host: %.*s\r\nX-Forwarded-Proto: %.*s\r\n",
                       STR_ARG(request->host), STR_ARG(scheme));
    if (r == 0)
        r = append_framing(out, request);
    if (r == 0)
        r = buf_append_str(out, forward_is_upgrade(request)
                                    ? STR("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
                                    : STR("Connection: close\r\n\r\n"));
    return r;
}

/* ---- answers ---- */

static bool is_listed_there(const struct http_response *response, struct str name)
{
    for (size_t i = 0; i < response->header_count; i++) {
        struct http_field field = http_response_header_at(response, i);

        if (str_eq_nocase(field.name, STR("connection")) && has_word(field.value, name))
            return true;
    }
    return false;
}

/* A cookie for more than this name would reach other sandboxes. */
static bool has_domain(struct str cookie)
{
    struct str part;

    while (str_cut(&cookie, ';', &part)) {
        struct str name = STR_EMPTY;

        (void)str_cut(&part, '=', &name);
        if (str_eq_nocase(str_trim(name), STR("domain")))
            return true;
    }
    return false;
}

static bool passes_back(const struct http_response *response, const struct forward_plan *plan,
                        struct http_field field)
{
    if (IS_AMONG(field.name, hop_fields) || IS_AMONG(field.name, kept_there) ||
        is_listed_there(response, field.name))
        return false;
    if (plan->prefix.len > 0 && IS_AMONG(field.name, of_shared_hosts))
        return false;
    return !str_eq_nocase(field.name, STR("set-cookie")) || !has_domain(field.value);
}

/* "/login" of the sandbox is below our prefix. */
static int redirect(const struct forward_plan *plan, struct buf *space, struct str *value)
{
    int r;

    if (plan->prefix.len == 0 || value->len == 0 || value->ptr[0] != '/' ||
        str_starts_with(*value, STR("//")))
        return 0;
    r = buf_append_str(space, plan->prefix);
    if (r == 0)
        r = buf_append_str(space, *value);
    *value = buf_view(space);
    return r;
}

int forward_read_answer(const struct http_response *response, const struct forward_plan *plan,
                        struct buf *space, struct http_field *fields, size_t *out_count,
                        struct str *out_type)
{
    size_t count = 0;
    int r = 0;

    *out_type = STR_EMPTY;
    (void)http_response_header(response, STR("Content-Type"), out_type);
    for (size_t i = 0; i < response->header_count && r == 0; i++) {
        struct http_field field = http_response_header_at(response, i);

        if (!passes_back(response, plan, field))
            continue;
        if (str_eq_nocase(field.name, STR("location"))) /* there is only one */
            r = redirect(plan, space, &field.value);
        fields[count++] = field;
    }
    *out_count = count;
    return r;
}

int forward_write_upgrade(const struct http_response *response, const struct forward_plan *plan,
                          struct buf *out)
{
    int r = buf_append_str(out, STR("Connection: Upgrade\r\nUpgrade: websocket\r\n"));

    for (size_t i = 0; i < response->header_count && r == 0; i++) {
        struct http_field field = http_response_header_at(response, i);

        if (passes_back(response, plan, field))
            r = append_field(out, field);
    }
    return r;
}
