/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of the settings: made private or found so, and the two things that
 * the authority does not do: whose a file is, and a lock against other writers.
 * What is read and written goes through a scope.
 */
#ifndef PERMISSION_SETTINGS_DIR_H
#define PERMISSION_SETTINGS_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

enum { SETTINGSDIR_NOTE_BYTES = 160 };

/*
 * `path` is absolute and the host's own. With `may_make` it is made (0700), but not those above it;
 * else ERR_NOT_FOUND. One that is open to others is closed to them if it is the settings'
 * (`is_default`, or `name` is in it), and that is noted; else it is refused, as is one of another
 * user.
 */
struct settingsdir_request {
    const char *path;
    const char *name; /* of the file that makes it the settings' */
    bool is_default;
    bool may_make;
};
int settingsdir_open(const struct settingsdir_request *request, int *out_fd,
                     char out_note[SETTINGSDIR_NOTE_BYTES], struct err *err);

/*
 * A file in it: a regular one of the user's own, no link; if it is open to others it is closed to
 * them (0600), and that is noted. ERR_NOT_FOUND without any. The note may be left as it was.
 */
int settingsdir_check_file(int dir_fd, const char *name, char out_note[SETTINGSDIR_NOTE_BYTES],
                           struct err *err);

/* The lock on this name, which is made if it is missing. ERR_BUSY after wait_ms. Close the fd to
 * let go of it. */
int settingsdir_lock(int dir_fd, const char *name, int64_t wait_ms, int *out_fd, struct err *err);

/* The same, beside others who share it. It lasts until every copy of the fd is closed. */
int settingsdir_share(int dir_fd, const char *name, int64_t wait_ms, int *out_fd, struct err *err);

/* Whether somebody has or shares it. Nothing is made, and what cannot be looked at counts as had.
 */
bool settingsdir_is_locked(int dir_fd, const char *name);

#endif
