/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/syscalls.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "isolate/sanitized.h"

enum need {
    ALWAYS,
    TO_CHANGE,
    TO_LINK,
    TO_PASS,
    TO_SERVE,
    TO_SHARE,
    TO_KEEP,
    TO_WAIT,
    TO_PRETEND,
    SANITIZED,
    RULED
};

/* No such call on this machine. */
enum { NONE = -1 };

/*
 * L: older calls, which arm64 does not have; what libraries use there instead is in the list too.
 * Both columns are here so that one machine can test the filter of the other; the compiler
 * compares its own with the kernel's headers.
 */
/* clang-format off */
/*    name                     x86-64 arm64 for */
#define CALLS(X, L) \
    /* Reading and writing what is open. */ \
    X(read,                   0,    63,   ALWAYS) \
    X(write,                  1,    64,   ALWAYS) \
    X(readv,                  19,   65,   ALWAYS) \
    X(writev,                 20,   66,   ALWAYS) \
    X(pread64,                17,   67,   ALWAYS) \
    X(pwrite64,               18,   68,   ALWAYS) \
    X(preadv,                 295,  69,   ALWAYS) \
    X(pwritev,                296,  70,   ALWAYS) \
    X(preadv2,                327,  286,  ALWAYS) \
    X(pwritev2,               328,  287,  ALWAYS) \
    X(lseek,                  8,    62,   ALWAYS) \
    X(close,                  3,    57,   ALWAYS) \
    X(close_range,            436,  436,  ALWAYS) \
    X(flock,                  73,   32,   ALWAYS) \
    X(dup,                    32,   23,   ALWAYS) \
    L(dup2,                   33,         ALWAYS) \
    X(dup3,                   292,  24,   ALWAYS) \
    L(pipe,                   22,         ALWAYS) \
    X(pipe2,                  293,  59,   ALWAYS) \
    X(fsync,                  74,   82,   ALWAYS) \
    X(fdatasync,              75,   83,   ALWAYS) \
    X(syncfs,                 306,  267,  ALWAYS) \
    X(sync_file_range,        277,  84,   ALWAYS) \
    X(fallocate,              285,  47,   ALWAYS) \
    X(ftruncate,              77,   46,   ALWAYS) \
    X(fadvise64,              221,  223,  ALWAYS) \
    X(copy_file_range,        326,  285,  ALWAYS) \
    X(sendfile,               40,   71,   ALWAYS) \
    X(fgetxattr,              193,  10,   ALWAYS) \
    X(flistxattr,             196,  13,   ALWAYS) \
    /* By name. Landlock says where; stat and readlink are nobody's to hold. */ \
    L(open,                   2,          ALWAYS) \
    X(openat,                 257,  56,   ALWAYS) \
    X(openat2,                437,  437,  ALWAYS) \
    L(stat,                   4,          ALWAYS) \
    L(lstat,                  6,          ALWAYS) \
    X(fstat,                  5,    80,   ALWAYS) \
    X(newfstatat,             262,  79,   ALWAYS) \
    X(statx,                  332,  291,  ALWAYS) \
    X(statfs,                 137,  43,   ALWAYS) \
    X(fstatfs,                138,  44,   ALWAYS) \
    L(access,                 21,         ALWAYS) \
    X(faccessat,              269,  48,   ALWAYS) \
    X(faccessat2,             439,  439,  ALWAYS) \
    L(readlink,               89,         ALWAYS) \
    X(readlinkat,             267,  78,   ALWAYS) \
    X(getdents64,             217,  61,   ALWAYS) \
    X(getcwd,                 79,   17,   ALWAYS) \
    /* Names that come and go: who only reads still turns its record over. Landlock's too. */ \
    L(mkdir,                  83,         ALWAYS) \
    X(mkdirat,                258,  34,   ALWAYS) \
    L(unlink,                 87,         ALWAYS) \
    X(unlinkat,               263,  35,   ALWAYS) \
    L(rmdir,                  84,         ALWAYS) \
    L(rename,                 82,         ALWAYS) \
    X(renameat,               264,  38,   ALWAYS) \
    X(renameat2,              316,  276,  ALWAYS) \
    L(link,                   86,         ALWAYS) \
    X(linkat,                 265,  37,   ALWAYS) \
    X(symlinkat,              266,  36,   TO_LINK) \
    /* Memory. */ \
    X(mmap,                   9,    222,  ALWAYS) \
    X(munmap,                 11,   215,  ALWAYS) \
    X(mprotect,               10,   226,  ALWAYS) \
    X(mremap,                 25,   216,  ALWAYS) \
    X(madvise,                28,   233,  ALWAYS) \
    X(brk,                    12,   214,  ALWAYS) \
    X(mincore,                27,   232,  ALWAYS) \
    X(msync,                  26,   227,  ALWAYS) \
    X(mlock,                  149,  228,  ALWAYS) \
    X(munlock,                150,  229,  ALWAYS) \
    X(membarrier,             324,  283,  ALWAYS) \
    /* Threads, and what a process may know of itself. */ \
    X(exit,                   60,   93,   ALWAYS) \
    X(exit_group,             231,  94,   ALWAYS) \
    X(futex,                  202,  98,   ALWAYS) \
    X(set_robust_list,        273,  99,   ALWAYS) \
    X(get_robust_list,        274,  100,  ALWAYS) \
    X(rseq,                   334,  293,  ALWAYS) \
    X(set_tid_address,        218,  96,   ALWAYS) \
    L(arch_prctl,             158,        ALWAYS) \
    X(getpid,                 39,   172,  ALWAYS) \
    X(getppid,                110,  173,  ALWAYS) \
    X(gettid,                 186,  178,  ALWAYS) \
    X(getuid,                 102,  174,  ALWAYS) \
    X(geteuid,                107,  175,  ALWAYS) \
    X(getgid,                 104,  176,  ALWAYS) \
    X(getegid,                108,  177,  ALWAYS) \
    X(getrlimit,              97,   163,  ALWAYS) \
    X(getrusage,              98,   165,  ALWAYS) \
    X(getpriority,            140,  141,  ALWAYS) \
    X(getcpu,                 309,  168,  ALWAYS) \
    X(sched_yield,            24,   124,  ALWAYS) \
    X(sched_getaffinity,      204,  123,  ALWAYS) \
    X(sched_getparam,         143,  121,  ALWAYS) \
    X(sched_getscheduler,     145,  120,  ALWAYS) \
    X(sched_get_priority_max, 146,  125,  ALWAYS) \
    X(sched_get_priority_min, 147,  126,  ALWAYS) \
    X(uname,                  63,   160,  ALWAYS) \
    X(sysinfo,                99,   179,  ALWAYS) \
    X(getrandom,              318,  278,  ALWAYS) \
    /* Signals and time. */ \
    X(rt_sigaction,           13,   134,  ALWAYS) \
    X(rt_sigprocmask,         14,   135,  ALWAYS) \
    X(rt_sigreturn,           15,   139,  ALWAYS) \
    X(rt_sigpending,          127,  136,  ALWAYS) \
    X(rt_sigsuspend,          130,  133,  ALWAYS) \
    X(rt_sigtimedwait,        128,  137,  ALWAYS) \
    X(sigaltstack,            131,  132,  ALWAYS) \
    L(pause,                  34,         ALWAYS) \
    X(restart_syscall,        219,  128,  ALWAYS) \
    X(clock_gettime,          228,  113,  ALWAYS) \
    X(clock_getres,           229,  114,  ALWAYS) \
    X(clock_nanosleep,        230,  115,  ALWAYS) \
    X(nanosleep,              35,   101,  ALWAYS) \
    X(gettimeofday,           96,   169,  ALWAYS) \
    L(time,                   201,        ALWAYS) \
    X(times,                  100,  153,  ALWAYS) \
    X(timerfd_create,         283,  85,   ALWAYS) \
    X(timerfd_settime,        286,  86,   ALWAYS) \
    X(timerfd_gettime,        287,  87,   ALWAYS) \
    /* Waiting for events. */ \
    L(epoll_create,           213,        ALWAYS) \
    X(epoll_create1,          291,  20,   ALWAYS) \
    X(epoll_ctl,              233,  21,   ALWAYS) \
    L(epoll_wait,             232,        ALWAYS) \
    X(epoll_pwait,            281,  22,   ALWAYS) \
    X(epoll_pwait2,           441,  441,  ALWAYS) \
    L(poll,                   7,          ALWAYS) \
    X(ppoll,                  271,  73,   ALWAYS) \
    L(select,                 23,         ALWAYS) \
    X(pselect6,               270,  72,   ALWAYS) \
    X(eventfd2,               290,  19,   ALWAYS) \
    X(signalfd4,              289,  74,   ALWAYS) \
    X(inotify_init1,          294,  26,   ALWAYS) \
    X(inotify_add_watch,      254,  27,   ALWAYS) \
    X(inotify_rm_watch,       255,  28,   ALWAYS) \
    /* Standard input and output are sockets under some parents. */ \
    X(shutdown,               48,   210,  ALWAYS) \
    X(getsockname,            51,   204,  ALWAYS) \
    X(getpeername,            52,   205,  ALWAYS) \
    X(getsockopt,             55,   209,  ALWAYS) \
    /* Not Landlock's. The last two take names: directories that nobody may open need them. */ \
    X(fchown,                 93,   55,   TO_CHANGE) \
    X(fsetxattr,              190,  7,    TO_CHANGE) \
    X(fremovexattr,           199,  16,   TO_CHANGE) \
    L(chmod,                  90,         TO_CHANGE) \
    X(fchmodat,               268,  53,   TO_CHANGE) \
    /* On sockets that were given. */ \
    X(sendmsg,                46,   211,  TO_PASS) \
    X(recvmsg,                47,   212,  TO_PASS) \
    X(recvfrom,               45,   207,  TO_PASS) \
    /* Who comes to a socket that listens since before. */ \
    X(accept4,                288,  242,  TO_SERVE) \
    /* Memory for others. */ \
    X(memfd_create,           319,  279,  TO_SHARE) \
    /* To start rooms and to learn how their keeper ended. */ \
    X(waitid,                 247,  95,   TO_KEEP) \
    X(wait4,                  61,   260,  TO_WAIT) \
    /* The search for leaks. */ \
    L(getdents,               78,         SANITIZED) \
    X(ptrace,                 101,  117,  SANITIZED) \
    X(personality,            135,  92,   SANITIZED) \
    X(process_vm_readv,       310,  270,  SANITIZED) \
    /* With conditions, below. */ \
    X(fchmod,                 91,   52,   RULED) \
    X(fcntl,                  72,   25,   RULED) \
    X(clone,                  56,   220,  RULED) \
    X(clone3,                 435,  435,  RULED) \
    X(io_uring_setup,         425,  425,  RULED) \
    X(io_uring_enter,         426,  426,  RULED) \
    X(io_uring_register,      427,  427,  RULED) \
    X(execve,                 59,   221,  RULED) \
    X(execveat,               322,  281,  RULED) \
    X(ioctl,                  16,   29,   RULED) \
    X(prctl,                  157,  167,  RULED) \
    X(prlimit64,              302,  261,  RULED) \
    X(setpriority,            141,  140,  RULED) \
    X(tgkill,                 234,  131,  RULED) \
    X(utimensat,              280,  88,   RULED) \
    X(sendto,                 44,   206,  RULED) \
    X(connect,                42,   203,  RULED) \
    X(setsockopt,             54,   208,  RULED) \
    X(socketpair,             53,   199,  RULED)
