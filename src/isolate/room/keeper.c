/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: creates rooms, each as a copy of itself in namespaces of its own, reaps them, and
 * keeps their directories. It holds no rooms' state but that of the running ones. It blocks only
 * for what takes less than a millisecond; rooms build themselves.
 */
#include "isolate/room/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/streams.h"
#include "ipc/packet.h"

enum { SPARE_PAUSE_MS = 1, TRASH_PAUSE_MS = 20 };

/* ---- Answers ---- */

static void answer(struct keeper *keeper, const struct room_answer *what, int fd)
{
    (void)packet_send(keeper->socket, (struct str){(const char *)what, sizeof(*what)}, &fd,
                      fd >= 0 ? 1 : 0, 0);
}

static void answer_call(struct keeper *keeper, uint64_t call, int code, const char *words)
{
    struct room_answer done = {.kind = ROOM_ANSWER_DONE, .number = call};

    if (code < 0)
        err_set(&done.err, code, "%s", words);
    answer(keeper, &done, -1);
}

/* ---- The end of rooms ---- */

void keep_kill_room(struct kept *kept)
{
    kept->is_stopped = true;
    cgroup_leaf_kill(&kept->leaf);
    /* SAFETY: no wrapper in every C library; it takes a process and no name. */
    (void)syscall(SYS_pidfd_send_signal, kept->pidfd, SIGKILL, NULL, 0);
}

static void delete_files(struct keeper *keeper, const char *id, uint64_t call, bool was_running)
{
    int r = keep_throw_away(keeper, keeper->rooms, id);

    if (r != 0 && !(r == ENOENT && was_running))
        answer_call(keeper, call, r == ENOENT ? ERR_NOT_FOUND : err_from_errno(r),
                    r == ENOENT ? "there is no such sandbox" : err_errno_text(r));
    else
        answer_call(keeper, call, 0, NULL);
}

static void bury(struct keeper *keeper, struct kept *kept, int status)
{
    struct room_answer ended = {.kind = ROOM_ANSWER_ENDED, .number = kept->number};

    list_remove(&kept->node);
    keep_end_relay(kept);
    if (kept->is_out_of_space)
        err_set(&ended.err, ERR_NO_SPACE, "the sandbox was ended: the disk is nearly full");
    else if (!kept->is_stopped && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        err_set(&ended.err, cgroup_leaf_ran_out(&kept->leaf) ? ERR_NO_MEMORY : ERR_SESSION_OVER,
                cgroup_leaf_ran_out(&kept->leaf) ? "the sandbox ran out of memory"
                                                 : "the sandbox has ended by itself");
    answer(keeper, &ended, -1);
    if (kept->delete_call != 0)
        delete_files(keeper, kept->id, kept->delete_call, true);
    keep_let_go(keeper, kept);
}

static void reap(struct keeper *keeper)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == keeper->remover)
            keep_end_remover(keeper);
        list_each_safe (node, &keeper->kept) {
            struct kept *kept = list_entry(node, struct kept, node);

            if (kept->relay == pid)
                kept->relay = 0; /* connections to listed addresses are refused from now on */
            if (kept->pid == pid)
                bury(keeper, kept, status);
        }
        list_each_safe (node, &keeper->spares) {
            struct kept *kept = list_entry(node, struct kept, node);

            if (kept->pid != pid)
                continue;
            list_remove(&kept->node);
            keeper->spare_count--;
            keep_let_go(keeper, kept);
        }
        list_each_safe (node, &keeper->ahead) {
            struct kept *kept = list_entry(node, struct kept, node);

            if (kept->pid == pid)
                keep_lose_ahead(keeper, kept);
        }
    }
}

/* ---- Calls ---- */

