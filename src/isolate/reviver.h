/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts companions again for a program that can start none, because it is confined: a copy of the
 * program that was made before does it, and passes their sockets on. The program has to be allowed
 * to receive them (confine_plan.passes_messages).
 */
#ifndef ISOLATE_REVIVER_H
#define ISOLATE_REVIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* In the copy. Returns the program's end of the companion's socket, or a negative code. */
typedef int reviver_start(void *data, uint32_t which, struct err *err);

/*
 * Makes the copy, which ends when *out_fd is closed. If it is killed, its own parent makes another
 * one, which does nothing else. Call it before there are threads.
 */
int reviver_fork(reviver_start *start, void *data, int *out_fd, struct err *err);

/* Asks for a companion, and takes the next answer, if there is one; neither waits. */
int reviver_ask(int fd, uint32_t which);
/* *out_fd is -1 if the companion could not be started. */
bool reviver_take(int fd, uint32_t *out_which, int *out_fd);

/* Both, for who can wait for a start. Answers to earlier questions are dropped. */
int reviver_get(int fd, uint32_t which, int max_ms, int *out_fd, struct err *err);

#endif
