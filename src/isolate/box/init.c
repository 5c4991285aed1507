/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of a sandbox: builds the sandbox around itself, starts the command with nothing
 * but what it may have, reaps, and reports how it ended. It is a copy of the starter and runs no
 * other program, so it must be small.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "isolate/box/channel.h"
#include "isolate/capabilities.h"
#include "isolate/landlock.h"
#include "isolate/sanitized.h"

enum { STANDARD_FDS = 3, COMMAND_STACK_BYTES = 1 << 20, FIRST_FREE_FD = 3, REAL_TIME_SIGNALS = 32 };
enum { INOTIFY_SHARE = 4 }; /* a command may take one part of so many */

/*
 * Signals that the starter ignored would be ignored by the command too, and with SIGCHLD ignored we
 * would not learn that the command ended; handlers of the starter could be triggered by the command
 * in us.
 */
static void forget_signals(void)
{
    /* Nobody ignores real-time signals by default, and each signal costs a system call. */
    for (int i = 1; i < REAL_TIME_SIGNALS; i++)
        (void)signal(i, SIG_DFL);
}

/* ---- Steps that are no mounts ---- */

/*
 * When the starter dies, so does the sandbox: the kernel kills its first process, and with it all
 * others. The starter may have died before this was set, which shows on the channel.
 */
static int tie_to_starter(struct box_build *build)
{
    struct pollfd channel = {.fd = build->channel, .events = POLLIN};

    /* The starter may not be dumpable; /proc/self then belongs to root. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return errno;
    if (poll(&channel, 1, 0) < 0)
        return errno;
    return (channel.revents & (POLLHUP | POLLERR)) != 0 ? ESRCH : 0;
}

static int enter_limits(struct box_build *build)
{
    int r = cgroup_leaf_join(build->leaf);

    if (r == 0)
        r = cgroup_limit_process(&build->box->limits, build->leaf);
    if (r == 0 && unshare(CLONE_NEWCGROUP) < 0)
        r = errno;
    return r;
}

static int write_file(const char *path, const char *text)
{
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0;
}

/* In a sandbox whose command must not think that it is root's. */
enum { ORDINARY_ID = 1000 };

static unsigned inner_id(const struct box *box, unsigned outer)
{
    return outer == 0 && box->holds_sandboxes ? ORDINARY_ID : outer;
}

/*
 * One user and one group, same as outside: files keep their owner, and no other identity is
 * possible.
 */
static int map_identity(struct box_build *build)
{
    const struct box *box = build->box;
    char map[64];
    int r = write_file("/proc/self/setgroups", "deny");

    snprintf(map, sizeof(map), "%u %u 1", inner_id(box, box->uid), box->uid);
    if (r == 0)
        r = write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "%u %u 1", inner_id(box, box->gid), box->gid);
    if (r == 0)
        r = write_file("/proc/self/gid_map", map);
    return r;
}

/*
 * A user has few instances and watches, for all programs; a user namespace can have fewer. A
 * container may not allow to set them: then those of the user apply.
 */
static int limit_inotify(struct box_build *build)
{
    static const struct {
        const char *of_user;
        const char *of_namespace;
    } limits[] = {
        {"/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances"},
        {"/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches"},
    };

    for (size_t i = 0; build->box->spares_host && i < array_size(limits); i++) {
        cleanup_fd int fd = open(limits[i].of_user, O_RDONLY | O_CLOEXEC);
        char text[32];
        ssize_t got = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
        int64_t most;

        if (got < 0 || !str_to_int64(str_trim((struct str){text, (size_t)got}), &most))
            continue;
        snprintf(text, sizeof(text), "%lld", (long long)(most / INOTIFY_SHARE));
        (void)write_file(limits[i].of_namespace, text);
    }
    return 0;
}

static int name_host(struct box_build *build)
{
    static const char name[] = "sandbox";

    (void)build;
    return sethostname(name, sizeof(name) - 1) < 0 ? errno : 0;
}

