/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which proxy leads to a server: http_proxy, https_proxy and no_proxy of the environment, in small
 * or large letters, as curl and others read them. This machine is never reached by way of another.
 */
#ifndef NET_HTTP_PROXY_H
#define NET_HTTP_PROXY_H

#include "base/err.h"
#include "base/secret.h"
#include "net/http/url.h"

enum { HTTPPROXY_NONE_BYTES = 4096 };

struct httpproxy {
    struct httpurl url;
    struct secret credentials; /* "user:password", decoded; or empty */
};

struct httpproxies {
    bool has_http;
    bool has_https;
    struct httpproxy http; /* for http:// */
    struct httpproxy https;
    char none[HTTPPROXY_NONE_BYTES]; /* "localhost,.example,10.0.0.0/8", "*" */
};

/*
 * Reads "http://user:password@host:port"; the scheme may be missing, and no other is known. The
 * proxy itself is spoken to plainly. ERR_INVALID_ARGUMENT, with words that do not repeat it.
 */
int httpproxy_parse(struct str text, struct httpproxy *out_proxy, struct err *err);

/*
 * `get` is getenv() or a test's. HTTP_PROXY counts only where the process answers no CGI request:
 * there the client would set it.
 */
int httpproxies_from(const char *(*get)(const char *name), struct httpproxies *out_proxies,
                     struct err *err);
void httpproxies_done(struct httpproxies *proxies);

/* NULL: directly. The proxies may be NULL, too. */
const struct httpproxy *httpproxies_for(const struct httpproxies *proxies,
                                        const struct httpurl *url);

#endif
