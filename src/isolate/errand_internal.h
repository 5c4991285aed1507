/* SPDX-License-Identifier: Apache-2.0 */
/* What errand.c and errandstarter.c share: frames of ipc/frames.h between a program and its copy.
 */
#ifndef ISOLATE_ERRAND_INTERNAL_H
#define ISOLATE_ERRAND_INTERNAL_H

#include "isolate/errand.h"

/*
 * A request is a frame whose type is its job. An answer is some of DATA, and one END, whose body is
 * an enum errand_end. A request of job 0 only ends the one before.
 */
enum { ERRAND_DATA = 0x40, ERRAND_END = 0x41 };

enum { ERRAND_CHUNK_BYTES = 64 << 10 };

#endif
