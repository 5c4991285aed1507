/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/ask/askers.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asking/message.h"
#include "asking/socket.h"
#include "asking/wire.h"
#include "base/cleanup.h"
#include "base/list.h"
#include "cli/status.h"
#include "gatehouse/audit.h"
#include "loop/reader.h"
#include "loop/timer.h"

enum {
    ARENA_BYTES = 32 << 20, /* for one message */
    KEPT_BYTES = 256 << 10, /* of answers */
    LOOK_MS = 2000,         /* between looks for new programs, where nothing tells of them */
};

/* One directory of sockets. */
struct place {
    int dir_fd;
    dev_t device;
    ino_t inode;
};

/* The connection to one program. */
struct link {
    struct list node;
    struct askers *askers;
    const struct place *place;
    unsigned slot;
    struct wire *wire;
    struct list asked;
};

/* A question of theirs in our queue. */
struct asked {
    struct list node;
    struct link *link;
    uint64_t their_id;
    uint64_t our_id;
};

struct askers {
    struct askers_config config;
    struct place places[STATUS_PLACES];
    size_t place_count;
    struct list links;
    int inotify_fd;
    struct reader *signs;
    struct timer look; /* where there is no inotify */
    struct loop_task look_soon;
};

/* ---- answers ---- */

static void forget(struct asked *asked)
{
    list_remove(&asked->node);
    free(asked);
}

static void send_answer(struct link *link, uint64_t id, enum permission_choice choice)
{
    cleanup_buf struct buf line = BUF_INIT(ASKING_ANSWER_BYTES);
    int r = asking_write_answer(id, choice, &line);

    wire_send(link->wire, r, &line);
}

static void on_answer(void *data, uint64_t id, enum permission_choice choice, const char *by)
{
    struct asked *asked = data;

    (void)id;
    if (by != NULL) /* else the terminal is gone, and we are too: another one may answer */
        send_answer(asked->link, asked->their_id, choice);
    forget(asked);
}

/* ---- what they say ---- */

static struct asked *find(const struct link *link, uint64_t their_id)
{
    list_each (node, &link->asked) {
        struct asked *asked = list_entry(node, struct asked, node);

        if (asked->their_id == their_id)
            return asked;
    }
    return NULL;
}

static int show(struct link *link, uint64_t id, const struct question *question)
{
    struct asked *asked;
    int r;

    if (find(link, id) != NULL)
        return ERR_INVALID_ARGUMENT;
    asked = calloc(1, sizeof(*asked));
    if (asked == NULL)
        return ERR_NO_MEMORY;
    asked->link = link;
    asked->their_id = id;
    list_append(&link->asked, &asked->node);
    r = question_queue_ask(link->askers->config.queue, question, on_answer, asked, &asked->our_id);
    if (r < 0) {
        /* More than anybody could answer; who waits learns that it was not allowed. */
        send_answer(link, id, CHOICE_DENY_ONCE);
        forget(asked);
    }
    return 0;
}

static void withdraw(const struct link *link, uint64_t id, enum question_queue_end end)
{
    struct asked *asked = find(link, id);

    if (asked == NULL) /* answered meanwhile */
        return;
    question_queue_cancel(link->askers->config.queue, asked->our_id, end);
    forget(asked);
}

static int on_line(void *data, struct str line)
{
    struct link *link = data;
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct asking_message message;
    int r = asking_parse(&arena, line, &message);

    if (r < 0)
        return r;
    switch (message.kind) {
    case ASKING_HELLO:
        link->askers->config.on_found(link->askers->config.data, message.asker);
        return 0;
    case ASKING_QUESTION:
        return show(link, message.id, &message.question);
    case ASKING_WITHDRAWAL:
        withdraw(link, message.id, message.end);
        return 0;
    case ASKING_ANSWER:
        break;
    }
    return ERR_INVALID_ARGUMENT;
}

/* ---- connecting ---- */

static void free_link(struct link *link)
{
    while (!list_is_empty(&link->asked)) {
        struct asked *asked = list_entry(link->asked.next, struct asked, node);

        withdraw(link, asked->their_id, QUESTION_QUEUE_CANCELLED);
    }
    list_remove(&link->node);
    wire_free(link->wire);
    free(link);
}

static void drop(void *data)
{
    struct link *link = data;
    struct askers *askers = link->askers;

    free_link(link);
    /* Another program may have the name already, and its sign came while this one held it. */
    loop_defer(askers->config.loop, &askers->look_soon);
}

