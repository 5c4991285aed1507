/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: creates rooms, each as a copy of itself in namespaces of its own, reaps them, and
 * keeps their directories. It holds no rooms' state but that of the running ones. It blocks only
 * for what takes less than a millisecond; rooms build themselves.
 */
#include "isolate/room/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "base/streams.h"
#include "ipc/packet.h"
#include "isolate/box/internal.h"
#include "isolate/landlock.h"

/*
 * Users of rooms: numbers that no distribution and no container manager gives out (systemd's list
 * calls them unused). Each running room has a range of its own; on disk its files belong to 0 and
 * 1000 in a directory of root's, and mounts translate.
 */
enum { RANGE_FIRST = 0x70000000, RANGE_SIZE = 1 << 16, MAX_RANGES = 4094 };

/*
 * First processes that wait for their room: to move a process into a cgroup takes the kernel longer
 * than all the rest of a start.
 */
enum { MAX_SPARES = 3, SPARE_PAUSE_MS = 1 };

enum { MUCH_TRASH = 64, TRASH_PAUSE_MS = 20 };

enum { GROUP_MEMORY_PERCENT = 80, GROUP_PROCESSES = 4096, MODE_OWN = 0700, MODE_DIRECTORY = 0755 };

static const char group_name[] = "gatehouse-rooms";

static const char rooms_folder[] = "rooms";
static const char layers_folder[] = "layers";
static const char trash_folder[] = "trash";
static const char disks_folder[] = "disks";
static const char fresh_folder[] = "fresh";

struct kept {
    struct list node;
    uint64_t number;
    pid_t pid;
    int pidfd;
    int gate;  /* to one that waits; or -1 */
    int users; /* its user namespace, if it has a range and waits; or -1 */
    unsigned range;
    bool is_stopped; /* by us */
    int mounts;      /* its mount namespace, while it is being deleted; or -1 */
    struct cgroup_leaf leaf;
    char id[ROOM_ID_BYTES];
    /* A call that waits for its end; 0: none. */
    uint64_t delete_call;
    size_t layer_count;
    char (*layers)[ROOM_ID_BYTES];
};

struct keeper {
    int lifeline;
    int socket;
    int signals;
    int directory;
    int rooms;
    int layers;
    int trash;
    int disks;
    int fresh; /* empty files of rooms, numbered */
    int usr;
    int base;
    int lock;
    bool is_ready;
    bool is_swept;    /* nothing is left of a keeper that was killed */
    bool is_degraded; /* allowed to be */
    struct room_abilities abilities;
    uint64_t memory_bytes;
    unsigned processes;
    struct list kept;
    struct list spares;
    size_t spare_count;
    unsigned fresh_first;
    unsigned fresh_next;
    pid_t remover;
    bool has_trash;
    unsigned trashed;
    unsigned trash_removed; /* of `trashed`, when the last remover was started */
    size_t mounts_count;    /* mount namespaces of deleted rooms, for the remover to end */
    int mounts[MUCH_TRASH];
    unsigned last_range;
    unsigned char ranges[MAX_RANGES / 8 + 1];
    struct seccomp_program calls;
};

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

/* ---- Directories ---- */

static int open_folder(int dir_fd, const char *name)
{
    return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_folder(int dir_fd, const char *name, mode_t mode)
{
    if (mkdirat(dir_fd, name, mode) < 0 && errno != EEXIST)
        return -1;
    return open_folder(dir_fd, name);
}

/* Moves it where the remover finds it. 0 or an errno value. */
static int throw_away(struct keeper *keeper, int dir_fd, const char *name)
{
    char target[64];

    do {
        snprintf(target, sizeof(target), "%d.%u", getpid(), keeper->trashed++);
        if (renameat2(dir_fd, name, keeper->trash, target, RENAME_NOREPLACE) == 0) {
            keeper->has_trash = true;
            return 0;
        }
    } while (errno == EEXIST);
    return errno;
}

static _Noreturn void empty_trash(int trash)
{
    int copy = open_folder(trash, ".");
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;

    if (dir == NULL)
        _exit(EXIT_FAILURE);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            room_remove_tree(trash, entry->d_name);
    _exit(0);
}

/* Ends what was mounted in deleted rooms, if it is the last who has them. */
static void close_mounts(struct keeper *keeper)
{
    while (keeper->mounts_count > 0)
        close(keeper->mounts[--keeper->mounts_count]);
}

/*
 * One process at a time, in the background: when there is much, or when nobody wants anything.
 * It has copies of the mount namespaces of deleted rooms: the kernel takes as long for their end as
 * for all the rest of a room's.
 */
static void start_remover(struct keeper *keeper, bool is_idle)
{
    enum { LOW_PRIORITY = 10 };

    if (!keeper->has_trash || keeper->remover > 0 ||
        (!is_idle && keeper->trashed - keeper->trash_removed < MUCH_TRASH))
        return;
    keeper->has_trash = false;
    keeper->trash_removed = keeper->trashed;
    keeper->remover = fork();
    if (keeper->remover != 0) {
        close_mounts(keeper);
        return;
    }
    close_mounts(keeper);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)setpriority(PRIO_PROCESS, 0, LOW_PRIORITY);
    close(keeper->socket);
    close(keeper->lifeline);
    empty_trash(keeper->trash);
}

