/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which intent and which outcome are of one change. Request ids count within a
 * process, and several share a record; so all that both records say is compared,
 * and the nearest is taken.
 */
#ifndef PROGRAMS_AUDIT_PAIRS_H
#define PROGRAMS_AUDIT_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

enum { PAIRS_MAX = 64 << 10 }; /* that wait for their other half; then the oldest is forgotten */

/* What a record has in common with the other half. Never 0. */
uint64_t pairs_key(const struct json_value *record);

/* Keys that were met, and whose other half was not. */
struct pairs {
    size_t count; /* those that were taken included */
    size_t first; /* a ring: the oldest */
    uint64_t keys[PAIRS_MAX];
};

void pairs_add(struct pairs *pairs, uint64_t key);
/* The one that was added last; false if there is none. */
bool pairs_take(struct pairs *pairs, uint64_t key);

#endif
