/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a head, held against the letter of RFC 9112. llhttp reads them too, and is
 * more lenient in places where two readers of one request could disagree; what passes here has one
 * meaning. For httpparse and httpresponse, which cut the lines.
 *
 * All return 0 or the ERR_HTTP_* code of the refusal.
 */
#ifndef NET_HTTP_HEAD_H
#define NET_HTTP_HEAD_H

#include <stddef.h>

#include "net/http/http.h"

/* Of the head's line that begins at `at`: everything before its LF, the CR included. */
int httphead_request_line(struct http_request *request, size_t at, size_t len);
int httphead_header_line(struct http_request *request, size_t at, size_t len);

/* Names that say something about a whole: the host, the body's length, what may come only once. */
int httphead_finish(struct http_request *request);

/* Parts that requests and answers have in common. "HTTP/1.1" */
int httphead_version(struct str version, uint8_t *out_minor);
/* A name, a colon right behind it, a value, and a CR behind it all. */
bool httphead_cut_header(struct str line, struct str *out_name, struct str *out_value);
/* Digits, and not too many of them. */
int httphead_length(struct str value, uint64_t *out_length);

/* A line of trailers, which is checked and then forgotten. */
int httphead_trailer_line(struct str line);

#endif
