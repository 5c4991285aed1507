/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking by way of the instance, which has a page and we have not: a call that
 * needs consent is answered with a text that the instance understands; it asks
 * its user and calls again, with the answer among the arguments.
 *
 * A model sees these answers and could make up one. So an answer counts once,
 * for a question that was asked here, about the same tool and the same
 * arguments, and not long after it. Whether the user was asked at all is the
 * instance's word: nothing here can know better.
 */
#ifndef PERMISSION_CONFIRMATION_H
#define PERMISSION_CONFIRMATION_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "permission/question.h"

#define CONFIRMATION_PREFIX   "GATEWAY_CONFIRMATION_REQUIRED::"
#define CONFIRMATION_ARGUMENT "_confirmation"

enum {
    CONFIRMATION_MAX_OPEN = 1024, /* the oldest makes room */
    CONFIRMATION_LIFE_MS = 10 * 60 * 1000,
};

/*
 * The arguments without the answer, which is removed before they are looked at, and the answer:
 * empty where there is none. Both live in the arena or in `arguments`.
 */
int confirmation_take(struct arena *arena, const struct json_value *arguments,
                      const struct json_value **out_arguments, struct str *out_answer);

/* What the instance gets: the prefix and its JSON object. */
int confirmation_write(const struct question *question, struct buf *out);

struct confirmations;

int confirmations_new(const struct clock *clock, struct confirmations **out_confirmations);
void confirmations_free(struct confirmations *confirmations);

/* Nothing is open any more: who was asked is not who comes next. */
void confirmations_forget_all(struct confirmations *confirmations);

/*
 * This question was sent; while the same one is open they are one, for one answer. Arguments as
 * confirmation_take() leaves them.
 */
int confirmations_expect(struct confirmations *confirmations, const struct question *question,
                         const struct json_value *arguments);

/*
 * The answer to it, which is then over. ERR_NOT_FOUND for one that nobody asked for, that came
 * before or too late, or is about something else; ERR_INVALID_ARGUMENT for a word that was not
 * offered, and then the question is over too.
 */
int confirmations_use(struct confirmations *confirmations, const struct question *question,
                      const struct json_value *arguments, struct str answer,
                      enum permission_choice *out_choice);

#endif