static bool wants_terminal(const struct box_command *command)
{
    for (int i = 0; i < STANDARD_FDS; i++)
        if (command->fds[i] == BOX_FD_PTY)
            return true;
    return false;
}

/* The sandbox's own terminal: nothing done to it reaches another one. */
static int open_terminal(struct box_build *build)
{
    const struct winsize size = {.ws_row = build->command->rows, .ws_col = build->command->columns};
    const int unlocked = 0;

    if (!wants_terminal(build->command))
        return 0;
    build->pty_master = open(build->box->is_open ? "/dev/ptmx" : "/dev/pts/ptmx",
                             O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (build->pty_master < 0 || ioctl(build->pty_master, TIOCSPTLCK, &unlocked) < 0)
        return errno;
    build->pty_slave = ioctl(build->pty_master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (build->pty_slave < 0 || ioctl(build->pty_master, TIOCSWINSZ, &size) < 0)
        return errno;
    return 0;
}

static int go_to_directory(struct box_build *build)
{
    snprintf(build->what, sizeof(build->what), "%s", build->command->cwd);
    return chdir(build->command->cwd) < 0 ? errno : 0;
}

/* ---- Steps of the command's own process ---- */

static int make_network(struct box_build *build)
{
    return ISOLATE_IS_SANITIZED ? 0 : box_make_network(build);
}

static int make_session(struct box_build *build)
{
    sigset_t none;

    (void)build;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) < 0 || setsid() < 0 ? errno : 0;
}

static int set_streams(struct box_build *build)
{
    int sources[STANDARD_FDS];

    umask(build->umask);
    if (build->pty_slave >= 0 && ioctl(build->pty_slave, TIOCSCTTY, 0) < 0)
        return errno;
    /* Move them out of the way first: one may be where another must go. */
    for (int i = 0; i < STANDARD_FDS; i++) {
        int source = box_open_stream(build, i);

        sources[i] = source < 0 ? -1 : fcntl(source, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
        if (sources[i] < 0)
            return errno;
    }
    for (int i = 0; i < STANDARD_FDS; i++)
        if (dup2(sources[i], i) < 0)
            return errno;
    /* SAFETY: numbers only; everything else goes when the command begins. */
    return syscall(SYS_close_range, FIRST_FREE_FD, ~0U, CLOSE_RANGE_CLOEXEC) < 0 ? errno : 0;
}

static int give_up_privileges(struct box_build *build)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return errno;
    return capabilities_drop_all(build->capability_count);
}

static int confine_files(struct box_build *build)
{
    static const char *const own[] = {"/tmp", "/var/tmp", "/dev"};
    const struct box *box = build->box;
    struct landlock_place places[BOX_MAX_PLACES + 2 + array_size(own)];
    struct landlock_request request = {.places = places, .allows_tcp = true};
    struct landlock_result result;
    struct err err = ERR_INIT;

    places[request.place_count++] =
        (struct landlock_place){.path = "/", .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_EXECUTE};
    for (size_t i = 0; i < array_size(own); i++)
        places[request.place_count++] =
            (struct landlock_place){.path = own[i],
                                    .rights = LANDLOCK_MAY_WRITE | LANDLOCK_MAY_CONTROL,
                                    .may_be_missing = true};
    /* Where a process says who is who in a namespace of its own. */
    if (box->holds_sandboxes)
        places[request.place_count++] =
            (struct landlock_place){.path = "/proc", .rights = LANDLOCK_MAY_WRITE};
    for (size_t i = 0; i < box->place_count; i++)
        if (box_access_now(build, i) == BOX_WRITE)
            places[request.place_count++] =
                (struct landlock_place){.path = box->places[i].path,
                                        .rights = LANDLOCK_MAY_WRITE,
                                        .may_be_missing = build->command->denial_count > 0};
    if (landlock_confine(&request, &result, &err) < 0) {
        snprintf(build->what, sizeof(build->what), "%.100s", err.message);
        return EACCES;
    }
    if (result.is_applied || box->may_lack_landlock)
        return 0;
    snprintf(build->what, sizeof(build->what), "%s", result.reason);
    return ENOSYS;
}

static int filter_calls(struct box_build *build)
{
    if (build->box->asks_about_locks) {
        build->start->locks = seccomp_install_listener(&build->box->calls);
        return build->start->locks < 0 ? errno : 0;
    }
    return seccomp_install(&build->box->calls, NULL) < 0 ? (errno != 0 ? errno : EPERM) : 0;
}

static int become_command(struct box_build *build)
{
    char *const *argv;
    int r;

    if (build->is_probe)
        _exit(0);
    r = cgroup_yield(&build->box->limits, build->leaf);
    if (r != 0)
        return r;
    snprintf(build->what, sizeof(build->what), "%s", build->command->argv[0]);
    /* SAFETY: a start changes nothing of either; the types are older than const. */
    memcpy(&argv, &build->command->argv, sizeof(argv));
    memcpy(&environ, &build->command->env, sizeof(environ));
    execvp(argv[0], argv);
    return errno;
}

static int begin_command(struct box_build *build);
static int join_command(struct box_build *build);

/* ---- The table ---- */

static const struct {
    int (*take)(struct box_build *build);
    enum box_kind kind;
    const char *words;
} steps[BOX_STEP_COUNT] = {
#define X(step, take, kind, words) {take, kind, words},
    BOX_STEPS(X)
#undef X
};

const char *box_step_words(enum box_step step)
{
    return step < BOX_STEP_COUNT ? steps[step].words : "an unknown step";
}

/* Executes steps up to the one before `end`; 0 or an errno value and the step. */
static int take_steps(struct box_build *build, enum box_step first, enum box_step end,
                      enum box_step *out_step)
{
    const enum box_kind kind = build->box->is_open ? BOX_OPEN : BOX_CLOSED;

    for (enum box_step step = first; step < end; step++) {
        int r;

        if ((steps[step].kind & kind) == 0)
            continue;
        /* Those that run beside the first process leave its words alone. */
        if (step < BOX_STEP_NETWORK || step >= BOX_STEP_STREAMS)
            build->what[0] = '\0';
        r = steps[step].take(build);
        if (r != 0) {
            *out_step = step;
            return r;
        }
    }
    return 0;
}

static struct box_news failure_of(const struct box_build *build, enum box_step step,
                                  int errno_value)
{
    struct box_news news = {.kind = BOX_NEWS_FAILED, .step = step, .errno_value = errno_value};

    memcpy(news.what, build->what, sizeof(news.what));
    return news;
}

/* ---- Starting the command ---- */

/* SAFETY: no C library wraps it; it takes an address of ours and no name. */
static void wait_while(const int *word, int value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
        (void)syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void set_and_wake(int *word, int value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/*
 * Takes the steps of the command's process; it must not return. SAFETY: up to the streams, the
 * first process goes on in the same memory, with the same errno and allocator. So until then
 * nothing is allocated, and no call fails unless the whole sandbox does.
 */
static int run_command(void *data)
{
    struct box_build *build = data;
    struct box_start *start = build->start;
    enum box_step step = BOX_STEP_EXEC;
    int r = take_steps(build, BOX_STEP_NETWORK, BOX_STEP_STREAMS, &step);

    if (r == 0) {
        set_and_wake(&start->state, BOX_START_READY);
        wait_while(&start->may_go, 0);
        r = take_steps(build, BOX_STEP_STREAMS, BOX_STEP_COUNT, &step);
        start->failure = failure_of(build, step, r);
    } else {
        start->failure = (struct box_news){.kind = BOX_NEWS_FAILED, .step = step, .errno_value = r};
    }
    start->has_failed = true;
    set_and_wake(&start->state, BOX_START_GONE);
    _exit(0);
}

static int clone_command(struct box_build *build, int flags)
{
    static char stack[COMMAND_STACK_BYTES] __attribute__((aligned(16)));
    struct box_start *start = build->start;

    start->state = BOX_START_BUSY;
    /* The kernel clears the state when the command is executed, or the process ends. */
    start->pid = clone(run_command, stack + sizeof(stack), flags | SIGCHLD, build, &start->pidfd,
                       NULL, &start->state);
    return start->pid < 0 ? errno : 0;
}

/*
 * Left alone, the scheduler usually queues it behind this process on the same processor, so that
 * nothing runs in parallel.
 */
static void move_elsewhere(struct box_start *start)
{
    cpu_set_t others;
    int here = sched_getcpu();

    if (here < 0 || sched_getaffinity(0, sizeof(start->processors), &start->processors) < 0)
        return;
    others = start->processors;
    CPU_CLR((size_t)here, &others);
    start->is_elsewhere =
        CPU_COUNT(&others) > 0 && sched_setaffinity(start->pid, sizeof(others), &others) == 0;
}

/* By this process alone, so that it cannot be kept elsewhere after it was let go. */
static void let_run_anywhere(struct box_start *start)
{
    if (start->is_elsewhere)
        (void)sched_setaffinity(start->pid, sizeof(start->processors), &start->processors);
}

static int begin_command(struct box_build *build)
{
    int r;

    build->capability_count = capabilities_count();
    /* A sanitizer's memory cannot be shared with what leaves without a word: this one makes it. */
    if (ISOLATE_IS_SANITIZED) {
        build->start->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
        return build->start->pidfd < 0 ? errno : box_make_network(build);
    }
    r = clone_command(build,
                      CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_CHILD_CLEARTID | CLONE_PIDFD);
    if (r == 0)
        move_elsewhere(build->start);
    return r;
}

/* When it is ready, there is a network to enter. */
static int join_command(struct box_build *build)
{
    struct box_start *start = build->start;

    wait_while(&start->state, BOX_START_BUSY);
    let_run_anywhere(start);
    if (start->has_failed)
        return start->failure.errno_value;
    /* It may have ended without a word. */
    return start->pid > 0 && start->state == BOX_START_GONE ? ECHILD : box_enter_network(build);
}

/* Lets it go on, or creates it only now. */
static int start_command(struct box_build *build)
{
    struct box_start *start = build->start;

    if (start->pid > 0) {
        /* What was shared is its own from now on. */
        if (unshare(CLONE_FILES | CLONE_FS) < 0)
            return errno;
        set_and_wake(&start->may_go, 1);
        wait_while(&start->state, BOX_START_READY);
    } else {
        int r;

        start->may_go = 1;
        r = clone_command(build, ISOLATE_IS_SANITIZED ? CLONE_VFORK : CLONE_VM | CLONE_VFORK);
        if (r != 0)
            return r;
    }
    return start->has_failed ? start->failure.errno_value : 0;
}

/* ---- Living ---- */

static _Noreturn void end_with(struct box_build *build, const struct box_news *news)
{
    (void)box_channel_tell(build->channel, news, -1);
    _exit(0);
}

/*
 * Reaps all ended processes; true and *out_news if the command was among them. *locker becomes -1
 * if that was.
 */
static bool reap(pid_t command, pid_t *locker, struct box_news *out_news)
{
    bool has_ended = false;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == *locker)
            *locker = -1; /* the command can kill it, and gets another */
        if (pid != command)
            continue;
        has_ended = true;
        *out_news = (struct box_news){
            .kind = BOX_NEWS_ENDED,
            .end = {.is_known = true,
                    .is_signal = WIFSIGNALED(status),
                    .value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)}};
    }
    return has_ended;
}

