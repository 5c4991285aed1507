/* SPDX-License-Identifier: Apache-2.0 */
/* Expiry times of rules, as people and files write them. */
#ifndef PERMISSION_RULES_EXPIRY_H
#define PERMISSION_RULES_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/*
 * Parses ISO 8601: "2026-12-01" (start of the day, UTC), "2026-12-01T18:00Z", "…T18:00:30.5+01:00".
 * Years 1970 to 9999; a time needs a zone. Result in ms since 1970.
 */
bool expiry_read_time(struct str text, int64_t *out_wall_ms);

/* Parses "90s", "30min", "2h", "7d", "2w" to ms; more than 0. */
bool expiry_read_span(struct str text, int64_t *out_ms);

#endif
