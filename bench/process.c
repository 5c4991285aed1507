/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double process_cpu_ns(pid_t pid)
{
    struct timespec spent;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &spent) < 0)
        return -1;
    return (double)spent.tv_sec * 1e9 + (double)spent.tv_nsec;
}

double process_pss_kb(pid_t pid)
{
    char path[64];
    char line[256];
    double pss = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return -1;
    while (pss < 0 && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "Pss:", 4) == 0)
            pss = strtod(line + 4, NULL);
    fclose(file);
    return pss;
}

void process_run_on(pid_t pid, const cpu_set_t *cores)
{
    char path[64];
    const struct dirent *entry;
    DIR *threads;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    threads = opendir(path);
    if (threads == NULL)
        return;
    while ((entry = readdir(threads)) != NULL)
        if (entry->d_name[0] != '.')
            sched_setaffinity((pid_t)strtol(entry->d_name, NULL, 10), sizeof(*cores), cores);
    closedir(threads);
}

/* Appends the children of one of its threads, which are listed by who started them. */
static size_t add_children(pid_t pid, const char *thread, pid_t *pids, size_t count, size_t max)
{
    char path[320];
    char word[32];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, thread);
    file = fopen(path, "re");
    if (file == NULL)
        return count;
    while (count < max && fscanf(file, "%31s", word) == 1)
        pids[count++] = (pid_t)strtol(word, NULL, 10);
    fclose(file);
    return count;
}

size_t process_family(pid_t pid, pid_t *out_pids, size_t max)
{
    size_t count = 1;

    out_pids[0] = pid;
    /* The list grows while it is walked. */
    for (size_t i = 0; i < count; i++) {
        char path[64];
        const struct dirent *entry;
        DIR *threads;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)out_pids[i]);
        threads = opendir(path);
        while (threads != NULL && (entry = readdir(threads)) != NULL)
            if (entry->d_name[0] != '.')
                count = add_children(out_pids[i], entry->d_name, out_pids, count, max);
        if (threads != NULL)
            closedir(threads);
    }
    return count;
}
