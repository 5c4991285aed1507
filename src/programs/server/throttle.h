/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often something may be tried, by name or address: so many at once, then one each interval.
 *
 * A fixed table without names: two that share a place share their tries. Nobody can choose names
 * that do (hash.h), and nobody can push another's place out by trying many names.
 */
#ifndef PROGRAMS_SERVER_THROTTLE_H
#define PROGRAMS_SERVER_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { THROTTLE_PLACES = 1 << 14 };

struct throttle {
    int64_t interval_ms;
    int64_t at_once;
    int64_t full_at_ms[THROTTLE_PLACES]; /* when all tries are there again */
};

/* NULL without memory; free() frees it. */
struct throttle *throttle_new(int64_t at_once, int64_t interval_ms);
/* Uses up one try. False, and how long to wait, if there is none left. */
bool throttle_take(struct throttle *throttle, struct str key, int64_t now_ms, int64_t *out_wait_ms);
/* It was none: the password was right. */
void throttle_give_back(struct throttle *throttle, struct str key);
/* Whether a try is left. */
bool throttle_has(const struct throttle *throttle, struct str key, int64_t now_ms,
                  int64_t *out_wait_ms);

#endif