/* ---- Ranges of users ---- */

static unsigned take_range(struct keeper *keeper)
{
    /* The next one each time, so that a range rests before it is used again. */
    for (unsigned i = 0; i < MAX_RANGES; i++) {
        unsigned range = (keeper->last_range + 1 + i) % MAX_RANGES;

        if (range == 0 || (keeper->ranges[range / 8] & (1U << (range % 8))) != 0)
            continue;
        keeper->ranges[range / 8] |= (unsigned char)(1U << (range % 8));
        return keeper->last_range = range;
    }
    return 0;
}

static void give_back_range(struct keeper *keeper, unsigned range)
{
    keeper->ranges[range / 8] &= (unsigned char)~(1U << (range % 8));
}

static int write_map(pid_t pid, const char *name, unsigned range)
{
    char path[64];
    char map[64];
    cleanup_fd int fd = -1;
    int len;

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    len = snprintf(map, sizeof(map), "0 %u %d",
                   (unsigned)RANGE_FIRST + range * (unsigned)RANGE_SIZE, RANGE_SIZE);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 || write(fd, map, (size_t)len) != len ? errno : 0;
}

/* A mount of a directory in which 0 to 65535 on disk are the users of the room. */
static int translate(int directory, int users, bool is_writable)
{
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID |
                    (is_writable ? 0 : MOUNT_ATTR_RDONLY),
        .propagation = MS_PRIVATE,
        .userns_fd = (unsigned)users,
    };
    cleanup_fd int tree =
        open_tree(directory, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
        return -1;
    return steal_fd(&tree);
}

/* Some file systems cannot translate: the host's programs are readable all the same. */
static int untranslated(int directory)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID,
                              .propagation = MS_PRIVATE};
    cleanup_fd int tree =
        open_tree(directory, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
        return -1;
    return steal_fd(&tree);
}

/* A file system of its own is a mount already. */
static int translate_disk(int mount, int users)
{
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_IDMAP, .propagation = MS_PRIVATE, .userns_fd = (unsigned)users};

    if (mount_setattr(mount, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
        return -1;
    return fcntl(mount, F_DUPFD_CLOEXEC, 0);
}

/* The descriptor to send, or -1 with errno. */
static int prepare_tree(const struct room_birth *birth, size_t index, int users)
{
    if (!birth->has_range)
        return fcntl(birth->trees[index], F_DUPFD_CLOEXEC, 0);
    if (index == ROOM_TREE_OWN && birth->has_disk)
        return translate_disk(birth->trees[index], users);
    return translate(birth->trees[index], users, index == ROOM_TREE_OWN);
}

/* To a first process with a range, before its room is known. 0 or an errno value. */
static int send_shared(const struct keeper *keeper, int gate, int users)
{
    cleanup_fd int base = translate(keeper->base, users, false);
    cleanup_fd int usr = translate(keeper->usr, users, false);

    if (usr < 0)
        usr = untranslated(keeper->usr);
    if (base < 0 || usr < 0 || packet_send(gate, STR("t"), &base, 1, 0) < 0 ||
        packet_send(gate, STR("t"), &usr, 1, 0) < 0)
        return errno;
    return 0;
}

/* 0 or an errno value. */
static int send_birth(const struct room_birth *birth, int gate, int users)
{
    if (packet_send(gate, (struct str){(const char *)birth, sizeof(*birth)}, &birth->socket, 1, 0) <
        0)
        return errno;
    for (size_t i = 0; i < birth->tree_count; i++) {
        const bool is_sent = birth->has_range && (i == ROOM_TREE_BASE || i == ROOM_TREE_USR);
        const bool has_tree = !is_sent && (i != ROOM_TREE_OWN || !birth->is_in_memory);
        cleanup_fd int tree = has_tree ? prepare_tree(birth, i, users) : -1;

        if (has_tree && tree < 0)
            return errno;
        if (!is_sent && packet_send(gate, STR("t"), &tree, has_tree ? 1 : 0, 0) < 0)
            return errno;
    }
    return 0;
}

/* ---- Starting a room ---- */

static struct kept *find_kept(const struct keeper *keeper, const char *id, uint64_t number)
{
    list_each (node, &keeper->kept) {
        struct kept *kept = list_entry(node, struct kept, node);

        if (id != NULL ? strcmp(kept->id, id) == 0 : kept->number == number)
            return kept;
    }
    return NULL;
}

static void close_trees(struct room_birth *birth)
{
    for (size_t i = 0; i < birth->tree_count; i++)
        if (i != ROOM_TREE_BASE && i != ROOM_TREE_USR && birth->trees[i] >= 0)
            close(birth->trees[i]);
}

/* The mark by which the kernel refuses an overlay that was volatile before: see root.c. */
static void forget_volatile(int own, const char *folder)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/%s/incompat/volatile", folder, "work");
    (void)unlinkat(own, path, AT_REMOVEDIR);
}

