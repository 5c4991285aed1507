/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a question to the user is open, here or in another program of the same user, for tools
 * that could answer it themselves, with mouse and keyboard. The engine sets it on the loop; any
 * thread reads it.
 */
#ifndef CALL_OPENQUESTIONS_H
#define CALL_OPENQUESTIONS_H

#include <stdatomic.h>
#include <stdbool.h>

/* A question that was handed to a client, which brings the answer with another call, if at all. */
enum { OPENQUESTIONS_HANDED_OUT_MS = 120000 };

struct open_questions {
    atomic_uint count;   /* of those that are open, and 1 if some are handed out */
    unsigned handed_out; /* for the loop alone */
    /* How other programs know of ours, and we of theirs; NULL: there are no others. */
    void (*tell)(void *data, bool is_open); /* on the loop */
    bool (*others)(void *data);             /* in any thread */
    void *data;
};

static inline bool open_questions_any(struct open_questions *questions)
{
    return atomic_load(&questions->count) > 0 ||
           (questions->others != NULL && questions->others(questions->data));
}

/* On the loop, all of these. */
static inline void open_questions_begin(struct open_questions *questions)
{
    if (atomic_fetch_add(&questions->count, 1) == 0 && questions->tell != NULL)
        questions->tell(questions->data, true);
}

static inline void open_questions_end(struct open_questions *questions)
{
    if (atomic_fetch_sub(&questions->count, 1) == 1 && questions->tell != NULL)
        questions->tell(questions->data, false);
}

static inline void open_questions_hand_out(struct open_questions *questions)
{
    if (questions->handed_out++ == 0)
        open_questions_begin(questions);
}

static inline void open_questions_come_back(struct open_questions *questions)
{
    if (questions->handed_out > 0 && --questions->handed_out == 0)
        open_questions_end(questions);
}

/* After OPENQUESTIONS_HANDED_OUT_MS: none of them comes back any more. */
static inline void open_questions_give_up(struct open_questions *questions)
{
    if (questions->handed_out > 0)
        open_questions_end(questions);
    questions->handed_out = 0;
}

#endif
