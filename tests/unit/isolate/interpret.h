/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets a seccomp filter as the kernel would, also the filter of the other architecture. */
#ifndef TESTS_UNIT_ISOLATE_INTERPRET_H
#define TESTS_UNIT_ISOLATE_INTERPRET_H

#include <linux/audit.h>
#include <stdint.h>
#include <string.h>

#include "isolate/seccomp.h"

enum { ANSWER_WRONG = 0x7fbadbad };

/* By enum seccomp_machine. */
static const uint32_t audit_names[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};

/* Only the steps that a filter may consist of; anything else is an answer nobody gives. */
static inline uint32_t run_program(const struct seccomp_program *program,
                                   const struct seccomp_data *call)
{
    uint32_t a = 0;

    for (size_t at = 0; at < program->length; at++) {
        const struct sock_filter *step = &program->steps[at];

        switch (step->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (step->k % 4 != 0 || step->k > sizeof(*call) - 4)
                return ANSWER_WRONG;
            memcpy(&a, (const char *)call + step->k, sizeof(a));
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= step->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            at += a == step->k ? step->jt : step->jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            at += a >= step->k ? step->jt : step->jf;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            at += (a & step->k) != 0 ? step->jt : step->jf;
            break;
        case BPF_JMP | BPF_JA:
            at += step->k;
            break;
        case BPF_RET | BPF_K:
            return step->k;
        default:
            return ANSWER_WRONG;
        }
    }
    return ANSWER_WRONG;
}

#endif
