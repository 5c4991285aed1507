/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of questions that wait for a user; on the loop's thread, without any I/O of its own.
 * Every surface (the terminal, a client that asks its user, a page) shows each question; the first
 * answer wins, and the others withdraw it. The same happens to questions that are cancelled or
 * timed out, which is up to those who ask.
 *
 * Every callback may call any function here except question_queue_free().
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

/* Why a surface must withdraw a question that it has not answered. */
enum question_queue_end {
    QUESTION_QUEUE_ANSWERED_ELSEWHERE,
    QUESTION_QUEUE_CANCELLED,
    QUESTION_QUEUE_TIMED_OUT
};

struct question_queue;

struct question_queue_surface {
    const char *name; /* must outlive the surface */
    /* The question stays valid until it is withdrawn or answered, or the surface is removed. */
    void (*show)(void *data, uint64_t id, const struct question *question);
    /* Called once for each question that was shown and that this surface has not answered. */
    void (*withdraw)(void *data, uint64_t id, enum question_queue_end end, const char *by);
    void *data;
};

/* `by` is the name of the surface; NULL if there was none to ask. */
typedef void question_queue_answer_fn(void *data, uint64_t id, enum permission_choice choice,
                                      const char *by);

int question_queue_new(struct question_queue **out_queue);
/* Withdraws all open questions and denies them once, with `by` NULL. */
void question_queue_free(struct question_queue *queue);

/* Shows it all open questions. ERR_ALREADY_EXISTS if the name exists, ERR_BUSY at the limit. */
int question_queue_add(struct question_queue *queue, const struct question_queue_surface *surface);
/*
 * Its callbacks are no longer called. With the last surface, open questions are denied once, with
 * `by` NULL.
 */
void question_queue_remove(struct question_queue *queue, const char *name);

/*
 * Copies the question. Sets *out_id before showing it: without surfaces, `answer` is called before
 * this returns. On ERR_BUSY, ERR_TOO_LARGE, and ERR_CANCELLED (while the queue is being freed)
 * nobody was asked.
 */
int question_queue_ask(struct question_queue *queue, const struct question *question,
                       question_queue_answer_fn *answer, void *data, uint64_t *out_id);

/* ERR_INVALID_ARGUMENT for a choice that was not offered, ERR_NOT_FOUND if it is no longer open. */
int question_queue_answer(struct question_queue *queue, uint64_t id, enum permission_choice choice,
                          const char *by);

/* Does not call its answer function. Does nothing if it is no longer open. */
void question_queue_cancel(struct question_queue *queue, uint64_t id, enum question_queue_end why);

/* Whether anybody can be asked. */
bool question_queue_has_surface(const struct question_queue *queue);

/* Number of open questions. */
size_t question_queue_waiting(const struct question_queue *queue);

#endif