/*
 * Orphans become our children, so without any children nobody is left. Checks that first: to signal
 * all, the kernel goes through every process of the machine.
 */
static void end_others(void)
{
    pid_t pid;

    while ((pid = wait4(-1, NULL, WNOHANG, NULL)) >= 0 || errno == EINTR)
        if (pid == 0) {
            (void)kill(-1, SIGKILL);
            (void)wait4(-1, NULL, 0, NULL);
        }
}

/* When the command has ended, ends everything else in the sandbox, and only then reports it. */
static _Noreturn void end_all(struct box_build *build, const struct box_news *news)
{
    if (build->box->is_open)
        box_open_end_descendants();
    else
        end_others();
    end_with(build, news);
}

/* Reports nothing: the starter has died or wants no report, and only we hold the others. */
static _Noreturn void leave(const struct box_build *build)
{
    if (build->box->is_open)
        box_open_end_descendants();
    _exit(EXIT_FAILURE);
}

/* Waits for ended processes, and for messages of its starter. */
static _Noreturn void watch(struct box_build *build, pid_t command, int children)
{
    struct pollfd waits[] = {{.fd = children, .events = POLLIN},
                             {.fd = build->channel, .events = POLLIN},
                             {.events = POLLIN}};
    pid_t locker = -1;

    for (;;) {
        struct signalfd_siginfo about;
        struct box_news news;
        unsigned char signal_number;
        ssize_t got;

        waits[2].fd = locker < 0 ? build->start->locks : -1;
        if (poll(waits, array_size(waits), -1) < 0 && errno != EINTR)
            leave(build);
        if ((waits[0].revents & POLLIN) != 0 && read(children, &about, sizeof(about)) > 0 &&
            reap(command, &locker, &news))
            end_all(build, &news);
        /* Anybody may send us that signal; only the kernel gives us another parent. */
        if (build->box->is_open && getppid() != build->starter)
            leave(build);
        if ((waits[2].revents & POLLIN) != 0)
            locker = box_locks_serve(waits[2].fd);
        if (waits[1].revents == 0)
            continue;
        got = recv(build->channel, &signal_number, 1, MSG_DONTWAIT);
        if (got == 1)
            (void)kill(-command, signal_number);
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            leave(build);
    }
}

