/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which proxy to use for a server: http_proxy, https_proxy and no_proxy of the environment, in
 * lower or upper case, as curl and others read them. This machine is never reached through a proxy.
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
 * Parses "http://user:password@host:port"; the scheme may be missing, and no other is supported.
 * The connection to the proxy itself is not encrypted. ERR_INVALID_ARGUMENT, with a message that
 * does not repeat the text.
 */
int httpproxy_parse(struct str text, struct httpproxy *out_proxy, struct err *err);

/*
 * `get` is getenv() or a test's. HTTP_PROXY is ignored in a CGI process, where the client could set
 * it.
 */
int httpproxies_from(const char *(*get)(const char *name), struct httpproxies *out_proxies,
                     struct err *err);
void httpproxies_done(struct httpproxies *proxies);

/* NULL: connect directly. `proxies` may be NULL, too. */
const struct httpproxy *httpproxies_for(const struct httpproxies *proxies,
                                        const struct httpurl *url);

#endif
