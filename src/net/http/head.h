/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the lines of a head strictly by RFC 9112. llhttp parses them too, but is lenient in places
 * where two readers of one request could disagree; what passes here is unambiguous. For httpparse
 * and httpresponse, which split the lines.
 *
 * All return 0 or the ERR_HTTP_* code of the refusal.
 */
#ifndef NET_HTTP_HEAD_H
#define NET_HTTP_HEAD_H

#include <stddef.h>

#include "net/http/http.h"

/* The line of the head that begins at `at`: everything before its LF, including the CR. */
int httphead_request_line(struct http_request *request, size_t at, size_t len);
int httphead_header_line(struct http_request *request, size_t at, size_t len);

/*
 * Checks headers that concern the whole request: the host, the body's length, those allowed only
 * once.
 */
int httphead_finish(struct http_request *request);

/* Shared by requests and answers. "HTTP/1.1" */
int httphead_version(struct str version, uint8_t *out_minor);
/* A name directly followed by a colon, a value, and a CR at the end. */
bool httphead_cut_header(struct str line, struct str *out_name, struct str *out_value);
/* Only digits, and not too many. */
int httphead_length(struct str value, uint64_t *out_length);

/* Checks a trailer line, which is then ignored. */
int httphead_trailer_line(struct str line);

#endif
