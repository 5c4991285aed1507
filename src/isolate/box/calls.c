/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that a sandboxed command is refused. A deny list, not an allow list, since
 * commands can be anything: what would need a capability anyway, what bypasses names and files, and
 * the parts of the kernel that were exploited before.
 */
#include "isolate/box/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

/* No such call on this machine. */
enum { NONE = -1 };

/* Higher numbers are newer than the list, and answered as by a kernel without them. */
enum { LAST_KNOWN = 469 };

enum fate { REFUSED, ABSENT, RULED };

/*
 * As in syscalls.c: both machines' numbers, L for those that arm64 does not have. ABSENT pretends
 * to be missing, so that libraries take another way.
 */
/* clang-format off */
#define CALLS(X, L) \
    /* Mounts, roots and namespaces. */ \
    X(mount,             165, 40,  REFUSED) \
    X(umount2,           166, 39,  REFUSED) \
    X(pivot_root,        155, 41,  REFUSED) \
    X(chroot,            161, 51,  REFUSED) \
    X(setns,             308, 268, REFUSED) \
    X(open_tree,         428, 428, REFUSED) \
    X(move_mount,        429, 429, REFUSED) \
    X(fsopen,            430, 430, REFUSED) \
    X(fsconfig,          431, 431, REFUSED) \
    X(fsmount,           432, 432, REFUSED) \
    X(fspick,            433, 433, REFUSED) \
    X(mount_setattr,     442, 442, REFUSED) \
    /* Files by other ways than names. */ \
    X(open_by_handle_at, 304, 265, REFUSED) \
    X(fanotify_init,     300, 262, REFUSED) \
    X(quotactl,          179, 60,  REFUSED) \
    X(quotactl_fd,       443, 443, REFUSED) \
    X(acct,              163, 89,  REFUSED) \
    X(swapon,            167, 224, REFUSED) \
    X(swapoff,           168, 225, REFUSED) \
    /* Keys are the user's, not the namespace's. */ \
    X(add_key,           248, 217, REFUSED) \
    X(request_key,       249, 218, REFUSED) \
    X(keyctl,            250, 219, REFUSED) \
    /* Into other processes. */ \
    X(process_vm_readv,  310, 270, REFUSED) \
    X(process_vm_writev, 311, 271, REFUSED) \
    X(pidfd_getfd,       438, 438, REFUSED) \
    X(kcmp,              312, 272, REFUSED) \
    X(move_pages,        279, 239, REFUSED) \
    /* Much of the kernel behind few numbers. */ \
    X(bpf,               321, 280, REFUSED) \
    X(perf_event_open,   298, 241, REFUSED) \
    X(userfaultfd,       323, 282, REFUSED) \
    X(io_uring_setup,    425, 425, ABSENT) \
    X(io_uring_enter,    426, 426, ABSENT) \
    X(io_uring_register, 427, 427, ABSENT) \
    L(modify_ldt,        154,      ABSENT) \
    L(uselib,            134,      ABSENT) \
    /* The machine. */ \
    X(kexec_load,        246, 104, REFUSED) \
    X(kexec_file_load,   320, 294, REFUSED) \
    X(init_module,       175, 105, REFUSED) \
    X(finit_module,      313, 273, REFUSED) \
    X(delete_module,     176, 106, REFUSED) \
    X(reboot,            169, 142, REFUSED) \
    X(syslog,            103, 116, REFUSED) \
    X(settimeofday,      164, 170, REFUSED) \
    X(clock_settime,     227, 112, REFUSED) \
    X(vhangup,           153, 58,  REFUSED) \
    L(iopl,              172,      REFUSED) \
    L(ioperm,            173,      REFUSED) \
    /* With conditions, below. */ \
    X(clone,             56,  220, RULED) \
    X(clone3,            435, 435, RULED) \
    X(unshare,           272, 97,  RULED) \
    X(ioctl,             16,  29,  RULED) \
    X(socket,            41,  198, RULED) \
    L(chmod,             90,       RULED) \
    X(fchmod,            91,  52,  RULED) \
    X(fchmodat,          268, 53,  RULED) \
    L(open,              2,        RULED) \
    L(creat,             85,       RULED) \
    X(openat,            257, 56,  RULED) \
    X(openat2,           437, 437, RULED) \
    L(mknod,             133,      RULED) \
    X(mknodat,           259, 33,  RULED) \
    X(socketpair,        53,  199, RULED) \
    X(setsockopt,        54,  208, RULED) \
    X(setrlimit,         160, 164, RULED) \
    X(prlimit64,         302, 261, RULED) \
    X(fallocate,         285, 47,  RULED) \
    X(fcntl,             72,  25,  RULED) \
    X(flock,             73,  32,  RULED)
