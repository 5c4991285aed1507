/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of the one workflow that OpenWOP's second major uses to probe host.fs: each is one
 * operation, which is over when its run is answered. The last ones can be asked for. For one
 * thread.
 */
#ifndef HOSTFS_RUNS_H
#define HOSTFS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define RUNS_WORKFLOW "conformance-fs-probe"
#define RUNS_NODE     "fs-probe"

enum { RUNS_MAX = 256, RUNS_ID_BYTES = 32 };

struct run;

struct runs {
    struct run *all[RUNS_MAX]; /* a ring */
    size_t next;
    size_t bytes;
    size_t max_bytes; /* of all results */
};

void runs_init(struct runs *runs, size_t max_bytes);
void runs_done(struct runs *runs);

/*
 * Keeps the result, an object, or the error of an operation; the oldest runs make room. Appends
 * what answers the request.
 */
int runs_add(struct runs *runs, struct str body, bool has_failed, int64_t wall_ms, struct buf *out);

/* Both append an object. ERR_SESSION_OVER for a run that is not there, or not any more. */
int runs_write(const struct runs *runs, struct str id, struct buf *out);
int runs_write_events(const struct runs *runs, struct str id, struct buf *out);

#endif
