/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process can take rights from itself only as long as it has one thread:
 * Landlock and seccomp bind the thread that calls, and those it starts later.
 */
#ifndef ISOLATE_THREADS_H
#define ISOLATE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* ERR_INTERNAL when there are others, or when that cannot be told. */
int threads_check_alone(struct err *err);

/* Blocks: a thread that was joined may belong to the process for a moment yet. */
bool threads_wait_alone(int64_t at_most_ms);

#endif
