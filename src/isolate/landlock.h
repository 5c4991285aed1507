/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: a process gives up every file but those below some places, for good
 * and for all threads and processes it starts later. What it has open stays open.
 *
 * It is the second wall. It hides neither stat() nor O_PATH, and does not hold
 * chmod, chown, times, extended attributes and inotify: those are left to the
 * permissions of the system and to seccomp.h.
 */
#ifndef ISOLATE_LANDLOCK_H
#define ISOLATE_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    LANDLOCK_MAY_READ = 1 << 0,  /* files and directories */
    LANDLOCK_MAY_WRITE = 1 << 1, /* every change of content and names, moves included */
    LANDLOCK_MAY_EXECUTE = 1 << 2,
    LANDLOCK_MAY_CONTROL = 1 << 3, /* ioctl on devices, for those who have terminals */
};

/*
 * A directory with all below it, or one file. Rights add up and nothing takes any away: a place
 * without rights inside a place with some is as open as that one.
 */
struct landlock_place {
    const char *path; /* or NULL, then: */
    int fd;           /* any descriptor of it, O_PATH too; stays the caller's */
    unsigned rights;  /* 0: adds nothing */
    bool may_be_missing;
};

struct landlock_request {
    const struct landlock_place *places;
    size_t place_count;
    bool allows_tcp; /* for commands that may use the network */
    int max_abi;     /* acts as if the kernel knew no more than this; 0: all that it knows */
};

enum { LANDLOCK_REASON_BYTES = 160, LANDLOCK_MIN_ABI = 2 };

struct landlock_result {
    bool is_applied;
    int abi; /* of the kernel; 0 without Landlock */
    /* What holds besides the files; each needs a newer kernel than they do. */
    bool holds_truncate;                /* without: files that may be read can be emptied */
    bool holds_network;                 /* TCP: neither bind nor connect */
    bool holds_devices;                 /* no ioctl on devices opened later */
    bool holds_scope;                   /* no signals and no abstract sockets beyond this process */
    char reason[LANDLOCK_REASON_BYTES]; /* why it is not applied, for a person */
};

/* What a ruleset for an ABI speaks of, as the kernel's bits. For tests. */
struct landlock_masks {
    uint64_t files;
    uint64_t network;
    uint64_t scopes;
};
struct landlock_masks landlock_masks(int abi);

/* The kernel's ABI, 1 or more; or 0, and errno says why not. */
int landlock_abi(void);

/*
 * Needs no_new_privs. 0 also where the kernel has no Landlock, or one that cannot allow a move
 * between directories: then nothing was applied, and *out_result says so. An error is a place
 * that cannot be had, another thread, or a kernel that changed its mind; nothing is applied then
 * either.
 */
int landlock_confine(const struct landlock_request *request, struct landlock_result *out_result,
                     struct err *err);

#endif
