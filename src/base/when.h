/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as people read them, in the local time zone. For programs there is clock_format_iso().
 * The zone is read from a file: a program calls tzset() before it confines itself.
 */
#ifndef BASE_WHEN_H
#define BASE_WHEN_H

#include <stdint.h>

enum when_form {
    WHEN_SHORT,   /* "03-01 12:00"; "2025-03-01" where the year would be in doubt */
    WHEN_MINUTES, /* "2026-03-01 12:00" */
    WHEN_SECONDS, /* "2026-03-01 12:00:00" */
};

enum { WHEN_BYTES = 32 };

void when_format(int64_t ms, int64_t now_ms, enum when_form form, char out_text[WHEN_BYTES]);

/* "5 minutes ago", "in 3 days", "just now" */
void when_relative(int64_t ms, int64_t now_ms, char out_text[WHEN_BYTES]);

#endif
