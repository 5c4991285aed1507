/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses what to show of the records: a call is one row, and its steps are left out; or an intent
 * and its outcome are one row. An intent without an outcome was interrupted. Two ways: the newest
 * few, gathered newest first and printed in order; or all, printed as they come.
 */
#ifndef PROGRAMS_AUDIT_VIEW_H
#define PROGRAMS_AUDIT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "cli/output.h"
#include "programs/audit/rows.h"

enum {
    VIEW_MAX_BYTES = 256 << 20,     /* of gathered lines */
    VIEW_HELD_MAX_BYTES = 16 << 20, /* of records that wait for others */
    VIEW_HELD_MAX = 4096,           /* of those; then the oldest waits no longer */
};

struct view_config {
    struct output *output;
    bool is_json; /* raw lines; an intent is then a row of its own */
    bool is_on_terminal;
    struct table *table; /* unless is_json */
    bool shows_calls;    /* a row for each call, and for steps of calls without an end */
    bool only_interrupted;
    bool hides_own;   /* omits what succeeded and was not done by an agent */
    int64_t until_ms; /* exclusive end of the rows to show; 0: all */
    size_t limit;     /* most rows to gather */
};

struct view;

int view_new(const struct view_config *config, struct view **out_view);
void view_free(struct view *view);

/* Returned besides ERR_* codes: enough rows were gathered. */
enum { VIEW_FULL = 1 };

/* Each is an audit_visit_fn; `data` is the view. */
int view_gather(void *data, struct str line, const struct json_value *record); /* newest first */
int view_stream(void *data, struct str line, const struct json_value *record);

/* Number of rows so far. */
size_t view_printed(const struct view *view);

/* Prints the gathered rows and drops them. */
int view_print(struct view *view);
/* Call at the end of a stream: the remaining intents have no outcome. */
int view_end(struct view *view);

#endif
