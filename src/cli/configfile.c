/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/configfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

enum { PIECE_BYTES = 4 << 10 };

static int refuse(struct err *err, const char *path, const char *why)
{
    return err_set(err, ERR_INVALID_OPTION, "%s: %s", path, why);
}

/* O_NONBLOCK: the file may be a pipe without a writer. */
static int read_whole(const char *path, struct buf *out, struct err *err)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char piece[PIECE_BYTES];
    struct stat about;
    ssize_t got;

    if (fd < 0 || fstat(fd, &about) < 0)
        return refuse(err, path, err_errno_text(errno));
    if (!S_ISREG(about.st_mode))
        return refuse(err, path, "not a regular file");
    while ((got = read(fd, piece, sizeof(piece))) > 0)
        if (buf_append_str(out, (struct str){piece, (size_t)got}) < 0)
            return refuse(err, path, "the file is too large");
    return got < 0 ? refuse(err, path, err_errno_text(errno)) : 0;
}

int configfile_read(struct option_values *values, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CONFIGFILE_MAX_BYTES);
    struct err why = ERR_INIT;

    for (size_t i = 0; i < values->command->option_count; i++) {
        const char *path;

        if (!values->command->options[i].is_file)
            continue;
        path = options_text(values, i);
        if (path == NULL)
            return 0;
        if (read_whole(path, &text, err) < 0)
            return err != NULL ? err->code : ERR_INVALID_OPTION;
        if (options_read_file(values, buf_view(&text), &why) < 0)
            return err_set(err, why.code, "%s: %s", path, why.message);
    }
    return 0;
}