/* clang-format on */

enum call {
#define X(name, x86_64, arm64, fate) CALL_##name,
#define L(name, x86_64, fate)        CALL_##name,
    CALLS(X, L)
#undef X
#undef L
        CALL_COUNT
};

static const struct {
    int numbers[2]; /* by enum seccomp_machine */
    enum fate fate;
} calls[] = {
#define X(name, x86_64, arm64, fate) {{x86_64, arm64}, fate},
#define L(name, x86_64, fate)        {{x86_64, NONE}, fate},
    CALLS(X, L)
#undef X
#undef L
};

#if defined(__x86_64__)
#define X(name, x86_64, arm64, fate) static_assert(SYS_##name == (x86_64), #name);
#define L(name, x86_64, fate)        static_assert(SYS_##name == (x86_64), #name);
#elif defined(__aarch64__)
#define X(name, x86_64, arm64, fate) static_assert(SYS_##name == (arm64), #name);
#define L(name, x86_64, fate)
#endif
/* cppcheck-suppress unknownMacro ; it does not know the machine that it looks for */
CALLS(X, L)
#undef X
#undef L

#define ALLOW   SECCOMP_RET_ALLOW
#define EPERM_  (SECCOMP_RET_ERRNO | EPERM)
#define DONE    SECCOMP_RET_ERRNO /* nothing is done, and no error told */
#define ENOSYS_ (SECCOMP_RET_ERRNO | ENOSYS)
#define AN_INT  UINT64_C(0xffffffff) /* the kernel looks at no more of such an argument */

/* O_TMPFILE without O_DIRECTORY, by which the kernel knows it; the same number on both machines. */
#define A_TMPFILE UINT64_C(020000000)

#define SET_ID (S_ISUID | S_ISGID)

