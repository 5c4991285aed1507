/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether any Gatehouse program runs commands with network access for this user: such
 * commands can reach a daemon's local port and pass for the user there. A program that starts them
 * takes a shared lock in the user's settings directory, which no sandbox can see. Its launcher
 * holds the lock, so it lasts as long as the commands.
 */
#ifndef SESSION_NETWORKLOCK_H
#define SESSION_NETWORKLOCK_H

#include <stdbool.h>

#include "base/err.h"

/* Leaves *out_fd alone if the user has no settings directory or it is not writable. */
int networklock_share(int *out_fd, struct err *err);

bool networklock_is_shared(void);

#endif
