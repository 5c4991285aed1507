/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether commands with network run for this user, of whatever program of ours: they reach the
 * local port of a daemon and pass for the user there. A program that starts some shares a lock in
 * the user's own directory of settings, which no box shows; its launcher has it, and so it lasts as
 * long as they do.
 */
#ifndef SESSION_NETWORKLOCK_H
#define SESSION_NETWORKLOCK_H

#include <stdbool.h>

#include "base/err.h"

/* Where the user has no such directory, or nothing can be written there, *out_fd is left alone. */
int networklock_share(int *out_fd, struct err *err);

bool networklock_is_shared(void);

#endif
