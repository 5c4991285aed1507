/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/search/progress.h"

#include <stdio.h>
#include <unistd.h>

#define ERASE_LINE "\r\033[K"

enum { LINE_BYTES = 64 };

void progress_init(struct progress *progress, int fd, const struct clock *clock)
{
    *progress = (struct progress){
        .fd = fd, .clock = clock, .next_ms = clock_monotonic_ms(clock) + PROGRESS_AFTER_MS};
}

void progress_tell(void *data, uint64_t files)
{
    struct progress *progress = data;
    int64_t now_ms = clock_monotonic_ms(progress->clock);
    char line[LINE_BYTES];
    int len;

    if (now_ms < progress->next_ms)
        return;
    progress->next_ms = now_ms + PROGRESS_EVERY_MS;
    len = snprintf(line, sizeof(line), ERASE_LINE "%llu files searched", (unsigned long long)files);
    /* What cannot be shown is not missed. */
    if (write(progress->fd, line, (size_t)len) > 0)
        progress->is_shown = true;
}

void progress_end(struct progress *progress)
{
    if (progress->is_shown &&
        write(progress->fd, ERASE_LINE, sizeof(ERASE_LINE) - 1) == sizeof(ERASE_LINE) - 1)
        progress->is_shown = false;
}
