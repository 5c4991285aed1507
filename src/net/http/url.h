/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of servers as people write them: "https://n8n.example:8443/base". Only what one can
 * connect to with: no user, no query, no fragment, nothing that two readers could take for two
 * hosts.
 */
#ifndef NET_HTTP_URL_H
#define NET_HTTP_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { HTTPURL_HOST_BYTES = 254, HTTPURL_PATH_BYTES = 1024 };

struct httpurl {
    bool is_tls;
    uint16_t port;
    char host[HTTPURL_HOST_BYTES]; /* in small letters; an IPv6 address without brackets */
    char path[HTTPURL_PATH_BYTES]; /* empty, or begins with a slash and does not end in one */
};

/* ERR_INVALID_ARGUMENT, with words. */
int httpurl_parse(struct str text, struct httpurl *out_url, struct err *err);

/* "https://host", with the port where it is not the usual one. */
int httpurl_append_origin(const struct httpurl *url, struct buf *out);

/* "host" or "host:port", as the Host header has it. */
int httpurl_append_authority(const struct httpurl *url, bool with_port, struct buf *out);

/* Not encrypted, and not to this machine: whoever is on the way can read and change all of it. */
bool httpurl_is_exposed(const struct httpurl *url);

/* Same scheme, host and port. */
bool httpurl_same_origin(const struct httpurl *a, const struct httpurl *b);

/*
 * The list is of origins as above, a star in a host standing for a part of one label, and a star in
 * place of a port for any: "https://n8n-*.example", "http://localhost:*". What cannot be read fits
 * nothing.
 */
bool httpurl_is_among(const struct httpurl *url, const struct str *patterns, size_t count);

#endif
