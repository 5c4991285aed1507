/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a ring for reading: which exist, and up to where they are complete. */
#include "authority/audit/internal.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { LAST_LINE_LOOKS = 20 };

void audit_logs_done(struct audit_logs *logs)
{
    for (size_t i = 0; i < logs->count; i++)
        close(logs->files[i].fd);
    logs->count = 0;
}

static int read_at(int fd, char *bytes, size_t size, uint64_t offset, size_t *out_got)
{
    ssize_t got;

    do {
        got = pread(fd, bytes, size, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_from_errno(errno);
    *out_got = (size_t)got;
    return 0;
}

/* Position after the last newline before `end`, and not before `from`. */
static int find_last_end(int fd, uint64_t from, uint64_t end, uint64_t *out_end)
{
    char block[4096];

    while (end > from) {
        size_t size = end - from < sizeof(block) ? (size_t)(end - from) : sizeof(block);
        const char *line_end;
        size_t got;
        int r = read_at(fd, block, size, end - size, &got);

        if (r < 0)
            return r;
        line_end = memrchr(block, '\n', got);
        if (line_end != NULL) {
            *out_end = end - size + (size_t)(line_end - block) + 1;
            return 0;
        }
        end -= size;
    }
    *out_end = from;
    return 0;
}

/* Position after the first newline at or after `from`, if it is there or comes within a moment. */
static int await_end(int fd, uint64_t from, bool is_growing, uint64_t *out_end)
{
    static const struct timespec moment = {.tv_nsec = 1000000};

    for (unsigned looks = 0; looks == 0 || (is_growing && looks < LAST_LINE_LOOKS); looks++) {
        char block[4096];
        uint64_t at = from;
        size_t got = 0;

        if (looks > 0)
            nanosleep(&moment, NULL);
        do {
            const char *line_end;
            int r = read_at(fd, block, sizeof(block), at, &got);

            if (r < 0)
                return r;
            line_end = memchr(block, '\n', got);
            if (line_end != NULL) {
                *out_end = at + (size_t)(line_end - block) + 1;
                return 0;
            }
            at += got;
        } while (got > 0 && at - from <= AUDIT_MAX_RECORD_BYTES);
    }
    return ERR_NOT_FOUND;
}

/* Reads a line that has begun to its end, unless that never comes. */
static int measure(struct audit_log *log, bool *out_is_torn)
{
    struct stat about;
    uint64_t size;
    int r;

    *out_is_torn = false;
    if (fstat(log->fd, &about) < 0)
        return err_from_errno(errno);
    size = (uint64_t)about.st_size;
    r = find_last_end(log->fd, log->from, size, &log->end);
    if (r < 0 || log->end >= size)
        return r;
    r = await_end(log->fd, size, !audit_is_sealed(&about), &log->end);
    *out_is_torn = r == ERR_NOT_FOUND;
    return r == ERR_NOT_FOUND ? 0 : r;
}

static struct audit_log *find_log(struct audit_logs *logs, const struct stat *about)
{
    for (size_t i = 0; i < logs->count; i++) {
        if (logs->files[i].inode == about->st_ino && logs->files[i].device == about->st_dev)
            return &logs->files[i];
    }
    return NULL;
}

static void add_log(struct audit_logs *logs, int *fd, const struct stat *about)
{
    logs->files[logs->count++] =
        (struct audit_log){.fd = steal_fd(fd), .device = about->st_dev, .inode = about->st_ino};
}

/* Files found in between are newer. */
static void move_last(struct audit_logs *logs, struct audit_log *log)
{
    struct audit_log moved = *log;
    size_t behind = logs->count - 1 - (size_t)(log - logs->files);

    memmove(log, log + 1, behind * sizeof(*log));
    logs->files[logs->count - 1] = moved;
}

/*
 * Called when all are open: then nothing is missing of a file that was rotated, while lines written
 * to it during the search could have been missed before.
 */
static int measure_all(struct audit_logs *logs)
{
    for (size_t i = 0; i < logs->count; i++) {
        bool is_torn;
        int r = measure(&logs->files[i], &is_torn);

        if (r < 0)
            return r;
        logs->torn += is_torn;
    }
    return 0;
}

/*
 * From newest to oldest, without a lock: rotation renames files in the same direction, so one that
 * moves meanwhile is found twice and none is missed. Open files stay valid, whatever happens to
 * their names.
 */
int audit_logs_open(struct audit_logs *logs, const struct audit_config *config,
                    enum audit_kind kind)
{
    char stem[AUDIT_NAME_BYTES];

    audit_stem(config->name, kind, stem);
    for (unsigned number = 0; number <= AUDIT_MAX_FILES; number++) {
        char name[AUDIT_NAME_BYTES];
        struct audit_log *known;
        struct stat about;
        cleanup_fd int fd = -1;

        audit_file_name(stem, number, name);
        fd = audit_open_to_read(config->dir_fd, name, &about);
        if (fd == ERR_SYMLINK_REJECTED || fd == ERR_NOT_REGULAR_FILE) {
            logs->torn++;
        } else if (fd < 0 && fd != ERR_NOT_FOUND) {
            return fd;
        } else if (fd >= 0 && (known = find_log(logs, &about)) != NULL) {
            move_last(logs, known);
        } else if (fd >= 0) {
            add_log(logs, &fd, &about);
        }
    }
    return measure_all(logs);
}

/* ---- what comes later ---- */

static int advance_log(struct audit_log *log)
{
    struct stat about;

    log->from = log->end;
    if (fstat(log->fd, &about) < 0)
        return err_from_errno(errno);
    if ((uint64_t)about.st_size <= log->from)
        return 0;
    /* Half a line is left for the next time. */
    return find_last_end(log->fd, log->from, (uint64_t)about.st_size, &log->end);
}

static bool is_rotated(const struct audit_logs *logs, const struct audit_config *config,
                       const char *stem)
{
    struct stat about;
    cleanup_fd int fd = audit_open_to_read(config->dir_fd, stem, &about);

    return fd >= 0 && (logs->count == 0 || logs->files[0].inode != about.st_ino ||
                       logs->files[0].device != about.st_dev);
}

/* Continues known files where they were, even if they have lost their name. */
static int meet_new_files(struct audit_logs *logs, const struct audit_config *config,
                          enum audit_kind kind)
{
    struct audit_logs met = {.count = 0};
    int r = audit_logs_open(&met, config, kind);

    for (size_t i = 0; r == 0 && i < logs->count; i++) {
        struct audit_log *old = &logs->files[i];
        struct stat about = {.st_dev = old->device, .st_ino = old->inode};
        struct audit_log *same = find_log(&met, &about);

        if (same != NULL)
            same->from = same->end > old->from ? old->from : same->end;
        else if (old->end > old->from && met.count <= AUDIT_MAX_FILES) {
            met.files[met.count++] = *old;
            old->fd = -1;
        }
    }
    if (r < 0) {
        audit_logs_done(&met);
        return r;
    }
    for (size_t i = 0; i < logs->count; i++)
        if (logs->files[i].fd >= 0)
            close(logs->files[i].fd);
    *logs = met;
    return 0;
}

int audit_logs_advance(struct audit_logs *logs, const struct audit_config *config,
                       enum audit_kind kind)
{
    char stem[AUDIT_NAME_BYTES];
    int r = 0;

    audit_stem(config->name, kind, stem);
    logs->torn = 0;
    for (size_t i = 0; r == 0 && i < logs->count; i++)
        r = advance_log(&logs->files[i]);
    return r == 0 && is_rotated(logs, config, stem) ? meet_new_files(logs, config, kind) : r;
}
