/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/advice.h"

#include "base/cleanup.h"
#include "base/err.h"

#define NO_GATEWAY                                                                                 \
    "there is no n8n gateway at this address: give only https://host without a path, and check "   \
    "that its AI assistant is enabled"

static const struct {
    int code;
    const char *words;
} rows[] = {
    {ERR_GATEWAY_DENIED, "a new pairing token is needed: copy the one that the server shows"},
    {ERR_TLS_UNTRUSTED, "install the certificate of its authority, or give it with --ca-file"},
    {ERR_TLS_WRONG_HOST, "use the host name in the certificate"},
    {ERR_TLS_EXPIRED, "renew it, or correct this machine's clock"},
    {ERR_TLS_HANDSHAKE, "check that the server uses https on this port"},
    {ERR_HOST_UNKNOWN, "check the URL and the network"},
    {ERR_UNREACHABLE, "check the URL, and that the server is running"},
    {ERR_TIMED_OUT, "check the URL and the network, and that the server is running"},
    {ERR_PROXY, "check http_proxy and https_proxy, or add the server to no_proxy"},
    {ERR_HTTP_REDIRECT, "use the redirect's target as the URL, if you trust it"},
    {ERR_GATEWAY_MISSING, NO_GATEWAY},
    {ERR_GATEWAY_ANSWER, NO_GATEWAY},
    {ERR_GATEWAY_STATUS, "it may be starting or busy, or its proxy may not reach it: try again "
                         "later, and check the server's log"},
};

const char *advice_for(int code, bool is_static_key, bool is_tls)
{
    if (code == ERR_GATEWAY_DENIED && is_static_key)
        return "the server rejected this key; use the pairing token that it shows instead";
    /* What a port for TLS makes of plain words: it hangs up, or answers in its own way. */
    if (!is_tls && (code == ERR_CONNECTION_LOST || code == ERR_HTTP_ANSWER))
        return "the server may use https on this port: try https:// in the URL";
    for (size_t i = 0; i < array_size(rows); i++)
        if (rows[i].code == code)
            return rows[i].words;
    return NULL;
}
