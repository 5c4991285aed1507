/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/threads.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "base/clock.h"
#include "base/streams.h"
#include "isolate/sanitized.h"

enum { STEP_NS = 1000000 };

/* Number of threads, -1 if /proc does not tell. */
static int count_threads(void)
{
    cleanup_dir DIR *dir = opendir("/proc/self/task");
    int count = 0;

    if (dir == NULL)
        return -1;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            count++;
    return count;
}

int threads_check_alone(struct err *err)
{
    int count;

    /*
     * A thread cannot leave its process while there are others, and the kernel says so
     * with EINVAL; a process of one thread has nothing to leave, and nothing changes.
     * A filter around us may refuse the call itself: then the threads are counted.
     */
    if (ISOLATE_THREADS_BEFORE_MAIN == 1 && unshare(CLONE_THREAD) == 0)
        return 0;
    count = count_threads();
    /* A sanitizer's own thread comes before main, or with the first of ours. */
    if (count >= 1 && count <= ISOLATE_THREADS_BEFORE_MAIN)
        return 0;
    if (count < 0)
        return err_set(err, ERR_INTERNAL, "cannot determine whether there are other threads");
    return err_set(err, ERR_INTERNAL, "%d other threads would stay unconfined",
                   count - ISOLATE_THREADS_BEFORE_MAIN);
}

bool threads_wait_alone(int64_t at_most_ms)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    int64_t deadline = clock_monotonic_ms(&clock_system) + at_most_ms;

    while (threads_check_alone(NULL) < 0) {
        if (clock_monotonic_ms(&clock_system) >= deadline)
            return false;
        nanosleep(&step, NULL);
    }
    return true;
}