/* clang-format on */

enum call {
#define X(name, x86_64, arm64, need) CALL_##name,
#define L(name, x86_64, need)        CALL_##name,
    CALLS(X, L)
#undef X
#undef L
        CALL_COUNT
};

static const struct {
    int numbers[2]; /* by enum seccomp_machine */
    enum need need;
} calls[] = {
#define X(name, x86_64, arm64, need) {{x86_64, arm64}, need},
#define L(name, x86_64, need)        {{x86_64, NONE}, need},
    CALLS(X, L)
#undef X
#undef L
};

#if defined(__x86_64__)
#define X(name, x86_64, arm64, need) static_assert(SYS_##name == (x86_64), #name);
#define L(name, x86_64, need)        static_assert(SYS_##name == (x86_64), #name);
#elif defined(__aarch64__)
#define X(name, x86_64, arm64, need) static_assert(SYS_##name == (arm64), #name);
#define L(name, x86_64, need)
#endif
/* cppcheck-suppress unknownMacro ; it does not know the machine that it looks for */
CALLS(X, L)
#undef X
#undef L

#define ALLOW  SECCOMP_RET_ALLOW
#define AN_INT UINT64_C(0xffffffff) /* the kernel looks at no more of such an argument */

/* The bits of clone's flags that tell threads, processes and namespaces apart. */
#define CLONE_KIND                                                                                 \
    ((uint64_t)(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_VFORK | CLONE_PARENT |             \
                CLONE_PTRACE | CLONE_PIDFD | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |        \
                CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET))
