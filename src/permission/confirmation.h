/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks by way of the n8n instance, which has a user interface: a call that needs permission is
 * answered with a text that the instance understands; it asks its user and calls again, with the
 * answer among the arguments.
 *
 * A model sees these texts and could invent an answer. So an answer counts once, for a question
 * that was asked here, about the same tool and arguments, and within a time limit. Whether the user
 * was really asked is up to the instance; this cannot be verified here.
 */
#ifndef PERMISSION_CONFIRMATION_H
#define PERMISSION_CONFIRMATION_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "permission/question.h"

#define CONFIRMATION_PREFIX   "GATEWAY_CONFIRMATION_REQUIRED::"
#define CONFIRMATION_ARGUMENT "_confirmation"

enum {
    CONFIRMATION_MAX_OPEN = 1024, /* beyond that, the oldest is dropped */
    CONFIRMATION_LIFE_MS = 10 * 60 * 1000,
};

/*
 * Separates the answer from the arguments before they are checked; the answer is empty if there is
 * none. Both results live in the arena or in `arguments`.
 */
int confirmation_take(struct arena *arena, const struct json_value *arguments,
                      const struct json_value **out_arguments, struct str *out_answer);

/*
 * The members of a question for somebody else's page: toolGroup, resource, description, options,
 * which are those of `choices` that the question offers. Of a private question, neither the action
 * nor the detail.
 */
int confirmation_write_members(const struct question *question, unsigned choices,
                               struct json_writer *json);

/* Writes the text for the instance: the prefix and a JSON object. */
int confirmation_write(const struct question *question, struct buf *out);
/*
 * Appends the question as the result of its call: that text as an error, which is also the
 * structured content, because the instance looks for it there.
 */
int confirmation_write_result(const struct question *question, struct buf *out);

struct confirmations;

int confirmations_new(const struct clock *clock, struct confirmations **out_confirmations);
void confirmations_free(struct confirmations *confirmations);

/* Forgets all open questions: the next peer is not the one that was asked. */
void confirmations_forget_all(struct confirmations *confirmations);

/*
 * Registers a question that was sent; the same question twice counts as one, for one answer.
 * `arguments` as confirmation_take() returns them.
 */
int confirmations_expect(struct confirmations *confirmations, const struct question *question,
                         const struct json_value *arguments);

/*
 * Uses the answer to an open question, which is then closed. ERR_NOT_FOUND if nobody asked, the
 * answer was used before, came too late, or is about something else; ERR_INVALID_ARGUMENT for a
 * choice that was not offered, which closes the question too.
 */
int confirmations_use(struct confirmations *confirmations, const struct question *question,
                      const struct json_value *arguments, struct str answer,
                      enum permission_choice *out_choice);

#endif
