/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of our own server as a surface of the question queue: it shows each question beside the
 * terminal, and the first answer counts. A decision from there counts once, for a question that is
 * open and was shown there, and lasts only if the user allowed that at the start.
 */
#ifndef PROGRAMS_CONNECT_REMOTEQUESTIONS_H
#define PROGRAMS_CONNECT_REMOTEQUESTIONS_H

#include <stdbool.h>

#include "permission/questionqueue.h"

struct remote_questions;

enum { REMOTE_QUESTION_BYTES = 64 << 10 }; /* as an event; a longer one is asked here only */

struct remote_questions_config {
    struct question_queue *queue;
    bool may_keep; /* lasting decisions */
    /* Sends an event to the server; it replaces one that waits with the same key. */
    void (*send)(void *data, struct str key, struct str event);
    void *data;
};

/* Sends what is open. */
int remote_questions_new(const struct remote_questions_config *config,
                         struct remote_questions **out_questions);
void remote_questions_free(struct remote_questions *questions);

/* Sends what is open once more, to a server that may have forgotten it. */
void remote_questions_resend(struct remote_questions *questions);

/* What the user answered there. ERR_NOT_FOUND, ERR_INVALID_ARGUMENT: it counts for nothing. */
int remote_questions_decide(struct remote_questions *questions, struct str id, struct str answer);

#endif
