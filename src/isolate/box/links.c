/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hidden files are hidden at the targets of links as well. But a command may leave a link for the
 * sandboxes of later ones, and none of those could start if it led to the system's programs.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* What commands need, with everything in it, and where no user's secrets are. */
static const char *const system_folders[] = {
    "/bin",    "/boot", "/dev",  "/etc", "/lib",  "/lib32", "/lib64",
    "/libx32", "/opt",  "/proc", "/run", "/sbin", "/sys",   "/usr",
};

/* Only as a whole: files in them may well be a user's own. */
static const char *const shared_folders[] = {"/home", "/media", "/mnt", "/srv", "/tmp", "/var"};

/* Ordinary files, owned by users. */
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

/* ---- Where links lie ---- */

enum { MOST_LINKS = 40 }; /* as the kernel has it */

/* A path that is resolved name by name, without links so far. */
struct way {
    char so_far[PATH_MAX]; /* "" is the root */
    char rest[2 * PATH_MAX];
};

static void go_up(struct way *way)
{
    char *slash = strrchr(way->so_far, '/');

    if (slash != NULL)
        *slash = '\0';
}

/* The next name; NULL at the end. */
static const char *take_name(struct way *way, char name[NAME_MAX + 1])
{
    size_t start = strspn(way->rest, "/");
    size_t len = strcspn(way->rest + start, "/");

    if (len == 0 || len > NAME_MAX)
        return NULL;
    memcpy(name, way->rest + start, len);
    name[len] = '\0';
    memmove(way->rest, way->rest + start + len, strlen(way->rest + start + len) + 1);
    return name;
}

/* False if it is too long. */
static bool follow(struct way *way, const char *target)
{
    char rest[sizeof(way->rest)];

    if (snprintf(rest, sizeof(rest), "%s/%s", target, way->rest) >= (int)sizeof(rest))
        return false;
    memcpy(way->rest, rest, strlen(rest) + 1);
    if (target[0] == '/')
        way->so_far[0] = '\0';
    return true;
}

enum step { STEP_ON, STEP_END, STEP_CLOSED };

/* Resolves one more name; *out_link is set if it was a link, which is followed. */
static enum step take_step(struct way *way, char out_folder[PATH_MAX], bool *out_link)
{
    char name[NAME_MAX + 1];
    char next[PATH_MAX];
    char target[PATH_MAX];
    ssize_t len;

    *out_link = false;
    if (take_name(way, name) == NULL)
        return STEP_END;
    if (strcmp(name, ".") == 0)
        return STEP_ON;
    if (strcmp(name, "..") == 0) {
        go_up(way);
        return STEP_ON;
    }
    if (snprintf(next, sizeof(next), "%s/%s", way->so_far, name) >= (int)sizeof(next))
        return STEP_END;
    snprintf(out_folder, PATH_MAX, "%s", way->so_far[0] != '\0' ? way->so_far : "/");
    len = readlink(next, target, sizeof(target) - 1);
    if (len < 0 && errno == EACCES)
        return STEP_CLOSED;
    if (len < 0) {
        memcpy(way->so_far, next, strlen(next) + 1);
        return STEP_ON;
    }
    target[len] = '\0';
    *out_link = true;
    return follow(way, target) ? STEP_ON : STEP_END;
}

bool box_passes_link_in(const char *path, bool (*is_in)(const void *data, const char *folder),
                        const void *data)
{
    struct way way = {.so_far = ""};
    char folder[PATH_MAX];
    bool is_link;

    if (!follow(&way, path))
        return false;
    for (int links = 0; links <= MOST_LINKS; links += is_link) {
        if (take_step(&way, folder, &is_link) != STEP_ON)
            return false;
        if (is_link && is_in(data, folder))
            return true;
    }
    return false;
}

bool box_find_closed(const char *path, char out_folder[PATH_MAX])
{
    struct way way = {.so_far = ""};
    enum step step = STEP_ON;
    bool is_link;

    if (!follow(&way, path))
        return false;
    for (int links = 0; step == STEP_ON && links <= MOST_LINKS; links += is_link)
        step = take_step(&way, out_folder, &is_link);
    return step == STEP_CLOSED;
}

static bool is_writable_now(const void *data, const char *folder)
{
    const struct box_build *build = data;

    for (size_t i = 0; i < build->box->place_count; i++)
        if (box_access_now(build, i) == BOX_WRITE &&
            box_is_beneath(folder, build->box->places[i].path))
            return true;
    return false;
}

bool box_is_led_astray(const struct box_build *build, const char *path, bool is_rule)
{
    const struct box *box = build->box;
    cleanup_fd int fd = box_open_place(path);
    char found[PATH_MAX];

    if (fd != -ELOOP || realpath(path, found) == NULL)
        return false;
    if (box_is_astray(path, found))
        return true;
    if (is_rule && !box_passes_link_in(path, is_writable_now, build))
        return false;
    for (size_t i = 0; i < box->place_count; i++)
        if (box->places[i].access != BOX_HIDDEN && box_is_beneath(box->places[i].path, found))
            return true;
    return box_is_beneath(build->command->cwd, found);
}
