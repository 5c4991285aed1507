/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-backup: copies the server's state into one file, also while a server runs. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/options/options.h"
#include "cli/backup.h"
#include "cli/runner.h"
#include "isolate/confine.h"
#include "session/state.h"
#include "store/backup.h"

enum { PRIVATE_UMASK = 077 };

static int find_state(const struct option_values *values, char path[PATH_MAX], struct err *err)
{
    const char *given = options_text(values, BACKUP_OPTION_STATE_DIR);
    char parent[PATH_MAX];
    int r = given != NULL ? session_state_absolute_path(given, parent, err)
                          : session_state_default_dir(parent, err);

    if (r < 0)
        return r;
    if (snprintf(path, PATH_MAX, "%s/server", parent) >= PATH_MAX)
        return err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    return 0;
}

/* The directory of an absolute path. */
static void directory_of(const char *path, char out_directory[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t len = slash > path ? (size_t)(slash - path) : 1;

    memcpy(out_directory, path, len);
    out_directory[len] = '\0';
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    const char *given = options_argument(values, BACKUP_ARGUMENT_FILE);
    char directory[PATH_MAX];
    char state[PATH_MAX];
    char file[PATH_MAX];
    struct store_backup *backup = NULL;
    int r = find_state(values, state, err);

    (void)arena;
    umask(PRIVATE_UMASK);
    if (r == 0)
        r = session_state_absolute_path(given, file, err);
    if (r == 0)
        r = store_backup_open(state, &backup, err);
    if (r < 0)
        return r;
    directory_of(file, directory);
    r = confine_to_directories((const char *const[]){state, directory}, 2, err);
    if (r == 0)
        r = store_backup_write(backup, file, err);
    store_backup_close(backup);
    return r;
}

static const struct runner runner = {
    .program = BACKUP_PROGRAM,
    .title = "gatehouse backup",
    .see = "'gatehouse backup --help'",
    .command = BACKUP_COMMAND,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
