/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/namedfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/secret.h"

enum { PIECE_BYTES = 16 << 10 };

/* O_NONBLOCK: the file may be a pipe without a writer. */
const char *namedfile_read(const char *path, struct buf *out)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *why = NULL;
    char piece[PIECE_BYTES];
    struct stat about;
    ssize_t got;

    if (fd < 0 || fstat(fd, &about) < 0)
        return err_errno_text(errno);
    if (!S_ISREG(about.st_mode))
        return "not a regular file";
    while (why == NULL && (got = read(fd, piece, sizeof(piece))) != 0) {
        if (got < 0)
            why = err_errno_text(errno);
        else if (buf_append_str(out, (struct str){piece, (size_t)got}) < 0)
            why = "the file is too large";
    }
    secret_wipe(piece, sizeof(piece)); /* it may be a key */
    return why;
}
