/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a loop until something holds. It waits for events and not for time: with a fake clock
 * nothing else moves, and what never comes fails the test instead of hanging it.
 */
#ifndef TESTS_SUPPORT_LOOP_UNTIL_H
#define TESTS_SUPPORT_LOOP_UNTIL_H

#include <assert.h>
#include <poll.h>

#include "loop/loop.h"
#include "patience.h"

enum { LOOP_UNTIL_STEP_MS = 5 };

/* One turn, after waiting a little for an event where there is none. */
static inline void loop_until_step(struct loop *loop)
{
    struct pollfd backend = {.fd = uv_backend_fd(loop_uv(loop)), .events = POLLIN};

    if (uv_run(loop_uv(loop), UV_RUN_NOWAIT) == 0 || uv_backend_timeout(loop_uv(loop)) != 0)
        (void)poll(&backend, 1, LOOP_UNTIL_STEP_MS);
    uv_run(loop_uv(loop), UV_RUN_NOWAIT);
}

#define loop_until(loop, condition)                                                                \
    do {                                                                                           \
        int64_t until_ = clock_monotonic_ms(&clock_system) + PATIENCE_MS;                          \
                                                                                                   \
        while (!(condition)) {                                                                     \
            assert(clock_monotonic_ms(&clock_system) < until_ && "waited in vain: " #condition);   \
            loop_until_step(loop);                                                                 \
        }                                                                                          \
    } while (0)

#endif
