/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request of HTTP/1 is once it has been read, and the words of the protocol that several
 * modules need. Reading one is httpparse's, answering one is exchange's.
 */
#ifndef NET_HTTP_HTTP_H
#define NET_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum {
    HTTP_MAX_LINE_BYTES = 8 << 10,  /* of the request line: 414 */
    HTTP_MAX_HEAD_BYTES = 32 << 10, /* of the head, its first line included: 431 */
    HTTP_MAX_HEADERS = 100,         /* lines: 431 */
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

/* Where a header stands in the head; the head fits in 16 bits. */
struct http_slot {
    uint16_t name_at;
    uint16_t name_len;
    uint16_t value_at;
    uint16_t value_len;
};

/* The views point into the head and live as long as the request does. */
struct http_request {
    enum http_method method;
    uint8_t minor; /* of HTTP/1.x */
    bool keeps_alive;
    bool expects_continue;
    bool is_chunked;
    bool has_body;
    uint64_t content_length; /* 0 when it is chunked */
    struct str target;       /* as it was sent */
    struct str path;         /* decoded, begins with a slash (see http/path.h); "*" for OPTIONS */
    struct str query;        /* behind the question mark, not decoded; or empty */
    struct str host;         /* empty only in HTTP/1.0 */
    struct str body;         /* when it was collected */

    /* For http_header() and the parser. */
    struct buf head;
    struct buf decoded; /* the path, when it was encoded */
    size_t header_count;
    struct http_slot slots[HTTP_MAX_HEADERS + 1]; /* one more while it is read: the target */
};

/* The value of the first header of that name, in any case; false when there is none. */
bool http_header(const struct http_request *request, struct str name, struct str *out_value);

/* All of them in their order, from 0 up to header_count. */
struct http_field http_header_at(const struct http_request *request, size_t index);

/* Names are compared with care for their case: there is no method "get". */
bool http_method_from(struct str name, enum http_method *out_method);
struct str http_method_name(enum http_method method);

/* "Not Found"; "Unknown" for a status without a row. */
const char *http_reason(int status);

/* A method, a header's name: letters, digits and some signs, at least one. */
bool http_is_token(struct str text);

/* Nothing in it ends a header's line or hides in it. */
bool http_is_field_value(struct str text);

/*
 * "text/html, application/json;q=0.9" names application/json, "application/" followed by a star
 * and the two stars alone: for Accept. What has q=0 is not named.
 */
bool http_accepts(struct str list, struct str media_type);

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
enum { HTTP_DATE_BYTES = 30 };
void http_format_date(int64_t wall_ms, char out_text[HTTP_DATE_BYTES]);

#endif
