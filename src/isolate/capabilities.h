/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What root may do beyond other users, as long as it is run as root: only what its own
 * access to files rests on is kept.
 */
#ifndef ISOLATE_CAPABILITIES_H
#define ISOLATE_CAPABILITIES_H

#include <stdbool.h>

#include "base/err.h"

/*
 * For good, and for the calling thread and those that it starts. *out_holds_any says whether
 * something was kept.
 */
int capabilities_drop(bool changes_files, bool *out_holds_any, struct err *err);

/* Every one, from all sets and for all programs that are started later. 0 or an errno value. */
int capabilities_drop_all(void);

#endif
