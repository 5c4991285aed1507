/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches the intent and the outcome of a change. Request ids count within one process, and several
 * processes share a log; so everything that both records have in common is compared, and the
 * nearest match is taken.
 */
#ifndef PROGRAMS_AUDIT_PAIRS_H
#define PROGRAMS_AUDIT_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

enum { PAIRS_MAX = 64 << 10 }; /* unmatched records; beyond that the oldest is dropped */

/* A hash of what a record has in common with its counterpart. Never 0. */
uint64_t pairs_key(const struct json_value *record);

/* Keys of records without a counterpart so far. */
struct pairs {
    size_t count; /* including those already taken */
    size_t first; /* oldest entry of the ring */
    uint64_t keys[PAIRS_MAX];
};

void pairs_add(struct pairs *pairs, uint64_t key);
/* Takes the one that was added last; false if there is none. */
bool pairs_take(struct pairs *pairs, uint64_t key);

#endif
