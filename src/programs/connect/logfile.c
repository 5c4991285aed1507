/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/logfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "gatehouse/audit.h"

enum {
    FILE_MODE = 0600,
    OPEN_TO_OTHERS = 077,
    /* A name with what is put behind it: ".new", ".4294967295". */
    NUMBERED_BYTES = LOGFILE_NAME_BYTES + 16,
};

struct logfile {
    int dir_fd;
    int fd;
    char name[LOGFILE_NAME_BYTES];
    uint64_t max_bytes;
    unsigned kept;
    uint64_t lost;
    struct log form; /* how a line looks: it writes nowhere */
};

static int refuse(struct err *err, const char *name, int errno_value)
{
    return err_set_field(err, err_from_errno(errno_value), name, "cannot open the log file %s: %s",
                         name, err_errno_text(errno_value));
}

/* ---- opening ---- */

static int check(int fd, const char *name, struct err *err)
{
    struct stat about;

    if (fstat(fd, &about) < 0)
        return refuse(err, name, errno);
    if (!S_ISREG(about.st_mode))
        return err_set_field(err, ERR_NOT_REGULAR_FILE, name,
                             "the log file %s is not a regular file", name);
    if (about.st_uid != geteuid())
        return err_set_field(err, ERR_PERMISSION_DENIED, name,
                             "the log file %s belongs to another user", name);
    if (about.st_nlink > 1)
        return err_set_field(err, ERR_HARDLINK_REJECTED, name,
                             "the log file %s has other hard links; remove them", name);
    if ((about.st_mode & OPEN_TO_OTHERS) != 0 && fchmod(fd, FILE_MODE) < 0)
        return refuse(err, name, errno);
    return 0;
}

/* O_NONBLOCK: the file may be a pipe without a reader. */
static int open_name(const struct logfile *file, const char *name, int flags, int *out_fd,
                     struct err *err)
{
    cleanup_fd int fd = openat(file->dir_fd, name,
                               O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
                                   O_CLOEXEC | flags,
                               FILE_MODE);
    int r;

    if (fd < 0 && (errno == ELOOP || errno == EMLINK))
        return err_set_field(err, ERR_SYMLINK_REJECTED, name, "the log file %s is a symbolic link",
                             name);
    if (fd < 0)
        return refuse(err, name, errno);
    r = check(fd, name, err);
    if (r == 0)
        *out_fd = steal_fd(&fd);
    return r;
}

int logfile_open(const struct logfile_config *config, struct logfile **out_file, struct err *err)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct logfile *file;
    int r;

    if (strlen(config->name) >= LOGFILE_NAME_BYTES || strchr(config->name, '/') != NULL)
        return err_set_field(err, ERR_INVALID_PATH, config->name, "invalid name for a log file: %s",
                             config->name);
    assert(config->max_bytes == 0 || config->max_bytes >= LOGFILE_LEAST_BYTES);
    file = calloc(1, sizeof(*file));
    if (file == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    file->dir_fd = -1;
    file->fd = -1;
    snprintf(file->name, sizeof(file->name), "%s", config->name);
    file->max_bytes = config->max_bytes > 0 ? config->max_bytes : LOGFILE_MAX_BYTES;
    file->kept = config->kept > 0 ? config->kept : LOGFILE_KEPT;
    file->form =
        (struct log){.fd = -1, .threshold = LOG_DEBUG, .format = LOG_PLAIN, .clock = config->clock};
    r = audit_dir_open(config->directory, &file->dir_fd, err);
    if (r == 0)
        r = open_name(file, file->name, 0, &file->fd, err);
    if (r < 0) {
        logfile_close(file);
        return r;
    }
    /* A limit on the size of files is a full disk, not an end. */
    sigaction(SIGXFSZ, &ignore, NULL);
    *out_file = file;
    return 0;
}

void logfile_close(struct logfile *file)
{
    if (file == NULL)
        return;
    cleanup_fd_(&file->fd);
    cleanup_fd_(&file->dir_fd);
    free(file);
}

