/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/programs.h"
#include "isolate/cgroup.h"
#include "programs/gatehouse/start.h"

enum { DISPLAY_MS = 5000 };

__attribute__((format(printf, 3, 4))) static void found(struct probe_finding *finding,
                                                        enum probe_status status,
                                                        const char *format, ...)
{
    va_list args;

    finding->status = status;
    va_start(args, format);
    vsnprintf(finding->detail, sizeof(finding->detail), format, args);
    va_end(args);
}

static void probe_kernel(struct probe_finding *finding)
{
    struct utsname name;

    if (uname(&name) < 0)
        found(finding, PROBE_LIMITED, "unknown");
    else
        found(finding, PROBE_OK, "%s %s on %s", name.sysname, name.release, name.machine);
}

static void probe_user(struct probe_finding *finding)
{
    if (geteuid() == 0)
        found(finding, PROBE_LIMITED, "running as root");
    else
        found(finding, PROBE_OK, "user id %u", (unsigned)geteuid());
}

static void probe_openat2(struct probe_finding *finding)
{
    const struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    /* SAFETY: no wrapper in this libc; the arguments are those of openat2(2). */
    cleanup_fd int fd = (int)syscall(SYS_openat2, root, ".", &how, sizeof(how));

    if (fd >= 0)
        found(finding, PROBE_OK, "available");
    else
        found(finding, PROBE_MISSING, "%s", err_errno_text(errno));
}

static void probe_landlock(struct probe_finding *finding)
{
    /* SAFETY: asks for the version only; no ruleset is made. */
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    if (abi < 0)
        found(finding, PROBE_MISSING, "%s", err_errno_text(errno));
    else if (abi < 2) /* no right to rename between directories, so it would break moves */
        found(finding, PROBE_LIMITED, "ABI %ld, but 2 or later is required", abi);
    else
        found(finding, PROBE_OK, "ABI %ld", abi);
}

static void probe_seccomp(struct probe_finding *finding)
{
    uint32_t action = SECCOMP_RET_KILL_PROCESS;

    /* SAFETY: asks whether a filter could use this action; none is installed. */
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
        found(finding, PROBE_OK, "available");
    else
        found(finding, PROBE_MISSING, "%s", err_errno_text(errno));
}

static void probe_pidfd(struct probe_finding *finding)
{
    /* SAFETY: a handle on this very process, closed at once. */
    cleanup_fd int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    if (fd >= 0)
        found(finding, PROBE_OK, "available");
    else
        found(finding, PROBE_MISSING, "%s", err_errno_text(errno));
}

static void probe_user_namespaces(struct probe_finding *finding)
{
    /* SAFETY: fork() in a new user namespace; the child only leaves again. */
    pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

    if (child == 0)
        _exit(0);
    if (child < 0) {
        found(finding, PROBE_MISSING, "%s", err_errno_text(errno));
        return;
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    found(finding, PROBE_OK, "available");
}

/* As a sandbox does it: makes a group with limits, and removes it. */
static void probe_cgroups(struct probe_finding *finding)
{
    const struct cgroup_limits limits = {.memory_bytes = INT64_C(1) << 30, .processes = 64};
    struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
    bool has_memory;
    bool has_processes;

    if (cgroup_leaf_make(&limits, &leaf, NULL) < 0) {
        found(finding, PROBE_MISSING, "none can be created");
        return;
    }
    has_memory = leaf.holds[CGROUP_MEMORY] == CGROUP_BY_GROUP;
    has_processes = leaf.holds[CGROUP_PROCESSES] == CGROUP_BY_GROUP;
    cgroup_leaf_remove(&leaf);
    if (has_memory && has_processes)
        found(finding, PROBE_OK, "can be created");
    else if (has_memory || has_processes)
        found(finding, PROBE_LIMITED, has_memory ? "limit memory only" : "limit processes only");
    else
        found(finding, PROBE_MISSING, "none can be created");
}

/* In the child: the program that would hold the display says what it finds. */
_Noreturn static void check_display(int out_fd)
{
    char name[] = SCREEN_PROGRAM;
    char option[] = "--check";
    char *const argv[] = {name, option, NULL};
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 && dup2(null_fd, STDERR_FILENO) >= 0 &&
        dup2(out_fd, STDOUT_FILENO) >= 0)
        (void)start_program(SCREEN_PROGRAM, argv, NULL);
    _exit(EXIT_FAILURE);
}

