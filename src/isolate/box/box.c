/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/box/box.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/box/channel.h"
#include "isolate/box/internal.h"
#include "isolate/landlock.h"
#include "isolate/sanitized.h"
#include "isolate/threads.h"

enum { STANDARD_FDS = 3, BOX_MAX_ARGS = 32768, YAMA_NOBODY = '3' };

/* A place below these would expose the machine itself. */
static const char *const never_places[] = {"/proc", "/sys", "/dev"};
static const char shared_memory[] = "/dev/shm"; /* holds files like any other */

/* ---- The plan ---- */

static int check_place(const struct box_place *place, struct err *err)
{
    if (place->path == NULL || place->path[0] != '/' || strlen(place->path) >= BOX_PATH_BYTES)
        return err_set(err, ERR_INVALID_PATH, "a sandbox path must be absolute");
    if (place->access == BOX_HIDDEN)
        return 0;
    if (strcmp(place->path, "/") == 0)
        return err_set_field(err, ERR_DENIED_BY_POLICY, place->path,
                             "a sandbox cannot include the whole system as one path");
    for (size_t i = 0; i < array_size(never_places); i++)
        if (box_is_beneath(place->path, never_places[i]) &&
            (!box_is_beneath(place->path, shared_memory) ||
             strcmp(place->path, shared_memory) == 0))
            return err_set_field(err, ERR_DENIED_BY_POLICY, place->path,
                                 "%s cannot be made visible in a sandbox", never_places[i]);
    return 0;
}

static int refuse_place(const char *path, int errno_value, struct err *err)
{
    return err_set_field(err, err_from_errno(errno_value), path,
                         "%.150s cannot be made visible in a sandbox: %s", path,
                         errno_value == ELOOP ? "its path contains a symbolic link"
                                              : err_errno_text(errno_value));
}

static int add_place(struct box *box, const struct box_place *place, struct err *err)
{
    struct box_own_place *own = &box->places[box->place_count];
    struct stat about = {0};
    int r = check_place(place, err);

    if (r < 0)
        return r;
    if (place->access != BOX_HIDDEN) {
        cleanup_fd int fd = box_open_place(place->path);

        if (fd < 0 && place->is_optional)
            return 0;
        if (fd < 0)
            return refuse_place(place->path, -fd, err);
        if (fstat(fd, &about) < 0)
            return refuse_place(place->path, errno, err);
        if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode) &&
            !(place->is_socket && S_ISSOCK(about.st_mode)))
            return err_set_field(err, ERR_NOT_REGULAR_FILE, place->path,
                                 "%.150s is neither a directory nor a file", place->path);
    }
    *own = (struct box_own_place){.path = strdup(place->path),
                                  .access = place->access,
                                  .device = about.st_dev,
                                  .inode = about.st_ino,
                                  .is_directory = S_ISDIR(about.st_mode),
                                  .is_optional = place->is_optional};
    if (own->path == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    box->place_count++;
    return 0;
}

