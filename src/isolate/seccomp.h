/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System call filters: compiles rules to classic BPF, and installs the program for this process,
 * irrevocably.
 *
 * The program finds a call's rule by binary search over sorted numbers. Rules that do not check
 * arguments cost nothing after the first call, because the kernel caches what such a program always
 * allows. See syscalls.h for the calls that a process needs.
 */
#ifndef ISOLATE_SECCOMP_H
#define ISOLATE_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum seccomp_machine { SECCOMP_ON_X86_64, SECCOMP_ON_ARM64 };

#if defined(__x86_64__)
#define SECCOMP_ON_THIS SECCOMP_ON_X86_64
#elif defined(__aarch64__)
#define SECCOMP_ON_THIS SECCOMP_ON_ARM64
#endif

enum {
    SECCOMP_MAX_TESTS = 2,
    SECCOMP_MAX_RULES = 256,
    SECCOMP_MAX_STEPS = 1024, /* of a program; the kernel accepts 4096 */
};

/*
 * x86-64 has a second set of numbers from here on (x32); we never use it, and it is always refused.
 */
#define SECCOMP_NUMBERS_END UINT32_C(0x40000000)

/* A value that means: true if any bit of the mask is set, which must lie in the low 32 bits. */
#define SECCOMP_ANY_BIT UINT64_MAX

/* True if (argument & mask) == value. A mask within 32 bits checks no others. */
struct seccomp_test {
    unsigned argument; /* 0 to 5 */
    uint64_t mask;
    uint64_t value;
};

/*
 * Applies to the calls from `first` to `last`. With tests it must be for one call only, and applies
 * if all tests are true; rules for the same call are tried in order.
 */
struct seccomp_rule {
    uint32_t first;
    uint32_t last;
    uint32_t answer; /* SECCOMP_RET_…, with an errno if applicable */
    size_t test_count;
    struct seccomp_test tests[SECCOMP_MAX_TESTS];
};

struct seccomp_policy {
    enum seccomp_machine machine;
    const struct seccomp_rule *rules; /* in any order */
    size_t rule_count;
    uint32_t otherwise; /* the answer if no rule applies */
};

struct seccomp_program {
    size_t length;
    struct sock_filter steps[SECCOMP_MAX_STEPS];
};

/*
 * Calls of another architecture kill the process: our programs make none. ERR_INVALID_ARGUMENT for
 * rules that overlap or cannot be tried in order, ERR_TOO_LARGE over the limits.
 */
int seccomp_compile(const struct seccomp_policy *policy, struct seccomp_program *out_program,
                    struct err *err);

/* Makes it give another answer instead of this one. */
void seccomp_replace_answer(struct seccomp_program *program, uint32_t answer, uint32_t other);

/*
 * Installs it for this process and all its future children; it cannot be removed. Needs
 * no_new_privs and, since it applies to the calling thread, a single-threaded process
 * (ERR_INTERNAL). ERR_UNSUPPORTED if the kernel has no seccomp filters.
 */
int seccomp_install(const struct seccomp_program *program, struct err *err);

/*
 * The same for a program that answers SECCOMP_RET_USER_NOTIF: the descriptor of the notices, or -1
 * with errno. There can be only one such program.
 */
int seccomp_install_listener(const struct seccomp_program *program);

#endif
