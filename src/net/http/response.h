/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses one HTTP/1 answer from bytes that come in pieces of any size, as httpparse parses
 * requests: strictly, by two parsers that must agree, within the limits of http.h. A server is
 * trusted no more than a client. Skips interim answers (1xx). It knows no sockets.
 */
#ifndef NET_HTTP_RESPONSE_H
#define NET_HTTP_RESPONSE_H

#include "base/str.h"
#include "net/http/http.h"

enum {
    HTTPRESPONSE_MAX_INTERIM = 8, /* interim answers before the final one */
};

/* The strings point into the head and are valid as long as the answer. */
struct http_response {
    int status;
    uint8_t minor; /* of HTTP/1.x */
    bool keeps_alive;
    bool is_chunked;
    bool lasts_until_end; /* its body ends with the connection */
    bool has_body;
    uint64_t content_length; /* 0 if unspecified */

    /* Private to http_response_header() and the parser. */
    struct buf head;
    size_t header_count;
    struct http_slot slots[HTTP_MAX_HEADERS];
};

/* The first header of that name, ignoring case; false if there is none. */
bool http_response_header(const struct http_response *response, struct str name,
                          struct str *out_value);

/* All headers in order, 0 to header_count - 1. */
struct http_field http_response_header_at(const struct http_response *response, size_t index);

struct httpresponse;

enum httpresponse_event {
    HTTPRESPONSE_MORE, /* all bytes were consumed */
    /* The head is complete; continue with the rest of the bytes, or with none. */
    HTTPRESPONSE_HEAD,
    HTTPRESPONSE_COMPLETE, /* so is the body; no more bytes may follow */
};

/* The request determines whether there can be a body. */
enum httpresponse_to {
    HTTPRESPONSE_TO_ANY,
    HTTPRESPONSE_TO_HEAD,
    HTTPRESPONSE_TO_CONNECT, /* 2xx: the tunnel's bytes follow the head */
    HTTPRESPONSE_TO_UPGRADE, /* 101: bytes of another protocol follow the head */
};

int httpresponse_new(struct httpresponse **out_parse);
void httpresponse_free(struct httpresponse *parse);

/* Prepares for the next answer. Strings of the last one become invalid. */
void httpresponse_reset(struct httpresponse *parse, enum httpresponse_to to);

/*
 * Consumes bytes from *bytes and returns one event per call; ERR_HTTP_ANSWER or ERR_NO_MEMORY is
 * final. Passes the body to on_body as it comes, without chunk framing, in a call after the one
 * that returned HTTPRESPONSE_HEAD.
 */
int httpresponse_feed(struct httpresponse *parse, struct str *bytes,
                      void (*on_body)(void *data, struct str bytes), void *data);

/*
 * The connection was closed regularly. 0 if the answer was complete or is so by that,
 * ERR_CONNECTION_LOST if something is missing.
 */
int httpresponse_end(struct httpresponse *parse);

/* Complete after HTTPRESPONSE_HEAD. */
const struct http_response *httpresponse_get(const struct httpresponse *parse);

/* No byte of an answer was received since it was created or reset. */
bool httpresponse_is_untouched(const struct httpresponse *parse);

#endif
