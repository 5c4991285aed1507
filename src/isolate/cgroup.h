/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits for a group of processes: a cgroup below the one that we are in, or beside it, in
 * hierarchies of version 1 and 2, whatever this machine has. If none can be created, per-process
 * limits are used as far as possible, and the report says what is enforced.
 */
#ifndef ISOLATE_CGROUP_H
#define ISOLATE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum { CGROUP_MAX_DIRS = 3, CGROUP_NAME_BYTES = 64, CGROUP_WORDS_BYTES = 128 };

/*
 * What a sandbox has that asks for nothing else, of the service or of `gatehouse sandbox run`, by
 * whatever enforces it.
 */
#define CGROUP_USUAL_MEMORY_BYTES (UINT64_C(512) << 20)
#define CGROUP_USUAL_CPU_PERCENT  100
#define CGROUP_USUAL_PROCESSES    256

/* 0: no limit. */
struct cgroup_limits {
    uint64_t memory_bytes;
    unsigned cpu_percent; /* of one core */
    unsigned processes;
    /*
     * Defaults if no limit was requested. At first no cgroup enforces them, since moving a process
     * into one takes longer than all the rest of a sandbox: the memory is limited for each process,
     * and the CPU not at all. cgroup_leaf_extend() is for those that run for a while. Root's
     * processes, which nothing else counts before Linux 6.14, do get a cgroup.
     */
    uint64_t memory_unasked;
    unsigned cpu_percent_unasked;
    unsigned processes_unasked;
    /*
     * Where no cgroup limits the processor, commands have a third of the usual weight when programs
     * compete for it: cgroup_yield().
     */
    bool yields;
    /*
     * Name of a cgroup around this one; or NULL. Whoever of this user names the same one shares it
     * and its limits, and has half the usual weight where programs compete for the processor. It
     * stays when it is empty. Only cgroups can enforce these limits.
     */
    const char *group;
    uint64_t group_memory_bytes;
    unsigned group_processes;
};

enum cgroup_limit { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PROCESSES, CGROUP_LIMITS };

/* How a limit is enforced. */
enum cgroup_hold {
    CGROUP_NOT_ASKED,
    CGROUP_BY_GROUP,   /* for all processes together */
    CGROUP_BY_PROCESS, /* for each process: setrlimit */
    CGROUP_BY_DEFAULT, /* a default that was not requested */
    CGROUP_NOT_HELD,
};

struct cgroup_leaf {
    size_t dir_count;
    struct {
        int parent_fd;
        int join_fd; /* writing "0" moves the writer into it */
        bool is_v2;
    } dirs[CGROUP_MAX_DIRS];
    bool is_grouped;  /* parent_fd is the group of the limits */
    bool is_born_in;  /* the caller was created in those of version 2: cgroup_leaf_fork() */
    bool limits_each; /* the default of memory, for each process besides */
    char name[CGROUP_NAME_BYTES];
    enum cgroup_hold holds[CGROUP_LIMITS];
};

#define CGROUP_LEAF_INIT                                                                           \
    {                                                                                              \
        .dir_count = 0                                                                             \
    }

/*
 * Creates a cgroup, and removes those left by killed processes. It is no error if none can be
 * created.
 */
int cgroup_leaf_make(const struct cgroup_limits *limits, struct cgroup_leaf *out_leaf,
                     struct err *err);

/*
 * Has the defaults enforced for all processes together: for a process that has not joined it, and
 * its descendants. What cannot be enforced so stays as it is.
 */
int cgroup_leaf_extend(const struct cgroup_limits *limits, struct cgroup_leaf *leaf, pid_t first,
                       struct err *err);

/*
 * Moves a process and its descendants into its cgroups from this one on. False if the process
 * itself cannot be moved; some of its descendants may have ended.
 */
bool cgroup_leaf_take(const struct cgroup_leaf *leaf, size_t first_dir, pid_t first);

/*
 * Removes what killed processes left in the group of the last leaf with one. False while processes
 * in it are still ending: try again.
 */
bool cgroup_sweep(void);

/* Sets other limits; those that the group does not enforce stay so. False if one cannot be set. */
bool cgroup_leaf_change(const struct cgroup_leaf *leaf, const struct cgroup_limits *limits);

/*
 * As fork(), with flags for clone() and a pidfd. A leaf of version 2 has the child from its first
 * moment on, which takes no grace period; the leaf may be NULL. The caller has one thread.
 */
pid_t cgroup_leaf_fork(struct cgroup_leaf *leaf, unsigned long flags, int *out_pidfd);

/* Moves the calling process into it, with its future children. An errno value or 0. */
int cgroup_leaf_join(const struct cgroup_leaf *leaf);

/* Sets the limits that no cgroup enforces on the calling process. An errno value or 0. */
int cgroup_limit_process(const struct cgroup_limits *limits, const struct cgroup_leaf *leaf);

/* Lowers the priority of the calling process, if it is to yield. An errno value or 0. */
int cgroup_yield(const struct cgroup_limits *limits, const struct cgroup_leaf *leaf);

/*
 * Limits the default number of processes, for all processes of the caller's process namespace, of
 * which it is the first: for root, whose processes the kernel counts by no other limit. False on
 * kernels before 6.14 and where /proc/sys is read-only.
 */
bool cgroup_limit_namespace(const struct cgroup_limits *limits, const struct cgroup_leaf *leaf);

/*
 * For a process that starts sandboxes, for all of them: together with everything else that the user
 * runs, their processes are no more than half of those that the user may have, since a user
 * namespace keeps the limit of whoever created it. The kernel does not count root's.
 */
void cgroup_leave_processes(void);

/* Kills all processes in it, if the kernel can do that at once. */
void cgroup_leaf_kill(const struct cgroup_leaf *leaf);

/* Whether the OOM killer has killed a process in it, as far as known. */
bool cgroup_leaf_ran_out(const struct cgroup_leaf *leaf);

struct cgroup_usage {
    uint64_t memory_bytes;
    uint64_t cpu_us;
    unsigned processes;
};

/*
 * What its processes use: as the cgroup counts it, else added up over the processes in the process
 * namespace whose first process this is.
 */
void cgroup_leaf_usage(const struct cgroup_leaf *leaf, pid_t first, struct cgroup_usage *out_usage);

struct cgroup_writer {
    pid_t first;    /* of a process namespace */
    uint64_t bytes; /* written to disks by it and its descendants, as far as the kernel tells */
};

/* Fills in the bytes of all, with one look at the machine's processes. */
void cgroup_written(struct cgroup_writer *writers, size_t count);

/* It must be empty. */
void cgroup_leaf_remove(struct cgroup_leaf *leaf);

/* For people: "memory: held by a cgroup". */
void cgroup_describe(enum cgroup_limit limit, enum cgroup_hold hold,
                     char out_words[CGROUP_WORDS_BYTES]);

#endif
