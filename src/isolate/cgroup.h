/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits for a group of processes: a leaf below the cgroup that we are in, or beside it, in the
 * hierarchies of version 1 and 2 as this machine has them. Where none may be made, the limits of
 * a process stand in as far as they go, and the report says what holds.
 */
#ifndef ISOLATE_CGROUP_H
#define ISOLATE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { CGROUP_MAX_DIRS = 3, CGROUP_NAME_BYTES = 64, CGROUP_WORDS_BYTES = 128 };

/* 0: none. */
struct cgroup_limits {
    uint64_t memory_bytes;
    unsigned cpu_percent; /* of one core */
    unsigned processes;
    /* Where no limit was asked for, and by the process alone: to make a group takes longer than all
     * the rest of a box. */
    unsigned processes_unasked;
};

enum cgroup_limit { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PROCESSES, CGROUP_LIMITS };

/* How a limit is held. */
enum cgroup_hold {
    CGROUP_NOT_ASKED,
    CGROUP_BY_GROUP,   /* for all processes together */
    CGROUP_BY_PROCESS, /* for each of them: setrlimit */
    CGROUP_NOT_HELD,
};

struct cgroup_leaf {
    size_t dir_count;
    struct {
        int parent_fd;
        int join_fd; /* whoever writes "0" into it is in */
        bool is_v2;
    } dirs[CGROUP_MAX_DIRS];
    char name[CGROUP_NAME_BYTES];
    enum cgroup_hold holds[CGROUP_LIMITS];
};

#define CGROUP_LEAF_INIT                                                                           \
    {                                                                                              \
        .dir_count = 0                                                                             \
    }

/* Makes it, and removes those that killed processes left. No group to be had is no error. */
int cgroup_leaf_make(const struct cgroup_limits *limits, struct cgroup_leaf *out_leaf,
                     struct err *err);

/* The calling process moves in; what it starts later is in too. An errno value or 0. */
int cgroup_leaf_join(const struct cgroup_leaf *leaf);

/* Limits that no group holds, on the calling process. An errno value or 0. */
int cgroup_limit_process(const struct cgroup_limits *limits, const struct cgroup_leaf *leaf);

/* Kills all that is in it, where the kernel can do that at once. */
void cgroup_leaf_kill(const struct cgroup_leaf *leaf);

/* Whether the kernel has killed something in it for want of memory, as far as that can be known. */
bool cgroup_leaf_ran_out(const struct cgroup_leaf *leaf);

/* When nothing is in it any more. */
void cgroup_leaf_remove(struct cgroup_leaf *leaf);

/* For a person: "memory: held by a cgroup". */
void cgroup_describe(enum cgroup_limit limit, enum cgroup_hold hold,
                     char out_words[CGROUP_WORDS_BYTES]);

#endif
