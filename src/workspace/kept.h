/* SPDX-License-Identifier: Apache-2.0 */
/* What a command wrote to one stream: its beginning and its end, of a limited size. */
#ifndef WORKSPACE_KEPT_H
#define WORKSPACE_KEPT_H

#include <stdint.h>

#include "base/buf.h"

struct kept_stream {
    struct buf head;
    struct buf tail;
    size_t half;    /* bytes of each */
    uint64_t total; /* that were written */
};

void kept_init(struct kept_stream *kept, size_t half);
void kept_done(struct kept_stream *kept);
/* As if nothing had been written. */
void kept_clear(struct kept_stream *kept);

/* Without memory it is as if there was more than can be shown. */
void kept_add(struct kept_stream *kept, struct str bytes);

/* The stream as text, with a line in the middle if something is missing. */
int kept_show(struct kept_stream *kept, struct buf *out);

#endif
