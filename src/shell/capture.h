/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command prints to one stream: of any amount the beginning and the end
 * are kept, in memory that does not grow, and the text says how much is missing
 * between them.
 */
#ifndef SHELL_CAPTURE_H
#define SHELL_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct capture {
    size_t max_bytes; /* kept */
    struct buf head;  /* the first half of them */
    struct buf tail;  /* the last half, a ring once it is full */
    size_t oldest;    /* of the ring */
    uint64_t total;
};

void capture_init(struct capture *capture, size_t max_bytes);
void capture_done(struct capture *capture);

/* ERR_NO_MEMORY only: the bytes are then counted and not kept. */
int capture_add(struct capture *capture, struct str bytes);

/* Appends what was kept as valid UTF-8, with a line between beginning and end where some is
 * missing. */
int capture_text(const struct capture *capture, struct buf *out);

/* Appends the last line that has something in it, at most so many bytes of its beginning. */
int capture_last_line(const struct capture *capture, size_t max_bytes, struct buf *out);

#endif
