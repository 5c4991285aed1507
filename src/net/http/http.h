/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parsed HTTP/1 request, and definitions of the protocol that several modules need. httpparse
 * parses requests, exchange answers them.
 */
#ifndef NET_HTTP_HTTP_H
#define NET_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum {
    HTTP_MAX_LINE_BYTES = 8 << 10,  /* of the request line; 414 beyond */
    HTTP_MAX_HEAD_BYTES = 32 << 10, /* including the first line; 431 beyond */
    HTTP_MAX_HEADERS = 100,         /* 431 beyond */
    HTTP_MAX_TRAILER_BYTES = 4 << 10,
    HTTP_MAX_CHUNK_LINE_BYTES = 256, /* of a chunk's size and its extensions */
};

/* Others are answered with 501. */
enum http_method {
    HTTP_METHOD_GET,
    HTTP_METHOD_HEAD,
    HTTP_METHOD_POST,
    HTTP_METHOD_PUT,
    HTTP_METHOD_PATCH,
    HTTP_METHOD_DELETE,
    HTTP_METHOD_OPTIONS,
    HTTP_METHOD_COUNT
};

struct http_field {
    struct str name;
    struct str value;
};

/* Position of a header in the head, which fits into 16 bits. */
struct http_slot {
    uint16_t name_at;
    uint16_t name_len;
    uint16_t value_at;
    uint16_t value_len;
};

/* The strings point into the head and are valid as long as the request. */
struct http_request {
    enum http_method method;
    uint8_t minor; /* of HTTP/1.x */
    bool keeps_alive;
    bool expects_continue;
    bool is_chunked;
    bool has_body;
    uint64_t content_length; /* 0 if chunked */
    struct str target;       /* as sent */
    struct str path;         /* decoded, begins with a slash (see http/path.h); "*" for OPTIONS */
    struct str query;        /* after the question mark, not decoded; or empty */
    struct str host;         /* empty only in HTTP/1.0 */
    struct str body;         /* if collected */

    /* Private to http_header() and the parser. */
    struct buf head;
    struct buf decoded; /* the path, if it was encoded */
    size_t header_count;
    struct http_slot slots[HTTP_MAX_HEADERS + 1]; /* one more while parsing: the target */
};

/* The first header of that name, ignoring case; false if there is none. */
bool http_header(const struct http_request *request, struct str name, struct str *out_value);

/* All headers in order, 0 to header_count - 1. */
struct http_field http_header_at(const struct http_request *request, size_t index);

/* Case-sensitive: there is no method "get". */
bool http_method_from(struct str name, enum http_method *out_method);
struct str http_method_name(enum http_method method);

/* "Not Found"; "Unknown" for an unknown status. */
const char *http_reason(int status);

/*
 * Whether it is valid as a method or header name: letters, digits and some symbols, at least one.
 */
bool http_is_token(struct str text);

/* Whether it is valid as a header value: no line end or other control character. */
bool http_is_field_value(struct str text);

/*
 * Whether an Accept header contains the media type: "text/html, application/json;q=0.9" accepts
 * application/json, as do "application/" followed by a star and the two stars alone. Entries with
 * q=0 do not count.
 */
bool http_accepts(struct str list, struct str media_type);

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
enum { HTTP_DATE_BYTES = 30 };
void http_format_date(int64_t wall_ms, char out_text[HTTP_DATE_BYTES]);

#endif
