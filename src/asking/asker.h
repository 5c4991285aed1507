/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that asks: every terminal of `gatehouse ask` that connects is a surface of its question
 * queue. Each shows all questions; the first answer counts, and the others are told.
 */
#ifndef ASKING_ASKER_H
#define ASKING_ASKER_H

#include "asking/socket.h"
#include "base/buf.h"
#include "loop/loop.h"
#include "permission/questionqueue.h"

enum { ASKER_NAME_BYTES = 8 << 10 };

struct asker;

struct asker_config {
    struct loop *loop;
    struct question_queue *queue;
    int listen_fd; /* of the asking_socket; owned by the caller, must stay open as long */
    /* Writes who asks, for people: "gatehouse mcp, folder /home/bob/src". */
    int (*describe)(void *data, struct buf *out);
    void *data;
};

int asker_new(const struct asker_config *config, struct asker **out_asker);
/* Call before freeing the queue. Terminals withdraw what they show. */
void asker_free(struct asker *asker);

#endif
