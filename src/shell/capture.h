/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a command on one stream: keeps its beginning and end in bounded memory, and the
 * text says how much is missing between them.
 */
#ifndef SHELL_CAPTURE_H
#define SHELL_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "shell/history.h"

struct capture {
    size_t max_bytes;    /* kept */
    struct buf head;     /* the first half of them */
    struct history tail; /* of what came behind it, the last half */
    uint64_t total;
};

void capture_init(struct capture *capture, size_t max_bytes);
void capture_done(struct capture *capture);

/* Returns only ERR_NO_MEMORY: the bytes are then counted but not kept. */
int capture_add(struct capture *capture, struct str bytes);

/*
 * Appends what was kept as valid UTF-8; a line between beginning and end says if some is missing.
 */
int capture_text(const struct capture *capture, struct buf *out);

/* Appends the last non-empty line, cut to max_bytes. */
int capture_last_line(const struct capture *capture, size_t max_bytes, struct buf *out);

#endif
