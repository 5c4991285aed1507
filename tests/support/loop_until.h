/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a loop until a condition is true. It waits for events and not for time: with a fake clock
 * nothing else moves, and an event that never comes fails the test instead of hanging it. Only idle
 * waits are counted, so that a busy machine does not reduce the limit.
 */
#ifndef TESTS_SUPPORT_LOOP_UNTIL_H
#define TESTS_SUPPORT_LOOP_UNTIL_H

#include <assert.h>
#include <poll.h>

#include "loop/loop.h"
#include "patience.h"

enum { LOOP_UNTIL_STEP_MS = 5 };

/*
 * Tests that wait for other processes, or for a worker on a disk, define LOOP_UNTIL_OTHERS first.
 */
#ifdef LOOP_UNTIL_OTHERS
enum { LOOP_UNTIL_STEPS = PATIENCE_MS / LOOP_UNTIL_STEP_MS };
#else
enum { LOOP_UNTIL_STEPS = 20 * 1000 / LOOP_UNTIL_STEP_MS };
#endif

/* One iteration, after waiting a little for an event if there is none. False: none came. */
static inline bool loop_until_step(struct loop *loop)
{
    struct pollfd backend = {.fd = uv_backend_fd(loop_uv(loop)), .events = POLLIN};
    bool has_waited = false;

    if (uv_run(loop_uv(loop), UV_RUN_NOWAIT) == 0 || uv_backend_timeout(loop_uv(loop)) != 0)
        has_waited = poll(&backend, 1, LOOP_UNTIL_STEP_MS) == 0;
    uv_run(loop_uv(loop), UV_RUN_NOWAIT);
    return !has_waited;
}

#define loop_until(loop, condition)                                                                \
    do {                                                                                           \
        int left_ = LOOP_UNTIL_STEPS;                                                              \
                                                                                                   \
        while (!(condition)) {                                                                     \
            if (!loop_until_step(loop))                                                            \
                left_--;                                                                           \
            assert(left_ > 0 && "waited in vain: " #condition);                                    \
        }                                                                                          \
    } while (0)

#endif
