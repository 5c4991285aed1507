/* SPDX-License-Identifier: Apache-2.0 */
#include "asking/noticeboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/status.h"
#include "gatehouse/audit.h"
#include "permission/settings/dir.h"

enum { FD_PATH_BYTES = 32, OPEN_MS = 1000 };

#define FILE_NAME "noticeboard.lock"

/* A program that was started elsewhere may lack one of the variables: all share the second. */
static const enum status_place places[NOTICEBOARD_PLACES] = {STATUS_PLACE_RUNTIME,
                                                             STATUS_PLACE_STATE};

int noticeboard_open(struct noticeboard *out_board, struct err *err)
{
    struct noticeboard board = NOTICEBOARD_INIT;
    bool has_place = false;
    int r = err_set(err, ERR_NOT_FOUND, "neither XDG_RUNTIME_DIR nor HOME is set");

    for (int i = 0; i < NOTICEBOARD_PLACES; i++) {
        char path[PATH_MAX];
        cleanup_fd int dir_fd = -1;

        if (!status_socket_place(places[i], path))
            continue;
        r = audit_dir_open(path, &dir_fd, err);
        /* The lock of the whole file is only how it is made: nobody takes it for himself. */
        if (r == 0)
            r = settingsdir_share(dir_fd, FILE_NAME, OPEN_MS, &board.fds[i], err);
        has_place = has_place || r == 0;
    }
    if (!has_place)
        return r;
    *out_board = board;
    return 0;
}

void noticeboard_close(struct noticeboard *board)
{
    for (int i = 0; i < NOTICEBOARD_PLACES; i++)
        if (board->fds[i] >= 0)
            close(board->fds[i]);
    *board = (struct noticeboard)NOTICEBOARD_INIT;
}

/* Each notice is a byte of the file. */
static struct flock range_of(enum noticeboard_notice notice, int count, short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = notice, .l_len = count};
}

static void set(const struct noticeboard *board, enum noticeboard_notice notice, short type)
{
    for (int i = 0; i < NOTICEBOARD_PLACES; i++) {
        struct flock range = range_of(notice, 1, type);

        if (board->fds[i] >= 0)
            (void)fcntl(board->fds[i], F_OFD_SETLK, &range);
    }
}

void noticeboard_put(const struct noticeboard *board, enum noticeboard_notice notice)
{
    set(board, notice, F_RDLCK);
}

void noticeboard_remove(const struct noticeboard *board, enum noticeboard_notice notice)
{
    set(board, notice, F_UNLCK);
}

static bool has(const struct noticeboard *board, enum noticeboard_notice notice, int count)
{
    for (int i = 0; i < NOTICEBOARD_PLACES; i++) {
        struct flock range = range_of(notice, count, F_WRLCK);

        if (board->fds[i] >= 0 && fcntl(board->fds[i], F_OFD_GETLK, &range) == 0 &&
            range.l_type != F_UNLCK)
            return true;
    }
    return false;
}

bool noticeboard_has_input(const struct noticeboard *board)
{
    return has(board, NOTICEBOARD_INPUT, 1);
}

void noticeboard_tell_call(void *board, bool is_open)
{
    if (is_open)
        noticeboard_put(board, NOTICEBOARD_CALL);
    else
        noticeboard_remove(board, NOTICEBOARD_CALL);
}

bool noticeboard_others_ask(void *board)
{
    return has(board, NOTICEBOARD_CALL, 2); /* and NOTICEBOARD_CONNECT */
}

int noticeboard_call(const struct noticeboard *board)
{
    int r = ERR_NOT_FOUND;

    for (int i = 0; i < NOTICEBOARD_PLACES; i++)
        if (board->fds[i] >= 0)
            r = pwrite(board->fds[i], "!", 1, 0) == 1 ? 0 : err_from_errno(errno);
    return r;
}

int noticeboard_watch(const struct noticeboard *board)
{
    cleanup_fd int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    for (int i = 0; i < NOTICEBOARD_PLACES && fd >= 0; i++) {
        char path[FD_PATH_BYTES];

        snprintf(path, sizeof(path), "/proc/self/fd/%d", board->fds[i]);
        if (board->fds[i] >= 0 && inotify_add_watch(fd, path, IN_MODIFY) < 0)
            return -1;
    }
    return steal_fd(&fd);
}
