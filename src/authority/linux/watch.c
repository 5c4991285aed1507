/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches directories with inotify. A directory is opened like any other and passed through /proc,
 * so that what is watched is what was resolved.
 *
 * A replaced file is reported as CREATED: it was renamed into place, and inotify does not tell over
 * what. A watch ends with its directory, and when that is moved: its names would come from a place
 * that nobody was granted. It is then silent, after one RESCAN. (A move of a parent directory is
 * not noticed.)
 *
 * A user has few inotify instances (128), for all programs; so watches share them, HUB_MAX_WATCHES
 * each. Whoever reads a watch takes the instance's events and puts those of others into their
 * queues. A watch's owner polls an epoll descriptor with two in it: the instance, so that any event
 * wakes the owner, and a bell that is always readable and enabled while the queue is not empty.
 *
 * inotify knows a directory once: watches of the same one share its descriptor, and the last of
 * them removes it. Descriptors are not reused (the kernel counts up), so events without a watch are
 * of watches that were freed.
 */
#include "authority/linux/journal_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"

enum {
    /* An event wakes all of them; and the kernel lets 500 epolls that are polled wait for one. */
    HUB_MAX_WATCHES = 128,
    WATCH_BATCH_BYTES = 16 << 10,
    /* A call ends after these; the descriptor stays readable if there is more. */
    WATCH_MAX_BATCHES = 16,
    /* Kept for an owner who does not read; beyond that a rescan is required. */
    WATCH_MAX_NEWS_BYTES = 64 << 10,
    /* A directory's descriptor that others take back while it is being asked for: once more. */
    ADD_MAX_ATTEMPTS = 10000,
    ADD_MAX_ENDED = 16,
};

/*
 * IN_CLOSE_WRITE alone would miss truncate(2) and files that are never closed; IN_MODIFY alone
 * would miss stores through a mapping. Repeated events are reported once.
 */
static const uint32_t created_mask = IN_CREATE | IN_MOVED_TO;
static const uint32_t changed_mask = IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB;
static const uint32_t removed_mask = IN_DELETE | IN_MOVED_FROM;
static const uint32_t ended_mask = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

/* An inotify instance. Used under the backend's lock, except for adding to it. */
struct hub {
    struct list link;
    int fd;
    int bell_fd; /* always readable */
    size_t count;
    struct list watches;
    struct list additions;
};

/* A watch being added, which may take as long as a dead file system likes. */
struct addition {
    struct list link;
    /* All directories that ended meanwhile. */
    size_t ended_count; /* may be more than there is room for */
    int ended[ADD_MAX_ENDED];
};

struct backend_watch {
    struct list link;
    struct linux_watches *all;
    struct hub *hub;
    int fd;         /* epoll: the hub's two */
    int descriptor; /* inotify's, of the directory */
    bool is_over;
    bool is_ringing;
    bool has_lost;   /* more news than there was room for */
    struct buf news; /* for each: its change, the length of its name, the name */
    size_t last_at;  /* the last of them */
};

typedef void report_fn(void *data, enum authority_change change, struct str name);

/* ---- instances ---- */

static void hub_close(struct hub *hub)
{
    if (hub == NULL)
        return;
    if (hub->fd >= 0)
        close(hub->fd);
    if (hub->bell_fd >= 0)
        close(hub->bell_fd);
    free(hub);
}

static int hub_new(struct hub **out_hub)
{
    struct hub *hub = malloc(sizeof(*hub));
    int r;

    if (hub == NULL)
        return ERR_NO_MEMORY;
    hub->count = 0;
    list_init(&hub->watches);
    list_init(&hub->additions);
    hub->bell_fd = -1;
    hub->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (hub->fd >= 0)
        hub->bell_fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    if (hub->bell_fd < 0) {
        r = linux_error(errno);
        hub_close(hub);
        return r;
    }
    *out_hub = hub;
    return 0;
}

