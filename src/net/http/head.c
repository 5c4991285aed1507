/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/head.h"

#include "base/err.h"
#include "net/http/path.h"

/* Longer numbers would exceed what anybody can send, and 64 bits. */
enum { MAX_LENGTH_DIGITS = 18 };

/* Duplicates of these would be ambiguous. */
static const struct str SINGLETONS[] = {
    STR_LITERAL("host"),          STR_LITERAL("content-length"), STR_LITERAL("transfer-encoding"),
    STR_LITERAL("authorization"), STR_LITERAL("content-type"),   STR_LITERAL("origin"),
    STR_LITERAL("expect"),        STR_LITERAL("if-none-match"),  STR_LITERAL("last-event-id"),
};

/* Removes the CR from the line; false if there is none. */
static bool strip_cr(struct str *line)
{
    if (line->len == 0 || line->ptr[line->len - 1] != '\r')
        return false;
    line->len--;
    return true;
}

int httphead_version(struct str version, uint8_t *out_minor)
{
    if (version.len != 8 || !str_starts_with(version, STR("HTTP/")) || version.ptr[6] != '.' ||
        version.ptr[5] < '0' || version.ptr[5] > '9' || version.ptr[7] < '0' ||
        version.ptr[7] > '9')
        return ERR_HTTP_SYNTAX;
    if (version.ptr[5] != '1' || version.ptr[7] > '1')
        return ERR_HTTP_VERSION;
    *out_minor = (uint8_t)(version.ptr[7] - '0');
    return 0;
}

static bool is_visible(struct str target)
{
    for (size_t i = 0; i < target.len; i++)
        if (target.ptr[i] <= 0x20 || target.ptr[i] >= 0x7f || target.ptr[i] == '#')
            return false;
    return target.len > 0;
}

int httphead_request_line(struct http_request *request, size_t at, size_t len)
{
    struct str rest = {request->head.data + at, len};
    struct str method = STR_EMPTY;
    struct str target = STR_EMPTY;
    int r;

    if (!strip_cr(&rest) || !str_cut(&rest, ' ', &method) || !http_is_token(method) ||
        !str_cut(&rest, ' ', &target) || rest.ptr == NULL || !is_visible(target))
        return ERR_HTTP_SYNTAX;
    r = httphead_version(rest, &request->minor);
    if (r < 0)
        return r;
    if (!http_method_from(method, &request->method))
        return ERR_HTTP_METHOD;
    /* As places: the head may still move while it grows. */
    request->slots[0] = (struct http_slot){.value_at = (uint16_t)(target.ptr - request->head.data),
                                           .value_len = (uint16_t)target.len};
    return 0;
}

bool httphead_cut_header(struct str line, struct str *out_name, struct str *out_value)
{
    struct str name;

    if (!strip_cr(&line) || !str_cut(&line, ':', &name) || line.ptr == NULL ||
        !http_is_token(name) || !http_is_field_value(line))
        return false;
    while (line.len > 0 && (line.ptr[0] == ' ' || line.ptr[0] == '\t')) {
        line.ptr++;
        line.len--;
    }
    while (line.len > 0 && (line.ptr[line.len - 1] == ' ' || line.ptr[line.len - 1] == '\t'))
        line.len--;
    *out_name = name;
    *out_value = line;
    return true;
}

int httphead_header_line(struct http_request *request, size_t at, size_t len)
{
    const char *base = request->head.data;
    struct str name;
    struct str value;

    /* A line that begins with a space has no name: neither folded ones nor the first one pass. */
    if (!httphead_cut_header((struct str){base + at, len}, &name, &value))
        return ERR_HTTP_SYNTAX;
    /* Slot 0 is the target's until the end. */
    if (request->header_count == HTTP_MAX_HEADERS)
        return ERR_HTTP_HEAD_LENGTH;
    request->slots[++request->header_count] = (struct http_slot){
        .name_at = (uint16_t)(name.ptr - base),
        .name_len = (uint16_t)name.len,
        .value_at = (uint16_t)(value.ptr - base),
        .value_len = (uint16_t)value.len,
    };
    return 0;
}

int httphead_trailer_line(struct str line)
{
    struct str name;
    struct str value;

    return httphead_cut_header(line, &name, &value) ? 0 : ERR_HTTP_SYNTAX;
}

/* ---- the head as a whole ---- */

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_port(struct str port)
{
    for (size_t i = 0; i < port.len; i++)
        if (port.ptr[i] < '0' || port.ptr[i] > '9')
            return false;
    return port.len <= 5;
}

/* A name or address, and optionally a port. */
static bool is_host(struct str host)
{
    size_t at = 0;

    if (host.len > 0 && host.ptr[0] == '[') {
        at++;
        while (at < host.len &&
               (is_alnum(host.ptr[at]) || host.ptr[at] == ':' || host.ptr[at] == '.'))
            at++;
        if (at == 1 || at == host.len || host.ptr[at++] != ']')
            return false;
    } else {
        while (at < host.len && (is_alnum(host.ptr[at]) || host.ptr[at] == '.' ||
                                 host.ptr[at] == '-' || host.ptr[at] == '_'))
            at++;
        if (at == 0)
            return false;
    }
    return at == host.len || (host.ptr[at] == ':' && is_port(str_slice(host, at + 1, SIZE_MAX)));
}

