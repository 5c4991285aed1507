/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System call filters: rules in, a program of the kernel's classic BPF out, and
 * that program put around this process for good.
 *
 * The program finds a call's rule by binary search over sorted numbers. Rules
 * that do not look at arguments cost nothing after the first call, because the
 * kernel keeps a table of what such a program always allows. Which calls a
 * process needs is left to others: see syscalls.h.
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
    SECCOMP_MAX_STEPS = 1024, /* of a program; the kernel takes 4096 */
};

/* x86-64 has a second set of numbers from here on (x32); never ours, and always refused. */
#define SECCOMP_NUMBERS_END UINT32_C(0x40000000)

/* True when (argument & mask) == value. A mask within 32 bits looks at no others. */
struct seccomp_test {
    unsigned argument; /* 0 to 5 */
    uint64_t mask;
    uint64_t value;
};

/*
 * For the calls from `first` to `last`. With tests it is for one call only, and holds when all of
 * them do; rules for the same call are tried in their order.
 */
struct seccomp_rule {
    uint32_t first;
    uint32_t last;
    uint32_t answer; /* SECCOMP_RET_…, with its errno where it has one */
    size_t test_count;
    struct seccomp_test tests[SECCOMP_MAX_TESTS];
};

struct seccomp_policy {
    enum seccomp_machine machine;
    const struct seccomp_rule *rules; /* in any order */
    size_t rule_count;
    uint32_t otherwise; /* the answer where no rule holds */
};

struct seccomp_program {
    size_t length;
    struct sock_filter steps[SECCOMP_MAX_STEPS];
};

/*
 * Calls by another architecture's table kill the process: no program of ours makes any.
 * ERR_INVALID_ARGUMENT for rules that overlap or cannot be tried one after the other,
 * ERR_TOO_LARGE past the ceilings.
 */
int seccomp_compile(const struct seccomp_policy *policy, struct seccomp_program *out_program,
                    struct err *err);

/*
 * Puts it around this process and all it starts later; it cannot be taken off. Needs no_new_privs
 * and, since it binds the calling thread, a process without other threads (ERR_INTERNAL).
 * ERR_UNSUPPORTED where the kernel has no filters.
 */
int seccomp_install(const struct seccomp_program *program, struct err *err);

#endif
