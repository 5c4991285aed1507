/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one HTTP/1 request from bytes that come in pieces of any size; the outcome is the same
 * however they were cut. Lines are found and checked here and in httphead, then given to llhttp,
 * and a request passes only when both agree. It knows no sockets.
 *
 * The memory of a head grows with it, up to the ceilings of http.h. The ceiling of a body is its
 * receiver's.
 */
#ifndef NET_HTTP_PARSE_H
#define NET_HTTP_PARSE_H

#include "base/str.h"
#include "net/http/http.h"

struct httpparse;

enum httpparse_event {
    HTTPPARSE_MORE,     /* all bytes are used up */
    HTTPPARSE_HEAD,     /* the head is complete; go on with the rest of the bytes, or with none */
    HTTPPARSE_COMPLETE, /* so is the body; the rest belongs to the next request */
};

int httpparse_new(struct httpparse **out_parse);
void httpparse_free(struct httpparse *parse);

/* For the next request. Keeps some memory; what the request pointed to is gone. */
void httpparse_reset(struct httpparse *parse);

/*
 * Takes bytes off *bytes and says what came of them, one event a call; an ERR_* code, whose HTTP
 * status err_http_status() knows, is final. The body goes to on_body as it comes, without the marks
 * of its chunks, in a call after the one that told about the head.
 */
int httpparse_feed(struct httpparse *parse, struct str *bytes,
                   void (*on_body)(void *data, struct str bytes), void *data);

/* Complete once HTTPPARSE_HEAD was told. */
struct http_request *httpparse_request(struct httpparse *parse);

#endif
