/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to a descriptor, without ever waiting for the other side: what it does
 * not take at once is kept, up to a ceiling. The descriptor stays the caller's.
 */
#ifndef LOOP_WRITER_H
#define LOOP_WRITER_H

#include <stddef.h>

#include "base/str.h"
#include "loop/loop.h"

struct writer;

enum { WRITER_MAX_PARTS = 8 };

struct writer_events {
    /* All that was kept is written. */
    void (*on_drained)(void *data);
    /* Once: nothing can be written any more. What was kept is lost. */
    void (*on_broken)(void *data, int error);
    void *data;
};

/* Keeps loop_run() running while something is kept. Callbacks never come from inside a call. */
int writer_new(struct loop *loop, int fd, size_t max_bytes, const struct writer_events *events,
               struct writer **out_writer);

/*
 * The same for a terminal, which takes nothing while it is stopped (Ctrl-S) or its other side
 * hangs. It gets its flags back when the writer is freed; who reads from the same open file at
 * the same time restores them once more.
 */
int writer_new_terminal(struct loop *loop, int fd, size_t max_bytes,
                        const struct writer_events *events, struct writer **out_writer);

/*
 * All of the parts, one behind the other, or nothing: ERR_TOO_LARGE when they
 * do not fit under the ceiling with what is kept already; ERR_IO once broken.
 */
int writer_send(struct writer *writer, const struct str *parts, size_t count);

/* Bytes that the other side has not taken. */
size_t writer_kept(const struct writer *writer);

void writer_free(struct writer *writer);

#endif
