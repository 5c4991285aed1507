/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue where questions wait for a person, on the loop's thread, without any
 * input or output of its own. Every surface (the terminal, a client that asks its
 * user, a page) is shown each question; the first answer wins, and the others are
 * told. Questions that are cancelled or timed out leave in the same way; when that
 * is, is left to those who ask.
 *
 * Every callback may call any function here but question_queue_free().
 */
#ifndef PERMISSION_QUESTIONQUEUE_H
#define PERMISSION_QUESTIONQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "permission/question.h"

enum {
    QUESTION_QUEUE_MAX_OPEN = 128,
    QUESTION_QUEUE_MAX_BYTES = 8 << 20, /* texts of all open questions */
    QUESTION_QUEUE_MAX_SURFACES = 8,
};

/* Why a question leaves a surface that has not answered it. */
enum question_queue_end {
    QUESTION_QUEUE_ANSWERED_ELSEWHERE,
    QUESTION_QUEUE_CANCELLED,
    QUESTION_QUEUE_TIMED_OUT
};

struct question_queue;

struct question_queue_surface {
    const char *name; /* outlives the surface */
    /* The question stays where it is until it is withdrawn, answered, or the surface removed. */
    void (*show)(void *data, uint64_t id, const struct question *question);
    /* Once for each question that was shown and that this surface has not answered. */
    void (*withdraw)(void *data, uint64_t id, enum question_queue_end end, const char *by);
    void *data;
};

/* by: the name of the surface; NULL when nobody was there to be asked. */
typedef void question_queue_answer_fn(void *data, uint64_t id, enum permission_choice choice,
                                      const char *by);

int question_queue_new(struct question_queue **out_queue);
/* What is open is withdrawn and denied once, by nobody. */
void question_queue_free(struct question_queue *queue);

/* Shows it what is open. ERR_ALREADY_EXISTS with a name that is there, ERR_BUSY with too many. */
int question_queue_add(struct question_queue *queue, const struct question_queue_surface *surface);
/* It hears nothing more. With the last one, what is open is denied once, by nobody. */
void question_queue_remove(struct question_queue *queue, const char *name);

/*
 * Copies the question. *out_id is set before anybody is shown anything: a queue without surfaces
 * has called `answer` when this returns. ERR_BUSY, ERR_TOO_LARGE, and ERR_CANCELLED
 * while the queue is being freed: nobody was asked.
 */
int question_queue_ask(struct question_queue *queue, const struct question *question,
                       question_queue_answer_fn *answer, void *data, uint64_t *out_id);

/* ERR_INVALID_ARGUMENT for a choice that was not offered, ERR_NOT_FOUND when it is over. */
int question_queue_answer(struct question_queue *queue, uint64_t id, enum permission_choice choice,
                          const char *by);

/* Its answer function is not called. Harmless when it is over. */
void question_queue_cancel(struct question_queue *queue, uint64_t id, enum question_queue_end why);

/* Whether somebody is there to be asked. */
bool question_queue_has_surface(const struct question_queue *queue);

/* How many are open. */
size_t question_queue_waiting(const struct question_queue *queue);

#endif
