/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes of a cgroup use. */
#include "isolate/cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/streams.h"

enum { STAT_BYTES = 1024, MAX_PROCESSES = 1 << 16, US_PER_SECOND = 1000000 };
enum { MAX_GENERATIONS = 1024 };

/* ---- By the cgroup ---- */

static bool read_number(const struct cgroup_leaf *leaf, const char *name, const char *key,
                        uint64_t *out_number)
{
    for (size_t i = 0; i < leaf->dir_count; i++) {
        char path[CGROUP_NAME_BYTES + 64];
        char text[STAT_BYTES];
        cleanup_fd int fd = -1;
        struct str rest;
        ssize_t got;

        snprintf(path, sizeof(path), "%s/%s", leaf->name, name);
        fd = openat(leaf->dirs[i].parent_fd, path, O_RDONLY | O_CLOEXEC);
        got = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
        if (got <= 0)
            continue;
        rest = (struct str){text, (size_t)got};
        for (struct str line; str_cut(&rest, '\n', &line);) {
            int64_t number;

            if (!str_starts_with(line, str_from(key)))
                continue;
            if (!str_to_int64(str_slice(line, strlen(key), line.len), &number) || number < 0)
                continue;
            *out_number = (uint64_t)number;
            return true;
        }
    }
    return false;
}

/* ---- By the processes ---- */

struct process {
    pid_t pid;
    pid_t parent;
    uint64_t ticks;
    uint64_t pages;
    bool is_counted;
};

/* The fields behind the name, which may contain anything: "S 12 ...". */
static bool read_process(int proc_fd, const char *name, struct process *out_process)
{
    enum { PARENT = 1, FIRST_TIME = 11, LAST_TIME = 14, PAGES = 21, FIELDS };
    char path[NAME_MAX + sizeof("/stat")];
    char text[STAT_BYTES];
    cleanup_fd int fd = -1;
    const char *at;
    ssize_t got;

    snprintf(path, sizeof(path), "%s/stat", name);
    fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (got <= 0)
        return false;
    text[got] = '\0';
    at = strrchr(text, ')');
    if (at == NULL || strlen(at) < 4)
        return false;
    *out_process = (struct process){.pid = (pid_t)strtol(name, NULL, 10)};
    at += 3;
    for (int i = 1; i < FIELDS; i++) {
        char *end;
        long long value = strtoll(at, &end, 10);

        if (end == at)
            return false;
        if (i == PARENT)
            out_process->parent = (pid_t)value;
        if (i >= FIRST_TIME && i <= LAST_TIME)
            out_process->ticks += (uint64_t)value;
        if (i == PAGES)
            out_process->pages = (uint64_t)value;
        at = end;
    }
    return true;
}

/* All processes of this machine; free it. */
static struct process *read_processes(size_t *out_count)
{
    cleanup_dir DIR *proc = opendir("/proc");
    struct process *all = NULL;
    size_t count = 0;
    size_t room = 0;

    if (proc == NULL)
        return NULL;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (count == room) {
            struct process *more =
                room < MAX_PROCESSES ? realloc(all, (room + 256) * sizeof(*all)) : NULL;

            if (more == NULL)
                break;
            all = more;
            room += 256;
        }
        if (read_process(dirfd(proc), entry->d_name, &all[count]))
            count++;
    }
    *out_count = count;
    return all;
}

/* Orphans become children of the first process, so all are its descendants. */
static void add_up(pid_t first, struct cgroup_usage *out_usage)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t ticks_per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    size_t count = 0;
    cleanup_free struct process *all = read_processes(&count);
    bool has_more = true;

    while (has_more) {
        has_more = false;
        for (size_t i = 0; i < count; i++) {
            bool is_one = all[i].pid == first;

            for (size_t j = 0; j < count && !is_one; j++)
                is_one = all[j].is_counted && all[j].pid == all[i].parent;
            if (all[i].is_counted || !is_one)
                continue;
            all[i].is_counted = has_more = true;
            out_usage->processes++;
            out_usage->memory_bytes += all[i].pages * page_bytes;
            out_usage->cpu_us += all[i].ticks * (US_PER_SECOND / ticks_per_second);
        }
    }
}

/* ---- What was written ---- */

static int compare_pids(const void *left, const void *right)
{
    const struct process *one = left;
    const struct process *other = right;

    return one->pid < other->pid ? -1 : one->pid > other->pid;
}

struct processes {
    struct process *items; /* in the order of their numbers */
    size_t count;
};

static pid_t parent_of(const struct processes *all, pid_t pid)
{
    const struct process wanted = {.pid = pid};
    const struct process *found =
        bsearch(&wanted, all->items, all->count, sizeof(*all->items), compare_pids);

    return found != NULL ? found->parent : 0;
}

/* The writer that it descends from; or NULL. */
static struct cgroup_writer *find_writer(const struct processes *all, pid_t pid,
                                         struct cgroup_writer *writers, size_t count)
{
    for (int i = 0; i < MAX_GENERATIONS && pid > 0; i++) {
        for (size_t k = 0; k < count; k++)
            if (writers[k].first == pid)
                return &writers[k];
        pid = parent_of(all, pid);
    }
    return NULL;
}

/* With what its children wrote that it has waited for: a line "write_bytes: 4096". */
static uint64_t read_written(pid_t pid)
{
    char path[64];
    char text[STAT_BYTES];
    cleanup_fd int fd = -1;
    struct str rest;
    ssize_t got;
    int64_t bytes;

    snprintf(path, sizeof(path), "/proc/%d/io", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    rest = (struct str){text, got > 0 ? (size_t)got : 0};
    for (struct str line; str_cut(&rest, '\n', &line);)
        if (str_starts_with(line, STR("write_bytes: ")) &&
            str_to_int64(str_slice(line, strlen("write_bytes: "), line.len), &bytes) && bytes > 0)
            return (uint64_t)bytes;
    return 0;
}

void cgroup_written(struct cgroup_writer *writers, size_t count)
{
    struct processes all = {0};
    cleanup_free struct process *items = read_processes(&all.count);

    for (size_t i = 0; i < count; i++)
        writers[i].bytes = 0;
    if (items == NULL)
        return;
    all.items = items;
    qsort(items, all.count, sizeof(*items), compare_pids);
    for (size_t i = 0; i < all.count; i++) {
        struct cgroup_writer *writer = find_writer(&all, items[i].pid, writers, count);

        if (writer != NULL)
            writer->bytes += read_written(items[i].pid);
    }
}

void cgroup_leaf_usage(const struct cgroup_leaf *leaf, pid_t first, struct cgroup_usage *out_usage)
{
    uint64_t memory;
    uint64_t cpu;
    uint64_t processes;
    const bool has_memory = read_number(leaf, "memory.current", "", &memory) ||
                            read_number(leaf, "memory.usage_in_bytes", "", &memory);
    const bool has_processes = read_number(leaf, "pids.current", "", &processes);
    bool has_cpu = read_number(leaf, "cpu.stat", "usage_usec ", &cpu);

    if (!has_cpu && read_number(leaf, "cpuacct.usage", "", &cpu)) {
        has_cpu = true;
        cpu /= 1000;
    }
    *out_usage = (struct cgroup_usage){0};
    if (!has_memory || !has_cpu || !has_processes)
        add_up(first, out_usage);
    if (has_memory)
        out_usage->memory_bytes = memory;
    if (has_cpu)
        out_usage->cpu_us = cpu;
    if (has_processes)
        out_usage->processes = (unsigned)processes;
}
