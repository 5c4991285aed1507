/* SPDX-License-Identifier: Apache-2.0 */
#include "session/networklock.h"

#include <limits.h>

#include "base/cleanup.h"
#include "permission/settings/dir.h"
#include "permission/settings/file.h"

/* A process that checks the lock holds it for a moment. */
enum { WAIT_MS = 1000 };

static const char lock_name[] = "commands-with-network.lock";

/* Not the one of --settings-dir: other programs would look elsewhere. */
static int open_directory(bool may_make, int *out_fd, struct err *err)
{
    char path[PATH_MAX];
    char note[SETTINGSDIR_NOTE_BYTES];
    const struct settingsdir_request request = {
        .path = path, .name = SETTINGS_FILE_NAME, .is_default = true, .may_make = may_make};
    int r = settings_file_default_dir(path, err);

    return r == 0 ? settingsdir_open(&request, out_fd, note, err) : r;
}

int networklock_share(int *out_fd, struct err *err)
{
    cleanup_fd int dir_fd = -1;
    int r = open_directory(true, &dir_fd, NULL);

    if (r == 0)
        r = settingsdir_share(dir_fd, lock_name, WAIT_MS, out_fd, NULL);
    if (r == ERR_BUSY)
        return err_set(err, r, "another program has locked %s for too long; try again", lock_name);
    /* Where nothing can be written, no rule can be kept either. */
    return 0;
}

bool networklock_is_shared(void)
{
    cleanup_fd int dir_fd = -1;

    return open_directory(false, &dir_fd, NULL) == 0 && settingsdir_is_locked(dir_fd, lock_name);
}