/* The parts for the overlays. 0 or an errno value. */
static int make_parts(int own)
{
    static const char *const parts[] = {ROOM_UPPER_ROOT, ROOM_UPPER_USR, ROOM_WORK_ROOT,
                                        ROOM_WORK_USR};

    for (size_t i = 0; i < array_size(parts); i++)
        if (mkdirat(own, parts[i], MODE_DIRECTORY) < 0 && errno != EEXIST)
            return errno;
    forget_volatile(own, ROOM_WORK_ROOT);
    forget_volatile(own, ROOM_WORK_USR);
    return 0;
}

static bool has_name(int dir_fd, const char *name)
{
    return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* In place of the directory the file system in it; made now, if its files are new. */
static int open_disk(const struct keeper *keeper, struct room_birth *birth, int *own)
{
    const bool is_wanted = birth->disk_bytes > 0 && keeper->abilities.has_disk_images &&
                           !has_name(*own, ROOM_UPPER_ROOT);
    int mount;
    int r;

    if (!has_name(*own, ROOM_DISK)) {
        r = is_wanted ? room_disk_make(keeper->disks, *own, birth->disk_bytes) : 0;
        if (r != 0 || !is_wanted)
            return r;
    }
    mount = room_disk_mount(*own);
    if (mount < 0)
        return errno;
    close(*own);
    *own = mount;
    birth->has_disk = birth->reached.limits_disk = true;
    return 0;
}

/* ---- Empty files ---- */

/* Prepares the directory of a room to come. */
static void add_fresh(struct keeper *keeper)
{
    cleanup_fd int own = -1;
    char name[16];

    snprintf(name, sizeof(name), "%u", keeper->fresh_next);
    own = make_folder(keeper->fresh, name, MODE_DIRECTORY);
    if (own >= 0 && make_parts(own) == 0)
        keeper->fresh_next++;
}

/* Makes one of them the room's; false if there is none, or if the room has files. */
static bool take_fresh(struct keeper *keeper, const char *id)
{
    char name[16];

    if (keeper->fresh_first == keeper->fresh_next)
        return false;
    snprintf(name, sizeof(name), "%u", keeper->fresh_first);
    if (renameat2(keeper->fresh, name, keeper->rooms, id, RENAME_NOREPLACE) == 0) {
        keeper->fresh_first++;
        return true;
    }
    if (errno != EEXIST) /* not even there: another time */
        keeper->fresh_first++;
    return false;
}

/* The room's own files: a directory with a part for each overlay. */
static int open_own(struct keeper *keeper, const char *id, struct room_birth *birth,
                    struct err *err)
{
    const bool is_fresh = birth->disk_bytes == 0 && take_fresh(keeper, id);
    cleanup_fd int own = -1;
    int r;

    birth->is_new = is_fresh || !has_name(keeper->rooms, id);
    own =
        is_fresh ? open_folder(keeper->rooms, id) : make_folder(keeper->rooms, id, MODE_DIRECTORY);
    r = own < 0 ? errno : 0;
    if (r == 0 && !is_fresh)
        r = open_disk(keeper, birth, &own);
    if (r == 0 && !is_fresh)
        r = make_parts(own);
    if (r != 0 && birth->is_new)
        room_remove_tree(keeper->rooms, id);
    if (r != 0)
        return err_set(err, err_from_errno(r), "cannot create the files of the sandbox: %s",
                       err_errno_text(r));
    return steal_fd(&own);
}

static int find_trees(struct keeper *keeper, const struct room_ask *ask,
                      const char (*layers)[ROOM_ID_BYTES], struct room_birth *birth,
                      struct err *err)
{
    birth->trees[ROOM_TREE_OWN] = -1;
    birth->trees[ROOM_TREE_BASE] = keeper->base;
    birth->trees[ROOM_TREE_USR] = keeper->usr;
    birth->tree_count = ROOM_TREE_LAYERS;
    /* The upper first, as the overlay wants them. */
    for (size_t i = ask->layer_count; i > 0; i--) {
        int layer = room_is_name(layers[i - 1]) ? open_folder(keeper->layers, layers[i - 1]) : -1;

        if (layer < 0)
            return err_set_field(err, ERR_NOT_FOUND, "layer", "there is no layer %.80s",
                                 layers[i - 1]);
        birth->trees[birth->tree_count++] = layer;
    }
    if (ask->is_in_memory)
        return 0;
    birth->trees[ROOM_TREE_OWN] = open_own(keeper, ask->id, birth, err);
    return birth->trees[ROOM_TREE_OWN] < 0 ? birth->trees[ROOM_TREE_OWN] : 0;
}

static struct cgroup_limits limits_of(const struct keeper *keeper, const struct room_ask *ask)
{
    return (struct cgroup_limits){
        .memory_bytes = ask->memory_bytes > 0 ? ask->memory_bytes : ROOM_MEMORY_BYTES,
        .cpu_percent = ask->cpu_percent > 0 ? ask->cpu_percent : ROOM_CPU_PERCENT,
        .processes = ask->processes > 0 ? ask->processes : ROOM_PROCESSES,
        .group = group_name,
        .group_memory_bytes = keeper->memory_bytes,
        .group_processes = keeper->processes,
    };
}

static int choose_limits(const struct keeper *keeper, const struct room_ask *ask,
                         struct room_birth *birth, struct err *err)
{
    birth->limits = limits_of(keeper, ask);
    birth->is_in_memory = ask->is_in_memory;
    birth->disk_bytes = ask->disk_bytes;
    if (birth->disk_bytes == 0 && ask->is_in_memory)
        birth->disk_bytes = birth->limits.memory_bytes / 2;
    birth->reached.limits_disk = ask->is_in_memory;
    if (ask->disk_bytes > 0 && !ask->is_in_memory && !keeper->abilities.has_disk_images) {
        if (!keeper->is_degraded)
            return err_set(err, ERR_UNSUPPORTED,
                           "disk space is limited only for files in memory on this machine");
        birth->reached.is_degraded = true;
    }
    return 0;
}

static void describe_limits(struct room_birth *birth)
{
    birth->reached.limits_memory = birth->leaf.holds[CGROUP_MEMORY] == CGROUP_BY_GROUP;
    birth->reached.limits_cpu = birth->leaf.holds[CGROUP_CPU] == CGROUP_BY_GROUP;
    birth->reached.limits_processes = birth->leaf.holds[CGROUP_PROCESSES] == CGROUP_BY_GROUP;
}

/* ---- First processes ---- */

static void close_gate(struct kept *kept)
{
    if (kept->gate >= 0)
        close(steal_fd(&kept->gate));
    if (kept->users >= 0)
        close(steal_fd(&kept->users));
}

/* Its process has been reaped, or there is none. */
static void let_go(struct keeper *keeper, struct kept *kept)
{
    close_gate(kept);
    if (kept->pidfd >= 0)
        close(kept->pidfd);
    if (kept->mounts >= 0 && keeper->mounts_count < array_size(keeper->mounts))
        keeper->mounts[keeper->mounts_count++] = kept->mounts;
    else if (kept->mounts >= 0)
        close(kept->mounts);
    cgroup_leaf_remove(&kept->leaf);
    if (kept->range > 0)
        give_back_range(keeper, kept->range);
    free(kept->layers);
    free(kept);
}

static void end_process(const struct kept *kept)
{
    if (kept->pid <= 0)
        return;
    (void)kill(kept->pid, SIGKILL);
    while (waitpid(kept->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* SAFETY: the raw call, as a fork. We have one thread, and the C library caches no process id. */
static pid_t copy_process(unsigned long flags, int *out_pidfd)
{
    return (pid_t)syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, out_pidfd, NULL, NULL);
}

static int give_range(struct kept *kept)
{
    char path[64];
    int r = write_map(kept->pid, "uid_map", kept->range);

    if (r == 0)
        r = write_map(kept->pid, "gid_map", kept->range);
    if (r != 0)
        return r;
    snprintf(path, sizeof(path), "/proc/%d/ns/user", kept->pid);
    kept->users = open(path, O_RDONLY | O_CLOEXEC);
    if (kept->users < 0 || packet_send(kept->gate, STR("m"), NULL, 0, 0) < 0)
        return errno;
    return 0;
}

static int bear(const struct keeper *keeper, enum room_network network, struct kept *kept)
{
    const unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                                CLONE_NEWUTS | (network == ROOM_NETWORK_NONE ? CLONE_NEWNET : 0);
    struct room_seed seed = {.has_range = keeper->abilities.ids == ROOM_IDS_RANGE,
                             .network = network,
                             .uid = geteuid(),
                             .gid = getegid(),
                             .leaf = &kept->leaf,
                             .calls = &keeper->calls};
    int gate[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gate) < 0)
        return errno;
    seed.gate = gate[1];
    kept->gate = gate[0];
    kept->pid = copy_process(flags, &kept->pidfd);
    if (kept->pid == 0) {
        close(gate[0]);
        room_live(&seed);
    }
    r = kept->pid < 0 ? errno : 0;
    close(gate[1]);
    if (r == 0 && seed.has_range)
        r = give_range(kept);
    return r == 0 && seed.has_range ? send_shared(keeper, kept->gate, kept->users) : r;
}

/* One that waits for its room. */
static int make_first(struct keeper *keeper, const struct cgroup_limits *limits,
                      enum room_network network, struct kept **out_kept, struct err *err)
{
    struct kept *kept = calloc(1, sizeof(*kept));
    int r;

    if (kept == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    *kept = (struct kept){.pidfd = -1, .gate = -1, .users = -1, .mounts = -1};
    list_init(&kept->node);
    if (keeper->abilities.ids == ROOM_IDS_RANGE && (kept->range = take_range(keeper)) == 0)
        r = err_set(err, ERR_BUSY, "too many sandboxes run");
    else
        r = cgroup_leaf_make(limits, &kept->leaf, err);
    if (r == 0) {
        r = bear(keeper, network, kept);
        if (r != 0)
            r = err_set(err, r == ENOSPC || r == EAGAIN ? ERR_BUSY : ERR_UNSUPPORTED,
                        "cannot create the sandbox: its namespaces failed: %s", err_errno_text(r));
    }
    if (r == 0) {
        *out_kept = kept;
        return 0;
    }
    end_process(kept);
    let_go(keeper, kept);
    return r;
}

static void add_spare(struct keeper *keeper)
{
    const struct room_ask defaults = {0};
    const struct cgroup_limits limits = limits_of(keeper, &defaults);
    struct kept *kept;

    if (make_first(keeper, &limits, ROOM_NETWORK_NONE, &kept, NULL) < 0)
        return;
    list_append(&keeper->spares, &kept->node);
    keeper->spare_count++;
    if (keeper->fresh_next - keeper->fresh_first < MAX_SPARES)
        add_fresh(keeper);
}

/* Which spare ones have. */
static bool has_default_limits(const struct keeper *keeper, const struct cgroup_limits *limits)
{
    const struct room_ask defaults = {0};
    const struct cgroup_limits usual = limits_of(keeper, &defaults);

    return limits->memory_bytes == usual.memory_bytes && limits->cpu_percent == usual.cpu_percent &&
           limits->processes == usual.processes;
}

/* A spare one, if it can have these limits, or a new one. */
static int take_first(struct keeper *keeper, const struct room_birth *birth, struct kept **out_kept,
                      struct err *err)
{
    if (birth->network == ROOM_NETWORK_NONE && !list_is_empty(&keeper->spares)) {
        struct kept *kept = list_entry(keeper->spares.next, struct kept, node);

        if (has_default_limits(keeper, &birth->limits) ||
            cgroup_leaf_change(&kept->leaf, &birth->limits)) {
            list_remove(&kept->node);
            keeper->spare_count--;
            *out_kept = kept;
            return 0;
        }
    }
    return make_first(keeper, &birth->limits, birth->network, out_kept, err);
}

/* ---- The start ---- */

/* Whether one of the layers has something in /usr, or the room itself. */
static bool changes_usr(const struct room_birth *birth)
{
    for (size_t i = birth->is_new ? ROOM_TREE_LAYERS : 0; i < birth->tree_count; i++) {
        int usr = i != ROOM_TREE_BASE && i != ROOM_TREE_USR && birth->trees[i] >= 0
                      ? open_folder(birth->trees[i], ROOM_UPPER_USR)
                      : -1;
        cleanup_dir DIR *dir = usr >= 0 ? fdopendir(usr) : NULL;

        /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
        for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                return true;
    }
    return false;
}

static int put_in_first(struct keeper *keeper, const struct room_ask *ask,
                        const char (*layers)[ROOM_ID_BYTES], struct room_birth *birth,
                        struct err *err)
{
    struct kept *kept;
    int r = take_first(keeper, birth, &kept, err);

    if (r < 0)
        return r;
    birth->leaf = kept->leaf;
    birth->limits.group = NULL;
    describe_limits(birth);
    kept->number = ask->number;
    memcpy(kept->id, ask->id, sizeof(kept->id));
    if (ask->layer_count > 0) {
        kept->layers = calloc(ask->layer_count, ROOM_ID_BYTES);
        if (kept->layers != NULL)
            memcpy(kept->layers, layers, ask->layer_count * ROOM_ID_BYTES);
        r = kept->layers != NULL ? 0 : ENOMEM;
    }
    kept->layer_count = ask->layer_count;
    if (r == 0)
        r = send_birth(birth, kept->gate, kept->users);
    close_gate(kept);
    if (r == 0) {
        list_append(&keeper->kept, &kept->node);
        return 0;
    }
    end_process(kept);
    let_go(keeper, kept);
    return err_set(err, ERR_UNSUPPORTED, "cannot create the sandbox: its files failed: %s",
                   err_errno_text(r));
}

static int start_room(struct keeper *keeper, const struct room_ask *ask,
                      const char (*layers)[ROOM_ID_BYTES], int socket, struct err *err)
{
    static struct room_birth birth; /* too large for a stack */
    int r;

    if (!room_is_name(ask->id))
        return err_set(err, ERR_INVALID_ARGUMENT, "not a valid id");
    if (find_kept(keeper, ask->id, 0) != NULL)
        return err_set(err, ERR_ALREADY_EXISTS, "the sandbox is already running");
    birth = (struct room_birth){.has_range = keeper->abilities.ids == ROOM_IDS_RANGE,
                                .may_lack_landlock = keeper->is_degraded,
                                .network = ask->network,
                                .socket = socket};
    birth.reached.ids = keeper->abilities.ids;
    birth.reached.is_degraded = keeper->abilities.is_degraded;
    r = choose_limits(keeper, ask, &birth, err);
    if (r == 0)
        r = find_trees(keeper, ask, layers, &birth, err);
    if (r == 0) {
        birth.has_usr_overlay = ask->is_build || changes_usr(&birth);
        r = put_in_first(keeper, ask, layers, &birth, err);
    }
    close_trees(&birth);
    return r;
}

static void take_start(struct keeper *keeper, const struct room_ask *ask, const char *rest,
                       size_t rest_len, int socket)
{
    static char layers[ROOM_MAX_LAYERS][ROOM_ID_BYTES];
    struct room_report failure = {.kind = ROOM_REPORT_FAILED};
    struct room_answer ended = {.kind = ROOM_ANSWER_ENDED, .number = ask->number};
    int r;

    if (ask->layer_count > ROOM_MAX_LAYERS || rest_len != ask->layer_count * ROOM_ID_BYTES ||
        socket < 0) {
        r = err_set(&failure.err, ERR_INVALID_REQUEST, "malformed request");
    } else {
        memcpy(layers, rest, rest_len);
        for (unsigned i = 0; i < ask->layer_count; i++)
            layers[i][ROOM_ID_BYTES - 1] = '\0';
        r = start_room(keeper, ask, (const char(*)[ROOM_ID_BYTES])layers, socket, &failure.err);
    }
    if (r == 0)
        return;
    (void)packet_send(socket, (struct str){(const char *)&failure, sizeof(failure)}, NULL, 0, 0);
    answer(keeper, &ended, -1);
}

/* ---- The end of rooms ---- */

static void kill_room(struct kept *kept)
{
    kept->is_stopped = true;
    cgroup_leaf_kill(&kept->leaf);
    /* SAFETY: no wrapper in every C library; it takes a process and no name. */
    (void)syscall(SYS_pidfd_send_signal, kept->pidfd, SIGKILL, NULL, 0);
}

static void delete_files(struct keeper *keeper, const char *id, uint64_t call, bool was_running)
{
    int r = throw_away(keeper, keeper->rooms, id);

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
    if (!kept->is_stopped && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        err_set(&ended.err, cgroup_leaf_ran_out(&kept->leaf) ? ERR_NO_MEMORY : ERR_SESSION_OVER,
                cgroup_leaf_ran_out(&kept->leaf) ? "the sandbox ran out of memory"
                                                 : "the sandbox has ended by itself");
    answer(keeper, &ended, -1);
    if (kept->delete_call != 0)
        delete_files(keeper, kept->id, kept->delete_call, true);
    let_go(keeper, kept);
}

static void reap(struct keeper *keeper)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == keeper->remover)
            keeper->remover = 0;
        list_each_safe (node, &keeper->kept) {
            struct kept *kept = list_entry(node, struct kept, node);

            if (kept->pid == pid)
                bury(keeper, kept, status);
        }
        list_each_safe (node, &keeper->spares) {
            struct kept *kept = list_entry(node, struct kept, node);

            if (kept->pid != pid)
                continue;
            list_remove(&kept->node);
            keeper->spare_count--;
            let_go(keeper, kept);
        }
    }
}

/* ---- Calls ---- */

/* Only for one that never starts again: its files must not be mounted twice. */
static void hold_mounts(struct kept *kept)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", kept->pid);
    kept->mounts = open(path, O_RDONLY | O_CLOEXEC);
}