/* After "http://": the part before the path must equal the Host header. */
static int cut_absolute(struct http_request *request, struct str rest, struct str *out_path)
{
    size_t end = 0;

    while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?')
        end++;
    if (request->host.len == 0 || !str_eq_nocase(str_slice(rest, 0, end), request->host))
        return ERR_HTTP_HOST;
    *out_path = str_slice(rest, end, SIZE_MAX);
    return out_path->len == 0 || out_path->ptr[0] != '/' ? ERR_HTTP_SYNTAX : 0;
}

static int split_target(struct http_request *request)
{
    struct str rest = request->target;
    struct str path = STR_EMPTY;
    int r = 0;

    if (str_eq(rest, STR("*"))) {
        request->path = rest;
        request->query = STR_EMPTY;
        return request->method == HTTP_METHOD_OPTIONS ? 0 : ERR_HTTP_SYNTAX;
    }
    if (rest.ptr[0] != '/') {
        if (str_eq_nocase(str_slice(rest, 0, 7), STR("http://")))
            r = cut_absolute(request, str_slice(rest, 7, SIZE_MAX), &rest);
        else if (str_eq_nocase(str_slice(rest, 0, 8), STR("https://")))
            r = cut_absolute(request, str_slice(rest, 8, SIZE_MAX), &rest);
        else
            r = ERR_HTTP_SYNTAX;
        if (r < 0)
            return r;
    }
    str_cut(&rest, '?', &path);
    request->query = rest.ptr != NULL ? rest : STR_EMPTY;
    return httppath_decode(path, &request->decoded, &request->path);
}

int httphead_length(struct str value, uint64_t *out_length)
{
    uint64_t length = 0;

    if (value.len == 0 || value.len > MAX_LENGTH_DIGITS)
        return ERR_HTTP_FRAMING;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9')
            return ERR_HTTP_FRAMING;
        length = length * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    *out_length = length;
    return 0;
}

static int check_length(struct http_request *request, struct str value)
{
    int r = httphead_length(value, &request->content_length);

    request->has_body = r == 0 && request->content_length > 0;
    return r;
}

static int check_coding(struct http_request *request, struct str value)
{
    struct str coding = STR_EMPTY;

    if (request->minor == 0)
        return ERR_HTTP_FRAMING;
    request->is_chunked = true;
    request->has_body = true;
    if (str_eq_nocase(value, STR("chunked")))
        return 0;
    /* Another coding below the chunks would have to be undone; anything else has no known end. */
    while (str_cut(&value, ',', &coding)) {
        coding = str_trim(coding);
        if (!http_is_token(coding) || (value.ptr != NULL && str_eq_nocase(coding, STR("chunked"))))
            return ERR_HTTP_FRAMING;
    }
    return str_eq_nocase(coding, STR("chunked")) ? ERR_HTTP_CODING : ERR_HTTP_FRAMING;
}

static int check_singletons(const struct http_request *request)
{
    for (size_t i = 0; i < array_size(SINGLETONS); i++) {
        unsigned count = 0;

        for (size_t j = 0; j < request->header_count; j++)
            if (request->slots[j].name_len == SINGLETONS[i].len &&
                str_eq_nocase(http_header_at(request, j).name, SINGLETONS[i]))
                count++;
        if (count > 1)
            return i == 0 ? ERR_HTTP_HOST : i <= 2 ? ERR_HTTP_FRAMING : ERR_HTTP_SYNTAX;
    }
    return 0;
}

static int check_framing(struct http_request *request)
{
    struct str length;
    struct str coding;
    bool has_length = http_header(request, STR("content-length"), &length);
    bool has_coding = http_header(request, STR("transfer-encoding"), &coding);

    if (has_length && has_coding)
        return ERR_HTTP_FRAMING;
    if (has_length)
        return check_length(request, length);
    return has_coding ? check_coding(request, coding) : 0;
}

int httphead_finish(struct http_request *request)
{
    struct str value;
    int r;

    request->target = http_header_at(request, 0).value;
    memmove(request->slots, request->slots + 1, request->header_count * sizeof(request->slots[0]));
    r = check_singletons(request);
    if (r < 0)
        return r;
    request->host = STR_EMPTY;
    if (http_header(request, STR("host"), &value)) {
        if (!is_host(value))
            return ERR_HTTP_HOST;
        request->host = value;
    } else if (request->minor > 0) {
        return ERR_HTTP_HOST;
    }
    r = check_framing(request);
    if (r < 0)
        return r;
    if (http_header(request, STR("expect"), &value)) {
        if (!str_eq_nocase(value, STR("100-continue")))
            return ERR_HTTP_EXPECTATION;
        /* A client of 1.0 would take the answer for the last one. */
        request->expects_continue = request->minor > 0 && request->has_body;
    }
    return split_target(request);
}
