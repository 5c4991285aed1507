/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: a process gives up access to all files except those below some places, irrevocably and
 * for all threads and processes it starts later. Open files stay open.
 *
 * It is a second line of defence. It prevents neither stat() nor O_PATH, and does not control
 * chmod, chown, times, extended attributes and inotify: these are left to file permissions and to
 * seccomp.h.
 */
#ifndef ISOLATE_LANDLOCK_H
#define ISOLATE_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    LANDLOCK_MAY_READ = 1 << 0,  /* files and directories */
    LANDLOCK_MAY_WRITE = 1 << 1, /* every change of content and names, including moves */
    LANDLOCK_MAY_EXECUTE = 1 << 2,
    LANDLOCK_MAY_CONTROL = 1 << 3, /* ioctl on devices, for terminals */
    LANDLOCK_MAY_LIST = 1 << 4,    /* directories, without reading files */
};

/*
 * A directory with everything below it, or one file. Rights add up and cannot be removed: a place
 * without rights inside a place with some has the latter's.
 */
struct landlock_place {
    const char *path; /* or NULL, then: */
    int fd;           /* any descriptor of it, also O_PATH; the caller keeps it */
    unsigned rights;  /* 0: no effect */
    bool may_be_missing;
};

struct landlock_request {
    const struct landlock_place *places;
    size_t place_count;
    bool allows_tcp; /* for commands that may use the network */
    int max_abi;     /* use no newer features than this ABI's; 0: all */
};

enum { LANDLOCK_REASON_BYTES = 160, LANDLOCK_MIN_ABI = 2 };

struct landlock_result {
    bool is_applied;
    int abi; /* the kernel's; 0 without Landlock */
    /* What else is restricted; each needs a newer kernel. */
    bool holds_truncate;                /* if not: readable files can be truncated */
    bool holds_network;                 /* TCP: neither bind nor connect */
    bool holds_devices;                 /* no ioctl on devices opened later */
    bool holds_scope;                   /* no signals and no abstract sockets beyond this process */
    char reason[LANDLOCK_REASON_BYTES]; /* why it is not applied, for people */
};

/* The kernel's bits that a ruleset of an ABI handles. For tests. */
struct landlock_masks {
    uint64_t files;
    uint64_t network;
    uint64_t scopes;
};
struct landlock_masks landlock_masks(int abi);

/* The kernel's ABI, 1 or more; or 0 with the reason in errno. */
int landlock_abi(void);

/*
 * Needs no_new_privs. Returns 0 even if the kernel has no Landlock, or one that cannot allow moves
 * between directories: then nothing was applied, and *out_result says so. An error means a place
 * that cannot be opened, another thread, or a kernel that refuses what it announced; nothing is
 * applied then either.
 */
int landlock_confine(const struct landlock_request *request, struct landlock_result *out_result,
                     struct err *err);

#endif
