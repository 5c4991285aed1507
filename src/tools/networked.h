/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether commands with network run for this user, of whatever program of ours: they reach the
 * local port of a daemon and pass for the user there. A program that starts some shares a lock in
 * the user's own directory of settings, which no box shows; its launcher has it, and so it lasts as
 * long as they do.
 */
#ifndef TOOLS_NETWORKED_H
#define TOOLS_NETWORKED_H

#include <stdbool.h>

#include "base/err.h"

/* Where the user has no such directory, or nothing can be written there, *out_fd is left alone. */
int networked_share(int *out_fd, struct err *err);

bool networked_is_shared(void);

#endif
