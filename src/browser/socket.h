/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WebSocket of gatehouse-browser, for a browser that it did not start: the client's end, or the
 * server's. It neither reads nor writes descriptors. Inside the monitor.
 */
#ifndef BROWSER_SOCKET_H
#define BROWSER_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "net/http/http.h"

struct browser_socket;

struct browser_socket_config {
    size_t max_message_bytes;
    /* Takes all bytes, which leave when they can. */
    int (*send)(void *data, const struct str *parts, size_t count);
    /* A whole message. An error ends the connection. */
    int (*on_message)(void *data, struct str text);
    /* For the server's end: whether this request may open it. Another one is answered with 403. */
    bool (*may_open)(void *data, const struct http_request *request);
    void *data;
};

/* The client's end: asks at once. What is sent before the answer comes waits for it. */
int browser_socket_dial(const struct browser_socket_config *config, uint16_t port, const char *path,
                        struct browser_socket **out_socket);
/* The server's end. */
int browser_socket_answer(const struct browser_socket_config *config,
                          struct browser_socket **out_socket);
void browser_socket_free(struct browser_socket *socket);

/* Bytes from the connection. An error, or browser_socket_is_over(): it has ended. */
int browser_socket_receive(struct browser_socket *socket, struct str bytes);
int browser_socket_send(struct browser_socket *socket, struct str text);
int browser_socket_ping(struct browser_socket *socket);
/* Both sides have agreed to speak. */
bool browser_socket_is_open(const struct browser_socket *socket);
bool browser_socket_is_over(const struct browser_socket *socket);

#endif
