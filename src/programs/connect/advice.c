/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/advice.h"

#include "base/cleanup.h"
#include "base/err.h"

#define NO_GATEWAY                                                                                 \
    "no n8n gateway is at this address: give only https://host, without a path of your own, and "  \
    "look whether its AI assistant is switched on"

static const struct {
    int code;
    const char *words;
} rows[] = {
    {ERR_GATEWAY_DENIED, "a new pairing token is needed, which the server shows"},
    {ERR_TLS_UNTRUSTED, "install its authority's certificate, or name a file that has it with "
                        "--ca-file"},
    {ERR_TLS_WRONG_HOST, "use the name that the certificate is for"},
    {ERR_TLS_EXPIRED, "it has to be renewed, or this machine's clock to be set"},
    {ERR_TLS_HANDSHAKE, "look whether the server speaks https at this port"},
    {ERR_HOST_UNKNOWN, "look at the URL and at the network"},
    {ERR_UNREACHABLE, "look at the URL, and whether the server runs"},
    {ERR_TIMED_OUT, "look at the URL and at the network, and whether the server runs"},
    {ERR_PROXY, "look at http_proxy and https_proxy, or name the server in no_proxy"},
    {ERR_HTTP_REDIRECT, "give the address that it leads to, if you trust it"},
    {ERR_GATEWAY_MISSING, NO_GATEWAY},
    {ERR_GATEWAY_ANSWER, NO_GATEWAY},
    {ERR_GATEWAY_STATUS, "it may be starting, busy, or behind something that does not reach it: "
                         "try again later, and look at the server's log"},
};

const char *advice_for(int code, bool is_static_key, bool is_tls)
{
    if (code == ERR_GATEWAY_DENIED && is_static_key)
        return "the server does not take this key; a pairing token, which it shows, works too";
    /* A TLS port that receives plain text hangs up, or answers in its own way. */
    if (!is_tls && (code == ERR_CONNECTION_LOST || code == ERR_HTTP_ANSWER))
        return "perhaps https is spoken at this port: try https:// in the URL";
    for (size_t i = 0; i < array_size(rows); i++)
        if (rows[i].code == code)
            return rows[i].words;
    return NULL;
}
