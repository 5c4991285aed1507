/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of a process that works on files for somebody else: what the
 * authority, its audit, the loop with its workers, libarchive and the C library
 * make, and a few that could hurt nobody. All others are refused, those that
 * start programs or processes or open sockets among them.
 */
#ifndef ISOLATE_SYSCALLS_H
#define ISOLATE_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "isolate/seccomp.h"

struct syscalls_needs {
    pid_t pid; /* the process that may signal itself and nobody else */
    /*
     * Modes, owners, times and extended attributes may be changed, which Landlock does not hold.
     * Content and names are Landlock's; without it they are nobody's.
     */
    bool changes_files;
    bool passes_messages;     /* on sockets that it was given: descriptors travel so */
    bool answers_connections; /* to a listening socket that it was given; it makes none itself */
    bool asks_on_terminal;    /* that it was given: its mode may be set, its input thrown away */
};

/* Numbers above these are younger than the list: ENOSYS, as from a kernel of its own time. */
enum { SYSCALLS_LAST_KNOWN = 450 };

struct syscalls_list {
    size_t count;
    struct seccomp_rule rules[SECCOMP_MAX_RULES];
};

void syscalls_list(enum seccomp_machine machine, const struct syscalls_needs *needs,
                   struct syscalls_list *out_list);

/* The list as a program, with EPERM for all else. */
int syscalls_compile(enum seccomp_machine machine, const struct syscalls_needs *needs,
                     struct seccomp_program *out_program, struct err *err);

#endif
