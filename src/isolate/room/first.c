/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of a room. It builds the room around itself, gives up all rights but those to
 * become other users of the room and to signal them, and then only waits: for orders, each carried
 * out by a process of its own, and for children to reap. It ends, and everything in the room with
 * it, when the keeper dies or the service closes its socket.
 */
#include "isolate/room/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"
#include "isolate/capabilities.h"
#include "isolate/landlock.h"

enum { SOCKET_FD = 3, SIGNAL_FD, FIRST_FREE_FD };
enum { MAX_JOBS = ROOM_MAX_EXECS + ROOM_MAX_FILE_CALLS };

/* What root of a room keeps: for files of its other users, and to become and to signal them. */
#define KEPT_CAPABILITIES                                                                          \
    ((UINT64_C(1) << CAP_CHOWN) | (UINT64_C(1) << CAP_DAC_OVERRIDE) |                              \
     (UINT64_C(1) << CAP_FOWNER) | (UINT64_C(1) << CAP_FSETID) | (UINT64_C(1) << CAP_KILL) |       \
     (UINT64_C(1) << CAP_SETGID) | (UINT64_C(1) << CAP_SETUID))

struct child {
    pid_t pid; /* 0: free */
    uint64_t number;
    enum room_order_kind kind;
};

struct first {
    bool has_range;
    pid_t outlet; /* of listed addresses; or 0 */
    struct child children[MAX_JOBS];
};

static char packet[ROOM_WIRE_BYTES];
static const struct seccomp_program *calls;
static struct first self;

/* ---- Becoming the first process ---- */

static void say(struct room_birth *birth, const char *what)
{
    snprintf(birth->what, sizeof(birth->what), "%s", what);
}

static int write_file(const char *path, const char *text)
{
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0;
}

/* Without a range: all that runs here is one user. */
static int map_single(const struct room_seed *seed)
{
    char map[64];
    int r = write_file("/proc/self/setgroups", "deny");

    snprintf(map, sizeof(map), "%d %u 1", ROOM_USER, seed->uid);
    if (r == 0)
        r = write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "%d %u 1", ROOM_USER, seed->gid);
    return r == 0 ? write_file("/proc/self/gid_map", map) : r;
}

/* The keeper has written the maps. */
static int take_range(const struct room_seed *seed)
{
    char byte;

    if (packet_receive(seed->gate, &byte, 1, NULL, 0, 0) != 1)
        return ECANCELED;
    return setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0 ? errno : 0;
}

static int become_user(const struct room_seed *seed, struct room_birth *birth)
{
    int r;

    say(birth, "the user namespace");
    r = seed->has_range ? take_range(seed) : map_single(seed);
    if (r != 0)
        return r;
    /*
     * Not before: a change of user takes it away. If the keeper has died by now, the gate is
     * closed, or the service closes its end of our socket, which ends us too.
     */
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0
               ? errno
               : 0;
}

static int enter_group(const struct room_seed *seed, struct room_birth *birth)
{
    int r = cgroup_leaf_join(seed->leaf);

    close(seed->joining);
    say(birth, "its limits");
    return r == 0 && unshare(CLONE_NEWCGROUP) < 0 ? errno : r;
}

static int set_names(const struct room_seed *seed, struct room_birth *birth)
{
    static const char name[] = "sandbox";
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    cleanup_fd int any = -1;

    say(birth, "its network");
    if (sethostname(name, sizeof(name) - 1) < 0)
        return errno;
    if (seed->network == ROOM_NETWORK_HOST)
        return 0;
    any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return any < 0 || ioctl(any, SIOCSIFFLAGS, &request) < 0 ? errno : 0;
}

/* The trees that all rooms share, which the keeper sends if it has mounts. */
static int receive_shared(const struct room_seed *seed, int out_trees[2])
{
    for (int i = 0; i < 2 && seed->has_mounts; i++) {
        char byte;

        if (packet_receive(seed->gate, &byte, 1, &out_trees[i], 1, 0) != 1 || out_trees[i] < 0)
            return ECANCELED;
    }
    return 0;
}

/* False if the room is not wanted any more. */
static bool receive_birth(int gate, struct room_birth *out_birth)
{
    int fds[2];

    if (packet_receive(gate, out_birth, sizeof(*out_birth), fds, array_size(fds), 0) !=
        (ssize_t)sizeof(*out_birth))
        return false;
    out_birth->socket = fds[0];
    out_birth->relay = fds[1];
    for (size_t i = 0; i < out_birth->tree_count; i++) {
        char byte;

        if (out_birth->has_mounts && (i == ROOM_TREE_BASE || i == ROOM_TREE_USR))
            continue;
        if (packet_receive(gate, &byte, 1, &out_birth->trees[i], 1, 0) != 1)
            return false;
    }
    if (out_birth->is_ahead)
        out_birth->socket = gate; /* until somebody wants it */
    return true;
}