_Noreturn void box_live(struct box_build *build)
{
    static struct box_start own;
    enum box_step step = BOX_STEP_LIFELINE;
    struct box_news news;
    sigset_t mask;
    int children;
    int r;

    forget_signals();
    build->umask = umask(0);
    build->start = ISOLATE_IS_SANITIZED ? mmap(NULL, sizeof(own), PROT_READ | PROT_WRITE,
                                               MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                                        : &own;
    if (build->start != MAP_FAILED)
        build->start->locks = -1;
    r = build->start == MAP_FAILED ? errno
                                   : take_steps(build, BOX_STEP_LIFELINE, BOX_STEP_NETWORK, &step);
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    if (build->box->is_open)
        sigaddset(&mask, BOX_OPEN_DEATH_SIGNAL);
    if (r == 0) {
        step = BOX_STEP_SESSION;
        /* From here on nobody in the sandbox may trace us: we are a copy of our starter. */
        children = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
        if (children < 0 || sigprocmask(SIG_BLOCK, &mask, NULL) < 0 ||
            prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
            r = errno;
        else
            r = start_command(build);
    }
    if (r != 0) {
        news = build->start != MAP_FAILED && build->start->has_failed ? build->start->failure
                                                                      : failure_of(build, step, r);
        end_with(build, &news);
    }
    /* Root's are what reaches descendants that have become other users. */
    if (!build->box->is_open) {
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        /* For locks.c: some processes hide from others of their user. */
        (void)capabilities_hold(UINT64_C(1) << CAP_SYS_PTRACE);
    }
    news = (struct box_news){.kind = BOX_NEWS_STARTED, .limits_namespace = build->limits_namespace};
    if (box_channel_tell(build->channel, &news, build->pty_master) < 0)
        leave(build);
    box_channel_keep_only((const int[]){build->channel, children, build->start->locks}, 3);
    watch(build, build->start->pid, children);
}