static void take_start(struct keeper *keeper, const struct room_ask *ask, struct str rest,
                       const int fds[ROOM_START_FDS])
{
    static char layers[ROOM_MAX_LAYERS][ROOM_ID_BYTES];
    struct room_report failure = {.kind = ROOM_REPORT_FAILED};
    struct room_answer ended = {.kind = ROOM_ANSWER_ENDED, .number = ask->number};
    int r;

    if (ask->layer_count > ROOM_MAX_LAYERS || rest.len != ask->layer_count * ROOM_ID_BYTES ||
        fds[0] < 0) {
        r = err_set(&failure.err, ERR_INVALID_REQUEST, "malformed request");
    } else {
        memcpy(layers, rest.ptr, rest.len);
        for (unsigned i = 0; i < ask->layer_count; i++)
            layers[i][ROOM_ID_BYTES - 1] = '\0';
        r = keep_start_room(keeper, ask, (const char(*)[ROOM_ID_BYTES])layers, fds[0], fds[1],
                            &failure.err);
    }
    if (r == 0)
        return;
    (void)packet_send(fds[0], (struct str){(const char *)&failure, sizeof(failure)}, NULL, 0, 0);
    answer(keeper, &ended, -1);
}

/* Only for one that never starts again: its files must not be mounted twice. */
static void hold_mounts(struct kept *kept)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", kept->pid);
    kept->mounts = open(path, O_RDONLY | O_CLOEXEC);
}

static void take_delete(struct keeper *keeper, const struct room_ask *ask)
{
    struct kept *kept = keep_find(keeper, ask->id, 0);

    if (!room_is_name(ask->id)) {
        answer_call(keeper, ask->number, ERR_INVALID_ARGUMENT, "not a valid id");
    } else if (kept == NULL) {
        delete_files(keeper, ask->id, ask->number, false);
    } else if (kept->delete_call != 0) {
        answer_call(keeper, ask->number, ERR_NOT_FOUND, "the sandbox is being deleted");
    } else {
        kept->delete_call = ask->number;
        hold_mounts(kept);
        keep_kill_room(kept);
    }
}

static bool has_disk(const struct keeper *keeper, const char *id)
{
    cleanup_fd int own = keep_open_folder(keeper->rooms, id);

    return own >= 0 && keep_has_name(own, ROOM_DISK);
}

static void take_freeze(struct keeper *keeper, const struct room_ask *ask)
{
    struct stat about;
    int r = 0;

    if (!room_is_name(ask->id) || !room_is_name(ask->layer))
        answer_call(keeper, ask->number, ERR_INVALID_ARGUMENT, "not a valid name");
    else if (keep_find(keeper, ask->id, 0) != NULL)
        answer_call(keeper, ask->number, ERR_BUSY, "the sandbox is running");
    else if (fstatat(keeper->rooms, ask->id, &about, AT_SYMLINK_NOFOLLOW) < 0)
        answer_call(keeper, ask->number, ERR_NOT_FOUND, "the sandbox has no files");
    else if (has_disk(keeper, ask->id))
        answer_call(keeper, ask->number, ERR_UNSUPPORTED,
                    "a sandbox with limited disk space cannot become a layer");
    else if (ask->is_system && (r = keep_only_system(keeper, ask->id)) != 0)
        answer_call(keeper, ask->number, err_from_errno(r), err_errno_text(r));
    else if (renameat2(keeper->rooms, ask->id, keeper->layers, ask->layer, RENAME_NOREPLACE) < 0)
        answer_call(keeper, ask->number, err_from_errno(errno), err_errno_text(errno));
    else
        answer_call(keeper, ask->number, 0, NULL);
}

static bool uses_layer(const struct keeper *keeper, const char *layer)
{
    list_each (node, &keeper->kept) {
        const struct kept *kept = list_entry(node, struct kept, node);

        for (size_t i = 0; i < kept->layer_count; i++)
            if (strcmp(kept->layers[i], layer) == 0)
                return true;
    }
    return false;
}