/* Reserves a place for one more watch. */
static int hub_reserve(struct linux_watches *all, struct hub **out_hub)
{
    struct hub *hub;
    int r;

    list_each (node, &all->hubs) {
        hub = list_entry(node, struct hub, link);
        if (hub->count < HUB_MAX_WATCHES) {
            hub->count++;
            *out_hub = hub;
            return 0;
        }
    }
    hub = NULL;
    r = hub_new(&hub);
    if (r < 0)
        return r;
    assert(hub != NULL);
    list_append(&all->hubs, &hub->link);
    hub->count = 1;
    *out_hub = hub;
    return 0;
}

/* Returns the hub if that was the last watch, to be closed without the lock. */
static struct hub *hub_release(struct hub *hub)
{
    if (--hub->count > 0)
        return NULL;
    list_remove(&hub->link);
    return hub;
}

/* ---- news ---- */

static void listen(struct backend_watch *watch, bool is_ringing)
{
    struct epoll_event bell = {.events = is_ringing ? EPOLLIN : 0};

    if (watch->is_ringing == is_ringing)
        return;
    watch->is_ringing = is_ringing;
    /* It is in there since the watch was made, so this needs no memory and does not fail. */
    (void)epoll_ctl(watch->fd, EPOLL_CTL_MOD, watch->hub->bell_fd, &bell);
}

static bool is_repeated(const struct backend_watch *watch, enum authority_change change,
                        struct str name)
{
    const char *last = watch->news.data + watch->last_at;

    return watch->news.len > 0 && last[0] == (char)change &&
           str_eq((struct str){last + 2, (unsigned char)last[1]}, name);
}

static void keep_news(struct backend_watch *watch, enum authority_change change, struct str name)
{
    const char head[2] = {(char)change, (char)name.len};

    if (watch->has_lost || is_repeated(watch, change, name))
        return;
    if (name.len > NAME_MAX || buf_reserve(&watch->news, sizeof(head) + name.len) < 0) {
        watch->has_lost = true;
        buf_done(&watch->news);
        return;
    }
    watch->last_at = watch->news.len;
    (void)buf_append(&watch->news, head, sizeof(head));
    (void)buf_append_str(&watch->news, name);
}

/* Moves the queue to *out_news; false if events were lost and the owner must rescan. */
static bool take_news(struct backend_watch *watch, struct buf *out_news)
{
    bool is_whole = !watch->has_lost;

    *out_news = watch->news;
    buf_init(&watch->news, WATCH_MAX_NEWS_BYTES);
    watch->has_lost = false;
    listen(watch, false);
    return is_whole;
}

static void tell_news(struct str news, report_fn *report, void *data)
{
    while (news.len > 0) {
        struct str name = {news.ptr + 2, (unsigned char)news.ptr[1]};
        enum authority_change change = (enum authority_change)news.ptr[0];

        news = str_slice(news, 2 + name.len, news.len);
        report(data, change, name);
    }
}

/* ---- what the kernel says ---- */

static void note_ended(struct hub *hub, int descriptor)
{
    list_each (node, &hub->additions) {
        struct addition *addition = list_entry(node, struct addition, link);

        if (addition->ended_count < ADD_MAX_ENDED)
            addition->ended[addition->ended_count] = descriptor;
        addition->ended_count++;
    }
}

static void end_descriptor(struct hub *hub, int descriptor)
{
    note_ended(hub, descriptor);
    /* Fails when the kernel has ended it itself. */
    (void)inotify_rm_watch(hub->fd, descriptor);
}

static void take_event(struct backend_watch *watch, const struct inotify_event *event)
{
    struct str name = {event->name, event->len > 0 ? strnlen(event->name, event->len) : 0};

    if ((event->mask & ended_mask) != 0) {
        watch->is_over = true;
        (void)epoll_ctl(watch->fd, EPOLL_CTL_DEL, watch->hub->fd, NULL);
    }
    if ((event->mask & (ended_mask | IN_Q_OVERFLOW)) != 0) {
        keep_news(watch, AUTHORITY_RESCAN, STR_EMPTY);
        return;
    }
    /* Without a name it is about the directory itself, and our own names are not reported. */
    if (name.len == 0 || linux_is_temp_name(name))
        return;
    if ((event->mask & created_mask) != 0)
        keep_news(watch, AUTHORITY_CREATED, name);
    else if ((event->mask & removed_mask) != 0)
        keep_news(watch, AUTHORITY_REMOVED, name);
    else if ((event->mask & changed_mask) != 0)
        keep_news(watch, AUTHORITY_CHANGED, name);
}

