/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/procstat.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { LINE_BYTES = 1024 };

/* The fields behind the process's name, which may contain anything, also brackets: ") S 12 ...". */
static bool parse(const char *line, struct procstat *out_stat)
{
    enum { PARENT = 1, GROUP, FIRST_TIME = 11, LAST_TIME = 14, PAGES = 21, FIELDS };
    const char *at = strrchr(line, ')');

    if (at == NULL || strlen(at) < 4)
        return false;
    *out_stat = (struct procstat){.has_ended = at[2] == 'Z' || at[2] == 'X'};
    at += 3;
    /* sscanf() would be a tenth of some programs. */
    for (int i = PARENT; i < FIELDS; i++) {
        char *end;
        const long long value = strtoll(at, &end, 10);

        if (end == at)
            return false;
        if (i == PARENT)
            out_stat->parent = (pid_t)value;
        if (i == GROUP)
            out_stat->group = (pid_t)value;
        if (i >= FIRST_TIME && i <= LAST_TIME)
            out_stat->ticks += (uint64_t)value;
        if (i == PAGES)
            out_stat->pages = (uint64_t)value;
        at = end;
    }
    return true;
}

bool procstat_read(int proc_fd, const char *number, struct procstat *out_stat)
{
    char path[NAME_MAX + sizeof("/stat")];
    char line[LINE_BYTES];
    cleanup_fd int fd = -1;
    ssize_t got;

    snprintf(path, sizeof(path), "%s/stat", number);
    fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    got = fd >= 0 ? read(fd, line, sizeof(line) - 1) : -1;
    if (got <= 0)
        return false;
    line[got] = '\0';
    return parse(line, out_stat);
}

bool procstat_of(pid_t pid, struct procstat *out_stat)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return procstat_read(AT_FDCWD, path, out_stat);
}
