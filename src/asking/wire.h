/* SPDX-License-Identifier: Apache-2.0 */
/* One connection between a program that asks and a terminal: lines in both directions. */
#ifndef ASKING_WIRE_H
#define ASKING_WIRE_H

#include "base/buf.h"
#include "loop/loop.h"

struct wire;

struct wire_config {
    struct loop *loop;
    size_t max_line_bytes; /* of what is received */
    size_t max_kept_bytes; /* of what the other side has not taken */
    /* An error ends the connection. Must not free the wire. */
    int (*on_line)(void *data, struct str line);
    /*
     * Called once, when no function of the wire is on the stack: the other side is gone, talks
     * nonsense or takes nothing. It may free the wire.
     */
    void (*on_end)(void *data);
    void *data;
};

/* Owns the socket, also if it fails. */
int wire_new(const struct wire_config *config, int fd, struct wire **out_wire);
void wire_free(struct wire *wire);

/* Sends a line that was written with result r. If that fails, on_end follows. */
void wire_send(struct wire *wire, int r, const struct buf *line);

#endif