/* Owns the descriptor, also if it fails. */
static void add_link(struct askers *askers, const struct place *place, unsigned slot, int fd)
{
    struct link *link = calloc(1, sizeof(*link));
    const struct wire_config config = {.loop = askers->config.loop,
                                       .max_line_bytes = ASKING_QUESTION_BYTES,
                                       .max_kept_bytes = KEPT_BYTES,
                                       .on_line = on_line,
                                       .on_end = drop,
                                       .data = link};

    if (link == NULL) {
        close(fd);
        return;
    }
    link->askers = askers;
    link->place = place;
    link->slot = slot;
    list_init(&link->asked);
    list_append(&askers->links, &link->node);
    if (wire_new(&config, fd, &link->wire) < 0)
        free_link(link);
}

static bool has_link(const struct askers *askers, const struct place *place, unsigned slot)
{
    list_each (node, &askers->links) {
        const struct link *link = list_entry(node, struct link, node);

        if (link->place == place && link->slot == slot)
            return true;
    }
    return false;
}

static void look(void *data)
{
    struct askers *askers = data;

    for (size_t i = 0; i < askers->place_count; i++)
        for (unsigned slot = 0; slot < ASKING_SLOTS; slot++) {
            const struct place *place = &askers->places[i];
            int fd;

            if (!has_link(askers, place, slot) &&
                asking_socket_connect(place->dir_fd, slot, &fd) == 0)
                add_link(askers, place, slot, fd);
        }
}

/* What the signs say does not matter: one of them means that there is something new. */
static void on_signs(void *data, struct str bytes)
{
    (void)bytes;
    look(data);
}

static void on_no_signs(void *data, int error)
{
    struct askers *askers = data;

    (void)error;
    timer_start_repeating(&askers->look, LOOK_MS);
}

/* ---- making ---- */

static bool is_known(const struct askers *askers, const struct stat *about)
{
    for (size_t i = 0; i < askers->place_count; i++)
        if (askers->places[i].device == about->st_dev && askers->places[i].inode == about->st_ino)
            return true;
    return false;
}

/*
 * Agents' programs often start theirs without XDG_RUNTIME_DIR, so the state directory counts too.
 * The one of the login is the first one's usual place.
 */
static int open_places(struct askers *askers, struct err *err)
{
    bool has_runtime = false;
    int r = err_set(err, ERR_NOT_FOUND, "neither XDG_RUNTIME_DIR nor HOME says where to listen");

    for (enum status_place i = 0; i < STATUS_PLACES; i++) {
        char path[PATH_MAX];
        cleanup_fd int fd = -1;
        struct stat about;

        if (!status_socket_place(i, path) || (i == STATUS_PLACE_LOGIN && has_runtime))
            continue;
        has_runtime |= i == STATUS_PLACE_RUNTIME;
        r = i == STATUS_PLACE_LOGIN ? audit_dir_find(path, &fd, err)
                                    : audit_dir_open(path, &fd, err);
        if (r < 0 || fstat(fd, &about) < 0 || is_known(askers, &about))
            continue;
        askers->places[askers->place_count++] =
            (struct place){.dir_fd = steal_fd(&fd), .device = about.st_dev, .inode = about.st_ino};
    }
    return askers->place_count > 0 ? 0 : r;
}

/* Other programs can have all inotify instances of the user; then a clock ticks. */
static void watch_places(struct askers *askers)
{
    const struct reader_events events = {
        .on_bytes = on_signs, .on_end = on_no_signs, .data = askers};
    bool is_watched = true;

    askers->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    for (size_t i = 0; i < askers->place_count && is_watched; i++) {
        char path[sizeof("/proc/self/fd/") + 12];

        snprintf(path, sizeof(path), "/proc/self/fd/%d", askers->places[i].dir_fd);
        is_watched = inotify_add_watch(askers->inotify_fd, path, IN_MOVED_TO) >= 0;
    }
    if (!is_watched ||
        reader_new(askers->config.loop, askers->inotify_fd, &events, &askers->signs) < 0)
        timer_start_repeating(&askers->look, LOOK_MS);
}

int askers_new(const struct askers_config *config, struct askers **out_askers, struct err *err)
{
    struct askers *askers = calloc(1, sizeof(*askers));
    int r;

    if (askers == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    askers->config = *config;
    askers->inotify_fd = -1;
    list_init(&askers->links);
    timer_init(&askers->look, config->loop, look, askers);
    loop_task_init(&askers->look_soon, look, askers);
    r = open_places(askers, err);
    if (r < 0) {
        askers_free(askers);
        return r;
    }
    watch_places(askers);
    look(askers);
    *out_askers = askers;
    return 0;
}

void askers_free(struct askers *askers)
{
    if (askers == NULL)
        return;
    while (!list_is_empty(&askers->links))
        free_link(list_entry(askers->links.next, struct link, node));
    timer_stop(&askers->look);
    loop_task_cancel(&askers->look_soon);
    reader_free(askers->signs);
    cleanup_fd_(&askers->inotify_fd);
    for (size_t i = 0; i < askers->place_count; i++)
        cleanup_fd_(&askers->places[i].dir_fd);
    free(askers);
}
