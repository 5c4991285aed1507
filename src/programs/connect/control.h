/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's control socket: `gatehouse status` asks there, over HTTP like a page but without an
 * origin. Nobody but the user reaches it, by the modes of the socket and its directory; commands of
 * an agent do not, since boxes hide that directory (isolate/box/places.h). It tells, and takes one
 * thing: a pairing token, by which nothing is given that the user had not agreed to.
 *
 *     GET /health, GET /status        as the local port answers them
 *     POST /token                     programs/connect/handover.h: the owner is asked, and answers
 * later anything else                   404, 405
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
 * Takes the name of this port (cli/status.h) in `directory`, which is made if it is missing and
 * has to be private. One that a dead daemon has left is replaced; ERR_ALREADY_EXISTS, with words,
 * when a daemon lives there. A process that gives up its rights does this before.
 */
int control_open(const char *directory, uint16_t port, struct control **out_control,
                 struct err *err);

/* From now on it answers. The callback is that of struct port_owner. */
int control_serve(struct control *control, struct loop *loop,
                  void (*report)(void *data, struct report *out_report), void *data);

/* Who takes tokens. Callbacks come from the loop. */
struct control_taker {
    /*
     * Whether this is wanted; with a token in it, it is taken, and answered by control_answer() at
     * any time, also in here. Otherwise an ERR_* code with words for the other side, unanswered.
     * Never with a second token before the first was answered.
     */
    int (*take)(void *data, const struct handover *handover, struct err *err);
    /* Who brought it has left, and needs no answer. */
    void (*gone)(void *data);
};

/* Nobody's token is taken before. The data is that of control_serve(). */
void control_take_tokens(struct control *control, const struct control_taker *taker);

/* Connected with the token (NULL), or why not. Ignored where nobody waits for it. */
void control_answer(struct control *control, const struct err *err);

/* The name goes, too, where the process may still do that. */
void control_free(struct control *control);

#endif
