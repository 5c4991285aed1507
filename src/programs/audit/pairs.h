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

enum {
    PAIRS_MAX = 64 << 10, /* unmatched records; beyond that the oldest is dropped */
    PAIRS_NEAR = 4096,    /* so many are looked at by pairs_has() */
};

/* A hash of what a record has in common with its counterpart. Never 0. */
uint64_t pairs_key(const struct json_value *record);

/* A hash of the call that a record belongs to; 0: none. */
uint64_t pairs_call(const struct json_value *record);

/* Keys of records without a counterpart so far. */
struct pairs {
    size_t count; /* including those already taken */
    size_t first; /* oldest entry of the ring */
    uint64_t keys[PAIRS_MAX];
};

void pairs_add(struct pairs *pairs, uint64_t key);
/* Takes the one that was added last; false if there is none. */
bool pairs_take(struct pairs *pairs, uint64_t key);
/* Whether it is among those that were added last. */
bool pairs_has(const struct pairs *pairs, uint64_t key);

#endif
