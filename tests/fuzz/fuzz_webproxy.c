/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the head of a request to the web proxy: what is accepted names a host and a port. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "programs/webproxy/webproxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf out = BUF_INIT(4 * WEBPROXY_HEAD_BYTES);
    struct webproxy_request request;
    struct webproxy_request again;
    struct domainlist list = {.count = 0};
    char whole[2 * DOMAINLIST_HOST_BYTES];
    int status;

    if (size == 0 || size > WEBPROXY_HEAD_BYTES)
        return 0;
    status = webproxy_read_head((struct str){(const char *)data, size}, &request);
    assert(status == 0 || status == 400 || status == 501);
    if (status != 0)
        return 0;
    assert(request.port > 0 && request.host.len > 0 && request.host.len < DOMAINLIST_HOST_BYTES);
    assert(memchr(request.host.ptr, '\0', request.host.len) == NULL);
    assert(memchr(request.host.ptr, '\r', request.host.len) == NULL);
    /* A host that can be asked for can be listed, unless it is an address of IPv6. */
    memcpy(whole, request.host.ptr, request.host.len);
    if (memchr(whole, ':', request.host.len) == NULL &&
        domainlist_add(&list, (struct str){whole, request.host.len}, NULL) == 0)
        assert(domainlist_allows(&list, request.host, 443));
    if (request.is_tunnel)
        return 0;
    assert(webproxy_write_head(&request, &out) == 0);
    /* What is passed on is no request to a proxy any more. */
    assert(webproxy_read_head(buf_view(&out), &again) != 0);
    return 0;
}
