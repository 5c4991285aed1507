/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/monitor.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"

int monitor_init(struct monitor *monitor)
{
    pthread_condattr_t attributes;
    int r;

    if (pthread_condattr_init(&attributes) != 0)
        return ERR_NO_MEMORY;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    r = pthread_cond_init(&monitor->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (r != 0)
        return ERR_NO_MEMORY;
    if (pthread_mutex_init(&monitor->mutex, NULL) != 0) {
        pthread_cond_destroy(&monitor->changed);
        return ERR_NO_MEMORY;
    }
    return 0;
}

void monitor_done(struct monitor *monitor)
{
    pthread_mutex_destroy(&monitor->mutex);
    pthread_cond_destroy(&monitor->changed);
}

void monitor_enter(struct monitor *monitor)
{
    pthread_mutex_lock(&monitor->mutex);
}

void monitor_leave(struct monitor *monitor)
{
    pthread_mutex_unlock(&monitor->mutex);
}

void monitor_tell(struct monitor *monitor)
{
    pthread_cond_broadcast(&monitor->changed);
}

bool monitor_wait(struct monitor *monitor, int64_t deadline_ms)
{
    int64_t left = deadline_ms - monitor_now_ms();
    struct timespec until;

    if (left <= 0)
        return false;
    until = clock_after_ms(left);
    return pthread_cond_timedwait(&monitor->changed, &monitor->mutex, &until) != ETIMEDOUT;
}

int64_t monitor_now_ms(void)
{
    return clock_monotonic_ms(&clock_system);
}
