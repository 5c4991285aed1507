/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes bytes to a descriptor without ever blocking: what the other side does not take at once is
 * kept, up to a limit. The caller owns the descriptor.
 */
#ifndef LOOP_WRITER_H
#define LOOP_WRITER_H

#include <stddef.h>

#include "base/str.h"
#include "loop/loop.h"

struct writer;

enum { WRITER_MAX_PARTS = 8 };

struct writer_events {
    /* All kept bytes were written. */
    void (*on_drained)(void *data);
    /* Called once: nothing can be written any more. Kept bytes are lost. */
    void (*on_broken)(void *data, int error);
    void *data;
};

/* Keeps loop_run() running while something is kept. Callbacks never come from inside a call. */
int writer_new(struct loop *loop, int fd, size_t max_bytes, const struct writer_events *events,
               struct writer **out_writer);

/*
 * Same for a terminal, which takes nothing while it is stopped (Ctrl-S) or its other side hangs.
 * Restores its flags when the writer is freed; a concurrent reader of the same open file must
 * restore them once more.
 */
int writer_new_terminal(struct loop *loop, int fd, size_t max_bytes,
                        const struct writer_events *events, struct writer **out_writer);

/*
 * Sends all parts, concatenated, or nothing: ERR_TOO_LARGE if they exceed the limit together with
 * the kept bytes; ERR_IO once broken.
 */
int writer_send(struct writer *writer, const struct str *parts, size_t count);

/* Bytes that the other side has not taken. */
size_t writer_kept(const struct writer *writer);

void writer_free(struct writer *writer);

#endif
