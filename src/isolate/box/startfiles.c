/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/box/startfiles.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* Relative to a home: run at login, in a new terminal, or instead of a program. */
static const char *const started[] = {
    ".bash_aliases", ".bash_login",
    ".bash_logout",  ".bash_profile",
    ".bashrc",       ".config/autostart",
    ".config/fish",  ".config/systemd",
    ".local/bin",    ".local/share/systemd",
    ".login",        ".pam_environment",
    ".profile",      ".xinitrc",
    ".xprofile",     ".xsession",
    ".xsessionrc",   ".zlogin",
    ".zprofile",     ".zshenv",
    ".zshrc",        "bin",
};

/* Files that indicate a home directory. */
static const char *const homely[] = {".bashrc", ".profile", ".zshrc", ".bash_profile"};

/* By whole components. */
static bool is_within(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    if (len > 0 && dir[len - 1] == '/')
        len--;
    return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool is_there(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat about;

    return snprintf(path, sizeof(path), "%s/%s", dir, name) < PATH_MAX && lstat(path, &about) == 0;
}

static bool is_risky(const char *place, const char *home)
{
    char file[PATH_MAX];

    for (size_t i = 0; home != NULL && i < array_size(started); i++) {
        if (snprintf(file, sizeof(file), "%s/%s", home, started[i]) >= PATH_MAX)
            continue;
        if (is_within(file, place) || is_within(place, file))
            return true;
    }
    for (size_t i = 0; i < array_size(homely); i++)
        if (is_there(place, homely[i]))
            return true;
    return false;
}

const char *startfiles_writable(const struct places *places, const char *home)
{
    char found[PATH_MAX];
    const char *real = home == NULL || home[0] == '\0' ? NULL : realpath(home, found);

    for (size_t i = 0; i < places->count; i++)
        if (places->items[i].access == BOX_WRITE && is_risky(places->items[i].path, real))
            return places->items[i].path;
    return NULL;
}
