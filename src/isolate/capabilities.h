/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops the capabilities of a process that runs as root, except those that its access to files
 * requires.
 */
#ifndef ISOLATE_CAPABILITIES_H
#define ISOLATE_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Irrevocable, for the calling thread and those that it starts. *out_holds_any tells whether any
 * capability was kept.
 */
int capabilities_drop(bool changes_files, bool *out_holds_any, struct err *err);

/* How many the kernel knows; 0 if it does not tell. */
unsigned capabilities_count(void);

/*
 * Drops all of them, from all sets and for all programs started later; no call fails, unless this
 * does. 0 or an errno value.
 */
int capabilities_drop_all(unsigned count);

/*
 * Of all that this process holds, keeps these bits (1 << CAP_...); enough for one that starts no
 * programs. 0 or an errno value.
 */
int capabilities_hold(uint64_t held);

/*
 * The same, and drops the others also from what programs started later may have. 0 or an
 * errno value.
 */
int capabilities_keep(uint64_t kept);

#endif
