/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token that long work looks at between its steps: was it cancelled, is its
 * time over? Any thread may cancel; the worker that holds the token checks.
 */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

#define CANCEL_NO_DEADLINE INT64_MAX

struct cancel {
    atomic_bool is_cancelled;
    int64_t deadline_ms; /* on the clock's monotonic time */
    const struct clock *clock;
};

static inline void cancel_init(struct cancel *token, const struct clock *clock, int64_t deadline_ms)
{
    atomic_init(&token->is_cancelled, false);
    token->deadline_ms = deadline_ms;
    token->clock = clock;
}

static inline void cancel_now(struct cancel *token)
{
    atomic_store_explicit(&token->is_cancelled, true, memory_order_release);
}

/* 0, ERR_CANCELLED or ERR_TIMED_OUT. A NULL token is never cancelled. */
static inline int cancel_check(const struct cancel *token)
{
    if (token == NULL)
        return 0;
    if (atomic_load_explicit(&token->is_cancelled, memory_order_acquire))
        return ERR_CANCELLED;
    if (token->deadline_ms != CANCEL_NO_DEADLINE &&
        clock_monotonic_ms(token->clock) >= token->deadline_ms)
        return ERR_TIMED_OUT;
    return 0;
}

#endif
