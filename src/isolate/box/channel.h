/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from a sandbox's first process to its starter, over a socket pair; internal to box. */
#ifndef ISOLATE_BOX_CHANNEL_H
#define ISOLATE_BOX_CHANNEL_H

#include "isolate/box/internal.h"

/* Sends with a file descriptor, or -1. Returns 0, or -1 with errno. */
int box_channel_tell(int channel, const struct box_news *news, int fd);

/*
 * Waits for a message. False: the other side has closed. *out_fd is the descriptor received, or -1.
 */
bool box_channel_hear(int channel, struct box_news *out_news, int *out_fd);

/* Closes every file descriptor except these; those below 0 do not count. */
void box_channel_keep_only(const int *fds, size_t count);

#endif
