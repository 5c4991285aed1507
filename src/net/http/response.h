/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one answer of HTTP/1 from bytes that come in pieces of any size, as httpparse reads
 * requests: by the letter, by two readers that have to agree, below the ceilings of http.h. A
 * server is no more trusted than a client. Interim answers (1xx) are passed over. It knows no
 * sockets.
 */
#ifndef NET_HTTP_RESPONSE_H
#define NET_HTTP_RESPONSE_H

#include "base/str.h"
#include "net/http/http.h"

enum {
    HTTPRESPONSE_MAX_INTERIM = 8, /* answers before the one that counts */
};

/* The views point into the head and live as long as the answer does. */
struct http_response {
    int status;
    uint8_t minor; /* of HTTP/1.x */
    bool keeps_alive;
    bool is_chunked;
    bool lasts_until_end; /* its body ends with the connection and not before */
    bool has_body;
    uint64_t content_length; /* 0 when the length is not said */

    /* For http_response_header() and the parser. */
    struct buf head;
    size_t header_count;
    struct http_slot slots[HTTP_MAX_HEADERS];
};

/* The value of the first header of that name, in any case; false when there is none. */
bool http_response_header(const struct http_response *response, struct str name,
                          struct str *out_value);

/* All of them in their order, from 0 up to header_count. */
struct http_field http_response_header_at(const struct http_response *response, size_t index);

struct httpresponse;

enum httpresponse_event {
    HTTPRESPONSE_MORE, /* all bytes are used up */
    HTTPRESPONSE_HEAD, /* the head is complete; go on with the rest of the bytes, or with none */
    HTTPRESPONSE_COMPLETE, /* so is the body; the rest belongs to nobody */
};

/* What was asked for decides whether there can be a body. */
enum httpresponse_to {
    HTTPRESPONSE_TO_ANY,
    HTTPRESPONSE_TO_HEAD,
    HTTPRESPONSE_TO_CONNECT, /* 2xx: what follows the head is the tunnel's */
};

int httpresponse_new(struct httpresponse **out_parse);
void httpresponse_free(struct httpresponse *parse);

/* For the next answer. What the last one pointed to is gone. */
void httpresponse_reset(struct httpresponse *parse, enum httpresponse_to to);

/*
 * Takes bytes off *bytes and says what came of them, one event a call; ERR_HTTP_ANSWER or
 * ERR_NO_MEMORY is final. The body goes to on_body as it comes, without the marks of its chunks, in
 * a call after the one that told about the head.
 */
int httpresponse_feed(struct httpresponse *parse, struct str *bytes,
                      void (*on_body)(void *data, struct str bytes), void *data);

/*
 * The connection has ended as it should. 0 when the answer was complete or is by that, and
 * ERR_CONNECTION_LOST when something is missing.
 */
int httpresponse_end(struct httpresponse *parse);

/* Complete once HTTPRESPONSE_HEAD was told. */
const struct http_response *httpresponse_get(const struct httpresponse *parse);

/* No byte of an answer has come since it was new or reset. */
bool httpresponse_is_untouched(const struct httpresponse *parse);

#endif
