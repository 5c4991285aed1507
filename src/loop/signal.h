/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals as events of the loop: the callback runs on the loop thread, where
 * anything may be done, not in a signal handler. Several deliveries before the
 * loop comes round may arrive as one.
 *
 * SIGCHLD of watched processes is child.h's business. What a signal means is
 * decided by the programs.
 */
#ifndef LOOP_SIGNAL_H
#define LOOP_SIGNAL_H

#include "loop/loop.h"

struct signal_watch;

/* Watches do not keep loop_run() running. Several may share a signal: all are called. */
int signal_watch_new(struct loop *loop, int signum, void (*on_signal)(void *data, int signum),
                     void *data, struct signal_watch **out_watch);

/* Allowed inside the callback; with the last watch of a signal its default action returns. */
void signal_watch_free(struct signal_watch *watch);

#endif
