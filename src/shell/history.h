/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job has printed lately, for readers that come again: each byte has a
 * place, counted from the job's start, and the last so many are kept.
 */
#ifndef SHELL_HISTORY_H
#define SHELL_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct history {
    struct buf ring; /* in order until it is full */
    uint64_t total;
};

void history_init(struct history *history, size_t max_bytes);
void history_done(struct history *history);

/* ERR_NO_MEMORY: nothing of it was kept, and what was kept before is there. */
int history_add(struct history *history, struct str bytes);

struct history_window {
    uint64_t next;    /* the place behind what was read */
    uint64_t dropped; /* bytes between the cursor and the first that is still there */
    bool is_cut;      /* there is more than max_bytes */
};

/*
 * Appends up to max_bytes from `cursor` on as valid UTF-8; a cursor beyond the end is
 * the end. The beginning of a character waits for its rest, unless is_over.
 */
int history_read(const struct history *history, uint64_t cursor, size_t max_bytes, bool is_over,
                 struct buf *out, struct history_window *out_window);

#endif