#define CLONE_A_THREAD ((uint64_t)(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD))

static const struct {
    enum call call;
    enum need need;
    struct seccomp_rule rule; /* its numbers are filled in */
} ruled[] = {
    /* Threads and nothing else. clone3 hides its flags in memory: as on a kernel without it. */
    {CALL_clone, ALWAYS, {0, 0, ALLOW, 1, {{0, CLONE_KIND, CLONE_A_THREAD}}}},
    {CALL_clone3, ALWAYS, {0, 0, SECCOMP_RET_ERRNO | ENOSYS, 0, {{0}}}},
    /* Operations on a ring pass no filter. Libraries do without, as on a kernel without it. */
    {CALL_io_uring_setup, ALWAYS, {0, 0, SECCOMP_RET_ERRNO | ENOSYS, 0, {{0}}}},
    {CALL_io_uring_enter, ALWAYS, {0, 0, SECCOMP_RET_ERRNO | ENOSYS, 0, {{0}}}},
    {CALL_io_uring_register, ALWAYS, {0, 0, SECCOMP_RET_ERRNO | ENOSYS, 0, {{0}}}},
    /* Whoever tries this is not our code any more. */
    {CALL_execve, ALWAYS, {0, 0, SECCOMP_RET_KILL_PROCESS, 0, {{0}}}},
    {CALL_execveat, ALWAYS, {0, 0, SECCOMP_RET_KILL_PROCESS, 0, {{0}}}},

    /* Flags, locks and copies; nobody is made to get a signal (F_SETOWN, F_SETSIG, F_SETLEASE). */
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_DUPFD}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_DUPFD_CLOEXEC}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_GETFD}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_SETFD}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_GETFL}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_SETFL}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_GETLK}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_SETLK}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_SETLKW}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_OFD_GETLK}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_OFD_SETLK}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_OFD_SETLKW}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_GETPIPE_SZ}}}},
    {CALL_fcntl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, F_SETPIPE_SZ}}}},

    /* A terminal may be recognised and measured, but nothing typed into it (TIOCSTI). */
    {CALL_ioctl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, FICLONE}}}},
    {CALL_ioctl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, FIONBIO}}}},
    {CALL_ioctl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, FIONREAD}}}},
    {CALL_ioctl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, FIOCLEX}}}},
    {CALL_ioctl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, FIONCLEX}}}},
    {CALL_ioctl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, TCGETS}}}},
    {CALL_ioctl, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, TIOCGWINSZ}}}},
    /* Copies of whole trees, where the file system can do that at once. */
    {CALL_ioctl, TO_LINK, {0, 0, ALLOW, 1, {{1, AN_INT, BTRFS_IOC_SNAP_CREATE_V2}}}},
    {CALL_ioctl, TO_LINK, {0, 0, ALLOW, 1, {{1, AN_INT, BTRFS_IOC_SUBVOL_GETFLAGS}}}},
    {CALL_ioctl, TO_LINK, {0, 0, ALLOW, 1, {{1, AN_INT, BTRFS_IOC_SUBVOL_SETFLAGS}}}},
    /* The size of a room's terminal. */
    {CALL_ioctl, TO_KEEP, {0, 0, ALLOW, 1, {{1, AN_INT, TIOCSWINSZ}}}},

    {CALL_prctl, ALWAYS, {0, 0, ALLOW, 1, {{0, AN_INT, PR_SET_NAME}}}},
    {CALL_prctl, ALWAYS, {0, 0, ALLOW, 1, {{0, AN_INT, PR_GET_NAME}}}},
    {CALL_prctl, ALWAYS, {0, 0, ALLOW, 1, {{0, AN_INT, PR_GET_DUMPABLE}}}},
    {CALL_prctl, ALWAYS, {0, 0, ALLOW, 1, {{0, AN_INT, PR_GET_NO_NEW_PRIVS}}}},
    {CALL_prctl, ALWAYS, {0, 0, ALLOW, 1, {{0, AN_INT, PR_GET_SECCOMP}}}},
    {CALL_prctl, ALWAYS, {0, 0, ALLOW, 1, {{0, AN_INT, PR_SET_VMA}}}},

    /* Its own limits may be read, none set. */
    {CALL_prlimit64, ALWAYS, {0, 0, ALLOW, 2, {{0, AN_INT, 0}, {2, UINT64_MAX, 0}}}},
    /* A thread's own niceness. */
    {CALL_setpriority, ALWAYS, {0, 0, ALLOW, 2, {{0, AN_INT, PRIO_PROCESS}, {1, AN_INT, 0}}}},
    /* abort() and pthread_kill(); the process's number is filled in. */
    {CALL_tgkill, ALWAYS, {0, 0, ALLOW, 1, {{0, AN_INT, 0}}}},

    /* A process that only reads still makes its audit log private, and seals rotated files. */
    {CALL_fchmod, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, 0600}}}},
    {CALL_fchmod, ALWAYS, {0, 0, ALLOW, 1, {{1, AN_INT, 0400}}}},
    {CALL_fchmod, TO_CHANGE, {0, 0, ALLOW, 0, {{0}}}},

    /* Times by descriptor, not by name; messages only to the connected peer. */
    {CALL_utimensat, TO_CHANGE, {0, 0, ALLOW, 1, {{1, UINT64_MAX, 0}}}},
    {CALL_sendto, TO_PASS, {0, 0, ALLOW, 1, {{4, UINT64_MAX, 0}}}},

    /* Nothing is connected: the library waits, and finds the connection that the socket had. */
    {CALL_connect, TO_PRETEND, {0, 0, SECCOMP_RET_ERRNO | EINPROGRESS, 0, {{0}}}},

    /* How its connections behave, and nothing that reaches further (SO_BINDTODEVICE, filters,
     * TCP_ULP and TCP_REPAIR). */
    {CALL_setsockopt,
     TO_SERVE,
     {0, 0, ALLOW, 2, {{1, AN_INT, SOL_SOCKET}, {2, AN_INT, SO_LINGER}}}},
    {CALL_setsockopt,
     TO_SERVE,
     {0, 0, ALLOW, 2, {{1, AN_INT, SOL_SOCKET}, {2, AN_INT, SO_KEEPALIVE}}}},
    {CALL_setsockopt,
     TO_SERVE,
     {0, 0, ALLOW, 2, {{1, AN_INT, IPPROTO_TCP}, {2, AN_INT, TCP_NODELAY}}}},

    /* Between processes of this machine. */
    {CALL_socketpair, TO_KEEP, {0, 0, ALLOW, 1, {{0, AN_INT, AF_UNIX}}}},

    /*
     * The tracer that looks for leaks shares our memory; a fork does not, and stays refused. It
     * ends with us, or whoever waits for us after we were killed would wait forever.
     */
    {CALL_clone, SANITIZED, {0, 0, ALLOW, 1, {{0, CLONE_VM, CLONE_VM}}}},
    {CALL_prctl, SANITIZED, {0, 0, ALLOW, 1, {{0, AN_INT, PR_SET_DUMPABLE}}}},
    {CALL_prctl, SANITIZED, {0, 0, ALLOW, 1, {{0, AN_INT, PR_SET_PTRACER}}}},
    {CALL_prctl, SANITIZED, {0, 0, ALLOW, 1, {{0, AN_INT, PR_SET_PDEATHSIG}}}},
};

