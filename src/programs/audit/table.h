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

void table_head(struct output *output, bool has_colour);
/* `is_interrupted`: an intent without an outcome. */
void table_row(struct output *output, bool has_colour, const struct json_value *record,
               bool is_interrupted);

/* Time of the record in ms; 0 if it has no valid time. */
int64_t table_time(const struct json_value *record);

#endif