/* One that does not exist is not made in a sandbox either. */
static int add_home(struct box *box, const char *home, struct err *err)
{
    struct stat about;

    if (home == NULL || home[0] != '/' || strlen(home) >= BOX_PATH_BYTES ||
        stat(home, &about) < 0 || !S_ISDIR(about.st_mode))
        return 0;
    box->real_home = realpath(home, NULL);
    box->home = strdup(home);
    if (box->real_home == NULL || box->home == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    box_git_find(box->real_home, &box->git_user);
    return 0;
}

/* A function of its own, because cppcheck does not see what frees the box. */
static struct box *empty_box(void)
{
    return calloc(1, sizeof(struct box));
}

/* Whether that can be allowed at all: Yama may forbid it to everybody. */
static bool may_copy_descriptors(void)
{
    cleanup_fd int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    char level;

    return fd < 0 || read(fd, &level, 1) != 1 || level != YAMA_NOBODY;
}

/* Allows all locks: a filter that asks nobody would refuse them all. */
static void stop_asking(struct box *box)
{
    box->asks_about_locks = false;
    seccomp_replace_answer(&box->calls, SECCOMP_RET_USER_NOTIF, SECCOMP_RET_ALLOW);
}

int box_new(const struct box_plan *plan, struct box **out_box, struct err *err)
{
    cleanup_box struct box *box = empty_box();
    int r;

    if (box == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (plan->place_count > BOX_MAX_PLACES)
        return err_set(err, ERR_TOO_LARGE, "a sandbox has more than %d paths", BOX_MAX_PLACES);
    box->network = plan->network;
    box->hosts = plan->hosts;
    box->libexec = plan->libexec;
    box->proxy = (struct webproxy)WEBPROXY_INIT;
    box->limits = plan->limits;
    box->tmp_bytes = plan->tmp_bytes > 0 ? plan->tmp_bytes : BOX_TMP_BYTES;
    box->may_lack_landlock = plan->may_lack_landlock;
    box->spares_host = plan->spares_host;
    box->holds_sandboxes = plan->holds_sandboxes;
    box->is_open = plan->is_open;
    box->uid = geteuid();
    box->gid = getegid();
    box->is_root = box->uid == 0;
    box->landlock_abi = landlock_abi();
    if (box->is_open) {
        *out_box = steal_ptr(&box);
        return 0;
    }
    box->places = calloc(plan->place_count + 1, sizeof(*box->places));
    if (box->places == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    for (size_t i = 0; i < plan->place_count; i++) {
        r = add_place(box, &plan->places[i], err);
        if (r < 0)
            return r;
    }
    r = add_home(box, plan->home, err);
    if (r < 0)
        return r;
    r = box_calls_compile(SECCOMP_ON_THIS,
                          box->holds_sandboxes ? BOX_CALLS_SANDBOXES : BOX_CALLS_COMMAND,
                          &box->calls, err);
    if (r < 0)
        return r;
    box->asks_about_locks = true;
    /* The first process gets its descriptor from the command, if both share their table. */
    if (ISOLATE_IS_SANITIZED || !may_copy_descriptors())
        stop_asking(box);
    *out_box = steal_ptr(&box);
    return 0;
}

void box_free(struct box *box)
{
    if (box == NULL)
        return;
    webproxy_stop(&box->proxy);
    for (size_t i = 0; i < box->place_count; i++)
        free(box->places[i].path);
    free(box->places);
    free(box->home);
    free(box->real_home);
    free(box);
}

/* ---- Starting ---- */

static int check_command(const struct box_command *command, struct err *err)
{
    size_t count = 0;

    while (command->argv[count] != NULL)
        count++;
    if (count == 0 || count > BOX_MAX_ARGS)
        return err_set(err, ERR_INVALID_ARGUMENT, "a command must have 1 to %d words",
                       BOX_MAX_ARGS);
    if (command->cwd == NULL || command->cwd[0] != '/')
        return err_set(err, ERR_INVALID_PATH, "the working directory must be an absolute path");
    for (size_t i = 0; i < command->denial_count; i++)
        if (command->denials[i].is_pattern || command->denials[i].path[0] != '/' ||
            strcmp(command->denials[i].path, "/") == 0)
            return err_set(err, ERR_DENIED_BY_POLICY,
                           "a rule denies the whole file system, so no command can run; revoke it "
                           "or make it narrower");
    for (int i = 0; i < STANDARD_FDS; i++) {
        struct stat about;
        int fd = command->fds[i];

        if (fd < 0)
            continue;
        if (fstat(fd, &about) < 0)
            return err_set(err, err_from_errno(errno), "descriptor %d: %s", i,
                           err_errno_text(errno));
        if (S_ISDIR(about.st_mode))
            return err_set(err, ERR_DENIED_BY_POLICY,
                           "file descriptor %d is a directory, which would lead out of the sandbox",
                           i);
        if (isatty(fd))
            return err_set(err, ERR_DENIED_BY_POLICY,
                           "file descriptor %d is a terminal; a sandbox gets its own", i);
    }
    return 0;
}

/* Why the first step failed, for users who could change it. */
static const char *why_no_namespaces(int errno_value)
{
    switch (errno_value) {
    case EPERM:
        return "user namespaces are not allowed (check the container's seccomp filter, AppArmor, "
               "and kernel.unprivileged_userns_clone)";
    case ENOSPC:
        return "the limit is reached (raise user.max_user_namespaces)";
    case EINVAL:
    case ENOSYS:
        return "this kernel lacks some of them";
    default:
        return err_errno_text(errno_value);
    }
}

static const char *why(const struct box_news *news)
{
    if (news->step == BOX_STEP_NAMESPACES || news->step == BOX_STEP_NETWORK)
        return why_no_namespaces(news->errno_value);
    if (news->errno_value == EPERM && news->step <= BOX_STEP_HOSTNAME)
        return "user namespaces give no rights (AppArmor: check "
               "kernel.apparmor_restrict_unprivileged_userns)";
    if (news->step == BOX_STEP_PLACES && news->errno_value == ESTALE)
        return "it was replaced by something else";
    if (news->step == BOX_STEP_DENIED && news->errno_value == EACCES)
        return "its owner cannot open it; run chmod u+rwx on it";
    if (news->step == BOX_STEP_PROC && news->errno_value == EPERM)
        return "parts of /proc are masked, as in a container";
    return err_errno_text(news->errno_value);
}

static int explain(const struct box *box, const struct box_news *news, struct err *err)
{
    int code = err_from_errno(news->errno_value);

    if (news->step == BOX_STEP_EXEC)
        return err_set_field(
            err,
            news->errno_value == ENOENT || news->errno_value == ENOTDIR ? ERR_NOT_FOUND
                                                                        : ERR_PERMISSION_DENIED,
            "command", "%.150s: %s", news->what, err_errno_text(news->errno_value));
    if (news->step == BOX_STEP_DIRECTORY)
        return err_set_field(err, code, "cwd", "cannot use the working directory %.150s: %s",
                             news->what, err_errno_text(news->errno_value));
    if (box->is_open)
        return err_set_field(err, code, box_step_words(news->step),
                             "cannot start the command: %s failed: %s", box_step_words(news->step),
                             err_errno_text(news->errno_value));
    if (news->step != BOX_STEP_PLACES)
        code = ERR_UNSUPPORTED;
    return err_set_field(
        err, code, box_step_words(news->step), "cannot create the sandbox: %s failed: %.100s%s%s",
        box_step_words(news->step), news->what, news->what[0] != '\0' ? ": " : "", why(news));
}

static void set_all(int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fds[i] = -1;
}

/* After an error, what remains in *process is for box_finish(). */
static int build_and_start(struct box *box, const struct box_command *command, bool is_probe,
                           struct box_process *process, struct err *err)
{
    cleanup_fd int far = -1;
    /* Others come later (box/network.c). */
    unsigned long flags =
        box->is_open ? 0 : CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS;
    struct box_build build = {
        .box = box, .command = command, .leaf = &process->leaf, .is_probe = is_probe};
    struct box_news news;
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create a socket pair: %s",
                       err_errno_text(errno));
    process->channel = ends[0];
    build.channel = far = ends[1];
    r = cgroup_leaf_make(&box->limits, &process->leaf, err);
    if (r < 0)
        return r;
    process->is_open = box->is_open;
    /* Without a user namespace that one counts all that the user runs on this machine. */
    if (box->is_open && process->leaf.holds[CGROUP_PROCESSES] == CGROUP_BY_PROCESS)
        process->leaf.holds[CGROUP_PROCESSES] = CGROUP_NOT_HELD;
    memcpy(box->holds, process->leaf.holds, sizeof(box->holds));
    build.pty_master = build.pty_slave = build.scratch_fd = build.covers_fd = -1;
    set_all(build.trees, array_size(build.trees));
    set_all(build.device_trees, array_size(build.device_trees));
    set_all(build.files, array_size(build.files));

    /* Without a sandbox only the command is in it, not the first process. */
    process->pid = cgroup_leaf_fork(box->is_open ? NULL : &process->leaf, flags, &process->pidfd);
    if (process->pid == 0) {
        close(process->channel);
        box_live(&build);
    }
    if (process->pid < 0) {
        news = (struct box_news){.step = BOX_STEP_NAMESPACES, .errno_value = errno};
        process->pidfd = -1;
        if (box->is_open)
            return err_set(err, err_from_errno(news.errno_value), "cannot create a process: %s",
                           err_errno_text(news.errno_value));
        return explain(box, &news, err);
    }
    close(steal_fd(&far));
    if (!box_channel_hear(process->channel, &news, &process->pty))
        return err_set(err, ERR_INTERNAL, "cannot create the %s: its first process died",
                       box->is_open ? "process" : "sandbox");
    if (news.kind == BOX_NEWS_FAILED) {
        /* What Gatehouse itself runs in decides about system calls, and only one can. */
        if (news.step == BOX_STEP_SECCOMP && news.errno_value == EBUSY)
            stop_asking(box);
        return explain(box, &news, err);
    }
    if (news.limits_namespace)
        box->holds[CGROUP_PROCESSES] = CGROUP_BY_DEFAULT;
    return 0;
}

static int start(struct box *box, const struct box_command *command, bool is_probe,
                 struct box_process *out_process, struct err *err)
{
    struct box_process process = BOX_PROCESS_INIT;
    struct box_end end;
    bool asked;
    int r = threads_check_alone(err);

    assert(box != NULL);
    if (r == 0)
        r = check_command(command, err);
    if (r == 0 && box->network == BOX_NETWORK_LISTED && !box->is_open)
        r = webproxy_start(&box->proxy, box->libexec, box->hosts, err);
    if (r < 0)
        return r;
    asked = box->asks_about_locks;
    r = build_and_start(box, command, is_probe, &process, err);
    if (r < 0)
        box_finish(&process, &end);
    if (r < 0 && asked && !box->asks_about_locks) {
        r = build_and_start(box, command, is_probe, &process, err);
        if (r < 0)
            box_finish(&process, &end);
    }
    if (r == 0)
        *out_process = process;
    return r;
}

int box_start(struct box *box, const struct box_command *command, struct box_process *out_process,
              struct err *err)
{
    return start(box, command, false, out_process, err);
}

int box_limit_together(struct box *box, struct box_process *process, struct err *err)
{
    int r = cgroup_leaf_extend(&box->limits, &process->leaf, process->pid, err);

    for (int i = 0; i < CGROUP_LIMITS; i++)
        if (process->leaf.holds[i] == CGROUP_BY_GROUP)
            box->holds[i] = CGROUP_BY_GROUP;
    return r;
}

int box_signal(const struct box_process *process, int signal_number)
{
    unsigned char byte = (unsigned char)signal_number;

    if (signal_number < 1 || signal_number > SIGRTMAX)
        return ERR_INVALID_ARGUMENT;
    if (signal_number == SIGKILL) {
        cgroup_leaf_kill(&process->leaf);
        /*
         * The first process of an open plan must stay alive to find the others: it is told the same
         * way as when we die, which no full socket delays, and is woken if it was stopped.
         */
        if (process->is_open)
            (void)shutdown(process->channel, SHUT_WR);
        /* SAFETY: no wrapper in every C library; it takes a process and no name. */
        return syscall(SYS_pidfd_send_signal, process->pidfd, process->is_open ? SIGCONT : SIGKILL,
                       NULL, 0) < 0
                   ? ERR_NOT_FOUND
                   : 0;
    }
    return send(process->channel, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : ERR_NOT_FOUND;
}

void box_read_end(struct box_process *process)
{
    struct box_news news;
    int fd = -1;

    if (process->has_ended)
        return;
    process->has_ended = true;
    process->end = (struct box_end){.is_signal = true, .value = SIGKILL};
    if (box_channel_hear(process->channel, &news, &fd) && news.kind == BOX_NEWS_ENDED)
        process->end = news.end;
    if (fd >= 0)
        close(fd);
    (void)box_signal(process, SIGKILL);
}

/* Not well, and perhaps because memory ran out by the default limit. */
static bool may_have_run_out(const struct box_process *process)
{
    return process->leaf.limits_each && (process->end.is_signal || process->end.value != 0);
}

void box_finish(struct box_process *process, struct box_end *out_end)
{
    int *const fds[] = {&process->pidfd, &process->channel, &process->pty};
    struct rusage usage = {0};
    int status;

    if (process->pid > 0) {
        box_read_end(process);
        while (wait4(process->pid, &status, 0, &usage) < 0 && errno == EINTR)
            ;
        if (may_have_run_out(process))
            process->end.peak_bytes = (uint64_t)usage.ru_maxrss << 10;
    }
    /* A command that ended well is not asked about. */
    if (process->end.is_signal || process->end.value != 0)
        process->end.ran_out = cgroup_leaf_ran_out(&process->leaf);
    cgroup_leaf_remove(&process->leaf);
    for (size_t i = 0; i < array_size(fds); i++)
        if (*fds[i] >= 0)
            close(steal_fd(fds[i]));
    *out_end = process->end;
    *process = (struct box_process)BOX_PROCESS_INIT;
}

void box_let_go(struct box_process *process, struct box_end *out_end)
{
    box_read_end(process);
    /* The leaf can be removed only when it is empty. */
    if (process->leaf.dir_count > 0 || !process->end.is_known || may_have_run_out(process))
        box_finish(process, out_end);
    else
        *out_end = process->end;
}

/* ---- For people ---- */

/* The restrictions, or that there are none. */
static int describe_walls(const struct box *box, struct buf *out)
{
    int r;

    if (box->is_open)
        return buf_printf(out, "NO SANDBOX: NOTHING IS HELD. COMMANDS CAN DO ALL THAT THE USER "
                               "CAN: FILES, NETWORK, PROCESSES, PRIVILEGES\n");
    r = buf_printf(out, "namespaces: user, mount, process, IPC, host name, cgroup%s\n",
                   box->network == BOX_NETWORK_HOST     ? "; network of the host"
                   : box->network == BOX_NETWORK_LISTED ? ", network; listed hosts by a proxy"
                                                        : ", network");
    if (r == 0)
        r = box->landlock_abi >= LANDLOCK_MIN_ABI
                ? buf_printf(out, "Landlock: ABI %d%s\n", box->landlock_abi,
                             box->landlock_abi < 6 && box->network == BOX_NETWORK_HOST
                                 ? "; can reach abstract sockets of the host"
                                 : "")
                : buf_printf(out, "Landlock: MISSING\n");
    if (r == 0 && !box->asks_about_locks)
        r = buf_printf(out, "flock: NOT CHECKED; commands can lock what they can read\n");
    return r;
}

int box_describe(const struct box *box, struct buf *out)
{
    int r = describe_walls(box, out);

    for (int i = 0; i < CGROUP_LIMITS && r == 0; i++) {
        char words[CGROUP_WORDS_BYTES];

        if (box->holds[i] == CGROUP_NOT_ASKED)
            continue;
        cgroup_describe((enum cgroup_limit)i, box->holds[i], words);
        r = buf_printf(out, "%s\n", words);
    }
    return r;
}

int box_probe(struct err *err)
{
    static const char *const argv[] = {"probe", NULL};
    static const char *const env[] = {NULL};
    const struct box_plan plan = {.network = BOX_NETWORK_NONE};
    const struct box_command command = {
        .argv = argv, .env = env, .cwd = "/", .fds = {BOX_FD_PTY, BOX_FD_NULL, BOX_FD_NULL}};
    cleanup_box struct box *box = NULL;
    struct box_process process = BOX_PROCESS_INIT;
    struct box_end end;
    int r = box_new(&plan, &box, err);

    if (r == 0)
        r = start(box, &command, true, &process, err);
    if (r < 0)
        return r;
    box_finish(&process, &end);
    if (!end.is_known || end.is_signal || end.value != 0)
        return err_set(err, ERR_INTERNAL, "the sandbox started, but ended by itself");
    return 0;
}
