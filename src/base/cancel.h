/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token that long operations check between their steps: was it cancelled, has its deadline
 * passed? Any thread may cancel; the worker that holds the token checks.
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
    int64_t deadline_ms; /* in monotonic time */
    const struct clock *clock;
    const struct cancel *above;       /* also cancels this one; or NULL */
    const atomic_bool *grant_is_gone; /* the grant was revoked; or NULL */
    int64_t grant_ends_ms;            /* expiry of the grant, in wall time; 0: never */
};

static inline void cancel_init(struct cancel *token, const struct clock *clock, int64_t deadline_ms)
{
    atomic_init(&token->is_cancelled, false);
    token->deadline_ms = deadline_ms;
    token->clock = clock;
    token->above = NULL;
    token->grant_is_gone = NULL;
    token->grant_ends_ms = 0;
}

static inline void cancel_now(struct cancel *token)
{
    atomic_store_explicit(&token->is_cancelled, true, memory_order_release);
}

/*
 * 0, ERR_CANCELLED, ERR_TIMED_OUT, ERR_GRANT_REVOKED or ERR_GRANT_EXPIRED. A NULL token is never
 * cancelled. Reads the clock only if there is a deadline or expiry.
 */
static inline int cancel_check(const struct cancel *token)
{
    for (; token != NULL; token = token->above) {
        if (atomic_load_explicit(&token->is_cancelled, memory_order_acquire))
            return ERR_CANCELLED;
        if (token->deadline_ms != CANCEL_NO_DEADLINE &&
            clock_monotonic_ms(token->clock) >= token->deadline_ms)
            return ERR_TIMED_OUT;
        if (token->grant_is_gone != NULL &&
            atomic_load_explicit(token->grant_is_gone, memory_order_acquire))
            return ERR_GRANT_REVOKED;
        if (token->grant_ends_ms != 0 && clock_wall_ms(token->clock) >= token->grant_ends_ms)
            return ERR_GRANT_EXPIRED;
    }
    return 0;
}

#endif
