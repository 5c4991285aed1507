/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads bytes from a descriptor as they come: a pipe, a socket, a terminal or a file. Also watches
 * a descriptor for readability, for callers that read in their own way. The caller owns the
 * descriptor; it is nonblocking while being read, and gets its old flags back afterwards.
 */
#ifndef LOOP_READER_H
#define LOOP_READER_H

#include <stdbool.h>

#include "base/str.h"
#include "loop/loop.h"

struct reader;

struct reader_events {
    /* Some bytes, which are invalid after it returns. It may pause and free the reader. */
    void (*on_bytes)(void *data, struct str bytes);
    /* Called once: 0 at the end, else an ERR_* code. It may free the reader. */
    void (*on_end)(void *data, int error);
    void *data;
};

/* Keeps loop_run() running until the end, unless paused. */
int reader_new(struct loop *loop, int fd, const struct reader_events *events,
               struct reader **out_reader);

/* Nothing is read while paused; a callback already running is the last. */
void reader_pause(struct reader *reader);
void reader_resume(struct reader *reader);
void reader_free(struct reader *reader);

struct ready_watch;

/*
 * Calls on_ready on every loop iteration in which there is something to read. Does not keep
 * loop_run() running.
 */
int ready_watch_new(struct loop *loop, int fd, void (*on_ready)(void *data), void *data,
                    struct ready_watch **out_watch);
/* Call before closing the descriptor; allowed inside on_ready. */
void ready_watch_free(struct ready_watch *watch);

#endif
