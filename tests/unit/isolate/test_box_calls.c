/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "interpret.h"
#include "isolate/box/internal.h"

enum { ANY = SECCOMP_RET_ALLOW };

#define NO     (SECCOMP_RET_ERRNO | EPERM)
#define ABSENT (SECCOMP_RET_ERRNO | ENOSYS)
#define DONE   SECCOMP_RET_ERRNO
#define FAMILY (SECCOMP_RET_ERRNO | EAFNOSUPPORT)
#define UPPER  (UINT64_C(1) << 32)

/* Numbers are x86-64's and arm64's. */
static const struct {
    int numbers[2];
    uint64_t arguments[3];
    uint32_t answer;
} cases[] = {
    /* What commands do all day. */
    {{0, 63}, {0}, ANY},                                  /* read */
    {{59, 221}, {0}, ANY},                                /* execve */
    {{56, 220}, {SIGCHLD}, ANY},                          /* clone: a fork */
    {{56, 220}, {CLONE_VM | CLONE_VFORK | SIGCHLD}, ANY}, /* clone: posix_spawn */
    {{101, 117}, {0}, ANY},                               /* ptrace, among themselves */
    {{317, 277}, {0}, ANY},                               /* seccomp */
    {{444, 444}, {0}, ANY},                               /* landlock_create_ruleset */
    {{272, 97}, {CLONE_FILES}, ANY},                      /* unshare */
    {{16, 29}, {0, TCGETS}, ANY},                         /* ioctl */
    {{16, 29}, {0, TIOCGWINSZ}, ANY},
    {{41, 198}, {AF_UNIX, SOCK_STREAM}, ANY}, /* socket */
    {{41, 198}, {AF_INET, SOCK_STREAM}, ANY},
    {{41, 198}, {AF_INET6, SOCK_DGRAM}, ANY},
    {{41, 198}, {AF_NETLINK, SOCK_RAW, 0}, ANY},
    {{91, 52}, {0, 0755}, ANY},                   /* fchmod */
    {{268, 53}, {0, 0, 0775}, ANY},               /* fchmodat */
    {{452, 452}, {0, 0, 01777}, ANY},             /* fchmodat2 */
    {{53, 199}, {AF_UNIX, SOCK_STREAM}, ANY},     /* socketpair */
    {{257, 56}, {0, 0, O_CREAT | O_WRONLY}, ANY}, /* openat */
    {{72, 25}, {0, F_SETLK}, ANY},                /* fcntl */
    /* And what they do not. */
    {{72, 25}, {0, F_SETLEASE}, NO},
    {{53, 199}, {AF_TIPC, SOCK_STREAM}, FAMILY}, /* socketpair */
    {{165, 40}, {0}, NO},                        /* mount */
    {{166, 39}, {0}, NO},                        /* umount2 */
    {{428, 428}, {0}, NO},                       /* open_tree */
    {{442, 442}, {0}, NO},                       /* mount_setattr */
    {{467, 467}, {0}, NO},                       /* open_tree_attr */
    {{161, 51}, {0}, NO},                        /* chroot */
    {{308, 268}, {0}, NO},                       /* setns */
    {{272, 97}, {CLONE_NEWUSER}, NO},
    {{272, 97}, {CLONE_NEWUSER | CLONE_NEWNET | CLONE_FS}, NO},
    {{272, 97}, {CLONE_NEWNS}, NO},
    {{56, 220}, {CLONE_NEWUSER | SIGCHLD}, NO},
    {{56, 220}, {UPPER | CLONE_NEWUSER | SIGCHLD}, NO},
    {{435, 435}, {0}, ABSENT}, /* clone3 */
    {{321, 280}, {0}, NO},     /* bpf */
    {{250, 219}, {0}, NO},     /* keyctl */
    {{425, 425}, {0}, ABSENT}, /* io_uring_setup */
    {{323, 282}, {0}, NO},     /* userfaultfd */
    {{298, 241}, {0}, NO},     /* perf_event_open */
    {{304, 265}, {0}, NO},     /* open_by_handle_at */
    {{310, 270}, {0}, NO},     /* process_vm_readv */
    {{438, 438}, {0}, NO},     /* pidfd_getfd */
    {{16, 29}, {0, TIOCSTI}, NO},
    {{16, 29}, {0, UPPER | TIOCSTI}, NO}, /* the kernel does not look there */
    {{16, 29}, {0, TIOCLINUX}, NO},
    {{16, 29}, {0, TIOCCONS}, NO},
    {{91, 52}, {0, 04755}, NO}, /* fchmod */
    {{91, 52}, {0, UPPER | 06000}, NO},
    {{268, 53}, {0, 0, 04755}, NO},       /* fchmodat */
    {{452, 452}, {0, 0, 04700}, NO},      /* fchmodat2 */
    {{160, 164}, {RLIMIT_CORE, 1}, DONE}, /* setrlimit */
    {{160, 164}, {RLIMIT_NOFILE, 1}, ANY},
    {{302, 261}, {0, RLIMIT_CORE, 0}, ANY}, /* prlimit64 */
    {{302, 261}, {0, RLIMIT_CORE, 1}, DONE},
    {{302, 261}, {0, RLIMIT_CORE, UPPER}, DONE},
    {{302, 261}, {7, RLIMIT_CORE, 1}, NO},
    {{302, 261}, {7, RLIMIT_CORE, 0}, ANY},
    {{302, 261}, {0, RLIMIT_NOFILE, 1}, ANY},
    {{437, 437}, {0}, ABSENT}, /* openat2 */
    {{41, 198}, {AF_PACKET, SOCK_RAW}, FAMILY},
    {{41, 198}, {AF_VSOCK, SOCK_STREAM}, FAMILY},
    {{41, 198}, {AF_ALG, SOCK_SEQPACKET}, FAMILY},
    {{41, 198}, {AF_NETLINK, SOCK_RAW, 9}, FAMILY}, /* NETLINK_AUDIT */
    {{470, 470}, {0}, ABSENT},                      /* younger than the list */
    {{9999, 9999}, {0}, ABSENT},
};

