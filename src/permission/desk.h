/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The desk where questions wait for a person, on the loop's thread, without any
 * input or output of its own. Every surface (the terminal, a client that asks its
 * user, a page) is shown each question; the first answer wins, and the others are
 * told. Questions that are cancelled or timed out leave in the same way; when that
 * is, is left to those who ask.
 *
 * Every callback may call any function here but desk_free().
 */
#ifndef PERMISSION_DESK_H
#define PERMISSION_DESK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "permission/question.h"

enum {
    DESK_MAX_OPEN = 128,
    DESK_MAX_BYTES = 8 << 20, /* texts of all open questions */
    DESK_MAX_SURFACES = 8,
};

/* Why a question leaves a surface that has not answered it. */
enum desk_end { DESK_ANSWERED_ELSEWHERE, DESK_CANCELLED, DESK_TIMED_OUT };

struct desk;

struct desk_surface {
    const char *name; /* outlives the surface */
    /* The question stays where it is until it is withdrawn, answered, or the surface removed. */
    void (*show)(void *data, uint64_t id, const struct question *question);
    /* Once for each question that was shown and that this surface has not answered. */
    void (*withdraw)(void *data, uint64_t id, enum desk_end end, const char *by);
    void *data;
};

/* by: the name of the surface; NULL when nobody was there to be asked. */
typedef void desk_answer_fn(void *data, uint64_t id, enum permission_choice choice, const char *by);

int desk_new(struct desk **out_desk);
/* What is open is withdrawn and denied once, by nobody. */
void desk_free(struct desk *desk);

/* Shows it what is open. ERR_ALREADY_EXISTS with a name that is there, ERR_BUSY with too many. */
int desk_add(struct desk *desk, const struct desk_surface *surface);
/* It hears nothing more. With the last one, what is open is denied once, by nobody. */
void desk_remove(struct desk *desk, const char *name);

/*
 * Copies the question. *out_id is set before anybody is shown anything: a desk without surfaces
 * has called `answer` when this returns. ERR_BUSY, ERR_TOO_LARGE, and ERR_CANCELLED
 * while the desk is being freed: nobody was asked.
 */
int desk_ask(struct desk *desk, const struct question *question, desk_answer_fn *answer, void *data,
             uint64_t *out_id);

/* ERR_INVALID_ARGUMENT for a choice that was not offered, ERR_NOT_FOUND when it is over. */
int desk_answer(struct desk *desk, uint64_t id, enum permission_choice choice, const char *by);

/* Its answer function is not called. Harmless when it is over. */
void desk_cancel(struct desk *desk, uint64_t id, enum desk_end why);

/* Whether somebody is there to be asked. */
bool desk_has_surface(const struct desk *desk);

/* How many are open. */
size_t desk_waiting(const struct desk *desk);

#endif
