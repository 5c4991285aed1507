/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server URLs as people write them: "https://n8n.example:8443/base". Only what is needed to
 * connect: no user, no query, no fragment, nothing ambiguous about the host.
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
    char host[HTTPURL_HOST_BYTES]; /* lower case; an IPv6 address without brackets */
    char path[HTTPURL_PATH_BYTES]; /* empty, or begins with a slash and does not end in one */
};

/* ERR_INVALID_ARGUMENT, with a message. */
int httpurl_parse(struct str text, struct httpurl *out_url, struct err *err);

/* "https://host", with the port if it is not the default. */
int httpurl_append_origin(const struct httpurl *url, struct buf *out);

/* "host" or "host:port", as the Host header has it. */
int httpurl_append_authority(const struct httpurl *url, bool with_port, struct buf *out);

/*
 * Not encrypted and not to this machine: anybody on the network path can read and change
 * everything.
 */
bool httpurl_is_exposed(const struct httpurl *url);

/* Same scheme, host and port. */
bool httpurl_same_origin(const struct httpurl *a, const struct httpurl *b);

/*
 * The list has origins as above; a star in a host matches a part of one label, and a star as port
 * any port: "https://n8n-*.example", "http://localhost:*". Invalid patterns match nothing.
 */
bool httpurl_is_among(const struct httpurl *url, const struct str *patterns, size_t count);

#endif