/* By open, openat, creat, mknod and mknodat; without creating, the mode means nothing. */
static void no_file_is_born_with_a_set_id_bit(void **state)
{
    static const struct {
        int numbers[2];
        int at; /* of the flags, or of the mode if there are none */
        bool has_flags;
    } births[] = {
        {{2, -1}, 1, true},    {{257, 56}, 2, true},  {{85, -1}, 1, false},
        {{133, -1}, 1, false}, {{259, 33}, 2, false},
    };
    static struct seccomp_program program;

    (void)state;
    for (int machine = SECCOMP_ON_X86_64; machine <= SECCOMP_ON_ARM64; machine++) {
        assert_int_equal(
            box_calls_compile((enum seccomp_machine)machine, BOX_CALLS_COMMAND, &program, NULL), 0);
        for (size_t i = 0; i < array_size(births); i++) {
            const int mode_at = births[i].at + (births[i].has_flags ? 1 : 0);
            struct seccomp_data call = {.nr = births[i].numbers[machine],
                                        .arch = audit_names[machine]};

            if (call.nr < 0)
                continue;
            for (unsigned bits = 0; bits <= 06000; bits += 02000) {
                call.args[mode_at] = bits | 0755;
                if (births[i].has_flags) {
                    call.args[births[i].at] = O_RDWR;
                    assert_int_equal(run_program(&program, &call), ANY);
                    call.args[births[i].at] = O_RDWR | O_TMPFILE;
                    assert_int_equal(run_program(&program, &call), bits == 0 ? ANY : NO);
                    call.args[births[i].at] = O_RDWR | O_CREAT | O_EXCL;
                }
                assert_int_equal(run_program(&program, &call), bits == 0 ? ANY : NO);
            }
        }
    }
}

