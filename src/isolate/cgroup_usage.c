/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes a sandbox has, and what they use. */
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
#include "isolate/procstat.h"

enum { STAT_BYTES = 1024, MAX_PROCESSES = 1 << 16, US_PER_SECOND = 1000000 };
enum { MAX_GENERATIONS = 1024, MAX_TIMES = 16, MEMBERS_BYTES = 1 << 14 };

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
    struct procstat stat;
};

struct processes {
    struct process *items; /* in the order of their numbers */
    size_t count;
};

static int compare_pids(const void *left, const void *right)
{
    const struct process *one = left;
    const struct process *other = right;

    return one->pid < other->pid ? -1 : one->pid > other->pid;
}

static void free_processes(struct processes *all)
{
    free(all->items);
}

/* All processes of this machine, as far as there is memory for them. */
static struct processes read_processes(void)
{
    cleanup_dir DIR *proc = opendir("/proc");
    struct processes all = {0};
    size_t room = 0;

    if (proc == NULL)
        return all;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (all.count == room) {
            struct process *more =
                room < MAX_PROCESSES ? realloc(all.items, (room + 256) * sizeof(*more)) : NULL;

            if (more == NULL)
                break;
            all.items = more;
            room += 256;
        }
        all.items[all.count].pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (procstat_read(dirfd(proc), entry->d_name, &all.items[all.count].stat))
            all.count++;
    }
    if (all.count > 0)
        qsort(all.items, all.count, sizeof(*all.items), compare_pids);
    return all;
}

static pid_t parent_of(const struct processes *all, pid_t pid)
{
    const struct process wanted = {.pid = pid};
    const struct process *found =
        bsearch(&wanted, all->items, all->count, sizeof(*all->items), compare_pids);

    return found != NULL ? found->stat.parent : 0;
}

/* Orphans become children of the first process, so all of a namespace are its descendants. */
static bool descends_from(const struct processes *all, pid_t pid, pid_t first)
{
    for (int i = 0; i < MAX_GENERATIONS && pid > 0 && pid != first; i++)
        pid = parent_of(all, pid);
    return pid == first;
}

static void add_up(pid_t first, struct cgroup_usage *out_usage)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t ticks_per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    cleanup_with(free_processes) struct processes all = read_processes();

    for (size_t i = 0; i < all.count; i++) {
        const struct process *one = &all.items[i];

        if (!descends_from(&all, one->pid, first))
            continue;
        out_usage->processes++;
        out_usage->memory_bytes += one->stat.pages * page_bytes;
        out_usage->cpu_us += one->stat.ticks * (US_PER_SECOND / ticks_per_second);
    }
}

/* ---- Moved into a cgroup ---- */

/* Whether the text has a line with just this number. */
static bool has_line(struct str text, pid_t pid)
{
    int64_t number;

    for (struct str line; str_cut(&text, '\n', &line);)
        if (str_to_int64(line, &number) && number == pid)
            return true;
    return false;
}

/* Which are in the last of its cgroups already, a line each. */
static void read_members(const struct cgroup_leaf *leaf, char out_text[MEMBERS_BYTES])
{
    char path[CGROUP_NAME_BYTES + sizeof("/cgroup.procs")];
    cleanup_fd int fd = -1;
    ssize_t got;

    snprintf(path, sizeof(path), "%s/cgroup.procs", leaf->name);
    fd = openat(leaf->dirs[leaf->dir_count - 1].parent_fd, path, O_RDONLY | O_CLOEXEC);
    got = fd >= 0 ? read(fd, out_text, MEMBERS_BYTES - 1) : -1;
    out_text[got > 0 ? got : 0] = '\0';
}

/*
 * SAFETY: by number, as the kernel wants it. A number is taken again only after all others have
 * been, not between two calls.
 */
static bool move(const struct cgroup_leaf *leaf, size_t first_dir, pid_t pid)
{
    char number[16];
    const int len = snprintf(number, sizeof(number), "%d", pid);
    bool is_moved = true;

    for (size_t i = first_dir; i < leaf->dir_count; i++)
        is_moved = write(leaf->dirs[i].join_fd, number, (size_t)len) == len && is_moved;
    return is_moved;
}

/* Whether some were not in it yet. */
static bool move_all(const struct cgroup_leaf *leaf, size_t first_dir, pid_t first,
                     bool is_first_time)
{
    cleanup_with(free_processes) struct processes all = read_processes();
    char members[MEMBERS_BYTES];
    bool has_moved = false;

    read_members(leaf, members);
    for (size_t i = 0; i < all.count; i++) {
        const struct process *one = &all.items[i];

        /* Of one that has ended only other threads can be moved. */
        if ((!one->stat.has_ended || is_first_time) && descends_from(&all, one->pid, first) &&
            !has_line(str_from(members), one->pid) && move(leaf, first_dir, one->pid))
            has_moved = true;
    }
    return has_moved;
}

/* Whoever is in it has its new children there: each time fewer are left outside. */
bool cgroup_leaf_take(const struct cgroup_leaf *leaf, size_t first_dir, pid_t first)
{
    bool has_moved = first_dir < leaf->dir_count;

    if (!move(leaf, first_dir, first))
        return false;
    for (int times = 0; times < MAX_TIMES && has_moved; times++)
        has_moved = move_all(leaf, first_dir, first, times == 0);
    return true;
}

/* ---- What was written ---- */

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
    cleanup_with(free_processes) struct processes all = read_processes();

    for (size_t i = 0; i < count; i++)
        writers[i].bytes = 0;
    for (size_t i = 0; i < all.count; i++) {
        const pid_t pid = all.items[i].pid;
        struct cgroup_writer *writer = find_writer(&all, pid, writers, count);

        if (writer != NULL)
            writer->bytes += read_written(pid);
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
