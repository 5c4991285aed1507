/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an address as a browser writes it that decide who may go there. */
#ifndef BROWSER_URL_H
#define BROWSER_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum browser_scheme {
    BROWSER_WEB,   /* http, https, ws, wss */
    BROWSER_BLANK, /* about:, and what the page itself made: data:, blob: of no host */
    BROWSER_OTHER, /* file:, chrome:, … */
};

struct browser_url {
    enum browser_scheme scheme;
    struct str host; /* without brackets' port; an IPv6 address in brackets; empty: none */
    uint16_t port;
};

/* False if it is no address, or one that browsers would read differently from people. */
bool browser_url_parse(struct str text, struct browser_url *out_url);

/*
 * Whether the host, in the form of permission/rules/form.h or a browser's, is this machine or one
 * of a private network: loopback, link-local, RFC 1918 and 6598, unique local, and names that end
 * so (localhost, .local, .internal, .home.arpa).
 */
bool browser_host_is_private(struct str host);

/* Whether the host is this machine itself. */
bool browser_host_is_loopback(struct str host);

#endif
