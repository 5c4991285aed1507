/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process can take rights from itself only as long as it has one thread:
 * Landlock and seccomp bind the thread that calls, and those it starts later.
 */
#ifndef ISOLATE_THREADS_H
#define ISOLATE_THREADS_H

#include "base/err.h"

/* ERR_INTERNAL when there are others, or when that cannot be told. */
int threads_check_alone(struct err *err);

#endif
