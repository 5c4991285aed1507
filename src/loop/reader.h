/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes from a descriptor as they come: a pipe, a socket, a terminal or a file.
 * Waiting for one that can be read without reading it, for those who have their
 * own way of doing so, is here too. The descriptor stays the caller's; while it
 * is read it does not block, and gets its old flags back afterwards.
 */
#ifndef LOOP_READER_H
#define LOOP_READER_H

#include <stdbool.h>

#include "base/str.h"
#include "loop/loop.h"

struct reader;

struct reader_events {
    /* Some bytes, which are gone when it returns. It may pause and free the reader. */
    void (*on_bytes)(void *data, struct str bytes);
    /* Once: 0 at the end, else an ERR_* code. It may free the reader. */
    void (*on_end)(void *data, int error);
    void *data;
};

/* Keeps loop_run() running until the end, unless it is paused. */
int reader_new(struct loop *loop, int fd, const struct reader_events *events,
               struct reader **out_reader);

/* Nothing is read while it is paused; a call already under way is the last. */
void reader_pause(struct reader *reader);
void reader_resume(struct reader *reader);
void reader_free(struct reader *reader);

struct ready_watch;

/* Calls on_ready on every turn in which there is something to read. Keeps no loop running. */
int ready_watch_new(struct loop *loop, int fd, void (*on_ready)(void *data), void *data,
                    struct ready_watch **out_watch);
/* Before the descriptor is closed; allowed inside on_ready. */
void ready_watch_free(struct ready_watch *watch);

#endif
