/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process can restrict itself only while it has one thread: Landlock and seccomp apply to the
 * calling thread, and those it starts later.
 */
#ifndef ISOLATE_THREADS_H
#define ISOLATE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* ERR_INTERNAL if there are others, or if it cannot be determined. */
int threads_check_alone(struct err *err);

/* Blocks: a joined thread may remain in the process for a moment. */
bool threads_wait_alone(int64_t at_most_ms);

#endif
