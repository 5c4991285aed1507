/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is hidden and what rules deny: finds it, pins the path to it, and covers it, on every tree
 * that shows it.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { MODE_COVER = 0755 };

/* ---- Finding ---- */

bool box_is_in_writable(const struct box_build *build, const char *path)
{
    for (size_t i = 0; i < build->box->place_count; i++) {
        const char *place = build->box->places[i].path;

        if (box_access_now(build, i) == BOX_WRITE && box_is_beneath(path, place) &&
            strcmp(path, place) != 0)
            return true;
    }
    return false;
}

/* No such name, or an impossible one. */
static bool is_nothing(int errno_value)
{
    return errno_value == ENOENT || errno_value == ENOTDIR || errno_value == ELOOP ||
           errno_value == ENAMETOOLONG;
}

static bool is_writable_place(const struct box_build *build, const char *path)
{
    for (size_t i = 0; i < build->box->place_count; i++)
        if (box_access_now(build, i) == BOX_WRITE && strcmp(path, build->box->places[i].path) == 0)
            return true;
    return false;
}

/*
 * We cannot reach it, because a folder is closed to its user. If that folder is in a writable place
 * and the user's own, a command could open it again, and one that gets behind the cover would see
 * everything: no command starts. Another user's folder can be covered.
 */
static int find_closed(struct box_build *build, const char *path, char **out_found)
{
    char folder[PATH_MAX];
    struct stat about;

    if (!box_find_closed(path, folder) ||
        (!box_is_in_writable(build, folder) && !is_writable_place(build, folder)))
        return 0;
    if (stat(folder, &about) < 0)
        return is_nothing(errno) ? 0 : errno;
    if (about.st_uid == build->box->uid || is_writable_place(build, folder)) {
        box_say(build, folder);
        return EACCES;
    }
    *out_found = strdup(folder);
    return *out_found != NULL ? 0 : ENOMEM;
}

/* *out_found stays NULL if there is nothing to cover. */
static int find(struct box_build *build, const char *path, bool is_rule, char **out_found)
{
    struct stat about;

    if (stat(path, &about) < 0) {
        if (errno == EACCES)
            return find_closed(build, path, out_found);
        return is_nothing(errno) ? 0 : errno;
    }
    if (box_is_led_astray(build, path, is_rule))
        return 0;
    *out_found = realpath(path, NULL);
    return *out_found != NULL || is_nothing(errno) ? 0 : errno;
}

/* A place inside what is denied is denied too, however it was granted. */
static void take_from_places(struct box_build *build, const char *found, enum box_access at_most)
{
    for (size_t i = 0; i < build->box->place_count; i++)
        if (box_is_beneath(build->box->places[i].path, found) && build->left[i] > at_most)
            build->left[i] = at_most;
}

int box_find_denied(struct box_build *build)
{
    const struct box_command *command = build->command;
    int r = 0;

    for (size_t i = 0; i < build->box->place_count; i++)
        build->left[i] = BOX_WRITE;
    build->denied = calloc(command->denial_count + 1, sizeof(*build->denied));
    if (build->denied == NULL)
        return ENOMEM;
    for (size_t i = 0; i < command->denial_count && r == 0; i++) {
        box_say(build, command->denials[i].path);
        r = find(build, command->denials[i].path, true, &build->denied[i]);
    }
    for (size_t i = 0; i < command->denial_count && r == 0; i++)
        if (build->denied[i] != NULL)
            take_from_places(build, build->denied[i], command->denials[i].at_most);
    for (size_t i = 0; i < build->box->place_count && r == 0; i++) {
        box_say(build, build->box->places[i].path);
        if (box_access_now(build, i) == BOX_HIDDEN)
            r = find(build, build->box->places[i].path, false, &build->hidden[i]);
    }
    return r;
}

/* ---- The way ---- */

/*
 * Pins the folders on the path, as far as they lie in a writable place: if a command renamed them,
 * the next one would find it under another name, or not start.
 */
static int pin_way(struct box_build *build, const char *path)
{
    const struct box *box = build->box;

    for (size_t i = 0; i < box->place_count; i++) {
        const char *place = box->places[i].path;

        if (box_access_now(build, i) != BOX_WRITE || !box_is_beneath(path, place) ||
            strcmp(path, place) == 0)
            continue;
        for (const char *end = strchr(path + strlen(place) + 1, '/'); end != NULL;
             end = strchr(end + 1, '/')) {
            char folder[BOX_PATH_BYTES];
            int r;

            snprintf(folder, sizeof(folder), "%.*s", (int)(end - path), path);
            box_say(build, folder);
            r = box_pin(folder);
            if (r != 0)
                return r;
        }
    }
    return 0;
}

int box_pin_ways(struct box_build *build)
{
    int r = 0;

    for (size_t i = 0; i < build->box->place_count && r == 0; i++) {
        if (build->hidden[i] != NULL)
            r = pin_way(build, build->hidden[i]);
        else if (build->trees[i] >= 0)
            r = pin_way(build, build->box->places[i].path);
    }
    for (size_t i = 0; i < build->command->denial_count && r == 0; i++)
        if (build->denied[i] != NULL)
            r = pin_way(build, build->denied[i]);
    return r;
}

/* ---- The covers ---- */

/* A tree mounted for one of the first `count` places shows it, and was covered itself. */
static bool is_in_tree(const struct box_build *build, const char *path, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (build->trees[i] >= 0 && box_is_beneath(path, build->box->places[i].path))
            return true;
    return false;
}

/* Something visible lies in what is hidden: the cover must have its mount point. */
static bool bears_places(const struct box_build *build, size_t hidden)
{
    const struct box *box = build->box;

    for (size_t i = hidden + 1; i < box->place_count; i++)
        if (box->places[i].access != BOX_HIDDEN &&
            box_is_beneath(box->places[i].path, box->places[hidden].path))
            return true;
    return false;
}

static int cover_place(struct box_build *build, size_t place)
{
    char cover[32];

    if (!bears_places(build, place))
        return box_hide(build, build->hidden[place]);
    snprintf(cover, sizeof(cover), "cover-%zu", place);
    if (mkdirat(build->scratch_fd, cover, MODE_COVER) < 0 && errno != EEXIST)
        return errno;
    return box_cover(build, build->hidden[place], cover);
}

static int cover_denial(struct box_build *build, size_t denial)
{
    return build->command->denials[denial].at_most == BOX_HIDDEN
               ? box_hide(build, build->denied[denial])
               : box_hold_to_reading(build, build->denied[denial]);
}

int box_cover_place(struct box_build *build, size_t place)
{
    return is_in_tree(build, build->hidden[place], place) ? 0 : cover_place(build, place);
}

int box_cover_in(struct box_build *build, size_t place)
{
    const char *path = build->box->places[place].path;
    int r = 0;

    /* What lies deeper first: the cover of what holds it would be in the way. */
    for (size_t i = build->box->place_count; i > 0 && r == 0; i--)
        if (build->hidden[i - 1] != NULL && box_is_beneath(build->hidden[i - 1], path))
            r = cover_place(build, i - 1);
    for (size_t i = 0; i < build->command->denial_count && r == 0; i++)
        if (build->denied[i] != NULL && box_is_beneath(build->denied[i], path) &&
            strcmp(build->denied[i], path) != 0)
            r = cover_denial(build, i);
    return r;
}

int box_mount_denials(struct box_build *build)
{
    int r = 0;

    for (size_t i = 0; i < build->command->denial_count && r == 0; i++)
        if (build->denied[i] != NULL &&
            !is_in_tree(build, build->denied[i], build->box->place_count))
            r = cover_denial(build, i);
    return r;
}
