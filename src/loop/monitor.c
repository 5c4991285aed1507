/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/monitor.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"

enum { STACK_BYTES = 512 << 10 };

int monitor_init(struct monitor *monitor)
{
    pthread_condattr_t attributes;
    int r;

    monitor->has_news = false;
    monitor->has_reader = false;
    if (pthread_condattr_init(&attributes) != 0)
        return ERR_NO_MEMORY;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    r = pthread_cond_init(&monitor->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (r != 0)
        return ERR_NO_MEMORY;
    /* Of the plain kinds, which cannot fail here. */
    (void)pthread_cond_init(&monitor->wanted, NULL);
    (void)pthread_mutex_init(&monitor->mutex, NULL);
    return 0;
}

void monitor_done(struct monitor *monitor)
{
    pthread_mutex_destroy(&monitor->mutex);
    pthread_cond_destroy(&monitor->wanted);
    pthread_cond_destroy(&monitor->changed);
}

void monitor_enter(struct monitor *monitor)
{
    pthread_mutex_lock(&monitor->mutex);
}

/* After unlocking: whoever is woken inside would have to wait for the lock again. */
void monitor_leave(struct monitor *monitor)
{
    bool tells = monitor->has_news;

    monitor->has_news = false;
    pthread_mutex_unlock(&monitor->mutex);
    if (tells)
        pthread_cond_broadcast(&monitor->changed);
}

void monitor_leave_for_good(struct monitor *monitor)
{
    monitor->has_news = false;
    pthread_cond_broadcast(&monitor->changed);
    pthread_mutex_unlock(&monitor->mutex);
}

void monitor_set_reader(struct monitor *monitor, bool (*read)(void *data, int64_t ms), void *data)
{
    monitor->has_reader = true;
    monitor->reader = pthread_self();
    monitor->read = read;
    monitor->data = data;
}

void monitor_tell(struct monitor *monitor)
{
    monitor->has_news = true;
}

static void tell_now(struct monitor *monitor)
{
    if (monitor->has_news)
        pthread_cond_broadcast(&monitor->changed);
    monitor->has_news = false;
}

bool monitor_wait(struct monitor *monitor, int64_t deadline_ms)
{
    int64_t left = deadline_ms - monitor_now_ms();
    struct timespec until;

    if (left <= 0)
        return false;
    if (monitor->has_reader && pthread_equal(monitor->reader, pthread_self()))
        return monitor->read(monitor->data, left);
    tell_now(monitor);
    until = clock_after_ms(left);
    return pthread_cond_timedwait(&monitor->changed, &monitor->mutex, &until) != ETIMEDOUT;
}

void monitor_park(struct monitor *monitor)
{
    tell_now(monitor);
    pthread_cond_wait(&monitor->wanted, &monitor->mutex);
}

void monitor_want_one(struct monitor *monitor)
{
    pthread_cond_signal(&monitor->wanted);
}

void monitor_want_all(struct monitor *monitor)
{
    pthread_cond_broadcast(&monitor->wanted);
}

int monitor_start_thread(void *(*run)(void *data), void *data)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int r = pthread_attr_init(&attributes);

    if (r != 0)
        return ERR_NO_MEMORY;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    r = pthread_create(&thread, &attributes, run, data);
    pthread_attr_destroy(&attributes);
    return r == 0 ? 0 : ERR_BUSY;
}

int64_t monitor_now_ms(void)
{
    return clock_monotonic_ms(&clock_system);
}
