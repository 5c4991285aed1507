/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes what killed processes left in a folder, without their journals: names of ours that no
 * living process holds. A living one holds a lock on the file or the directory of that name, unless
 * the file is there for microseconds only; so a new file is given some time to go.
 */
#include "authority/linux/journal_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum {
    CLEAN_MAX_DEPTH = 200, /* each level holds a descriptor */
    CLEAN_MAX_ENTRIES = 10000000,
    NEW_SECONDS = 2,
};

struct cleaning {
    const struct backend_root *root;
    const struct cancel *cancel;
    uint64_t budget;
    uint64_t removed;
    struct timespec aged; /* what has not changed since is not new */
};

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* Waits if it may just have been written; once for all that are as old. */
static void let_age(struct cleaning *cleaning, const struct stat *about)
{
    struct timespec pause = {.tv_sec = NEW_SECONDS};
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (!is_later(about->st_ctim, cleaning->aged) ||
        now.tv_sec > about->st_ctim.tv_sec + NEW_SECONDS)
        return;
    while (nanosleep(&pause, &pause) < 0 && errno == EINTR)
        ;
    /* A file system may have a clock of its own. */
    cleaning->aged = is_later(now, about->st_ctim) ? now : about->st_ctim;
}

/* Whether it is a file of ours that was left; holds its lock as long as *out_fd is open. */
static bool is_left_file(int dir_fd, const char *name, int *out_fd)
{
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    struct stat about;

    *out_fd = openat(dir_fd, name, O_RDWR | flags);
    if (*out_fd < 0 && errno == EACCES)
        *out_fd = openat(dir_fd, name, O_RDONLY | flags);
    return *out_fd >= 0 && fstat(*out_fd, &about) == 0 && S_ISREG(about.st_mode) &&
           about.st_uid == geteuid() && linux_try_lock(*out_fd);
}

static bool is_left_tree(int dir_fd, const char *name, int *out_fd)
{
    struct stat about;

    *out_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *out_fd >= 0 && fstat(*out_fd, &about) == 0 && about.st_uid == geteuid() &&
           flock(*out_fd, LOCK_EX | LOCK_NB) == 0;
}

static void clean_name(struct cleaning *cleaning, int dir_fd, const char *name)
{
    cleanup_fd int fd = -1;
    struct stat about;

    if (fstatat(dir_fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0 || about.st_uid != geteuid())
        return;
    if (S_ISREG(about.st_mode)) {
        let_age(cleaning, &about);
        if (is_left_file(dir_fd, name, &fd))
            cleaning->removed += unlinkat(dir_fd, name, 0) == 0;
    } else if (S_ISDIR(about.st_mode) && is_left_tree(dir_fd, name, &fd)) {
        cleaning->removed +=
            linux_remove_tree(dir_fd, name, &cleaning->budget, cleaning->cancel) == 0;
    }
}

static void close_dir(DIR **dir)
{
    if (*dir != NULL)
        closedir(*dir);
}

/* What cannot be opened is passed over. */
static int clean_directory(struct cleaning *cleaning, int fd, unsigned depth)
{
    cleanup_with(close_dir) DIR *dir = fdopendir(fd);
    const struct dirent *entry;
    int r = 0;

    if (dir == NULL) {
        close(fd);
        return ERR_NO_MEMORY;
    }
    while (r == 0 && (entry = readdir(dir)) != NULL) {
        struct str name = str_from(entry->d_name);
        int below;

        r = cleaning->budget-- > 0 ? cancel_check(cleaning->cancel) : ERR_TOO_LARGE;
        if (r < 0 || str_eq(name, STR(".")) || str_eq(name, STR("..")))
            continue;
        if (linux_is_temp_name(name))
            clean_name(cleaning, dirfd(dir), entry->d_name);
        else if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
                 depth < CLEAN_MAX_DEPTH &&
                 linux_open_entry(cleaning->root->backend, dirfd(dir), entry->d_name,
                                  O_RDONLY | O_DIRECTORY, cleaning->root->mount_id, &below) == 0)
            r = clean_directory(cleaning, below, depth + 1);
    }
    return r;
}

int linux_clean(struct backend_root *root, const struct cancel *cancel, uint64_t *out_removed)
{
    struct cleaning cleaning = {.root = root, .cancel = cancel, .budget = CLEAN_MAX_ENTRIES};
    int fd = openat(root->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd < 0 ? linux_error(errno) : clean_directory(&cleaning, fd, 0);

    *out_removed = cleaning.removed;
    return r;
}
