/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An accepted URL, written and parsed again, is the same and matches itself as a pattern. Also
 * parses proxies, and matches both against lists of patterns.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "net/http/proxy.h"
#include "net/http/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES = 4096 };

static void check(const struct httpurl *url)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    struct str origin;
    struct httpurl again;

    assert(url->port > 0 && url->host[0] != '\0');
    assert(strpbrk(url->host, " /@?#\\\r\n") == NULL);
    assert(url->path[0] == '\0' || url->path[0] == '/');
    assert(strpbrk(url->path, " ?#\r\n") == NULL);
    assert(httpurl_append_origin(url, &text) == 0);
    origin = buf_view(&text);
    assert(httpurl_is_among(url, &origin, 1));
    assert(buf_append_str(&text, str_from(url->path)) == 0);
    assert(httpurl_parse(buf_view(&text), &again, NULL) == 0);
    assert(httpurl_same_origin(url, &again) && strcmp(url->path, again.path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct httpproxy proxy;
    struct httpurl url;

    if (httpurl_parse(text, &url, NULL) == 0)
        check(&url);
    if (httpproxy_parse(text, &proxy, NULL) == 0) {
        check(&proxy.url);
        (void)httpurl_is_among(&proxy.url, &text, 1);
        secret_done(&proxy.credentials);
    }
    return 0;
}
