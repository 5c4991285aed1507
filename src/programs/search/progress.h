/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A progress line of a long search on a terminal. It appears after half a second, is overwritten,
 * and is erased at the end.
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
    int64_t next_ms; /* time of the next update */
    bool is_shown;
};

void progress_init(struct progress *progress, int fd, const struct clock *clock);

/* From one thread at a time; `data` is the progress. */
void progress_tell(void *data, uint64_t files);

/* Erases the line; call it before writing anything else there. */
void progress_end(struct progress *progress);

#endif
