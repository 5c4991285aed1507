/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on a terminal that says how far a long search is. It comes after half a
 * second, is written over, and is gone at the end.
 */
#ifndef PROGRAMS_SEARCH_PROGRESS_H
#define PROGRAMS_SEARCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum { PROGRESS_AFTER_MS = 500, PROGRESS_EVERY_MS = 100 };

struct progress {
    int fd; /* a terminal that can erase a line */
    const struct clock *clock;
    int64_t next_ms; /* not before then */
    bool is_shown;
};

void progress_init(struct progress *progress, int fd, const struct clock *clock);

/* By one thread at a time; `data` is the progress. */
void progress_tell(void *data, uint64_t files);

/* Before anything else is written there. */
void progress_end(struct progress *progress);

#endif
