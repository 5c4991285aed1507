/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/socket.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "net/http/parse.h"
#include "net/http/response.h"
#include "net/websocket/handshake.h"
#include "net/websocket/websocket.h"

_Static_assert((int)HTTPRESPONSE_MORE == (int)HTTPPARSE_MORE, "take_head() compares both");

enum { HEAD_BYTES = 4 << 10, QUEUE_BYTES = 64 << 20, STATUS_SWITCHING = 101 };

struct browser_socket {
    struct browser_socket_config config;
    struct websocket *websocket;
    struct httpresponse *response; /* of the server, until it is open */
    struct httpparse *request;     /* of the client, the same */
    char key[WSHANDSHAKE_KEY_CHARS + 1];
    bool is_open;
    int error; /* of a message */
};

/* ---- bytes ---- */

static int send_parts(void *data, const struct str *parts, size_t count, size_t *out_taken)
{
    struct browser_socket *socket = data;
    int r;

    *out_taken = 0;
    if (!socket->is_open)
        return 0; /* browser_socket_receive() flushes */
    r = socket->config.send(socket->config.data, parts, count);
    for (size_t i = 0; i < count && r == 0; i++)
        *out_taken += parts[i].len;
    return r;
}

static void take_message(void *data, enum websocket_kind kind, struct str bytes)
{
    struct browser_socket *socket = data;

    if (socket->error < 0)
        return;
    socket->error = kind == WEBSOCKET_TEXT ? socket->config.on_message(socket->config.data, bytes)
                                           : ERR_WS_PROTOCOL;
}

static void take_close(void *data, uint16_t code, struct str reason)
{
    (void)data; /* browser_socket_is_over() says it */
    (void)code;
    (void)reason;
}

/* ---- the handshake ---- */

static int send_text(struct browser_socket *socket, const struct buf *text)
{
    const struct str part = buf_view(text);

    return socket->config.send(socket->config.data, &part, 1);
}

static int new_socket(const struct browser_socket_config *config, enum websocket_role role,
                      struct browser_socket **out_socket)
{
    const struct websocket_limits limits = {.max_message_bytes = config->max_message_bytes,
                                            .max_queue_bytes = QUEUE_BYTES};
    struct browser_socket *socket = calloc(1, sizeof(*socket));
    const struct websocket_sink sink = {
        .message = take_message, .wire = send_parts, .closed = take_close, .data = socket};
    int r =
        socket != NULL ? websocket_new(role, &limits, &sink, &socket->websocket) : ERR_NO_MEMORY;

    if (r < 0) {
        free(socket);
        return r;
    }
    socket->config = *config;
    *out_socket = socket;
    return 0;
}

int browser_socket_dial(const struct browser_socket_config *config, uint16_t port, const char *path,
                        struct browser_socket **out_socket)
{
    cleanup_buf struct buf head = BUF_INIT(HEAD_BYTES);
    struct browser_socket *socket;
    int r = new_socket(config, WEBSOCKET_CLIENT, &socket);

    if (r < 0)
        return r;
    r = httpresponse_new(&socket->response);
    if (r == 0) {
        httpresponse_reset(socket->response, HTTPRESPONSE_TO_UPGRADE);
        wshandshake_make_key(socket->key);
        r = buf_printf(&head, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n", path, port);
    }
    if (r == 0)
        r = wshandshake_write_request(socket->key, NULL, 0, &head);
    if (r == 0)
        r = buf_append_str(&head, STR("\r\n"));
    if (r == 0)
        r = send_text(socket, &head);
    if (r < 0) {
        browser_socket_free(socket);
        return r;
    }
    *out_socket = socket;
    return 0;
}

int browser_socket_answer(const struct browser_socket_config *config,
                          struct browser_socket **out_socket)
{
    struct browser_socket *socket;
    int r = new_socket(config, WEBSOCKET_SERVER, &socket);