static void take_delete(struct keeper *keeper, const struct room_ask *ask)
{
    struct kept *kept = find_kept(keeper, ask->id, 0);

    if (!room_is_name(ask->id)) {
        answer_call(keeper, ask->number, ERR_INVALID_ARGUMENT, "not a valid id");
    } else if (kept == NULL) {
        delete_files(keeper, ask->id, ask->number, false);
    } else if (kept->delete_call != 0) {
        answer_call(keeper, ask->number, ERR_NOT_FOUND, "the sandbox is being deleted");
    } else {
        kept->delete_call = ask->number;
        hold_mounts(kept);
        kill_room(kept);
    }
}

static bool has_disk(const struct keeper *keeper, const char *id)
{
    cleanup_fd int own = open_folder(keeper->rooms, id);

    return own >= 0 && has_name(own, ROOM_DISK);
}

static void take_freeze(struct keeper *keeper, const struct room_ask *ask)
{
    struct stat about;

    if (!room_is_name(ask->id) || !room_is_name(ask->layer))
        answer_call(keeper, ask->number, ERR_INVALID_ARGUMENT, "not a valid name");
    else if (find_kept(keeper, ask->id, 0) != NULL)
        answer_call(keeper, ask->number, ERR_BUSY, "the sandbox is running");
    else if (fstatat(keeper->rooms, ask->id, &about, AT_SYMLINK_NOFOLLOW) < 0)
        answer_call(keeper, ask->number, ERR_NOT_FOUND, "the sandbox has no files");
    else if (has_disk(keeper, ask->id))
        answer_call(keeper, ask->number, ERR_UNSUPPORTED,
                    "a sandbox with limited disk space cannot become a layer");
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
    if (uses_layer(keeper, ask->layer)) {
        answer_call(keeper, ask->number, ERR_BUSY, "a running sandbox uses this layer");
        return;
    }
    r = throw_away(keeper, keeper->layers, ask->layer);
    answer_call(keeper, ask->number, r == 0 ? 0 : err_from_errno(r), err_errno_text(r));
}

