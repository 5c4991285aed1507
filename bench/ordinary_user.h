/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the programs of a benchmark as an ordinary user, as usual: for root, the authority checks
 * each file before it opens it.
 */
#ifndef BENCH_ORDINARY_USER_H
#define BENCH_ORDINARY_USER_H

#include <stdbool.h>

/*
 * Lists up to a NULL: the programs that he has to get at, and folders, which become his. False, and
 * everything goes on as root, where he cannot. True too where nobody is root to begin with.
 */
bool ordinary_user_find(const char *const *programs, const char *const *folders);

/* In a child, before it starts a program: becomes him, if one was found. 0 or -1. */
int ordinary_user_become(void);

#endif
