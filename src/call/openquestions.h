/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a question to the user is open, for tools that could answer it themselves, with mouse and
 * keyboard. The engine sets it on the loop; any thread reads it.
 */
#ifndef CALL_OPENQUESTIONS_H
#define CALL_OPENQUESTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* A question that was handed to a client, which brings the answer with another call, if at all. */
enum { OPENQUESTIONS_HANDED_OUT_MS = 120000 };

struct open_questions {
    atomic_uint count;
    unsigned handed_out;                 /* for the loop alone */
    _Atomic int64_t handed_out_until_ms; /* of the system's monotonic clock */
};

static inline bool open_questions_any(struct open_questions *questions)
{
    return atomic_load(&questions->count) > 0 ||
           clock_monotonic_ms(&clock_system) < atomic_load(&questions->handed_out_until_ms);
}

/* On the loop, both. */
static inline void open_questions_hand_out(struct open_questions *questions)
{
    questions->handed_out++;
    atomic_store(&questions->handed_out_until_ms,
                 clock_monotonic_ms(&clock_system) + OPENQUESTIONS_HANDED_OUT_MS);
}

static inline void open_questions_come_back(struct open_questions *questions)
{
    if (questions->handed_out > 0)
        questions->handed_out--;
    if (questions->handed_out == 0)
        atomic_store(&questions->handed_out_until_ms, 0);
}

#endif
