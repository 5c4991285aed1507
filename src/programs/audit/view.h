/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is shown of the records: an intent and its outcome are one row, an intent
 * without outcome is one that was interrupted. Two ways: the newest few, gathered
 * from the newest back and printed in order; or all, printed as they come.
 */
#ifndef PROGRAMS_AUDIT_VIEW_H
#define PROGRAMS_AUDIT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "cli/output.h"

enum {
    VIEW_MAX_BYTES = 256 << 20,     /* of lines that are gathered */
    VIEW_HELD_MAX_BYTES = 16 << 20, /* of intents that wait for their outcome */
};

struct view_config {
    struct output *output;
    bool is_json; /* the lines as they are; then an intent is a row of its own */
    bool is_on_terminal;
    bool has_colour;
    bool only_interrupted;
    bool hides_own;   /* leaves out what went well and is no agent's doing */
    int64_t until_ms; /* rows from then on are not shown; 0: all are */
    size_t limit;     /* of rows that are gathered */
};

struct view;

int view_new(const struct view_config *config, struct view **out_view);
void view_free(struct view *view);

/* Besides the codes of ERR_*: there are enough. */
enum { VIEW_FULL = 1 };

/* Each is an audit_visit_fn; `data` is the view. */
int view_gather(void *data, struct str line, const struct json_value *record); /* newest first */
int view_stream(void *data, struct str line, const struct json_value *record);

/* How many rows so far. */
size_t view_printed(const struct view *view);

/* Prints what was gathered, and forgets it. */
int view_print(struct view *view);
/* At the end of a stream: the intents that still wait have no outcome. */
int view_end(struct view *view);

#endif
