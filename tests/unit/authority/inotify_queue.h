/* SPDX-License-Identifier: Apache-2.0 */
/* How many events the kernel keeps for an inotify instance before it loses them. */
#ifndef TESTS_UNIT_AUTHORITY_INOTIFY_QUEUE_H
#define TESTS_UNIT_AUTHORITY_INOTIFY_QUEUE_H

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "base/str.h"

enum { MAX_QUEUE = 200000 }; /* more would take too long to fill */

/* 0: it is not told. */
static inline int64_t queue_length(void)
{
    int fd = open("/proc/sys/fs/inotify/max_queued_events", O_RDONLY | O_CLOEXEC);
    char text[32];
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text)) : 0;
    int64_t length = 0;

    if (fd >= 0)
        close(fd);
    if (got <= 0 || !str_to_int64(str_trim((struct str){text, (size_t)got}), &length))
        return 0;
    return length;
}

#endif