/* A file that is created with a set-id bit; the mode is the argument behind the flags. */
#define BORN(call, flags, how)                                                                     \
    {                                                                                              \
        call,                                                                                      \
        {                                                                                          \
            0, 0, EPERM_, 2,                                                                       \
            {                                                                                      \
                {(flags), (how), (how)},                                                           \
                {                                                                                  \
                    (flags) + 1, SET_ID, SECCOMP_ANY_BIT                                           \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

/* Newer than the headers of Debian 12; the same numbers everywhere. */
enum { OPEN_TREE_ATTR = 467, FCHMODAT2 = 452 };

static const struct {
    enum call call;
    struct seccomp_rule rule; /* its numbers are filled in */
} ruled[] = {
    /* In a namespace of its own a process has all capabilities again, if only for that. */
    {CALL_clone, {0, 0, EPERM_, 1, {{0, CLONE_NEWUSER, CLONE_NEWUSER}}}},
    {CALL_clone, {0, 0, EPERM_, 1, {{0, CLONE_NEWNS, CLONE_NEWNS}}}},
    {CALL_unshare, {0, 0, EPERM_, 1, {{0, CLONE_NEWUSER, CLONE_NEWUSER}}}},
    {CALL_unshare, {0, 0, EPERM_, 1, {{0, CLONE_NEWNS, CLONE_NEWNS}}}},
    /* It hides its flags in memory: as on a kernel without it. */
    {CALL_clone3, {0, 0, ENOSYS_, 0, {{0}}}},

    /* Typing for others into a terminal, and pasting. */
    {CALL_ioctl, {0, 0, EPERM_, 1, {{1, AN_INT, TIOCSTI}}}},
    {CALL_ioctl, {0, 0, EPERM_, 1, {{1, AN_INT, TIOCLINUX}}}},
    /* Otherwise, on older kernels, anybody would receive the console's output. */
    {CALL_ioctl, {0, 0, EPERM_, 1, {{1, AN_INT, TIOCCONS}}}},

    /* No file is born with a set-id bit: empty, it could be filled through a mapping. */
    BORN(CALL_open, 1, O_CREAT),
    BORN(CALL_open, 1, A_TMPFILE),
    BORN(CALL_openat, 2, O_CREAT),
    BORN(CALL_openat, 2, A_TMPFILE),
    {CALL_creat, {0, 0, EPERM_, 1, {{1, SET_ID, SECCOMP_ANY_BIT}}}},
    {CALL_mknod, {0, 0, EPERM_, 1, {{1, SET_ID, SECCOMP_ANY_BIT}}}},
    {CALL_mknodat, {0, 0, EPERM_, 1, {{2, SET_ID, SECCOMP_ANY_BIT}}}},
    /* It hides its mode in memory: as on a kernel without it. */
    {CALL_openat2, {0, 0, ENOSYS_, 0, {{0}}}},

    {CALL_socket, {0, 0, ALLOW, 1, {{0, AN_INT, AF_UNIX}}}},
    {CALL_socket, {0, 0, ALLOW, 1, {{0, AN_INT, AF_INET}}}},
    {CALL_socket, {0, 0, ALLOW, 1, {{0, AN_INT, AF_INET6}}}},
    /* Libraries ask for the interfaces: NETLINK_ROUTE. */
    {CALL_socket, {0, 0, ALLOW, 2, {{0, AN_INT, AF_NETLINK}, {2, AN_INT, 0}}}},
    {CALL_socket, {0, 0, SECCOMP_RET_ERRNO | EAFNOSUPPORT, 0, {{0}}}},
    /* The kernel would load a family's module for a socket pair too. */
    {CALL_socketpair, {0, 0, ALLOW, 1, {{0, AN_INT, AF_UNIX}}}},
    {CALL_socketpair, {0, 0, SECCOMP_RET_ERRNO | EAFNOSUPPORT, 0, {{0}}}},

    /*
     * The limit of core files stays what keeps the host's handler of crashes away (cgroup.c). Many
     * scripts set it to none for themselves: they are told that it worked.
     */
    {CALL_setrlimit, {0, 0, DONE, 1, {{0, AN_INT, RLIMIT_CORE}}}},
    {CALL_prlimit64, {0, 0, ALLOW, 2, {{1, AN_INT, RLIMIT_CORE}, {2, UINT64_MAX, 0}}}},
    {CALL_prlimit64, {0, 0, DONE, 2, {{1, AN_INT, RLIMIT_CORE}, {0, AN_INT, 0}}}},
    {CALL_prlimit64, {0, 0, EPERM_, 1, {{1, AN_INT, RLIMIT_CORE}}}},

    /* A lease on a file of the user blocks everybody from opening it for a while. */
    {CALL_fcntl, {0, 0, EPERM_, 1, {{1, AN_INT, F_SETLEASE}}}},
};

/*
 * With holds_sandboxes. Who may administer the network of a namespace of its own reaches parts of
 * the kernel that are otherwise closed: tables of packet filters by options of any socket, and
 * queues by NETLINK_ROUTE, which builds_sandboxes() closes.
 */
static const struct seccomp_rule in_own_networks[] = {
    {0, 0, EPERM_, 2, {{1, AN_INT, IPPROTO_IP}, {2, AN_INT, 64}}}, /* iptables: replace */
    {0, 0, EPERM_, 2, {{1, AN_INT, IPPROTO_IP}, {2, AN_INT, 65}}}, /* add counters */
    {0, 0, EPERM_, 2, {{1, AN_INT, IPPROTO_IP}, {2, AN_INT, 96}}}, /* arptables */
    {0, 0, EPERM_, 2, {{1, AN_INT, IPPROTO_IP}, {2, AN_INT, 97}}},
    {0, 0, EPERM_, 2, {{1, AN_INT, IPPROTO_IP}, {2, AN_INT, 128}}}, /* ebtables */
    {0, 0, EPERM_, 2, {{1, AN_INT, IPPROTO_IP}, {2, AN_INT, 129}}},
    {0, 0, EPERM_, 2, {{1, AN_INT, IPPROTO_IPV6}, {2, AN_INT, 64}}}, /* ip6tables */
    {0, 0, EPERM_, 2, {{1, AN_INT, IPPROTO_IPV6}, {2, AN_INT, 65}}},
};

/*
 * In rooms: one call could take all that is free, before anybody looks. As on a file system that
 * cannot; the C library writes zeros instead. Holes give space back.
 */
static const struct seccomp_rule in_rooms[] = {
    {0, 0, ALLOW, 1, {{1, FALLOC_FL_PUNCH_HOLE, FALLOC_FL_PUNCH_HOLE}}},
    {0, 0, SECCOMP_RET_ERRNO | EOPNOTSUPP, 0, {{0}}},
};

/* Not in rooms, whose files are their own. */
static const struct seccomp_rule asked_about[] = {
    {0, 0, ALLOW, 1, {{1, AN_INT, LOCK_UN}}},
    {0, 0, SECCOMP_RET_USER_NOTIF, 0, {{0}}}, /* locks.c */
};

struct list {
    size_t count;
    struct seccomp_rule rules[CALL_COUNT + array_size(ruled) + array_size(in_own_networks) +
                              array_size(in_rooms) + array_size(asked_about) + 2 + 4];
};

static void add(struct list *list, int number, struct seccomp_rule rule)
{
    if (number == NONE)
        return;
    rule.first = rule.last = (uint32_t)number;
    list->rules[list->count++] = rule;
}

/* The mode's place among the arguments. */
static const struct {
    enum call call;
    unsigned mode_at;
} mode_changes[] = {{CALL_chmod, 1}, {CALL_fchmod, 1}, {CALL_fchmodat, 2}};

static void refuse_bits(struct list *list, int number, unsigned mode_at)
{
    add(list, number,
        (struct seccomp_rule){
            .answer = EPERM_, .test_count = 1, .tests = {{mode_at, SET_ID, SECCOMP_ANY_BIT}}});
}

/*
 * A set-id program would remain after the sandbox. Directories may have the set-group-ID bit for
 * good reasons, but look the same here; they still inherit it.
 */
static void refuse_set_id(struct list *list, enum seccomp_machine machine)
{
    for (size_t i = 0; i < array_size(mode_changes); i++)
        refuse_bits(list, calls[mode_changes[i].call].numbers[machine], mode_changes[i].mode_at);
    refuse_bits(list, FCHMODAT2, 2);
}

/*
 * Rules that a program which builds sandboxes is spared: a user namespace has all these rights, and
 * none outside of it. The one for NETLINK_ROUTE is a permission, which it loses.
 */
static bool builds_sandboxes(enum call call, const struct seccomp_rule *rule)
{
    if (call == CALL_chroot)
        return true;
    if (rule == NULL)
        return false;
    return ((call == CALL_clone || call == CALL_unshare) &&
            rule->tests[0].value == CLONE_NEWUSER) ||
           (call == CALL_socket && rule->test_count > 0 && rule->tests[0].value == AF_NETLINK);
}

int box_calls_compile(enum seccomp_machine machine, enum box_calls kind,
                      struct seccomp_program *out_program, struct err *err)
{
    const bool holds_sandboxes = kind == BOX_CALLS_SANDBOXES;
    struct list list = {0};
    struct seccomp_policy policy = {
        .machine = machine, .rules = list.rules, .otherwise = SECCOMP_RET_ALLOW};

    for (size_t i = 0; i < CALL_COUNT; i++)
        if (calls[i].fate != RULED && !(holds_sandboxes && builds_sandboxes((enum call)i, NULL)))
            add(&list, calls[i].numbers[machine],
                (struct seccomp_rule){.answer = calls[i].fate == ABSENT ? ENOSYS_ : EPERM_});
    for (size_t i = 0; i < array_size(ruled); i++)
        if (!holds_sandboxes || !builds_sandboxes(ruled[i].call, &ruled[i].rule))
            add(&list, calls[ruled[i].call].numbers[machine], ruled[i].rule);
    for (size_t i = 0; i < array_size(in_own_networks) && holds_sandboxes; i++)
        add(&list, calls[CALL_setsockopt].numbers[machine], in_own_networks[i]);
    for (size_t i = 0; i < array_size(in_rooms) && kind == BOX_CALLS_ROOM; i++)
        add(&list, calls[CALL_fallocate].numbers[machine], in_rooms[i]);
    for (size_t i = 0; i < array_size(asked_about) && kind != BOX_CALLS_ROOM; i++)
        add(&list, calls[CALL_flock].numbers[machine], asked_about[i]);
    add(&list, OPEN_TREE_ATTR, (struct seccomp_rule){.answer = EPERM_});
    refuse_set_id(&list, machine);
    list.rules[list.count++] = (struct seccomp_rule){
        .first = LAST_KNOWN + 1, .last = SECCOMP_NUMBERS_END - 1, .answer = ENOSYS_};
    policy.rule_count = list.count;
    return seccomp_compile(&policy, out_program, err);
}
