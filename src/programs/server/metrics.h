/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server counts, in the text format of Prometheus. Counts alone: no names of users,
 * machines or agents.
 */
#ifndef PROGRAMS_SERVER_METRICS_H
#define PROGRAMS_SERVER_METRICS_H

#include "base/buf.h"
#include "gateway/hubhttp.h"
#include "net/http/server.h"

enum {
    METRICS_BUCKETS = 13,
    METRICS_STATUSES = 500, /* from 100 on */
    METRICS_MAX_BYTES = 64 << 10,
};

enum metrics_outcome { METRICS_OK, METRICS_ERROR, METRICS_CANCELLED, METRICS_OUTCOMES };

struct metrics {
    int64_t started_wall_ms;
    uint64_t calls[METRICS_OUTCOMES];
    uint64_t buckets[METRICS_BUCKETS + 1]; /* the last: slower than all of them */
    uint64_t call_ms;
    uint64_t statuses[METRICS_STATUSES];
    uint64_t broken; /* requests without a whole answer */
    uint64_t sent_bytes;
    uint64_t logins[2]; /* refused, let in */
};

void metrics_count_call(struct metrics *metrics, enum metrics_outcome outcome, int64_t took_ms);
void metrics_count_request(struct metrics *metrics, const struct http_access *access);

/* Appends the page. */
int metrics_write(const struct metrics *metrics, struct hubhttp *gateway, struct buf *out);

#endif