static void route(struct hub *hub, const struct inotify_event *event,
                  const struct backend_watch *reader)
{
    bool is_for_all = (event->mask & IN_Q_OVERFLOW) != 0;

    /* Also if no watch has it yet. */
    if ((event->mask & ended_mask) != 0)
        end_descriptor(hub, event->wd);
    list_each (node, &hub->watches) {
        struct backend_watch *watch = list_entry(node, struct backend_watch, link);

        if (watch->is_over || (!is_for_all && watch->descriptor != event->wd))
            continue;
        take_event(watch, event);
        if (watch != reader && (watch->news.len > 0 || watch->has_lost))
            listen(watch, true);
    }
}

/* Distributes one batch to all queues: sets its bytes, 0 if there was none. */
static int pump(struct hub *hub, const struct backend_watch *reader, size_t *out_got)
{
    _Alignas(struct inotify_event) __attribute__((uninitialized)) char batch[WATCH_BATCH_BYTES];
    ssize_t got = read(hub->fd, batch, sizeof(batch));

    while (got < 0 && errno == EINTR)
        got = read(hub->fd, batch, sizeof(batch));
    *out_got = got > 0 ? (size_t)got : 0;
    if (got < 0)
        return errno == EAGAIN ? 0 : linux_error(errno);
    for (size_t at = 0; at < (size_t)got;) {
        /* SAFETY: the kernel wrote whole events, padded so that each is aligned. */
        const struct inotify_event *event = (const void *)(batch + at);

        at += sizeof(*event) + event->len;
        route(hub, event, reader);
    }
    return 0;
}

/* Earlier events must not reach a watch that is added next. */
static int pump_all(struct hub *hub)
{
    int waiting = 0;
    size_t got = 1;
    int r = ioctl(hub->fd, FIONREAD, &waiting) < 0 ? linux_error(errno) : 0;

    for (size_t seen = 0; r == 0 && got > 0 && seen < (size_t)waiting; seen += got)
        r = pump(hub, NULL, &got);
    return r;
}

/* ---- making and freeing ---- */

static bool has_ended(const struct addition *addition, int descriptor)
{
    if (addition->ended_count > ADD_MAX_ENDED)
        return true;
    for (size_t i = 0; i < addition->ended_count; i++)
        if (addition->ended[i] == descriptor)
            return true;
    return false;
}

/* Without the lock, since this calls the file system. */
static int ask_for(const struct hub *hub, struct backend_root *root,
                   const struct backend_lookup *lookup, struct str name, int *out_descriptor)
{
    cleanup_fd int dir_fd = -1;
    char path[40];
    int descriptor;
    int r = linux_open(root, lookup, name, O_PATH | O_DIRECTORY, &dir_fd);

    if (r < 0)
        return r;
    /* SAFETY: this leads to the open directory, whatever its name refers to by now. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d/.", dir_fd);
    descriptor = inotify_add_watch(hub->fd, path,
                                   created_mask | changed_mask | removed_mask | IN_DELETE_SELF |
                                       IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK);
    if (descriptor < 0) {
        /* No /proc; or as many watches as this user may have, which is no full disk. */
        if (errno == ENOENT)
            return ERR_UNSUPPORTED;
        return errno == ENOSPC ? ERR_BUSY : linux_error(errno);
    }
    *out_descriptor = descriptor;
    return 0;
}

/*
 * Meanwhile the directory may move, and another watch of it may be freed together with the
 * descriptor. Then it starts over.
 */
static int add(struct backend_watch *watch, struct backend_root *root,
               const struct backend_lookup *lookup, struct str name)
{
    struct hub *hub = watch->hub;
    struct addition addition = {.ended_count = 0};
    bool is_added = false;
    int r;

    pthread_mutex_lock(&watch->all->lock);
    r = pump_all(hub);
    list_append(&hub->additions, &addition.link);
    for (int i = 0; r == 0 && !is_added; i++) {
        addition.ended_count = 0;
        pthread_mutex_unlock(&watch->all->lock);
        r = i < ADD_MAX_ATTEMPTS ? ask_for(hub, root, lookup, name, &watch->descriptor) : ERR_BUSY;
        pthread_mutex_lock(&watch->all->lock);
        is_added = r == 0 && !has_ended(&addition, watch->descriptor);
    }
    if (is_added)
        list_append(&hub->watches, &watch->link);
    list_remove(&addition.link);
    pthread_mutex_unlock(&watch->all->lock);
    return r;
}

