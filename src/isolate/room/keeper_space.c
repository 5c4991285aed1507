/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps rooms without a limit of disk space from filling the disk. The keeper looks at what is
 * free, the sooner the less it is. Below the floor it ends rooms that have written since the last
 * look; below half of the floor it ends all, also those whose writing it cannot see.
 */
#include "isolate/room/keeper.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum {
    LOOK_LEAST_MS = 100,
    LOOK_MOST_MS = 10000,
    BYTES_PER_MS = 4 << 20, /* faster than disks are */
    FILES_PER_MS = 200,
    MUCH_BYTES = 64 << 10, /* written from one look to the next */
};

static void end_for_space(struct kept *kept)
{
    if (kept->is_stopped || kept->is_in_memory)
        return;
    kept->is_out_of_space = true;
    keep_kill_room(kept);
}

/* How much each has written, and whether to end those who go on. */
static void weigh(struct keeper *keeper, bool is_low)
{
    cleanup_free struct cgroup_writer *writers = NULL;
    size_t count = 0;
    size_t i = 0;

    list_each (node, &keeper->kept)
        count++;
    writers = calloc(count + 1, sizeof(*writers));
    if (writers == NULL)
        return; /* half of the floor is left */
    list_each (node, &keeper->kept)
        writers[i++].first = list_entry(node, struct kept, node)->pid;
    cgroup_written(writers, count);
    i = 0;
    list_each (node, &keeper->kept) {
        struct kept *kept = list_entry(node, struct kept, node);
        const uint64_t written = writers[i++].bytes;

        if (is_low && kept->is_weighed && written >= kept->written + MUCH_BYTES)
            end_for_space(kept);
        kept->written = written;
        kept->is_weighed = true;
    }
}

/* Until the fastest writer could reach the floor. */
static int64_t time_left(const struct space *free, const struct space *floor)
{
    const uint64_t bytes = free->bytes > floor->bytes ? free->bytes - floor->bytes : 0;
    const uint64_t files = free->files > floor->files ? free->files - floor->files : 0;
    const uint64_t ms =
        bytes / BYTES_PER_MS < files / FILES_PER_MS ? bytes / BYTES_PER_MS : files / FILES_PER_MS;

    return ms < LOOK_LEAST_MS ? LOOK_LEAST_MS : ms > LOOK_MOST_MS ? LOOK_MOST_MS : (int64_t)ms;
}

static void look(struct keeper *keeper)
{
    const struct space *floor = &keeper->floor;
    const struct space twice = {floor->bytes * 2, floor->files * 2};
    struct space free;

    keeper->look_ms = clock_monotonic_ms(&clock_system) + LOOK_LEAST_MS;
    if (!space_free(keeper->rooms, &free))
        return; /* a disk that fails: the next look may tell */
    if (space_is_half_low(&free, floor)) {
        list_each (node, &keeper->kept)
            end_for_space(list_entry(node, struct kept, node));
    } else if (space_is_low(&free, &twice)) {
        weigh(keeper, space_is_low(&free, floor));
    }
    keeper->look_ms = clock_monotonic_ms(&clock_system) + time_left(&free, floor);
}

int keep_watch_space(struct keeper *keeper)
{
    int64_t left;

    if (list_is_empty(&keeper->kept) || (keeper->floor.bytes == 0 && keeper->floor.files == 0))
        return -1;
    left = keeper->look_ms - clock_monotonic_ms(&clock_system);
    if (left <= 0) {
        look(keeper);
        left = keeper->look_ms - clock_monotonic_ms(&clock_system);
    }
    return left > 0 ? (int)left : 0;
}
