/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recent output of a job, for repeated reading: each byte has a position, counted from the
 * job's start, and only the newest bytes are kept.
 */
#ifndef SHELL_HISTORY_H
#define SHELL_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct history {
    struct buf ring; /* in order until full */
    uint64_t total;
};

void history_init(struct history *history, size_t max_bytes);
void history_done(struct history *history);

/* ERR_NO_MEMORY: nothing of it was kept; earlier output stays. */
int history_add(struct history *history, struct str bytes);

/* Appends the bytes from one place to another, which are there, in order. */
int history_copy(const struct history *history, uint64_t from, uint64_t to, struct buf *out);

struct history_window {
    uint64_t next;    /* position after what was read */
    uint64_t dropped; /* bytes between the cursor and the oldest one kept */
    bool is_cut;      /* there is more than max_bytes */
};

/*
 * Appends up to max_bytes from `cursor` as valid UTF-8; a cursor beyond the end is the end. An
 * incomplete character is left for the next read, unless is_over.
 */
int history_read(const struct history *history, uint64_t cursor, size_t max_bytes, bool is_over,
                 struct buf *out, struct history_window *out_window);

#endif
