/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is hidden is hidden where links lead to as well. One command may leave a link for the boxes
 * of later ones, though, and none of those could start if it led to the system's programs.
 */
#include "isolate/box_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* What commands need, with all in it, and where no user's secrets are. */
static const char *const system_folders[] = {
    "/bin",    "/boot", "/dev",  "/etc", "/lib",  "/lib32", "/lib64",
    "/libx32", "/opt",  "/proc", "/run", "/sbin", "/sys",   "/usr",
};

/* As a whole: what lies in them may well be somebody's own. */
static const char *const shared_folders[] = {"/home", "/media", "/mnt", "/srv", "/tmp", "/var"};

/* Files like any other, and whose they are. */
static const char shared_memory[] = "/dev/shm";

bool box_is_of_system(const char *path)
{
    if (box_is_beneath(path, shared_memory) && strcmp(path, shared_memory) != 0)
        return false;
    for (size_t i = 0; i < array_size(system_folders); i++)
        if (box_is_beneath(system_folders[i], path) || box_is_beneath(path, system_folders[i]))
            return true;
    for (size_t i = 0; i < array_size(shared_folders); i++)
        if (box_is_beneath(shared_folders[i], path))
            return true;
    return false;
}

bool box_is_astray(const char *path, const char *found)
{
    return strcmp(path, found) != 0 &&
           (box_is_beneath(path, found) || (box_is_of_system(found) && !box_is_of_system(path)));
}

bool box_is_led_astray(const struct box_build *build, const char *path)
{
    const struct box *box = build->box;
    cleanup_fd int fd = box_open_place(path);
    char found[PATH_MAX];

    if (fd != -ELOOP || realpath(path, found) == NULL)
        return false;
    for (size_t i = 0; i < box->place_count; i++)
        if (box->places[i].access != BOX_HIDDEN && box_is_beneath(box->places[i].path, found))
            return true;
    return box_is_beneath(build->command->cwd, found) || box_is_astray(path, found);
}
