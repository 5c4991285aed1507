/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's control socket: `gatehouse status` asks there, over HTTP like a page but without an
 * origin. Only the user can reach it, by the modes of the socket and its directory; an agent's
 * commands cannot, since sandboxes hide that directory (isolate/box/places.h). It reports, and
 * accepts one thing: a pairing token, which grants nothing that the user had not agreed to.
 *
 *     GET /health, GET /status        as the local port answers them
 *     POST /token                     programs/connect/handover.h: the owner answers later
 *     anything else                   404, 405
 */
#ifndef PROGRAMS_CONNECT_CONTROL_H
#define PROGRAMS_CONNECT_CONTROL_H

#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "programs/connect/handover.h"
#include "programs/connect/report.h"

enum { CONTROL_MAX_CONNECTIONS = 16 };

struct control;

/*
 * Binds the socket of this port (cli/status.h) in `directory`, which is created if missing and must
 * be private. Replaces the socket of a dead daemon; ERR_ALREADY_EXISTS, with a message, if a daemon
 * is running. Call it before the process is confined.
 */
int control_open(const char *directory, uint16_t port, struct control **out_control,
                 struct err *err);

/* Starts to answer. The callback is that of struct port_owner. */
int control_serve(struct control *control, struct loop *loop,
                  void (*report)(void *data, struct report *out_report), void *data);

/* Receiver of tokens. Callbacks come from the loop. */
struct control_taker {
    /*
     * Whether the token is wanted. If the handover contains one, it is taken, and answered with
     * control_answer() at any time, even in here. Otherwise returns an ERR_* code with a message
     * for the sender, and no answer follows. Never called with a second token before the first was
     * answered.
     */
    int (*take)(void *data, const struct handover *handover, struct err *err);
    /* The sender has disconnected and needs no answer. */
    void (*gone)(void *data);
};

/* No token is accepted before this. The data is that of control_serve(). */
void control_take_tokens(struct control *control, const struct control_taker *taker);

/*
 * Answers the sender: connected with the token (err is NULL), or why not. Ignored if nobody waits.
 */
void control_answer(struct control *control, const struct err *err);

/* Also unlinks the socket, if the process may still do that. */
void control_free(struct control *control);

#endif
