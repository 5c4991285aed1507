/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-1-3: a keyed hash for tables with untrusted names. Without the key nobody can choose
 * names that collide. Not for signatures.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

#include "base/str.h"

struct hash_key {
    uint64_t low;
    uint64_t high;
};

uint64_t hash_str(const struct hash_key *key, struct str text);

/* The process's random key, generated at first use. */
const struct hash_key *hash_process_key(void);

#endif
