/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One lock for everything in a program whose calls are threads. A call holds it, except while it
 * waits for an answer from outside; so calls are written as they are read, from the first step to
 * the last, and none waits for what another one waits for.
 *
 * One thread reads what comes. If it runs a call itself, it goes on reading while the call waits:
 * to wake another thread for each answer would take longer than many an answer.
 */
#ifndef LOOP_MONITOR_H
#define LOOP_MONITOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct monitor {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_cond_t wanted; /* one of those that are parked */
    bool has_news;         /* to tell by whoever leaves */
    bool has_reader;
    pthread_t reader;
    bool (*read)(void *data, int64_t ms);
    void *data;
};

int monitor_init(struct monitor *monitor);
void monitor_done(struct monitor *monitor);
void monitor_enter(struct monitor *monitor);
void monitor_leave(struct monitor *monitor);
/* Same, if another thread may free the monitor when it sees what this one did. */
void monitor_leave_for_good(struct monitor *monitor);

/*
 * This thread is the one that reads. `read` does so once, waiting so long outside the monitor;
 * false: nothing can come any more.
 */
void monitor_set_reader(struct monitor *monitor, bool (*read)(void *data, int64_t ms), void *data);

/* Something happened that a call may wait for: it is told when this thread leaves or waits. */
void monitor_tell(struct monitor *monitor);
/* Waits, outside the monitor, until something happens. False: the moment has come. */
bool monitor_wait(struct monitor *monitor, int64_t deadline_ms);

/* Waits, outside the monitor, until this thread is wanted. It may also come back for nothing. */
void monitor_park(struct monitor *monitor);
void monitor_want_one(struct monitor *monitor);
void monitor_want_all(struct monitor *monitor);

/* A thread for calls, which nobody waits for by itself; ERR_BUSY or ERR_NO_MEMORY. */
int monitor_start_thread(void *(*run)(void *data), void *data);

/* By the system's monotonic clock. */
int64_t monitor_now_ms(void);

#endif
