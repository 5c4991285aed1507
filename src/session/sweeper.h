/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the leftovers of killed sessions in a background thread, so that no call waits for it.
 * The thread exists only if there are leftovers.
 */
#ifndef SESSION_SWEEPER_H
#define SESSION_SWEEPER_H

#include <stdatomic.h>

#include "gatehouse/authority.h"
#include "loop/loop.h"

struct sweeper;

/*
 * *out_sweeper is NULL when there is nothing to do. *running counts the thread while it uses the
 * authority, and must outlive everything.
 */
int sweeper_new(struct loop *loop, struct authority *authority, atomic_uint *running,
                struct sweeper **out_sweeper);

/* Stops; the next start removes what remains. A thread that still runs afterwards hangs. */
void sweeper_free(struct sweeper *sweeper);

#endif
