/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/http.h"

#include <stdio.h>
#include <time.h>

static const struct str METHODS[] = {
    [HTTP_METHOD_GET] = STR_LITERAL("GET"),         [HTTP_METHOD_HEAD] = STR_LITERAL("HEAD"),
    [HTTP_METHOD_POST] = STR_LITERAL("POST"),       [HTTP_METHOD_PUT] = STR_LITERAL("PUT"),
    [HTTP_METHOD_PATCH] = STR_LITERAL("PATCH"),     [HTTP_METHOD_DELETE] = STR_LITERAL("DELETE"),
    [HTTP_METHOD_OPTIONS] = STR_LITERAL("OPTIONS"),
};

struct http_field http_header_at(const struct http_request *request, size_t index)
{
    const struct http_slot *slot = &request->slots[index];

    return (struct http_field){
        .name = {request->head.data + slot->name_at, slot->name_len},
        .value = {request->head.data + slot->value_at, slot->value_len},
    };
}

bool http_header(const struct http_request *request, struct str name, struct str *out_value)
{
    for (size_t i = 0; i < request->header_count; i++) {
        struct http_field field;

        if (request->slots[i].name_len != name.len)
            continue;
        field = http_header_at(request, i);
        if (str_eq_nocase(field.name, name)) {
            *out_value = field.value;
            return true;
        }
    }
    return false;
}

bool http_method_from(struct str name, enum http_method *out_method)
{
    for (int i = 0; i < HTTP_METHOD_COUNT; i++) {
        if (str_eq(name, METHODS[i])) {
            *out_method = (enum http_method)i;
            return true;
        }
    }
    return false;
}

struct str http_method_name(enum http_method method)
{
    return METHODS[method];
}

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } rows[] = {
        {101, "Switching Protocols"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {499, "Client Closed Request"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
    };

    for (size_t i = 0; i < array_size(rows); i++)
        if (rows[i].status == status)
            return rows[i].reason;
    return "Unknown";
}

/* RFC 9110's tchar. */
static bool is_token_char(unsigned char c)
{
    static const bool is_tchar[256] = {
        ['!'] = true,         ['#'] = true,         ['$'] = true, ['%'] = true,
        ['&'] = true,         ['\''] = true,        ['*'] = true, ['+'] = true,
        ['-'] = true,         ['.'] = true,         ['^'] = true, ['_'] = true,
        ['`'] = true,         ['|'] = true,         ['~'] = true, ['0' ... '9'] = true,
        ['A' ... 'Z'] = true, ['a' ... 'z'] = true,
    };

    return is_tchar[c];
}

bool http_is_token(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_token_char((unsigned char)text.ptr[i]))
            return false;
    return text.len > 0;
}

static bool is_value_char(unsigned char c)
{
    return (c >= 0x20 || c == '\t') && c != 0x7f;
}

/* Whether one of eight bytes is below a space or is DEL. Tabs need a closer look. */
static bool may_have_control(const char *bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word, del;

    memcpy(&word, bytes, sizeof(word));
    del = word ^ (ones * 0x7f);
    return (((word - ones * 0x20) & ~word) | ((del - ones) & ~del)) & (ones * 0x80);
}

bool http_is_field_value(struct str text)
{
    size_t i = 0;

    while (i < text.len) {
        if (text.len - i >= sizeof(uint64_t) && !may_have_control(text.ptr + i))
            i += sizeof(uint64_t);
        else if (is_value_char((unsigned char)text.ptr[i]))
            i++;
        else
            return false;
    }
    return true;
}

/* A quality of zero in the parameters after a media type. */
static bool is_refused(struct str parameters)
{
    struct str part;

    while (str_cut(&parameters, ';', &part)) {
        part = str_trim(part);
        if (!str_starts_with(part, STR("q=0")) && !str_starts_with(part, STR("Q=0")))
            continue;
        for (size_t i = 3; i < part.len; i++)
            if (part.ptr[i] >= '1' && part.ptr[i] <= '9')
                return false;
        return true;
    }
    return false;
}

bool http_accepts(struct str list, struct str media_type)
{
    struct str rest = list;
    struct str item;
    struct str major;

    str_cut(&media_type, '/', &major);
    media_type = (struct str){major.ptr, major.len + 1 + media_type.len};
    while (str_cut(&rest, ',', &item)) {
        struct str type = STR_EMPTY;
        struct str subtype;

        str_cut(&item, ';', &type);
        type = str_trim(type);
        subtype = str_slice(type, major.len, SIZE_MAX);
        if ((str_eq_nocase(type, media_type) || str_eq(type, STR("*/*")) ||
             (str_eq_nocase(str_slice(type, 0, major.len), major) && str_eq(subtype, STR("/*")))) &&
            (item.ptr == NULL || !is_refused(item)))
            return true;
    }
    return false;
}

void http_format_date(int64_t wall_ms, char out_text[HTTP_DATE_BYTES])
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm when = {0};

    gmtime_r(&seconds, &when);
    /* Four digits of a year, whatever the clock says. */
    snprintf(out_text, HTTP_DATE_BYTES, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
             days + when.tm_wday * 3, (unsigned)when.tm_mday % 100U, months + when.tm_mon * 3,
             (unsigned)(when.tm_year + 1900) % 10000U, (unsigned)when.tm_hour % 100U,
             (unsigned)when.tm_min % 100U, (unsigned)when.tm_sec % 100U);
}
