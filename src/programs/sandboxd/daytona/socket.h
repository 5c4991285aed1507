/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSockets of the toolbox. Clients that cannot set headers, such as browsers, say in the names of
 * protocols what others say there; and they want one of those names back.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_SOCKET_H
#define PROGRAMS_SANDBOXD_DAYTONA_SOCKET_H

#include "net/websocket/serve.h"
#include "programs/sandboxd/call.h"

/* Whether the client offers a protocol that begins so; out_rest is what follows. */
bool socket_is_offered(const struct http_request *request, struct str prefix, struct str *out_rest);

/* wsserve_accept() with the protocol, or NULL, and what the client tells its version with. */
int socket_accept(const struct api_call *call, const struct str *protocol,
                  const struct websocket_limits *limits, const struct wsserve_events *events,
                  void *data, struct wsserve **out_socket);

#endif
