/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/ownplaces.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/box/secrets.h"
#include "isolate/leads.h"

enum { MODE_PRIVATE = 0700, MODE_OTHERS_WRITE = 022 };

/* By whole components. */
static bool is_within(const char *path, const char *folder)
{
    size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Without empty components and ".", which mean nothing wherever links lead. */
static void tidy(char *path)
{
    char *to = path;

    for (const char *at = path; *at != '\0';) {
        size_t len;

        at += strspn(at, "/");
        len = strcspn(at, "/");
        if (len > 0 && !(len == 1 && at[0] == '.')) {
            *to++ = '/';
            memmove(to, at, len);
            to += len;
        }
        at += len;
    }
    *to = '\0';
}

static bool has_dots(const char *rest)
{
    for (const char *at = strstr(rest, "/.."); at != NULL; at = strstr(at + 1, "/.."))
        if (at[3] == '/' || at[3] == '\0')
            return true;
    return false;
}

/* A path with ".." behind what is missing leads nowhere, and nothing is kept there. */
static int add(struct ownplaces *places, const char *folder, const char *name, bool needs_parent)
{
    cleanup_free char *joined = NULL;
    __attribute__((uninitialized)) char path[PATH_MAX];
    __attribute__((uninitialized)) char found[PATH_MAX];
    size_t len;

    if (folder == NULL || folder[0] != '/' ||
        snprintf(path, sizeof(path), "%s%s%s", folder, name[0] != '\0' ? "/" : "", name) >=
            PATH_MAX)
        return 0;
    tidy(path);
    if (path[0] == '\0' || !leads_find_existing(path, found, &len) || has_dots(path + len))
        return 0;
    if (asprintf(&joined, "%s%s", strcmp(found, "/") == 0 ? "" : found, path + len) < 0) {
        joined = NULL;
        return ERR_NO_MEMORY;
    }
    if (strlen(joined) >= PATH_MAX)
        return 0;
    for (size_t i = 0; i < places->count; i++)
        if (strcmp(places->items[i].path, joined) == 0)
            return 0;
    places->items[places->count++] = (struct ownplace){needs_parent, joined};
    joined = NULL;
    return 0;
}

int ownplaces_list(struct ownplaces *out_places, struct err *err)
{
    __attribute__((uninitialized)) char home[PATH_MAX];
    char login[64];
    const char *own_home = getenv("HOME");
    const char *passwd_home = secrets_find_home(geteuid(), home) ? home : NULL;
    int r = 0;

    /* Usually the same: looking again would only find what is listed already. */
    if (passwd_home != NULL && own_home != NULL && strcmp(passwd_home, own_home) == 0)
        passwd_home = NULL;
    /* Of the daemon's socket: see cli/status.h. */
    snprintf(login, sizeof(login), "/run/user/%u", (unsigned)geteuid());
    const struct {
        const char *folder;
        const char *name;
        bool needs_parent;
    } candidates[] = {
        {own_home, OWNPLACES_SETTINGS, false},
        {own_home, OWNPLACES_STATE, false},
        {passwd_home, OWNPLACES_SETTINGS, false},
        {passwd_home, OWNPLACES_STATE, false},
        {getenv("XDG_STATE_HOME"), "gatehouse", false},
        {getenv("GATEHOUSE_SETTINGS_DIR"), "", true},
        {getenv("GATEHOUSE_STATE_DIR"), "", true},
        {getenv("XDG_RUNTIME_DIR"), "gatehouse", true},
        {login, "gatehouse", true},
    };
    _Static_assert(array_size(candidates) <= OWNPLACES_MAX, "all have room");

    *out_places = (struct ownplaces){0};
    for (size_t i = 0; i < array_size(candidates) && r == 0; i++)
        r = add(out_places, candidates[i].folder, candidates[i].name, candidates[i].needs_parent);
    if (r < 0) {
        ownplaces_free(out_places);
        return err_set_plain(err, r);
    }
    return 0;
}

void ownplaces_free(struct ownplaces *places)
{
    for (size_t i = 0; i < places->count; i++)
        free(places->items[i].path);
    places->count = 0;
}

/* Whether someone without privileges, and this user above all, may create something in it. */
static bool is_open_to_us(const char *directory)
{
    struct stat about;

    return stat(directory, &about) == 0 && S_ISDIR(about.st_mode) &&
           (about.st_uid == geteuid() || (about.st_mode & MODE_OTHERS_WRITE) != 0);
}

static int refuse(const char *path, int errno_value, struct err *err)
{
    return err_set(err, err_from_errno(errno_value),
                   "cannot create '%.150s', which has to be there before an agent could create it: "
                   "%s",
                   path, err_errno_text(errno_value));
}

/* Names behind what exists are created one by one; a link among them is none of ours. */
static int make(const struct ownplace *place, const char *folder, struct err *err)
{
    char found[PATH_MAX];
    char path[PATH_MAX];
    size_t len;

    /* Most are not in the folder: only of those in it is it asked how much of them exists. */
    if (!is_within(place->path, folder) || !leads_find_existing(place->path, found, &len) ||
        place->path[len] == '\0' || !is_within(found, folder) || !is_open_to_us(found) ||
        (place->needs_parent && strchr(place->path + len + 1, '/') != NULL))
        return 0;
    memcpy(path, place->path, strlen(place->path) + 1);
    for (char *end = path + len; end != NULL;) {
        end = strchr(end + 1, '/');
        if (end != NULL)
            *end = '\0';
        if (mkdir(path, MODE_PRIVATE) < 0) {
            /* Nobody could create it, or somebody just did. */
            if (errno == EACCES || errno == EROFS)
                return 0;
            if (errno != EEXIST || access(path, F_OK) < 0)
                return refuse(path, errno, err);
        }
        if (end != NULL)
            *end = '/';
    }
    return 0;
}

int ownplaces_make(const struct ownplaces *places, const char *folder, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < places->count && r == 0; i++)
        r = make(&places->items[i], folder, err);
    return r;
}

bool ownplaces_has(const struct ownplaces *places, const char *path)
{
    for (size_t i = 0; i < places->count; i++)
        if (is_within(path, places->items[i].path))
            return true;
    return false;
}
