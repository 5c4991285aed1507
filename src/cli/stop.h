/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Being stopped by SIGINT, SIGTERM or SIGHUP, for programs without a loop: they look, end in order
 * and exit with 128 and the number. Those with a loop use loop/signal.
 */
#ifndef CLI_STOP_H
#define CLI_STOP_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#include "base/cancel.h"

enum { STOP_EXIT = 128 }; /* and the signal's number */

/* 0, or the signal that came. */
extern volatile sig_atomic_t stop_signal;

/*
 * Each one once: where the program hangs in the kernel, the second one ends it. What whoever
 * started us has switched off stays so, and a reader that goes away is an error of write().
 * `cancel`, or NULL, is set off too.
 */
void stop_watch(struct cancel *cancel);

/* For something to happen, or a signal: none slips in before the waiting. False if stopped. */
bool stop_wait(struct pollfd *fds, nfds_t count);

#endif