    if (r < 0)
        return r;
    r = httpparse_new(&socket->request);
    if (r < 0) {
        browser_socket_free(socket);
        return r;
    }
    *out_socket = socket;
    return 0;
}

void browser_socket_free(struct browser_socket *socket)
{
    if (socket == NULL)
        return;
    httpresponse_free(socket->response);
    httpparse_free(socket->request);
    websocket_free(socket->websocket);
    free(socket);
}

static int check_response(struct browser_socket *socket)
{
    const struct http_response *response = httpresponse_get(socket->response);
    struct wshandshake_header headers[HTTP_MAX_HEADERS];
    struct str protocol;

    if (response->status != STATUS_SWITCHING)
        return ERR_WS_HANDSHAKE;
    for (size_t i = 0; i < response->header_count; i++) {
        struct http_field field = http_response_header_at(response, i);

        headers[i] = (struct wshandshake_header){field.name, field.value};
    }
    return wshandshake_check(response->status, headers, response->header_count, socket->key, NULL,
                             0, &protocol, NULL);
}

static int refuse(struct browser_socket *socket, int error)
{
    const struct str answer = STR("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n"
                                  "Connection: close\r\n\r\n");

    (void)socket->config.send(socket->config.data, &answer, 1);
    return error;
}

static int accept_request(struct browser_socket *socket)
{
    const struct http_request *request = httpparse_request(socket->request);
    cleanup_buf struct buf head = BUF_INIT(HEAD_BYTES);
    struct wshandshake_header headers[HTTP_MAX_HEADERS];
    struct wshandshake_answer answer;
    int r;

    if (!socket->config.may_open(socket->config.data, request))
        return refuse(socket, ERR_ORIGIN_DENIED);
    for (size_t i = 0; i < request->header_count; i++) {
        struct http_field field = http_header_at(request, i);

        headers[i] = (struct wshandshake_header){field.name, field.value};
    }
    r = wshandshake_accept(
        &(struct wshandshake_request){.method = http_method_name(request->method),
                                      .is_http11 = request->minor > 0,
                                      .headers = headers,
                                      .header_count = request->header_count},
        NULL, 0, &answer, NULL);
    if (r < 0)
        return refuse(socket, r);
    r = buf_append_str(&head, STR("HTTP/1.1 101 Switching Protocols\r\n"));
    if (r == 0)
        r = wshandshake_write_answer(&answer, &head);
    if (r == 0)
        r = buf_append_str(&head, STR("\r\n"));
    return r == 0 ? send_text(socket, &head) : r;
}

/* Of the other side; with it both have agreed. */
static int take_head(struct browser_socket *socket, struct str *bytes)
{
    bool is_client = socket->response != NULL;
    int event = is_client ? httpresponse_feed(socket->response, bytes, NULL, NULL)
                          : httpparse_feed(socket->request, bytes, NULL, NULL);
    int r;

    if (event < 0)
        return is_client ? event : refuse(socket, event);
    if (event == HTTPRESPONSE_MORE)
        return 0;
    r = is_client ? check_response(socket) : accept_request(socket);
    if (r < 0)
        return r;
    socket->is_open = true;
    httpresponse_free(socket->response);
    httpparse_free(socket->request);
    socket->response = NULL;
    socket->request = NULL;
    return websocket_flush(socket->websocket);
}

/* ---- for the owner ---- */

int browser_socket_receive(struct browser_socket *socket, struct str bytes)
{
    int r = 0;

    if (!socket->is_open)
        r = take_head(socket, &bytes);
    if (r == 0 && socket->is_open && bytes.len > 0)
        r = websocket_receive(socket->websocket, bytes, NULL);
    return r < 0 ? r : socket->error;
}

int browser_socket_send(struct browser_socket *socket, struct str text)
{
    return websocket_send(socket->websocket, WEBSOCKET_TEXT, text);
}

int browser_socket_ping(struct browser_socket *socket)
{
    return websocket_ping(socket->websocket, STR_EMPTY);
}

bool browser_socket_is_open(const struct browser_socket *socket)
{
    return socket->is_open;
}

bool browser_socket_is_over(const struct browser_socket *socket)
{
    return websocket_is_over(socket->websocket);
}
