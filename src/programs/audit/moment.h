/* SPDX-License-Identifier: Apache-2.0 */
/* Reads times as people write them, in the local time zone. */
#ifndef PROGRAMS_AUDIT_MOMENT_H
#define PROGRAMS_AUDIT_MOMENT_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/*
 * Parses an age ("90s", "30m", "2h", "7d", "3w"), "today" and "yesterday" (their midnight), or ISO
 * 8601, which may be cut: 2026-03-01, 2026-03-01T12:00, 2026-03-01 12:00:00.5, with Z or +01:00,
 * else in the local zone.
 */
int moment_parse(struct str text, int64_t now_ms, int64_t *out_ms, struct err *err);

#endif