static void what_is_refused_is_refused_on_both_machines(void **state)
{
    static struct seccomp_program program;

    (void)state;
    for (int machine = SECCOMP_ON_X86_64; machine <= SECCOMP_ON_ARM64; machine++) {
        assert_int_equal(
            box_calls_compile((enum seccomp_machine)machine, BOX_CALLS_COMMAND, &program, NULL), 0);
        for (size_t i = 0; i < array_size(cases); i++) {
            struct seccomp_data call = {.nr = cases[i].numbers[machine],
                                        .arch = audit_names[machine]};
            uint32_t answer;

            memcpy(call.args, cases[i].arguments, sizeof(cases[i].arguments));
            answer = run_program(&program, &call);
            if (answer != cases[i].answer)
                fail_msg("case %zu, call %d: %x", i, call.nr, answer);
            /* The same by its x32 number is no call at all, and another machine's ends all. */
            call.nr |= 0x40000000;
            assert_int_equal(run_program(&program, &call), ABSENT);
            call.nr = cases[i].numbers[machine];
            call.arch = AUDIT_ARCH_I386;
            assert_int_equal(run_program(&program, &call), SECCOMP_RET_KILL_PROCESS);
        }
    }
}

/* For a browser, and no more than it needs. */
static const struct {
    int numbers[2];
    uint64_t arguments[3];
    uint32_t answer;
} of_sandboxes[] = {
    {{272, 97}, {CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET}, ANY}, /* unshare */
    {{56, 220}, {CLONE_NEWUSER | SIGCHLD}, ANY},                     /* clone */
    {{161, 51}, {0}, ANY},                                           /* chroot */
    {{272, 97}, {CLONE_NEWUSER | CLONE_NEWNS}, NO},
    {{56, 220}, {CLONE_NEWUSER | CLONE_NEWNS}, NO},
    {{435, 435}, {0}, ABSENT}, /* clone3 */
    {{165, 40}, {0}, NO},      /* mount */
    {{155, 41}, {0}, NO},      /* pivot_root */
    {{308, 268}, {0}, NO},     /* setns */
    {{321, 280}, {0}, NO},     /* bpf */
    {{250, 219}, {0}, NO},     /* keyctl */
    {{298, 241}, {0}, NO},     /* perf_event_open */
    {{41, 198}, {AF_INET, SOCK_STREAM}, ANY},
    {{41, 198}, {AF_PACKET, SOCK_RAW}, FAMILY},
    {{41, 198}, {AF_NETLINK, SOCK_RAW, 0}, FAMILY},  /* NETLINK_ROUTE */
    {{41, 198}, {AF_NETLINK, SOCK_RAW, 12}, FAMILY}, /* NETLINK_NETFILTER */
    {{54, 208}, {3, IPPROTO_IP, 64}, NO},            /* tables of packet filters */
    {{54, 208}, {3, UPPER | IPPROTO_IP, UPPER | 128}, NO},
    {{54, 208}, {3, IPPROTO_IPV6, 64}, NO},
    {{54, 208}, {3, IPPROTO_IPV6, 67}, ANY}, /* IPV6_TCLASS */
    {{54, 208}, {3, SOL_SOCKET, SO_REUSEADDR}, ANY},
};

static void a_browser_may_build_sandboxes_and_nothing_else(void **state)
{
    static struct seccomp_program program;

    (void)state;
    for (int machine = SECCOMP_ON_X86_64; machine <= SECCOMP_ON_ARM64; machine++) {
        assert_int_equal(
            box_calls_compile((enum seccomp_machine)machine, BOX_CALLS_SANDBOXES, &program, NULL),
            0);
        for (size_t i = 0; i < array_size(of_sandboxes); i++) {
            struct seccomp_data call = {.nr = of_sandboxes[i].numbers[machine],
                                        .arch = audit_names[machine]};

            memcpy(call.args, of_sandboxes[i].arguments, sizeof(of_sandboxes[i].arguments));
            if (run_program(&program, &call) != of_sandboxes[i].answer)
                fail_msg("case %zu, call %d: %x", i, call.nr, run_program(&program, &call));
        }
    }
}

