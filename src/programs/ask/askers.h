/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs that ask: connects to all of this user's, also to those that start later, puts their
 * questions into our own queue and sends back the answers.
 */
#ifndef PROGRAMS_ASK_ASKERS_H
#define PROGRAMS_ASK_ASKERS_H

#include "base/err.h"
#include "loop/loop.h"
#include "permission/questionqueue.h"

struct askers;

struct askers_config {
    struct loop *loop;
    struct question_queue *queue; /* has its surfaces already */
    /* A program can ask from now on. The name is untrusted. */
    void (*on_found)(void *data, struct str name);
    void *data;
};

int askers_new(const struct askers_config *config, struct askers **out_askers, struct err *err);
/* Call before freeing the queue: withdraws all questions without answering them. */
void askers_free(struct askers *askers);

#endif
