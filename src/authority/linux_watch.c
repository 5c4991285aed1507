/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching one directory with inotify. The directory is opened like any other
 * and handed over through /proc, so that what is watched is what was resolved.
 *
 * A replaced file is CREATED again: it was renamed into place, and inotify does
 * not say over what. A watch ends with its directory, and when that is moved: its
 * names would come from a place that nobody was granted. It is then quiet, after
 * one RESCAN. (That a directory above was moved is not seen.)
 */
#include "authority/linux_journal_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
    WATCH_BATCH_BYTES = 16 << 10,
    /* A call ends after these; the descriptor stays readable if there is more. */
    WATCH_MAX_BATCHES = 16,
};

/*
 * IN_CLOSE_WRITE alone would miss truncate(2) and files that are never closed;
 * IN_MODIFY alone what was stored through a mapping. The same news twice in a row is told once.
 */
static const uint32_t created_mask = IN_CREATE | IN_MOVED_TO;
static const uint32_t changed_mask = IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB;
static const uint32_t removed_mask = IN_DELETE | IN_MOVED_FROM;
static const uint32_t ended_mask = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

struct backend_watch {
    int fd;
    int descriptor; /* inotify's, of the directory */
    bool is_over;
    _Alignas(struct inotify_event) char batch[WATCH_BATCH_BYTES];
};

typedef void report_fn(void *data, enum authority_change change, struct str name);

struct news {
    report_fn *report;
    void *data;
    /* Told last; in the batch that is being read. */
    bool has_last;
    enum authority_change last_change;
    struct str last_name;
};

int linux_watch(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                struct backend_watch **out_watch, int *out_fd)
{
    cleanup_fd int dir_fd = -1;
    cleanup_fd int fd = -1;
    struct backend_watch *watch;
    char path[40];
    int descriptor;
    int r = linux_open(root, lookup, name, O_PATH | O_DIRECTORY, &dir_fd);

    if (r < 0)
        return r;
    fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0)
        return linux_error(errno);
    /* SAFETY: this leads to the directory that is held, whatever its name stands for by now. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d/.", dir_fd);
    descriptor = inotify_add_watch(fd, path,
                                   created_mask | changed_mask | removed_mask | IN_DELETE_SELF |
                                       IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK);
    if (descriptor < 0) {
        /* No /proc; or as many watches as this user may have, which is no full disk. */
        if (errno == ENOENT)
            return ERR_UNSUPPORTED;
        return errno == ENOSPC ? ERR_BUSY : linux_error(errno);
    }
    watch = malloc(sizeof(*watch));
    if (watch == NULL)
        return ERR_NO_MEMORY;
    watch->fd = steal_fd(&fd);
    watch->descriptor = descriptor;
    watch->is_over = false;
    *out_fd = watch->fd;
    *out_watch = watch;
    return 0;
}

static void tell(struct news *news, enum authority_change change, struct str name)
{
    if (news->has_last && news->last_change == change && str_eq(news->last_name, name))
        return;
    news->has_last = true;
    news->last_change = change;
    news->last_name = name;
    news->report(news->data, change, name);
}

static void take_event(struct backend_watch *watch, const struct inotify_event *event,
                       struct news *news)
{
    struct str name = {event->name, event->len > 0 ? strnlen(event->name, event->len) : 0};

    if (watch->is_over)
        return;
    if ((event->mask & ended_mask) != 0) {
        watch->is_over = true;
        /* Fails when the kernel has ended it itself. */
        (void)inotify_rm_watch(watch->fd, watch->descriptor);
    }
    if ((event->mask & (ended_mask | IN_Q_OVERFLOW)) != 0) {
        tell(news, AUTHORITY_RESCAN, STR_EMPTY);
        return;
    }
    /* Without a name it is about the directory itself, and its own are nobody's business. */
    if (name.len == 0 || linux_is_temp_name(name))
        return;
    if ((event->mask & created_mask) != 0)
        tell(news, AUTHORITY_CREATED, name);
    else if ((event->mask & removed_mask) != 0)
        tell(news, AUTHORITY_REMOVED, name);
    else if ((event->mask & changed_mask) != 0)
        tell(news, AUTHORITY_CHANGED, name);
}

int linux_watch_read(struct backend_watch *watch, report_fn *report, void *data)
{
    for (int i = 0; i < WATCH_MAX_BATCHES; i++) {
        struct news news = {.report = report, .data = data};
        ssize_t got = read(watch->fd, watch->batch, sizeof(watch->batch));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN ? 0 : linux_error(errno);
        for (size_t at = 0; at < (size_t)got;) {
            /* SAFETY: the kernel wrote whole events, padded so that each is aligned. */
            const struct inotify_event *event = (const void *)(watch->batch + at);

            at += sizeof(*event) + event->len;
            take_event(watch, event, &news);
        }
    }
    return 0;
}

void linux_watch_free(struct backend_watch *watch)
{
    if (watch == NULL)
        return;
    close(watch->fd);
    free(watch);
}
