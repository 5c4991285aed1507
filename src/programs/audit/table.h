/* SPDX-License-Identifier: Apache-2.0 */
/* Records for people: a line each, in columns. Nothing in a record can steer the terminal. */
#ifndef PROGRAMS_AUDIT_TABLE_H
#define PROGRAMS_AUDIT_TABLE_H

#include <stdbool.h>

#include "base/json.h"
#include "cli/output.h"

void table_head(struct output *output, bool has_colour);
/* `is_interrupted`: an intent that has no outcome. */
void table_row(struct output *output, bool has_colour, const struct json_value *record,
               bool is_interrupted);

/* When it was, in ms; 0 where a record's time is none. */
int64_t table_time(const struct json_value *record);

#endif
