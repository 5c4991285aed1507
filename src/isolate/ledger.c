/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rand.h"

enum { PRIVATE = 0700, PRIVATE_FILE = 0600, TRIES = 8, NAME_BYTES = 32 };

#define PREFIX "left-"

struct ledger {
    int dir_fd;
    int fd;
    char name[NAME_BYTES];
};

/* -1 with errno. */
static int open_folder(const char *state_dir, const char *folder)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/%s", state_dir, folder) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (mkdir(path, PRIVATE) < 0 && errno != EEXIST)
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Locked and still there: somebody who saw it unlocked has not removed it. */
static bool is_ours(int fd)
{
    struct stat about;

    return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &about) == 0 && about.st_nlink > 0;
}

static struct ledger *new_ledger(int dir_fd, const char *name, int fd)
{
    struct ledger *ledger = malloc(sizeof(*ledger));

    if (ledger == NULL)
        return NULL;
    ledger->dir_fd = dir_fd;
    ledger->fd = fd;
    snprintf(ledger->name, sizeof(ledger->name), "%s", name);
    return ledger;
}

int ledger_open(const char *state_dir, const char *folder, struct ledger **out_ledger,
                struct err *err)
{
    cleanup_fd int dir = open_folder(state_dir, folder);
    cleanup_fd int fd = -1;
    char name[NAME_BYTES];

    for (int i = 0; i < TRIES && dir >= 0 && fd < 0; i++) {
        uint64_t number;

        rand_bytes(&number, sizeof(number));
        snprintf(name, sizeof(name), PREFIX "%016llx", (unsigned long long)number);
        fd = openat(dir, name, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    PRIVATE_FILE);
        if (fd < 0)
            break;
        if (!is_ours(fd))
            close(steal_fd(&fd));
    }
    if (fd < 0)
        return err_set(err, err_from_errno(errno), "cannot write to %.100s/%s: %s", state_dir,
                       folder, err_errno_text(errno));
    *out_ledger = new_ledger(dir, name, fd);
    if (*out_ledger == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    (void)steal_fd(&dir);
    (void)steal_fd(&fd);
    return 0;
}

int ledger_add(struct ledger *ledger, struct str line, struct err *err)
{
    char text[LEDGER_LINE_BYTES];
    int len = snprintf(text, sizeof(text), "%.*s\n", STR_ARG(line));

    if (len < 0 || len >= (int)sizeof(text))
        return err_set(err, ERR_TOO_LARGE, "a line is too long to be written down");
    if (write(ledger->fd, text, (size_t)len) != len || fdatasync(ledger->fd) < 0)
        return err_set(err, err_from_errno(errno), "it cannot be written down: %s",
                       err_errno_text(errno));
    return 0;
}

void ledger_close(struct ledger *ledger, bool is_over)
{
    if (ledger == NULL)
        return;
    if (is_over)
        (void)unlinkat(ledger->dir_fd, ledger->name, 0);
    close(ledger->fd);
    close(ledger->dir_fd);
    free(ledger);
}

/* Up to the last newline: what follows was being written when the process was killed. */
static struct str read_lines(int fd, char *text)
{
    size_t len = 0;
    ssize_t got;

    while (len < LEDGER_BYTES && (got = read(fd, text + len, LEDGER_BYTES - len)) > 0)
        len += (size_t)got;
    while (len > 0 && text[len - 1] != '\n')
        len--;
    return (struct str){text, len};
}

static struct ledger *take_one(int dir, const char *name)
{
    cleanup_fd int fd = -1;
    cleanup_fd int copy = -1;
    struct ledger *ledger;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strlen(name) >= NAME_BYTES)
        return NULL;
    fd = openat(dir, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || !is_ours(fd))
        return NULL;
    copy = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    ledger = copy >= 0 ? new_ledger(copy, name, fd) : NULL;
    if (ledger == NULL)
        return NULL;
    (void)steal_fd(&copy);
    (void)steal_fd(&fd);
    return ledger;
}

void ledger_take_dead(const char *state_dir, const char *folder,
                      void (*take)(void *data, struct ledger *dead, struct str lines), void *data)
{
    int fd = open_folder(state_dir, folder);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    cleanup_free char *text = malloc(LEDGER_BYTES);
    struct dirent *entry;

    if (dir == NULL && fd >= 0)
        close(fd);
    while (dir != NULL && text != NULL && (entry = readdir(dir)) != NULL) {
        struct ledger *dead = take_one(dirfd(dir), entry->d_name);

        if (dead != NULL)
            take(data, dead, read_lines(dead->fd, text));
    }
    if (dir != NULL)
        closedir(dir);
}