static void take_list(struct keeper *keeper, const struct room_ask *ask)
{
    struct room_answer done = {.kind = ROOM_ANSWER_DONE, .number = ask->number};
    cleanup_fd int names = memfd_create("names", MFD_CLOEXEC);
    int copy = open_folder(ask->is_layers ? keeper->layers : keeper->rooms, ".");
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
    const struct kept *kept = find_kept(keeper, NULL, ask->number);
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

/* ---- The beginning ---- */

/* Whether a room can be made as it must be: makes one that ends at once. */
static void probe(struct keeper *keeper)
{
    struct room_abilities *abilities = &keeper->abilities;

    abilities->is_root = geteuid() == 0;
    abilities->ids = abilities->is_root ? ROOM_IDS_RANGE : ROOM_IDS_SINGLE;
    abilities->has_landlock = landlock_abi() >= LANDLOCK_MIN_ABI;
    abilities->has_memory_disks = true;
    abilities->has_disk_images = abilities->ids == ROOM_IDS_RANGE && room_disk_is_possible();
}

static int wait_for_probe(int socket, struct room_report *out_report)
{
    struct pollfd wait = {.fd = socket, .events = POLLIN};
    enum { PATIENCE_MS = 20000 };
    int fd = -1;

    if (poll(&wait, 1, PATIENCE_MS) <= 0 ||
        packet_receive(socket, out_report, sizeof(*out_report), &fd, 1, 0) !=
            (ssize_t)sizeof(*out_report))
        return ERR_INTERNAL;
    return out_report->kind == ROOM_REPORT_READY ? 0 : out_report->err.code;
}

/* A room in memory, over nothing; *out_reached is what it got. */
static int try_room(struct keeper *keeper, struct room_reached *out_reached, struct err *err)
{
    const struct room_ask ask = {
        .id = "probe", .is_in_memory = true, .disk_bytes = UINT64_C(1) << 20};
    struct room_report report = {0};
    struct kept *kept;
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create a socket pair");
    r = start_room(keeper, &ask, NULL, ends[1], err);
    close(ends[1]);
    if (r == 0) {
        r = wait_for_probe(ends[0], &report);
        if (r < 0)
            *err = report.err;
        *out_reached = report.reached;
        kept = list_entry(keeper->kept.next, struct kept, node);
        list_remove(&kept->node);
        end_process(kept);
        let_go(keeper, kept);
    }
    close(ends[0]);
    if (r == ERR_INTERNAL)
        err_set(err, ERR_UNSUPPORTED, "cannot create a sandbox: its first process died");
    return r;
}

static int find_abilities(struct keeper *keeper, struct err *err)
{
    struct room_abilities *abilities = &keeper->abilities;
    struct room_reached reached = {0};
    int r;

    probe(keeper);
    r = try_room(keeper, &reached, err);
    /* In a container root may not have the numbers. */
    if (r < 0 && abilities->ids == ROOM_IDS_RANGE && keeper->is_degraded) {
        abilities->ids = ROOM_IDS_SINGLE;
        abilities->has_disk_images = false;
        r = try_room(keeper, &reached, err);
    }
    if (r < 0)
        return r;
    if (abilities->ids == ROOM_IDS_SINGLE && !keeper->is_degraded)
        return err_set(err, ERR_UNSUPPORTED,
                       "sandboxes have no user ids of their own unless the service runs as root; "
                       "allow degraded isolation to run them with one user id");
    abilities->has_overlay = true;
    abilities->has_cgroups = reached.limits_memory && reached.limits_processes;
    abilities->is_degraded = abilities->ids == ROOM_IDS_SINGLE || !abilities->has_landlock;
    snprintf(abilities->words, sizeof(abilities->words), "%s%s%s",
             abilities->ids == ROOM_IDS_SINGLE
                 ? "one user id for everything in a sandbox, the service's; "
                 : "",
             abilities->has_landlock ? "" : "no Landlock; ",
             abilities->has_cgroups ? "" : "no cgroups: limits apply to each process; ");
    return 0;
}

static int open_directory(struct keeper *keeper, const char *path, struct err *err)
{
    struct stat about;

    if (mkdir(path, MODE_OWN) < 0 && errno != EEXIST)
        return err_set(err, err_from_errno(errno), "cannot create the directory: %s",
                       err_errno_text(errno));
    keeper->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (keeper->directory < 0 || fstat(keeper->directory, &about) < 0)
        return err_set(err, err_from_errno(errno), "cannot open the directory: %s",
                       err_errno_text(errno));
    if (about.st_uid != geteuid() || (about.st_mode & 077U) != 0)
        return err_set(err, ERR_PERMISSION_DENIED,
                       "the directory must belong to the service's user, with mode 0700");
    keeper->lock =
        openat(keeper->directory, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (keeper->lock < 0 || flock(keeper->lock, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, ERR_BUSY, "another service uses this directory");
    keeper->rooms = make_folder(keeper->directory, rooms_folder, MODE_OWN);
    keeper->layers = make_folder(keeper->directory, layers_folder, MODE_OWN);
    keeper->trash = make_folder(keeper->directory, trash_folder, MODE_OWN);
    keeper->disks = make_folder(keeper->directory, disks_folder, MODE_OWN);
    if (keeper->trash >= 0 && has_name(keeper->directory, fresh_folder))
        (void)throw_away(keeper, keeper->directory, fresh_folder); /* of one who was killed */
    keeper->fresh = make_folder(keeper->directory, fresh_folder, MODE_OWN);
    keeper->usr = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (keeper->rooms < 0 || keeper->layers < 0 || keeper->trash < 0 || keeper->disks < 0 ||
        keeper->fresh < 0 || keeper->usr < 0)
        return err_set(err, err_from_errno(errno), "cannot create the directory: %s",
                       err_errno_text(errno));
    return 0;
}

static int begin(struct keeper *keeper, const struct room_ask *ask, const char *path,
                 struct err *err)
{
    struct sysinfo machine;
    int r = open_directory(keeper, path, err);

    if (r < 0)
        return r;
    keeper->is_degraded = ask->is_degraded;
    keeper->memory_bytes = ask->memory_bytes;
    if (keeper->memory_bytes == 0 && sysinfo(&machine) == 0)
        keeper->memory_bytes =
            (uint64_t)machine.totalram * machine.mem_unit / 100 * GROUP_MEMORY_PERCENT;
    keeper->processes = ask->processes > 0 ? ask->processes : GROUP_PROCESSES;
    keeper->has_trash = true; /* of one who was killed */
    if (faccessat(keeper->directory, "base", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        r = throw_away(keeper, keeper->directory, "base");
    if (r != 0)
        return err_set(err, err_from_errno(r), "cannot replace the base: %s", err_errno_text(r));
    r = room_make_base(keeper->directory, geteuid() == 0, err);
    if (r < 0)
        return r;
    keeper->base = open_folder(keeper->directory, "base");
    if (keeper->base < 0)
        return err_set(err, err_from_errno(errno), "cannot open the base");
    r = box_calls_compile(SECCOMP_ON_THIS, false, &keeper->calls, err);
    return r < 0 ? r : find_abilities(keeper, err);
}

static bool take_hello(struct keeper *keeper, const struct room_ask *ask, const char *path)
{
    struct room_answer ready = {.kind = ROOM_ANSWER_READY};
    int r = begin(keeper, ask, path, &ready.err);

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
    int fd = -1;
    ssize_t got = packet_receive(keeper->socket, packet, sizeof(packet) - 1, &fd, 1, MSG_DONTWAIT);
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
        take_start(keeper, &ask, packet + sizeof(ask), (size_t)got - sizeof(ask), fd);
        break;
    case ROOM_ASK_STOP:
        kept = find_kept(keeper, NULL, ask.number);
        if (kept != NULL)
            kill_room(kept);
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
    if (fd >= 0)
        close(fd);
    return true;
}

/* Nothing is left of them when this returns. */
static void end_list(struct keeper *keeper, struct list *list)
{
    list_each (node, list)
        kill_room(list_entry(node, struct kept, node));
    list_each_safe (node, list) {
        struct kept *kept = list_entry(node, struct kept, node);

        list_remove(&kept->node);
        end_process(kept);
        let_go(keeper, kept);
    }
}

/* Only when nobody waits for an answer. */
static void fill_spares(struct keeper *keeper)
{
    struct pollfd wait = {.fd = keeper->socket, .events = POLLIN};

    if (keeper->spare_count < MAX_SPARES && poll(&wait, 1, 0) == 0)
        add_spare(keeper);
}

/* How long to wait for an order before the next thing in the background. */
static int pause_ms(const struct keeper *keeper)
{
    if (!keeper->is_ready)
        return -1;
    if (keeper->spare_count < MAX_SPARES)
        return SPARE_PAUSE_MS;
    return !keeper->is_swept || (keeper->has_trash && keeper->remover <= 0) ? TRASH_PAUSE_MS : -1;
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

    keeper = (struct keeper){.lifeline = lifeline, .socket = -1, .directory = -1};
    list_init(&keeper.kept);
    list_init(&keeper.spares);
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
            start_remover(&keeper, ready == 0 && keeper.spare_count == MAX_SPARES);
            keeper.is_swept = keeper.is_swept || (ready == 0 && cgroup_sweep());
            fill_spares(&keeper);
        }
    }
    end_list(&keeper, &keeper.kept);
    end_list(&keeper, &keeper.spares);
    close_mounts(&keeper);
    if (keeper.remover > 0)
        (void)kill(keeper.remover, SIGKILL);
    return EXIT_SUCCESS;
}
