/* SPDX-License-Identifier: Apache-2.0 */
/* Records as rows of a table: calls, or steps with all about them. */
#ifndef PROGRAMS_AUDIT_ROWS_H
#define PROGRAMS_AUDIT_ROWS_H

#include <stdbool.h>

#include "base/json.h"
#include "cli/table.h"

void rows_init(struct table *table, struct output *output, bool shows_steps);

/* `is_interrupted`: an intent without an outcome. */
void rows_put(struct table *table, const struct json_value *record, bool is_interrupted);

/* Whether it is the end of a call, not a step. */
bool rows_is_call(const struct json_value *record);

/* Time of the record in ms; 0 if it has no valid time. */
int64_t rows_time(const struct json_value *record);

#endif
