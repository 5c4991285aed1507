/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { PIPE_BYTES = 1 << 20, PIECE_BYTES = 256 << 10 };

static bool is_output_file(int stream, int fd)
{
    int flags = fcntl(fd, F_GETFL);
    struct stat about;

    if (flags < 0 || fstat(fd, &about) < 0 || (!S_ISREG(about.st_mode) && !S_ISBLK(about.st_mode)))
        return false;
    /* Of what is open for both, input is read. */
    return (flags & O_ACCMODE) == O_WRONLY || (stream != 0 && (flags & O_ACCMODE) == O_RDWR);
}

/* SAFETY: no C library wraps it; it takes numbers only. Where it is missing they count as two. */
static bool is_same_open_file(int a, int b)
{
    pid_t self = getpid();

    return syscall(SYS_kcmp, self, self, KCMP_FILE, a, b) == 0;
}

int outputs_open(struct outputs *outputs, int fds[OUTPUTS_STREAMS], struct err *err)
{
    bool is_file[OUTPUTS_STREAMS];

    for (int i = 0; i < OUTPUTS_STREAMS; i++) {
        int ends[2];

        is_file[i] = fds[i] >= 0 && is_output_file(i, i);
        if (!is_file[i])
            continue;
        for (int before = 0; before < i && fds[i] == i; before++)
            if (is_file[before] && is_same_open_file(before, i))
                fds[i] = fds[before];
        if (fds[i] != i)
            continue;
        if (pipe2(ends, O_CLOEXEC) < 0)
            return err_set(err, err_from_errno(errno), "cannot create a pipe: %s",
                           err_errno_text(errno));
        outputs->from[i] = ends[0];
        outputs->given[i] = fds[i] = ends[1];
        /* More is only faster. */
        (void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
        if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
            return err_set_plain(err, err_from_errno(errno));
    }
    return 0;
}

void outputs_give(struct outputs *outputs)
{
    for (int i = 0; i < OUTPUTS_STREAMS; i++)
        if (outputs->given[i] >= 0)
            close(steal_fd(&outputs->given[i]));
}

/* False if nothing more will come. */
static bool copy_piece(struct outputs *outputs, int stream, bool *out_is_empty)
{
    static char piece[PIECE_BYTES];
    ssize_t got = read(outputs->from[stream], piece, sizeof(piece));

    *out_is_empty = got <= 0;
    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    for (ssize_t done = 0; done < got;) {
        ssize_t written = write(stream, piece + done, (size_t)(got - done));

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            outputs->errno_value = written < 0 ? errno : EIO;
            return false;
        }
        done += written;
    }
    return true;
}

void outputs_copy(struct outputs *outputs, int stream)
{
    bool is_empty;

    /* The command then learns by a broken pipe that nobody takes its output. */
    if (!copy_piece(outputs, stream, &is_empty))
        close(steal_fd(&outputs->from[stream]));
}

void outputs_finish(struct outputs *outputs)
{
    outputs_give(outputs);
    for (int i = 0; i < OUTPUTS_STREAMS; i++) {
        bool is_empty = false;

        while (outputs->from[i] >= 0 && !is_empty)
            if (!copy_piece(outputs, i, &is_empty))
                break;
        if (outputs->from[i] >= 0)
            close(steal_fd(&outputs->from[i]));
    }
}