/* ---- making way ---- */

static void replace_fd(struct logfile *file, int fd)
{
    cleanup_fd_(&file->fd);
    file->fd = fd;
}

/* NAME.1 becomes NAME.2 and so on, the last one is deleted, NAME becomes NAME.1. */
static int move_on(const struct logfile *file)
{
    char from[NUMBERED_BYTES];
    char to[NUMBERED_BYTES];

    for (unsigned i = file->kept; i > 0; i--) {
        snprintf(to, sizeof(to), "%s.%u", file->name, i);
        if (i > 1)
            snprintf(from, sizeof(from), "%s.%u", file->name, i - 1);
        else
            snprintf(from, sizeof(from), "%s", file->name);
        if (renameat(file->dir_fd, from, file->dir_fd, to) < 0 && errno != ENOENT)
            return err_from_errno(errno);
    }
    return 0;
}

/* Creates the new file before moving anything: on a full disk nothing is lost. */
static int rotate(struct logfile *file)
{
    char fresh[NUMBERED_BYTES];
    cleanup_fd int fd = -1;
    int r;

    snprintf(fresh, sizeof(fresh), "%s.new", file->name);
    /* Left by a process that was killed in the middle. */
    (void)unlinkat(file->dir_fd, fresh, 0);
    r = open_name(file, fresh, O_EXCL, &fd, NULL);
    if (r == 0)
        r = move_on(file);
    if (r == 0 && renameat(file->dir_fd, fresh, file->dir_fd, file->name) < 0)
        r = err_from_errno(errno);
    if (r < 0)
        (void)unlinkat(file->dir_fd, fresh, 0);
    else
        replace_fd(file, steal_fd(&fd));
    return r;
}

/* ---- lines ---- */

/* Writes the whole line or nothing: half of one would run into the next. */
static int append(struct logfile *file, struct str line)
{
    struct stat about;
    ssize_t written;
    int r = 0;
    int fd;

    if (fstat(file->fd, &about) < 0)
        return err_from_errno(errno);
    if (about.st_nlink == 0) { /* it was removed */
        r = open_name(file, file->name, 0, &fd, NULL);
        if (r < 0)
            return r;
        replace_fd(file, fd);
    } else if ((uint64_t)about.st_size + line.len > file->max_bytes) {
        r = rotate(file);
    }
    if (r < 0 || fstat(file->fd, &about) < 0)
        return r < 0 ? r : err_from_errno(errno);
    do
        written = write(file->fd, line.ptr, line.len);
    while (written < 0 && errno == EINTR);
    if (written == (ssize_t)line.len)
        return 0;
    if (written > 0)
        (void)!ftruncate(file->fd, about.st_size);
    return written < 0 ? err_from_errno(errno) : ERR_NO_SPACE;
}

static int write_line(struct logfile *file, enum log_level level, const char *message,
                      const struct log_field *fields, size_t count)
{
    cleanup_buf struct buf line = BUF_INIT(LOG_LINE_MAX_BYTES);
    int r;

    line.max = LOG_LINE_MAX_BYTES - 1; /* room for the end */
    log_format_line(&file->form, level, message, fields, count, &line);
    line.max = LOG_LINE_MAX_BYTES;
    r = buf_append_char(&line, '\n');
    return r == 0 ? append(file, buf_view(&line)) : r;
}

void logfile_write(void *data, enum log_level level, const char *message,
                   const struct log_field *fields, size_t count)
{
    struct logfile *file = data;
    int saved_errno = errno;

    if (file->lost > 0) {
        const struct log_field lost = LOG_INT("lines", (int64_t)file->lost);

        if (write_line(file, LOG_WARN, "some lines of this log could not be written", &lost, 1) ==
            0)
            file->lost = 0;
    }
    if (file->lost > 0 || write_line(file, level, message, fields, count) < 0)
        file->lost++;
    errno = saved_errno;
}
