/* SPDX-License-Identifier: Apache-2.0 */
/* What client.c and starter.c share: frames of ipc/frames.h between a program and its copy. */
#ifndef MEDIA_INTERNAL_H
#define MEDIA_INTERNAL_H

#include <stdint.h>

/* A request is a frame whose type is its job. An answer is some of DATA, and one END. */
enum { MEDIA_DATA = 0x40, MEDIA_END = 0x41 };

/* The body of END. */
enum media_end {
    MEDIA_ENDED_WELL,
    MEDIA_ENDED_BADLY,      /* it crashed, or was killed for its memory */
    MEDIA_ENDED_OVERTIME,   /* we killed it */
    MEDIA_ENDED_NOT_STARTED /* gatehouse-media is not installed */
};

enum {
    MEDIA_TIME_MS = 45 * 1000, /* for one request */
    MEDIA_CHUNK_BYTES = 64 << 10,
};

/*
 * The life of the copy: starts gatehouse-media for each request on `fd`, and ends when that is
 * closed. A request that comes while another is worked on means that nobody waits for that any
 * more.
 */
int media_starter_run(int fd, const char *libexec, int error_fd);

#endif