static bool is_needed(const struct syscalls_needs *needs, enum need need)
{
    switch (need) {
    case ALWAYS:
        return true;
    case TO_CHANGE:
        return needs->changes_files;
    case TO_LINK:
        return needs->makes_links;
    case TO_PASS:
        return needs->passes_messages;
    case TO_SERVE:
        return needs->answers_connections;
    case TO_SHARE: /* rooms get their files so */
        return needs->shares_memory || needs->keeps_rooms;
    case TO_KEEP:
        return needs->keeps_rooms;
    case TO_PRETEND:
        return needs->has_connections;
    case TO_WAIT: /* the search for leaks needs it too */
        return needs->keeps_rooms || ISOLATE_IS_SANITIZED != 0;
    case SANITIZED:
        return ISOLATE_IS_SANITIZED != 0;
    case RULED:
        return false;
    }
    return false;
}

static void add(struct syscalls_list *list, int number, const struct seccomp_rule *rule)
{
    struct seccomp_rule *added = &list->rules[list->count];

    if (number == NONE)
        return;
    assert(list->count < SECCOMP_MAX_RULES && number <= SYSCALLS_LAST_KNOWN);
    *added = *rule;
    added->first = added->last = (uint32_t)number;
    list->count++;
}

void syscalls_list(enum seccomp_machine machine, const struct syscalls_needs *needs,
                   struct syscalls_list *out_list)
{
    static const struct seccomp_rule allowed = {.answer = ALLOW};

