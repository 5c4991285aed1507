/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's control socket: `gatehouse status` asks there, over HTTP like a page but without an
 * origin. Nobody but the user reaches it, by the modes of the socket and its directory; and because
 * whatever runs as the user does, commands of an agent included, it tells and changes nothing.
 *
 *     GET /health, GET /status        as the local port answers them
 *     anything else                   404, 405
 */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H

#include <stdint.h>

#include "base/err.h"
#include "daemon/report.h"
#include "loop/loop.h"

enum { CONTROL_MAX_CONNECTIONS = 16 };

struct control;

/*
 * Takes the name of this port (command/status.h) in `directory`, which is made if it is missing and
 * has to be private. One that a dead daemon has left is replaced; ERR_ALREADY_EXISTS, with words,
 * when a daemon lives there. A process that gives up its rights does this before.
 */
int control_open(const char *directory, uint16_t port, struct control **out_control,
                 struct err *err);

/* From now on it answers. The callback is that of struct port_owner. */
int control_serve(struct control *control, struct loop *loop,
                  void (*report)(void *data, struct report *out_report), void *data);

/* The name goes, too, where the process may still do that. */
void control_free(struct control *control);

#endif