static void a_room_takes_no_space_without_writing(void **state)
{
    static const uint32_t modes[] = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE,
                                     FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE};
    static struct seccomp_program program;

    (void)state;
    for (int machine = SECCOMP_ON_X86_64; machine <= SECCOMP_ON_ARM64; machine++)
        for (int kind = BOX_CALLS_COMMAND; kind <= BOX_CALLS_ROOM; kind++) {
            assert_int_equal(box_calls_compile((enum seccomp_machine)machine, (enum box_calls)kind,
                                               &program, NULL),
                             0);
            for (size_t i = 0; i < array_size(modes); i++) {
                const struct seccomp_data call = {.nr = machine == SECCOMP_ON_X86_64 ? 285 : 47,
                                                  .arch = audit_names[machine],
                                                  .args = {3, modes[i], 0, 1 << 20}};
                const bool is_fine =
                    kind != BOX_CALLS_ROOM || (modes[i] & FALLOC_FL_PUNCH_HOLE) != 0;

                assert_int_equal(run_program(&program, &call),
                                 is_fine ? ANY : SECCOMP_RET_ERRNO | EOPNOTSUPP);
            }
        }
}

/* The first process decides; only giving a lock back needs no decision. In rooms, neither does. */
static void a_lock_is_asked_about(void **state)
{
    static struct seccomp_program program;

    (void)state;
    for (int machine = SECCOMP_ON_X86_64; machine <= SECCOMP_ON_ARM64; machine++)
        for (int kind = BOX_CALLS_COMMAND; kind <= BOX_CALLS_ROOM; kind++) {
            struct seccomp_data call = {.nr = machine == SECCOMP_ON_X86_64 ? 73 : 32,
                                        .arch = audit_names[machine],
                                        .args = {3, LOCK_EX}};
            const uint32_t asked = kind != BOX_CALLS_ROOM ? SECCOMP_RET_USER_NOTIF : ANY;

            assert_int_equal(box_calls_compile((enum seccomp_machine)machine, (enum box_calls)kind,
                                               &program, NULL),
                             0);
            assert_int_equal(run_program(&program, &call), asked);
            call.args[1] = LOCK_SH | LOCK_NB;
            assert_int_equal(run_program(&program, &call), asked);
            call.args[1] = LOCK_UN;
            assert_int_equal(run_program(&program, &call), ANY);
            /* Where nobody can be asked. */
            seccomp_replace_answer(&program, SECCOMP_RET_USER_NOTIF, SECCOMP_RET_ALLOW);
            call.args[1] = LOCK_EX;
            assert_int_equal(run_program(&program, &call), ANY);
        }
}

/* Neither of files nor of folders, which look the same to a filter. */
static void no_set_id_bit_is_set(void **state)
{
    static const struct {
        int numbers[2];
        int mode_at;
    } changes[] = {{{90, -1}, 1}, {{91, 52}, 1}, {{268, 53}, 2}, {{452, 452}, 2}};
    static struct seccomp_program program;

    (void)state;
    for (int machine = SECCOMP_ON_X86_64; machine <= SECCOMP_ON_ARM64; machine++) {
        assert_int_equal(
            box_calls_compile((enum seccomp_machine)machine, BOX_CALLS_COMMAND, &program, NULL), 0);
        for (size_t i = 0; i < array_size(changes); i++) {
            struct seccomp_data call = {.nr = changes[i].numbers[machine],
                                        .arch = audit_names[machine]};

            if (call.nr < 0)
                continue;
            call.args[changes[i].mode_at] = 02755;
            assert_int_equal(run_program(&program, &call), NO);
            call.args[changes[i].mode_at] = 04755;
            assert_int_equal(run_program(&program, &call), NO);
            call.args[changes[i].mode_at] = 01777;
            assert_int_equal(run_program(&program, &call), ANY);
        }
    }
}

TEST_MAIN(cmocka_unit_test(what_is_refused_is_refused_on_both_machines),
          cmocka_unit_test(no_file_is_born_with_a_set_id_bit),
          cmocka_unit_test(a_browser_may_build_sandboxes_and_nothing_else),
          cmocka_unit_test(a_room_takes_no_space_without_writing),
          cmocka_unit_test(a_lock_is_asked_about), cmocka_unit_test(no_set_id_bit_is_set))