/* Creates the descriptor that the owner polls. */
static int make_pollable(struct backend_watch *watch)
{
    struct epoll_event instance = {.events = EPOLLIN};
    struct epoll_event bell = {.events = 0};

    watch->fd = epoll_create1(EPOLL_CLOEXEC);
    if (watch->fd >= 0 && epoll_ctl(watch->fd, EPOLL_CTL_ADD, watch->hub->fd, &instance) == 0 &&
        epoll_ctl(watch->fd, EPOLL_CTL_ADD, watch->hub->bell_fd, &bell) == 0)
        return 0;
    return errno == ENOSPC ? ERR_BUSY : linux_error(errno);
}

int linux_watch(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                struct backend_watch **out_watch, int *out_fd)
{
    struct linux_watches *all = &root->backend->watches;
    struct backend_watch *watch = malloc(sizeof(*watch));
    int r;

    if (watch == NULL)
        return ERR_NO_MEMORY;
    *watch = (struct backend_watch){.all = all, .fd = -1, .descriptor = -1};
    buf_init(&watch->news, WATCH_MAX_NEWS_BYTES);
    list_init(&watch->link);
    pthread_mutex_lock(&all->lock);
    r = hub_reserve(all, &watch->hub);
    pthread_mutex_unlock(&all->lock);
    if (r == 0)
        r = make_pollable(watch);
    if (r == 0)
        r = add(watch, root, lookup, name);
    if (r < 0) {
        linux_watch_free(watch);
        return r;
    }
    *out_fd = watch->fd;
    *out_watch = watch;
    return 0;
}

static bool is_last_of_its_directory(const struct backend_watch *watch)
{
    list_each (node, &watch->hub->watches) {
        const struct backend_watch *other = list_entry(node, struct backend_watch, link);

        if (!other->is_over && other->descriptor == watch->descriptor)
            return false;
    }
    return true;
}

/* Also for one that was never added. */
static struct hub *leave(struct backend_watch *watch)
{
    bool was_added = !list_is_empty(&watch->link);

    list_remove(&watch->link);
    if (was_added && !watch->is_over && is_last_of_its_directory(watch))
        end_descriptor(watch->hub, watch->descriptor);
    return hub_release(watch->hub);
}

void linux_watch_free(struct backend_watch *watch)
{
    struct hub *unused = NULL;

    if (watch == NULL)
        return;
    if (watch->hub != NULL) {
        pthread_mutex_lock(&watch->all->lock);
        unused = leave(watch);
        pthread_mutex_unlock(&watch->all->lock);
    }
    if (watch->fd >= 0)
        close(watch->fd);
    hub_close(unused);
    buf_done(&watch->news);
    free(watch);
}

/* ---- reading ---- */

int linux_watch_read(struct backend_watch *watch, report_fn *report, void *data)
{
    for (int i = 0; i < WATCH_MAX_BATCHES; i++) {
        cleanup_buf struct buf news = BUF_INIT(0);
        bool is_whole;
        size_t got;
        int r;

        pthread_mutex_lock(&watch->all->lock);
        r = pump(watch->hub, watch, &got);
        is_whole = take_news(watch, &news);
        pthread_mutex_unlock(&watch->all->lock);
        /* Without the lock: callbacks may create and free watches. */
        if (is_whole)
            tell_news(buf_view(&news), report, data);
        else
            report(data, AUTHORITY_RESCAN, STR_EMPTY);
        if (r < 0 || got == 0)
            return r;
    }
    return 0;
}

/* ---- all of a backend ---- */

void linux_watches_init(struct linux_watches *all)
{
    pthread_mutex_init(&all->lock, NULL);
    list_init(&all->hubs);
}

void linux_watches_done(struct linux_watches *all)
{
    assert(list_is_empty(&all->hubs));
    pthread_mutex_destroy(&all->lock);
}
