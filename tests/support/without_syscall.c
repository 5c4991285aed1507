/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program with some system calls missing, as on an older kernel:
 *
 *     without_syscall openat2,pidfd_open program arguments...
 *
 * A seccomp filter answers them with ENOSYS, in the program and all it starts.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#if defined(__x86_64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static const struct {
    struct str name;
    long number;
} known[] = {
    {STR_LITERAL("clone"), SYS_clone},
    {STR_LITERAL("copy_file_range"), SYS_copy_file_range},
    {STR_LITERAL("inotify_init1"), SYS_inotify_init1},
    {STR_LITERAL("landlock_create_ruleset"), SYS_landlock_create_ruleset},
    {STR_LITERAL("mount"), SYS_mount},
    {STR_LITERAL("mount_setattr"), SYS_mount_setattr},
    {STR_LITERAL("setns"), SYS_setns},
    {STR_LITERAL("openat2"), SYS_openat2},
    {STR_LITERAL("pidfd_open"), SYS_pidfd_open},
    {STR_LITERAL("renameat2"), SYS_renameat2},
    {STR_LITERAL("seccomp"), SYS_seccomp},
    {STR_LITERAL("sendto"), SYS_sendto},
};

static long number_of(struct str name)
{
    for (size_t i = 0; i < array_size(known); i++)
        if (str_eq(known[i].name, name))
            return known[i].number;
    return -1;
}

/* One filter a call; the kernel runs them all, and any refusal holds. */
static int take_away(long number)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCHITECTURE, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = array_size(program), .filter = program};

    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int main(int argc, char **argv)
{
    struct str rest;
    struct str name;

    if (argc < 3) {
        fprintf(stderr, "usage: without_syscall NAME[,NAME...] PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        perror("without_syscall: no_new_privs");
        return 1;
    }
    rest = str_from(argv[1]);
    while (str_cut(&rest, ',', &name)) {
        long number = number_of(name);

        if (number < 0 || take_away(number) < 0) {
            fprintf(stderr, "without_syscall: cannot take away '%.*s'\n", STR_ARG(name));
            return 2;
        }
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
