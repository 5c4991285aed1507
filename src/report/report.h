/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTML page of what an agent did in a session, from the records of the audit log: its changes
 * as diffs, its commands and what they printed, questions and answers, refusals. The page loads
 * nothing and has no script; whatever comes from a record is text in it, and what looks like a
 * secret is replaced. Its size is bounded, whatever the session did.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

enum {
    REPORT_MAX_CALLS = 5000,     /* shown; the others are counted */
    REPORT_MAX_FILES = 400,      /* in the list of changed files; likewise */
    REPORT_MAX_BYTES = 24 << 20, /* of the page */
    REPORT_LEAST_BYTES = 2 << 20,
};

struct report;

/* The page has at most that many bytes, from REPORT_LEAST_BYTES to REPORT_MAX_BYTES. */
int report_new(struct str session, size_t max_bytes, struct report **out_report);
void report_free(struct report *report);

/* A record of this session, in the order of the log: oldest first. Others are ignored. */
int report_add(struct report *report, const struct json_value *record);

/* How many calls were added. */
uint64_t report_calls(const struct report *report);

/* Appends the page. */
int report_write(struct report *report, int64_t now_ms, struct buf *out);

#endif
