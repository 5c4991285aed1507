/* SPDX-License-Identifier: Apache-2.0 */
/* News from a box's first process to whoever started it, over a pair of sockets; for box alone. */
#ifndef ISOLATE_BOX_CHANNEL_H
#define ISOLATE_BOX_CHANNEL_H

#include "isolate/box/internal.h"

/* With a descriptor, or -1. 0 or -1, with errno. */
int box_channel_tell(int channel, const struct box_news *news, int fd);

/* Waits. False: the other side has gone. A descriptor that comes along, else -1. */
bool box_channel_hear(int channel, struct box_news *out_news, int *out_fd);

/* Closes every descriptor but two. */
void box_channel_keep_only(int one, int other);

#endif
