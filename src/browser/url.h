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
    BROWSER_FILE,  /* file: */
    BROWSER_OTHER, /* chrome:, … */
};

struct browser_url {
    enum browser_scheme scheme;
    struct str host; /* without brackets' port; an IPv6 address in brackets; empty: none */
    uint16_t port;
};

/* False if it is no address, or one that browsers would read differently from people. */
bool browser_url_parse(struct str text, struct browser_url *out_url);

#endif
