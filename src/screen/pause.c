/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/pause.h"

#include <stddef.h>
#include <time.h>

static screen_pause_fn *watcher;
static void *watcher_data;

void screen_pause_watch(screen_pause_fn *watch, void *data)
{
    watcher = watch;
    watcher_data = data;
}

int screen_pause(unsigned ms, struct err *err)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    if (watcher != NULL)
        return watcher(watcher_data, ms, err);
    while (nanosleep(&time, &time) < 0)
        ;
    return 0;
}
