/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a local server answers. A page of the internet can make a browser send requests to
 * 127.0.0.1, and by resolving its own name to that address (DNS rebinding) read the answers; but
 * the browser says in Host which name it used and in Origin which page asked. Pure functions;
 * clients other than browsers are checked by keys and tokens.
 */
#ifndef NET_HTTP_ORIGIN_H
#define NET_HTTP_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/http/http.h"

struct origin_policy {
    /*
     * The server listens on loopback: its names are localhost, 127.0.0.1 and [::1], with its port.
     */
    bool is_loopback;
    uint16_t port;
    /*
     * Further names: "gate.example", "gate.example:8443". Without any, and not on loopback, every
     * name is accepted.
     */
    const struct str *hosts;
    size_t host_count;
    /* Pages that may ask besides its own: "https://app.example", "http://localhost:*". */
    const struct str *origins;
    size_t origin_count;
};

/* 0 or ERR_HOST_DENIED. An empty host is a missing one. */
int origin_check_host(const struct origin_policy *policy, struct str host);

/*
 * 0 or ERR_ORIGIN_DENIED. Accepts the server's own pages, of http and https, and those of the list;
 * never "null", which any page can cause.
 */
int origin_check_origin(const struct origin_policy *policy, struct str origin);

/* Checks both for a request; one without Origin does not come from a page. */
int origin_check(const struct origin_policy *policy, const struct http_request *request);

#endif
