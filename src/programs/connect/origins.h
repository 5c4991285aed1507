/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which web pages may talk to the daemon: those of the server that the user named, and those that
 * match the user's patterns: "https://n8n-*.our.example", "http://localhost:*". A star in a host
 * matches a part of one label, a star as port any port. Patterns are checked when they are added,
 * so that none is wider than it looks; a page's origin is compared literally, as browsers write it.
 */
#ifndef PROGRAMS_CONNECT_ORIGINS_H
#define PROGRAMS_CONNECT_ORIGINS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "net/http/url.h"

enum {
    ORIGINS_MAX = 64,
    /* "https://", the host, brackets, ":65535" */
    ORIGINS_TEXT_BYTES = HTTPURL_HOST_BYTES + 24,
};

struct origins {
    size_t count;
    char texts[ORIGINS_MAX][ORIGINS_TEXT_BYTES]; /* in the form of httpurl_is_among() */
};

/* Allows nobody. */
void origins_init(struct origins *origins);

/* Allows the pages of a server. ERR_TOO_LARGE beyond ORIGINS_MAX. */
int origins_add_server(struct origins *origins, const struct httpurl *url, struct err *err);

/*
 * ERR_INVALID_OPTION, with a message, for an invalid pattern, and for one whose star would match
 * hosts of strangers: a star in the last two labels, unless the host is below localhost. Public
 * suffixes of several labels, like co.uk, are not known here. ERR_TOO_LARGE beyond ORIGINS_MAX.
 */
int origins_add_pattern(struct origins *origins, struct str text, struct err *err);

/* Checks an Origin header. "null", which any page can cause, is never allowed. */
bool origins_allow(const struct origins *origins, struct str origin);

/* Checks a server that a page wants the daemon to connect to. */
bool origins_allow_server(const struct origins *origins, const struct httpurl *url);

#endif