/* Waits until somebody wants the room. What was the gate is its socket then. */
static void wait_for_socket(const struct room_birth *birth)
{
    cleanup_fd int socket = -1;
    char byte;

    if (packet_receive(birth->socket, &byte, 1, &socket, 1, 0) != 1 || socket < 0 ||
        dup3(socket, birth->socket, O_CLOEXEC) < 0)
        _exit(EXIT_FAILURE);
}

static int enter_limits(struct room_birth *birth)
{
    int r = cgroup_limit_process(&birth->limits, &birth->leaf);

    say(birth, "its limits");
    return r == 0 ? cgroup_yield(&birth->limits, &birth->leaf) : r;
}

static int open_outlet(struct room_birth *birth)
{
    if (birth->network != ROOM_NETWORK_LISTED)
        return 0;
    say(birth, "the way to listed addresses");
    return room_start_outlet(birth, &self.outlet);
}

/* Nothing of the keeper's stays open but the way to the service. */
static int keep_descriptors(struct room_birth *birth)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int socket;

    say(birth, "its descriptors");
    /* Out of the way of the numbers that they get. */
    socket = fcntl(birth->socket, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    if (null < 0 || socket < 0)
        return errno;
    for (int i = 0; i < SOCKET_FD; i++)
        if (dup2(null, i) < 0)
            return errno;
    if (dup3(socket, SOCKET_FD, O_CLOEXEC) < 0)
        return errno;
    birth->socket = SOCKET_FD;
    /* SAFETY: numbers only. */
    return syscall(SYS_close_range, SIGNAL_FD, ~0U, 0) < 0 ? errno : 0;
}

static int confine(struct room_birth *birth)
{
    static const struct landlock_place everything = {
        .path = "/",
        .rights =
            LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE | LANDLOCK_MAY_EXECUTE | LANDLOCK_MAY_CONTROL,
    };
    const struct landlock_request request = {
        .places = &everything, .place_count = 1, .allows_tcp = true};
    struct landlock_result result;
    struct err err = ERR_INIT;
    int r;

    say(birth, "giving up its rights");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return errno;
    r = birth->has_range ? capabilities_keep(KEPT_CAPABILITIES)
                         : capabilities_drop_all(capabilities_count());
    if (r != 0)
        return r;
    say(birth, "Landlock");
    if (landlock_confine(&request, &result, &err) < 0 ||
        (!result.is_applied && !birth->may_lack_landlock))
        return ENOSYS;
    say(birth, "the seccomp filter");
    return seccomp_install(calls, NULL) < 0 ? (errno != 0 ? errno : EPERM) : 0;
}

static int watch_children(struct room_birth *birth)
{
    sigset_t all;

    say(birth, "its signals");
    for (int i = 1; i < SIGRTMIN; i++)
        (void)signal(i, SIG_DFL);
    sigfillset(&all);
    if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
        return errno;
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK) == SIGNAL_FD ? 0 : EBADF;
}

/* ---- Orders ---- */

static void report(const struct room_report *what)
{
    (void)packet_send(SOCKET_FD, (struct str){(const char *)what, sizeof(*what)}, NULL, 0, 0);
}

static void refuse(const struct room_order *order, int code, const char *words)
{
    struct room_report refusal = {.kind = order->kind == ROOM_ORDER_EXEC ? ROOM_REPORT_REFUSED
                                                                         : ROOM_REPORT_FILE,
                                  .number = order->number};

    err_set(&refusal.err, code, "%s", words);
    report(&refusal);
}

static struct child *free_child(struct first *first)
{
    for (size_t i = 0; i < MAX_JOBS; i++)
        if (first->children[i].pid == 0)
            return &first->children[i];
    return NULL;
}

static void carry_out(struct first *first, struct room_job *job)
{
    struct child *child = free_child(first);
    pid_t pid;

    if (child == NULL) {
        refuse(&job->order, ERR_BUSY, "too many commands run in this sandbox");
        return;
    }
    pid = fork();
    if (pid == 0) {
        close(SIGNAL_FD);
        if (job->order.kind == ROOM_ORDER_EXEC)
            room_run_command(job);
        room_do_file_call(job);
    }
    if (pid < 0)
        refuse(&job->order, ERR_BUSY, "this sandbox has as many processes as it may have");
    else
        *child = (struct child){.pid = pid, .number = job->order.number, .kind = job->order.kind};
}

static void kill_command(const struct first *first, uint64_t number)
{
    for (size_t i = 0; i < MAX_JOBS; i++)
        if (first->children[i].pid > 0 && first->children[i].number == number &&
            first->children[i].kind == ROOM_ORDER_EXEC) {
            (void)kill(first->children[i].pid, SIGTERM);
            /* Without a range a command can have stopped it. */
            (void)kill(first->children[i].pid, SIGCONT);
        }
}