static void take_layer_delete(struct keeper *keeper, const struct room_ask *ask)
{
    int r;

    if (!room_is_name(ask->layer)) {
        answer_call(keeper, ask->number, ERR_INVALID_ARGUMENT, "not a valid name");
        return;
    }
    keep_drop_ahead(keeper, ask->layer);
    if (uses_layer(keeper, ask->layer)) {
        answer_call(keeper, ask->number, ERR_BUSY, "a running sandbox uses this layer");
        return;
    }
    r = keep_throw_away(keeper, keeper->layers, ask->layer);
    answer_call(keeper, ask->number, r == 0 ? 0 : err_from_errno(r), err_errno_text(r));
}

static void take_list(struct keeper *keeper, const struct room_ask *ask)
{
    struct room_answer done = {.kind = ROOM_ANSWER_DONE, .number = ask->number};
    cleanup_fd int names = memfd_create("names", MFD_CLOEXEC);
    int copy = keep_open_folder(ask->is_layers ? keeper->layers : keeper->rooms, ".");
    cleanup_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;

    if (dir == NULL || names < 0) {
        answer_call(keeper, ask->number, ERR_NO_MEMORY, "cannot list");
        return;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (room_is_name(entry->d_name) &&
            write(names, entry->d_name, strlen(entry->d_name) + 1) < 0)
            err_set_plain(&done.err, ERR_NO_MEMORY);
    answer(keeper, &done, names);
}

static void take_usage(struct keeper *keeper, const struct room_ask *ask)
{
    const struct kept *kept = keep_find(keeper, NULL, ask->number);
    struct room_answer used = {.kind = ROOM_ANSWER_USED, .number = ask->call};
    struct cgroup_usage usage;

    if (kept == NULL) {
        err_set(&used.err, ERR_SESSION_OVER, "the sandbox is not running");
    } else {
        cgroup_leaf_usage(&kept->leaf, kept->pid, &usage);
        used.usage = (struct room_usage){.memory_bytes = usage.memory_bytes,
                                         .cpu_us = usage.cpu_us,
                                         .processes = usage.processes};
    }
    answer(keeper, &used, -1);
}

static bool take_hello(struct keeper *keeper, const struct room_ask *ask, const char *path)
{
    struct room_answer ready = {.kind = ROOM_ANSWER_READY};
    int r = keep_begin(keeper, ask, path, &ready.err);

    ready.abilities = keeper->abilities;
    keeper->is_ready = r == 0;
    answer(keeper, &ready, -1);
    return r == 0;
}

/* ---- Serving ---- */

static char packet[ROOM_WIRE_BYTES];

/* False at the end, or when the service is none of ours. */
static bool take_ask(struct keeper *keeper)
{
    struct room_ask ask;
    int fds[ROOM_START_FDS] = {-1, -1};
    ssize_t got = packet_receive(keeper->socket, packet, sizeof(packet) - 1, fds, ROOM_START_FDS,
                                 MSG_DONTWAIT);
    struct kept *kept;

    if (got < 0)
        return errno == EAGAIN;
    if (got < (ssize_t)sizeof(ask))
        return false;
    memcpy(&ask, packet, sizeof(ask));
    ask.id[ROOM_ID_BYTES - 1] = ask.layer[ROOM_ID_BYTES - 1] = '\0';
    packet[got] = '\0';
    if (keeper->directory < 0)
        return ask.kind == ROOM_ASK_HELLO && take_hello(keeper, &ask, packet + sizeof(ask));
    switch (ask.kind) {
    case ROOM_ASK_HELLO:
        return false;
    case ROOM_ASK_START:
        take_start(keeper, &ask, (struct str){packet + sizeof(ask), (size_t)got - sizeof(ask)},
                   fds);
        break;
    case ROOM_ASK_STOP:
        kept = keep_find(keeper, NULL, ask.number);
        if (kept != NULL)
            keep_kill_room(kept);
        break;
    case ROOM_ASK_DELETE:
        take_delete(keeper, &ask);
        break;
    case ROOM_ASK_FREEZE:
        take_freeze(keeper, &ask);
        break;
    case ROOM_ASK_LAYER_DELETE:
        take_layer_delete(keeper, &ask);
        break;
    case ROOM_ASK_LIST:
        take_list(keeper, &ask);
        break;
    case ROOM_ASK_USAGE:
        take_usage(keeper, &ask);
        break;
    }
    for (size_t i = 0; i < ROOM_START_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return true;
}

/* Nothing is left of them when this returns. */
static void end_list(struct keeper *keeper, struct list *list)
{
    list_each (node, list)
        keep_kill_room(list_entry(node, struct kept, node));
    list_each_safe (node, list) {
        struct kept *kept = list_entry(node, struct kept, node);

        list_remove(&kept->node);
        keep_end_process(kept);
        keep_let_go(keeper, kept);
    }
}

/* Whether all that waits to be wanted is there. */
static bool is_complete(const struct keeper *keeper)
{
    return keeper->spare_count == KEEP_MAX_SPARES && !keep_needs_ahead(keeper);
}

/* Only when nobody waits for an answer. */
static void fill_spares(struct keeper *keeper)
{
    struct pollfd wait = {.fd = keeper->socket, .events = POLLIN};

    if (is_complete(keeper) || poll(&wait, 1, 0) != 0)
        return;
    /* First processes first: they take longer to make than a room of one. */
    if (keeper->spare_count < KEEP_MAX_SPARES && !keep_is_joining(keeper))
        keep_add_spare(keeper);
    else if (keep_needs_ahead(keeper))
        keep_add_ahead(keeper);
}

/* How long to wait for an order before the next thing in the background. */
static int pause_ms(struct keeper *keeper)
{
    const int look_ms = keeper->is_ready ? keep_watch_space(keeper) : -1;

    if (!keeper->is_ready)
        return -1;
    if (!is_complete(keeper))
        return SPARE_PAUSE_MS;
    if ((!keeper->is_swept || keep_has_trash(keeper)) && (look_ms < 0 || look_ms > TRASH_PAUSE_MS))
        return TRASH_PAUSE_MS;
    return look_ms;
}

static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int room_keep(int lifeline)
{
    static struct keeper keeper;
    struct pollfd waits[3];
    sigset_t mask;
    char byte;

    keeper = (struct keeper){.lifeline = lifeline, .socket = -1, .directory = -1, .joining = -1};
    list_init(&keeper.kept);
    list_init(&keeper.spares);
    list_init(&keeper.ahead);
    if (packet_receive(lifeline, &byte, 1, &keeper.socket, 1, 0) != 1 || keeper.socket < 0)
        return EXIT_FAILURE;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    (void)signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
        return EXIT_FAILURE;
    keeper.signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    raise_descriptors();
    umask(0);
    waits[0] = (struct pollfd){.fd = keeper.socket, .events = POLLIN};
    waits[1] = (struct pollfd){.fd = keeper.signals, .events = POLLIN};
    waits[2] = (struct pollfd){.fd = lifeline, .events = POLLIN};
    for (;;) {
        struct signalfd_siginfo about;
        const int ready = poll(waits, array_size(waits), pause_ms(&keeper));

        if (ready < 0 && errno != EINTR)
            break;
        if ((waits[1].revents & POLLIN) != 0 && read(keeper.signals, &about, sizeof(about)) > 0)
            reap(&keeper);
        if (waits[0].revents != 0 && !take_ask(&keeper))
            break;
        if (waits[2].revents != 0)
            break;
        if (keeper.is_ready) {
            keep_start_remover(&keeper, ready == 0 && is_complete(&keeper));
            keeper.is_swept = keeper.is_swept || (ready == 0 && cgroup_sweep());
            fill_spares(&keeper);
        }
    }
    end_list(&keeper, &keeper.kept);
    end_list(&keeper, &keeper.spares);
    keep_drop_ahead(&keeper, NULL);
    keep_close_mounts(&keeper);
    if (keeper.remover > 0)
        (void)kill(keeper.remover, SIGKILL);
    keeper.leaves_given = keeper.leaves_count;
    keep_end_remover(&keeper);
    return EXIT_SUCCESS;
}
