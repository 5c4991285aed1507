/* SPDX-License-Identifier: Apache-2.0 */
/* What gatehouse-screen does with requests: it checks them, and asks the backend. */
#ifndef SCREEN_HOST_H
#define SCREEN_HOST_H

#include "base/err.h"
#include "screen/backend.h"
#include "screen/wire.h"

struct screen_host;

/* How the user ends the input of an agent, besides by a gesture. */
struct screen_host_stop {
    struct screen_held *held;    /* remembers it: it outlives the host */
    int fd;                      /* readable when the user wants it; -1: never */
    void (*on_stop)(void *data); /* everything was released; may be NULL */
    void *data;
};

int screen_host_new(struct screen *screen, const struct screen_host_stop *stop,
                    struct screen_host **out_host);
void screen_host_free(struct screen_host *host);

/*
 * Appends the reply's text and image. An error is the request's, and its message the text; after
 * ERR_CONNECTION_LOST the screen is of no more use.
 */
int screen_host_do(struct screen_host *host, const struct screen_request *request, struct str text,
                   struct screen_reply *out_reply, struct buf *out_text, struct buf *out_image,
                   struct err *err);

/*
 * Serves requests from the socket until it is closed (0) or the display has gone
 * (ERR_CONNECTION_LOST).
 */
int screen_host_serve(struct screen_host *host, int fd);

/* Answers one request with this error. ERR_CONNECTION_LOST: the socket was closed. */
int screen_host_refuse(int fd, const struct err *why);

/*
 * Goes on after a worker that was killed: answers the request that it had, for which the front end
 * waits. ERR_CONNECTION_LOST: it was killed in the middle of a message, and nobody knows where the
 * next one begins.
 */
int screen_host_go_on(struct screen_held *held, int fd);

#endif
