/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses one HTTP/1 request from bytes that come in pieces of any size; the result does not depend
 * on how they were split. Lines are split and checked here and in httphead, then passed to llhttp,
 * and a request is accepted only if both agree. It knows no sockets.
 *
 * A head's memory grows up to the limits of http.h. The receiver limits the body.
 */
#ifndef NET_HTTP_PARSE_H
#define NET_HTTP_PARSE_H

#include "base/str.h"
#include "net/http/http.h"

struct httpparse;

enum httpparse_event {
    HTTPPARSE_MORE, /* all bytes were consumed */
    HTTPPARSE_HEAD, /* the head is complete; continue with the rest of the bytes, or with none */
    HTTPPARSE_COMPLETE, /* so is the body; the rest belongs to the next request */
};

int httpparse_new(struct httpparse **out_parse);
void httpparse_free(struct httpparse *parse);

/* Prepares for the next request. Keeps some memory; strings of the last request become invalid. */
void httpparse_reset(struct httpparse *parse);

/*
 * Consumes bytes from *bytes and returns one event per call; an ERR_* code, whose HTTP status
 * err_http_status() has, is final. Passes the body to on_body as it comes, without chunk framing,
 * in a call after the one that returned HTTPPARSE_HEAD.
 */
int httpparse_feed(struct httpparse *parse, struct str *bytes,
                   void (*on_body)(void *data, struct str bytes), void *data);

/* Complete after HTTPPARSE_HEAD. */
struct http_request *httpparse_request(struct httpparse *parse);

#endif
