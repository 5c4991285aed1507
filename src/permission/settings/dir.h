/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings directory: created private or checked to be, plus two things that the authority does
 * not do: checking a file's owner, and a lock against other writers. Files are read and written
 * through a scope.
 */
#ifndef PERMISSION_SETTINGS_DIR_H
#define PERMISSION_SETTINGS_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

enum { SETTINGSDIR_NOTE_BYTES = 160 };

/*
 * `path` is absolute and comes from the host. With `may_make` it is created (0700), but not its
 * parents; else ERR_NOT_FOUND if missing. If others can access the directory of the settings
 * (`is_default`, or `name` is in it), that access is removed and noted; any other such directory is
 * refused, as is one of another user.
 */
struct settingsdir_request {
    const char *path;
    const char *name; /* of the file that marks it as the settings directory */
    bool is_default;
    bool may_make;
};
int settingsdir_open(const struct settingsdir_request *request, int *out_fd,
                     char out_note[SETTINGSDIR_NOTE_BYTES], struct err *err);

/*
 * Checks a file in it: must be a regular file of this user, no link; access of others is removed
 * (0600) and noted. ERR_NOT_FOUND if missing. The note may stay unchanged.
 */
int settingsdir_check_file(int dir_fd, const char *name, char out_note[SETTINGSDIR_NOTE_BYTES],
                           struct err *err);

/*
 * Takes an exclusive lock on this file, which is created if missing. ERR_BUSY after wait_ms. Close
 * the fd to release it.
 */
int settingsdir_lock(int dir_fd, const char *name, int64_t wait_ms, int *out_fd, struct err *err);

/* Takes a shared lock. It lasts until every copy of the fd is closed. */
int settingsdir_share(int dir_fd, const char *name, int64_t wait_ms, int *out_fd, struct err *err);

/*
 * Whether someone holds the lock, shared or exclusive. Creates nothing; true if it cannot be
 * determined.
 */
bool settingsdir_is_locked(int dir_fd, const char *name);

#endif