/* False at the end. */
static bool take_order(struct first *first)
{
    struct room_job job = {.socket = SOCKET_FD, .has_range = first->has_range};
    ssize_t got = packet_receive(SOCKET_FD, packet, sizeof(packet), job.fds, array_size(job.fds),
                                 MSG_DONTWAIT);

    if (got < 0)
        return errno == EAGAIN || errno == EMSGSIZE;
    if (got < (ssize_t)sizeof(job.order))
        return false;
    memcpy(&job.order, packet, sizeof(job.order));
    job.bytes = packet + sizeof(job.order);
    if (job.order.kind == ROOM_ORDER_KILL)
        kill_command(first, job.order.number);
    else if (job.order.has_payload ? job.order.kind != ROOM_ORDER_EXEC
                                   : job.order.bytes != (size_t)got - sizeof(job.order))
        refuse(&job.order, ERR_INVALID_REQUEST, "malformed order");
    else
        carry_out(first, &job);
    for (size_t i = 0; i < array_size(job.fds); i++)
        if (job.fds[i] >= 0)
            close(job.fds[i]);
    return true;
}

/* ---- The end of children ---- */

/* A worker that ended by itself has reported; for one that was killed, this does. */
static void bury(struct child *child, int status)
{
    struct room_report last = {.number = child->number, .exit_code = -1, .exit_signal = SIGKILL};

    child->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    last.kind = child->kind == ROOM_ORDER_EXEC ? ROOM_REPORT_EXITED : ROOM_REPORT_FILE;
    if (child->kind == ROOM_ORDER_FILE && WIFEXITED(status))
        err_set(&last.err, ERR_TIMED_OUT, "the file work took too long");
    else if (child->kind == ROOM_ORDER_FILE)
        err_set(&last.err, ERR_NO_MEMORY, "the file work was killed, probably for lack of memory");
    /* Nobody knows any more what belonged to this command: so all that runs here ends. */
    else if (WIFSIGNALED(status))
        (void)kill(-1, SIGKILL);
    report(&last);
}

static void reap(struct first *first)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        /* Without it nothing here could connect any more, not even to sockets inside. */
        if (pid == first->outlet)
            _exit(EXIT_FAILURE);
        for (size_t i = 0; i < MAX_JOBS; i++)
            if (first->children[i].pid == pid)
                bury(&first->children[i], status);
    }
}

static _Noreturn void serve(struct first *first)
{
    struct pollfd waits[] = {{.fd = SOCKET_FD, .events = POLLIN},
                             {.fd = SIGNAL_FD, .events = POLLIN}};

    for (;;) {
        struct signalfd_siginfo about;

        if (poll(waits, array_size(waits), -1) < 0 && errno != EINTR)
            _exit(EXIT_FAILURE);
        if ((waits[1].revents & POLLIN) != 0 && read(SIGNAL_FD, &about, sizeof(about)) > 0)
            reap(first);
        if (waits[0].revents != 0 && !take_order(first))
            _exit(0);
    }
}

static _Noreturn void fail(struct room_birth *birth, int errno_value)
{
    struct room_report news = {.kind = ROOM_REPORT_FAILED};

    err_set_field(&news.err,
                  errno_value == ENOSPC || errno_value == ENOMEM ? err_from_errno(errno_value)
                                                                 : ERR_UNSUPPORTED,
                  birth->what, "cannot create the sandbox: %s failed: %s", birth->what,
                  err_errno_text(errno_value));
    (void)packet_send(birth->socket, (struct str){(const char *)&news, sizeof(news)}, NULL, 0, 0);
    _exit(EXIT_FAILURE);
}

_Noreturn void room_live(const struct room_seed *seed)
{
    static int (*const early[])(const struct room_seed *seed,
                                struct room_birth *birth) = {become_user, enter_group, set_names};
    static int (*const steps[])(struct room_birth * birth) = {
        enter_limits, room_build_root, open_outlet, keep_descriptors, watch_children, confine};
    static struct room_birth birth;
    static struct room_birth early_birth; /* for what it is about */
    struct room_report news = {.kind = ROOM_REPORT_READY};
    int shared[2] = {-1, -1};
    int r = 0;

    calls = seed->calls;
    umask(0);
    (void)prctl(PR_SET_NAME, "gatehouse-spare", 0, 0, 0);
    for (size_t i = 0; i < array_size(early) && r == 0; i++)
        r = early[i](seed, &early_birth);
    if (receive_shared(seed, shared) != 0)
        _exit(EXIT_FAILURE);
    /* While nobody waits. */
    if (r == 0 && seed->has_mounts)
        r = room_prepare_root(shared[0], shared[1], &early_birth);
    if (!receive_birth(seed->gate, &birth))
        _exit(EXIT_FAILURE);
    if (r != 0)
        say(&birth, early_birth.what);
    for (size_t i = 0; i < array_size(steps) && r == 0; i++)
        r = steps[i](&birth);
    umask(022);
    if (birth.is_ahead)
        wait_for_socket(&birth);
    (void)prctl(PR_SET_NAME, "gatehouse-init", 0, 0, 0);
    if (r != 0)
        fail(&birth, r);
    self.has_range = birth.has_range;
    news.reached = birth.reached;
    report(&news);
    serve(&self);
}
