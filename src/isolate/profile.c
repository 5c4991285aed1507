/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/profile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rand.h"

enum { PRIVATE = 0700, PRIVATE_FILE = 0600, MAX_DEPTH = 64, TRIES = 8 };

#define BASE  "browser"
#define FRESH "fresh-"
#define NAMED "named-"
#define LOCK  "lock"

static int open_directory(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_directory(int at, const char *name)
{
    if (mkdirat(at, name, PRIVATE) < 0 && errno != EEXIST)
        return -1;
    return open_directory(at, name);
}

/* ---- removing ---- */

static void remove_entry(int at, const char *name, int depth);

/* Takes the descriptor over. */
static void empty_directory(int fd, int depth)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;

    if (dir == NULL) {
        close(fd);
        return;
    }
    while ((entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_entry(dirfd(dir), entry->d_name, depth + 1);
    closedir(dir);
}

static void remove_entry(int at, const char *name, int depth)
{
    int fd;

    if (unlinkat(at, name, 0) == 0 || depth > MAX_DEPTH)
        return;
    fd = open_directory(at, name);
    if (fd >= 0)
        empty_directory(fd, depth);
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

/* ---- opening ---- */

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_'))
            return false;
    }
    return name.len < PROFILE_NAME_BYTES;
}

static int take_lock(int dir, int *out_fd)
{
    cleanup_fd int fd = openat(dir, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, PRIVATE_FILE);

    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno;
    *out_fd = steal_fd(&fd);
    return 0;
}

/* The directory above all profiles; -1 with errno. */
static int open_base(const char *state_dir, char out_path[PATH_MAX])
{
    cleanup_fd int state = -1;
    cleanup_free char *real = NULL;

    if (mkdir(state_dir, PRIVATE) < 0 && errno != EEXIST)
        return -1;
    real = realpath(state_dir, NULL);
    if (real == NULL)
        return -1;
    if (snprintf(out_path, PATH_MAX, "%s/" BASE, real) >= PATH_MAX - 2 * PROFILE_NAME_BYTES) {
        errno = ENAMETOOLONG;
        return -1;
    }
    state = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return state < 0 ? -1 : make_directory(state, BASE);
}

/* 0 or an errno value. */
static int open_in(struct profile *profile, struct str name)
{
    int r = EEXIST;

    for (int i = 0; i < TRIES && r != 0; i++) {
        if (profile->is_fresh) {
            uint64_t number;

            rand_bytes(&number, sizeof(number));
            snprintf(profile->name, sizeof(profile->name), FRESH "%016llx",
                     (unsigned long long)number);
            if (mkdirat(profile->base_fd, profile->name, PRIVATE) < 0)
                return errno;
        } else {
            snprintf(profile->name, sizeof(profile->name), NAMED "%.*s", STR_ARG(name));
        }
        profile->fd = make_directory(profile->base_fd, profile->name);
        if (profile->fd < 0)
            return errno;
        r = take_lock(profile->fd, &profile->lock_fd);
        if (!profile->is_fresh)
            break;
        if (r != 0) {
            /* A sweeper was faster than we. */
            close(profile->fd);
            profile->fd = -1;
        }
    }
    if (r == 0) {
        cleanup_fd int data = make_directory(profile->fd, PROFILE_DATA);

        r = data < 0 ? errno : 0;
    }
    return r;
}

int profile_open(const char *state_dir, struct str name, struct profile *out_profile,
                 struct err *err)
{
    struct profile profile = PROFILE_INIT;
    char base[PATH_MAX];
    int r;

    if (!is_name(name))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "the name of a profile may have letters, digits, hyphens and underscores");
    profile.is_fresh = name.len == 0;
    profile.base_fd = open_base(state_dir, base);
    r = profile.base_fd < 0 ? errno : open_in(&profile, name);
    if (r == EWOULDBLOCK) {
        profile.is_fresh = false;
        profile_close(&profile);
        return err_set(err, ERR_BUSY, "the profile %.*s is in use by another session",
                       STR_ARG(name));
    }
    if (r != 0) {
        profile_close(&profile);
        return err_set(err, err_from_errno(r), "cannot create a profile in %.150s: %s", state_dir,
                       err_errno_text(r));
    }
    snprintf(profile.path, sizeof(profile.path), "%.*s/%s", PATH_MAX - 2 * PROFILE_NAME_BYTES, base,
             profile.name);
    *out_profile = profile;
    return 0;
}

void profile_close(struct profile *profile)
{
    if (profile->is_fresh && profile->base_fd >= 0 && profile->name[0] != '\0')
        remove_entry(profile->base_fd, profile->name, 0);
    for (size_t i = 0; i < 3; i++) {
        int *const fds[] = {&profile->lock_fd, &profile->fd, &profile->base_fd};

        if (*fds[i] >= 0)
            close(steal_fd(fds[i]));
    }
    *profile = (struct profile)PROFILE_INIT;
}

void profile_sweep(const char *state_dir)
{
    char path[PATH_MAX];
    int base = open_base(state_dir, path);
    DIR *dir = base >= 0 ? fdopendir(base) : NULL;
    struct dirent *entry;

    if (dir == NULL) {
        if (base >= 0)
            close(base);
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        cleanup_fd int one = -1;
        cleanup_fd int lock = -1;

        if (strncmp(entry->d_name, FRESH, strlen(FRESH)) != 0)
            continue;
        one = open_directory(dirfd(dir), entry->d_name);
        if (one >= 0 && take_lock(one, &lock) == 0)
            remove_entry(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
}
