/* SPDX-License-Identifier: Apache-2.0 */
/* When a rule ends, as people and files write it. */
#ifndef PERMISSION_RULES_EXPIRY_H
#define PERMISSION_RULES_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/*
 * ISO 8601: "2026-12-01" (its beginning, UTC), "2026-12-01T18:00Z", "…T18:00:30.5+01:00". Years
 * 1970 to 9999; a time needs its zone. In ms since 1970.
 */
bool expiry_read_time(struct str text, int64_t *out_wall_ms);

/* "90s", "30min", "2h", "7d", "2w": in ms; above 0. */
bool expiry_read_span(struct str text, int64_t *out_ms);

#endif