    out_list->count = 0;
    for (size_t i = 0; i < CALL_COUNT; i++)
        if (is_needed(needs, calls[i].need))
            add(out_list, calls[i].numbers[machine], &allowed);
    for (size_t i = 0; i < array_size(ruled); i++) {
        struct seccomp_rule rule = ruled[i].rule;

        if (!is_needed(needs, ruled[i].need))
            continue;
        if (ruled[i].call == CALL_tgkill)
            rule.tests[0].value = (uint32_t)needs->pid;
        add(out_list, calls[ruled[i].call].numbers[machine], &rule);
    }
    /* Calls that do not exist yet are reported as missing, so that libraries fall back. */
    out_list->rules[out_list->count++] = (struct seccomp_rule){
        .first = SYSCALLS_LAST_KNOWN + 1,
        .last = SECCOMP_NUMBERS_END - 1,
        .answer = SECCOMP_RET_ERRNO | ENOSYS,
    };
}

int syscalls_compile(enum seccomp_machine machine, const struct syscalls_needs *needs,
                     struct seccomp_program *out_program, struct err *err)
{
    cleanup_free struct syscalls_list *list = malloc(sizeof(*list));
    struct seccomp_policy policy = {.machine = machine, .otherwise = SECCOMP_RET_ERRNO | EPERM};

    if (list == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    syscalls_list(machine, needs, list);
    policy.rules = list->rules;
    policy.rule_count = list->count;
    return seccomp_compile(&policy, out_program, err);
}
