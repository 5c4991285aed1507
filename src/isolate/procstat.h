/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells of a process in one line. */
#ifndef ISOLATE_PROCSTAT_H
#define ISOLATE_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procstat {
    bool has_ended; /* nobody has reaped it yet */
    pid_t parent;
    pid_t group;
    uint64_t ticks; /* of the processor, with those of reaped children */
    uint64_t pages; /* in memory */
};

/* False if there is no such process. `number` is its name in /proc. */
bool procstat_read(int proc_fd, const char *number, struct procstat *out_stat);
bool procstat_of(pid_t pid, struct procstat *out_stat);

#endif
