/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories for a browser's profile. A fresh one is removed when it is closed, and by the next
 * start if its owner was killed; a named one stays. One process at a time has a profile.
 */
#ifndef ISOLATE_PROFILE_H
#define ISOLATE_PROFILE_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum { PROFILE_NAME_BYTES = 64 };

struct profile {
    bool is_fresh;
    int base_fd; /* the directory that contains it */
    int fd;
    int lock_fd;
    char name[PROFILE_NAME_BYTES + 8];
    char path[PATH_MAX]; /* absolute, without links */
};

#define PROFILE_INIT                                                                               \
    {                                                                                              \
        .base_fd = -1, .fd = -1, .lock_fd = -1                                                     \
    }

#define PROFILE_DATA "data" /* what the browser writes */

/*
 * Opens the profile of this name below the state directory, which is created if it is missing; an
 * empty name is a fresh one. ERR_BUSY: it is in use. ERR_INVALID_ARGUMENT: not letters, digits,
 * hyphens and underscores.
 */
int profile_open(const char *state_dir, struct str name, struct profile *out_profile,
                 struct err *err);
void profile_close(struct profile *profile);

/* Removes fresh ones whose owners were killed. */
void profile_sweep(const char *state_dir);

#endif
