/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles SIGINT, SIGTERM and SIGHUP for programs without a loop: they check stop_signal, clean up
 * and exit with 128 plus the signal's number. Programs with a loop use loop/signal.
 */
#ifndef CLI_STOP_H
#define CLI_STOP_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#include "base/cancel.h"

enum { STOP_EXIT = 128 }; /* plus the signal's number */

/* 0, or the signal that was received. */
extern volatile sig_atomic_t stop_signal;

/*
 * Handles each signal once: if the program hangs in the kernel, the second one kills it. Signals
 * that the parent process ignored stay ignored. Ignores SIGPIPE, so that write() fails when the
 * reader is gone. A signal also triggers `cancel`, unless NULL.
 */
void stop_watch(struct cancel *cancel);

/*
 * Waits for an event or a signal, without a race between the check and the wait. False if stopped.
 */
bool stop_wait(struct pollfd *fds, nfds_t count);

#endif
