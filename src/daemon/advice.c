/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/advice.h"

#include "base/cleanup.h"
#include "base/err.h"

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
};

const char *advice_for(int code, bool is_static_key)
{
    if (code == ERR_GATEWAY_DENIED && is_static_key)
        return "the server does not take this key; a pairing token, which it shows, works too";
    for (size_t i = 0; i < array_size(rows); i++)
        if (rows[i].code == code)
            return rows[i].words;
    return NULL;
}
