/* SPDX-License-Identifier: Apache-2.0 */
/* A file of its own: programs that open no session wait as well. */
#include "session/session.h"

#include <time.h>

enum {
    /* A minute. */
    CHANGE_STEP_NS = 10 * 1000 * 1000,
    CHANGE_STEPS = 6000,
};

void session_wait_for_changes(const atomic_uint *changing)
{
    const struct timespec step = {.tv_nsec = CHANGE_STEP_NS};

    for (int i = 0; i < CHANGE_STEPS && atomic_load(changing) > 0; i++)
        nanosleep(&step, NULL);
}
