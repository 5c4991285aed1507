/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/start.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int start_own_path(char out_path[PATH_MAX], struct err *err)
{
    ssize_t len = readlink("/proc/self/exe", out_path, PATH_MAX - 1);

    if (len < 0)
        return err_set(err, ERR_UNSUPPORTED, "cannot determine the path of this program: %s",
                       err_errno_text(errno));
    out_path[len] = '\0';
    return 0;
}

int start_program(const char *name, char *const *argv, struct err *err)
{
    char own[PATH_MAX];
    char path[PATH_MAX];
    int r = start_own_path(own, err);

    if (r < 0)
        return r;
    *strrchr(own, '/') = '\0';
    if (snprintf(path, sizeof(path), "%s/%s", own, name) < (int)sizeof(path))
        execv(path, argv);
    if (errno == ENOENT &&
        snprintf(path, sizeof(path), "%s%s%s/%s", GATEHOUSE_LIBEXECDIR[0] == '/' ? "" : own,
                 GATEHOUSE_LIBEXECDIR[0] == '/' ? "" : "/", GATEHOUSE_LIBEXECDIR,
                 name) < (int)sizeof(path))
        execv(path, argv);
    return err_set(err, err_from_errno(errno), "cannot start %s: %s. Is it installed?", name,
                   err_errno_text(errno));
}

int start_absolute(const char *name, char out_path[PATH_MAX], struct err *err)
{
    char directory[PATH_MAX] = "";

    if (name[0] != '/' && getcwd(directory, sizeof(directory)) == NULL)
        return err_set(err, err_from_errno(errno), "cannot use the current directory: %s",
                       err_errno_text(errno));
    if (strcmp(name, ".") == 0)
        name = "";
    if (snprintf(out_path, PATH_MAX, "%s%s%s", directory,
                 name[0] != '\0' && name[0] != '/' && strcmp(directory, "/") != 0 ? "/" : "",
                 name) >= PATH_MAX)
        return err_set(err, ERR_INVALID_PATH, "the folder's path is too long");
    return 0;
}
