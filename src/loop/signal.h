/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals as events of the loop: the callback runs on the loop thread, where anything is allowed,
 * not in a signal handler. Several deliveries before the next iteration may arrive as one.
 *
 * child.h handles SIGCHLD of watched processes. The programs decide what a signal means.
 */
#ifndef LOOP_SIGNAL_H
#define LOOP_SIGNAL_H

#include "loop/loop.h"

struct signal_watch;

/* Watches do not keep loop_run() running. Several may share a signal: all are called. */
int signal_watch_new(struct loop *loop, int signum, void (*on_signal)(void *data, int signum),
                     void *data, struct signal_watch **out_watch);

/* Allowed inside the callback; the last watch of a signal restores its default action. */
void signal_watch_free(struct signal_watch *watch);

#endif
