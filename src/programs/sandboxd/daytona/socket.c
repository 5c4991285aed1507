/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/socket.h"

#include "programs/sandboxd/service.h"

#define VERSION_PROTOCOL "X-Daytona-SDK-Version~"

bool socket_is_offered(const struct http_request *request, struct str prefix, struct str *out_rest)
{
    struct str list;
    struct str part;

    if (!http_header(request, STR("Sec-WebSocket-Protocol"), &list))
        return false;
    while (str_cut(&list, ',', &part)) {
        part = str_trim(part);
        if (!str_starts_with(part, prefix))
            continue;
        *out_rest = str_slice(part, prefix.len, part.len);
        return true;
    }
    return false;
}

int socket_accept(const struct api_call *call, const struct str *protocol,
                  const struct websocket_limits *limits, const struct wsserve_events *events,
                  void *data, struct wsserve **out_socket)
{
    const struct str prefix = STR(VERSION_PROTOCOL);
    struct str protocols[2];
    size_t count = 0;
    struct str version;

    if (protocol != NULL)
        protocols[count++] = *protocol;
    /* The name as the client has it: the prefix is right before the rest. */
    if (socket_is_offered(call->request, prefix, &version))
        protocols[count++] = (struct str){version.ptr - prefix.len, prefix.len + version.len};
    return wsserve_accept(call->service->config.loop, call->exchange, protocols, count, limits,
                          events, data, out_socket);
}
