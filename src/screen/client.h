/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to gatehouse-screen, which holds the display. One request at a time; any thread
 * may ask.
 */
#ifndef SCREEN_CLIENT_H
#define SCREEN_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "screen/wire.h"

struct screen_client;

/*
 * Starts it, and asks it for the screen; `libexec` is where it may be installed. ERR_UNSUPPORTED:
 * there is no screen, and the message says why.
 */
int screen_client_start(const char *libexec, int error_fd, struct screen_client **out_client,
                        struct err *err);
/* It releases all keys and buttons, and ends. */
void screen_client_free(struct screen_client *client);

/* Waits for the reply. An error of the request has its message. */
int screen_client_ask(struct screen_client *client, struct screen_request *request, struct str text,
                      struct screen_reply *out_reply, struct buf *out_text, struct buf *out_image,
                      struct err *err);

#endif
