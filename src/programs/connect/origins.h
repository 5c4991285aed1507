/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages may talk to the daemon: those of the server that the user named, and those of
 * patterns that the user wrote: "https://n8n-*.our.example", "http://localhost:*". A star in a host
 * stands for a part of one label, one in place of a port for any port. What a pattern says is
 * checked when it is added, so that none is wider than it looks; what a page says is taken by the
 * letter, as browsers write it.
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
    char texts[ORIGINS_MAX][ORIGINS_TEXT_BYTES]; /* as httpurl_is_among() reads them */
};

/* Nobody. */
void origins_init(struct origins *origins);

/* The pages of a server. ERR_TOO_LARGE past ORIGINS_MAX. */
int origins_add_server(struct origins *origins, const struct httpurl *url, struct err *err);

/*
 * ERR_INVALID_OPTION, with words, for what is no pattern, and for one whose star would take in
 * hosts of strangers: a star in the last two labels, unless the host is below localhost. Which
 * names besides the last one are everybody's, as co.uk is, is not known here. ERR_TOO_LARGE past
 * ORIGINS_MAX.
 */
int origins_add_pattern(struct origins *origins, struct str text, struct err *err);

/* Of the header Origin. "null", which any page can bring about, is nobody. */
bool origins_allow(const struct origins *origins, struct str origin);

/* Of a server that a page wants the daemon to connect to. */
bool origins_allow_server(const struct origins *origins, const struct httpurl *url);

#endif
