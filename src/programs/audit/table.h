/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints records for people: one line each, in columns. Nothing in a record can control the
 * terminal.
 */
#ifndef PROGRAMS_AUDIT_TABLE_H
#define PROGRAMS_AUDIT_TABLE_H

#include <stdbool.h>

#include "base/json.h"
#include "cli/output.h"

struct table {
    struct output *output;
    bool has_colour;
    bool shows_steps; /* operations, with all about them; else calls */
    size_t columns;   /* of the terminal; 0: lines of any length */
};

void table_head(const struct table *table);
/* `is_interrupted`: an intent without an outcome. */
void table_row(const struct table *table, const struct json_value *record, bool is_interrupted);

/* Whether it is the end of a call, not a step. */
bool table_is_call(const struct json_value *record);

/* Time of the record in ms; 0 if it has no valid time. */
int64_t table_time(const struct json_value *record);

#endif