/* Its first line. A display that hangs does not keep us. */
static void read_line(int fd, char *out_line, size_t size)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    size_t len = 0;

    while (len + 1 < size && poll(&ready, 1, DISPLAY_MS) > 0) {
        ssize_t got = read(fd, out_line + len, size - 1 - len);

        if (got <= 0)
            break;
        len += (size_t)got;
    }
    out_line[len] = '\0';
    out_line[strcspn(out_line, "\n")] = '\0';
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0';
}

static void probe_display(struct probe_finding *finding)
{
    char line[PROBE_DETAIL_BYTES] = "";
    int ends[2];
    int status = 0;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0) {
        found(finding, PROBE_MISSING, "unknown: %s", err_errno_text(errno));
        return;
    }
    pid = fork();
    if (pid == 0)
        check_display(ends[1]);
    close(ends[1]);
    if (pid > 0) {
        read_line(ends[0], line, sizeof(line));
        (void)kill(pid, SIGKILL); /* it has said all that it has to say */
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    if (line[0] == '\0')
        found(finding, PROBE_MISSING, "%s does not answer: is it installed?", SCREEN_PROGRAM);
    else
        found(finding,
              strstr(line, " is used") != NULL                 ? PROBE_OK
              : is_set("WAYLAND_DISPLAY") || is_set("DISPLAY") ? PROBE_LIMITED
                                                               : PROBE_MISSING,
              "%s", line);
}

/* Finds this program in PATH. */
static bool find_program(const char *name, char out_path[PATH_MAX])
{
    const char *path = getenv("PATH");
    struct str rest = str_from(path != NULL ? path : "");
    struct str dir;

    while (str_cut(&rest, ':', &dir)) {
        if (dir.len == 0)
            continue;
        if (snprintf(out_path, PATH_MAX, "%.*s/%s", STR_ARG(dir), name) < PATH_MAX &&
            access(out_path, X_OK) == 0)
            return true;
    }
    return false;
}

static void probe_browser(struct probe_finding *finding)
{
    static const char *const names[] = {"chromium",       "chromium-browser",
                                        "google-chrome",  "google-chrome-stable",
                                        "microsoft-edge", "brave-browser"};
    char path[PATH_MAX];

    for (size_t i = 0; i < array_size(names); i++) {
        if (find_program(names[i], path)) {
            found(finding, PROBE_OK, "%s", path);
            return;
        }
    }
    found(finding, PROBE_MISSING, "no Chromium, Chrome, Edge or Brave in PATH");
}

const struct probe probes[] = {
    {"kernel", "Kernel", "the base of everything else", "the kernel does not report its version",
     probe_kernel},
    {"user", "User", "the rights that agents get",
     "agents would get all rights; use an ordinary user", probe_user},
    {"openat2", "openat2", "opens a path and checks in one step that it stays inside its root",
     "paths are opened one component at a time: as safe, about three times slower", probe_openat2},
    {"landlock", "Landlock", "limits a process to the files of the granted roots",
     "there is no second protection behind the path checks", probe_landlock},
    {"seccomp", "seccomp", "limits the system calls of a process, including network and exec",
     "a compromised process keeps every system call", probe_seccomp},
    {"pidfd", "pidfd", "signals a process without hitting another one with the same PID",
     "child processes are watched by PID, through SIGCHLD", probe_pidfd},
    {"user_namespaces", "User namespaces", "isolates commands and sandboxes without root",
     "isolation needs root; check kernel.unprivileged_userns_clone and AppArmor's "
     "unprivileged_userns settings",
     probe_user_namespaces},
    {"cgroups", "Control groups",
     "limits memory, processes and CPU time of a command, and of all commands of agents",
     "limits apply per process only; under systemd, start it with: systemd-run --user --scope",
     probe_cgroups},
    {"display", "Display", "screenshots, mouse and keyboard",
     "agents cannot use the screen; other tools are not affected", probe_display},
    {"browser", "Browser",
     "controls web pages for the agent; also in your own browser, if you allow that at "
     "chrome://inspect/#remote-debugging",
     "no tools for web pages (--permission-browser)", probe_browser},
};
const size_t probe_count = array_size(probes);

const char *probe_status_name(enum probe_status status)
{
    switch (status) {
    case PROBE_OK:
        return "ok";
    case PROBE_LIMITED:
        return "limited";
    case PROBE_MISSING:
        return "missing";
    }
    return "missing";
}
