/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes in the background what killed sessions have left: a thread of its own, so
 * that no call waits for it, which there is only when something was left.
 */
#ifndef SESSION_SWEEPER_H
#define SESSION_SWEEPER_H

#include <stdatomic.h>

#include "gatehouse/authority.h"
#include "loop/loop.h"

struct sweeper;

/*
 * *out_sweeper is NULL when there is nothing to do. *running counts the thread as long as it uses
 * the authority, and outlives everything.
 */
int sweeper_new(struct loop *loop, struct authority *authority, atomic_uint *running,
                struct sweeper **out_sweeper);

/* Gives up what is left, for the next start. Afterwards a thread that still runs hangs. */
void sweeper_free(struct sweeper *sweeper);

#endif
