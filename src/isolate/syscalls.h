/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of a process that works on files for somebody else: those made by the authority,
 * its audit log, the loop with its workers, libarchive and the C library, and a few harmless ones.
 * All others are refused, including those that start programs or processes or open sockets.
 */
#ifndef ISOLATE_SYSCALLS_H
#define ISOLATE_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "isolate/seccomp.h"

struct syscalls_needs {
    pid_t pid; /* it may signal itself and no other process */
    /*
     * May change modes, owners, times and extended attributes, which Landlock does not control.
     * Landlock controls content and names; without Landlock nothing does.
     */
    bool changes_files;
    bool makes_links; /* symbolic ones, wherever they lead; snapshots of trees, and their removal */
    bool passes_messages;     /* on given sockets, to transfer file descriptors */
    bool answers_connections; /* on a given listening socket; it cannot create one */
    bool shares_memory;       /* makes some without a name, and hands it over */
    bool keeps_rooms;         /* of a keeper that runs already (isolate/room) */
    bool has_connections;     /* connect() of a given socket does nothing, and says it began */
};

/* Higher numbers are newer than this list: ENOSYS, as from a kernel of that time. */
enum { SYSCALLS_LAST_KNOWN = 450 };

struct syscalls_list {
    size_t count;
    struct seccomp_rule rules[SECCOMP_MAX_RULES];
};

void syscalls_list(enum seccomp_machine machine, const struct syscalls_needs *needs,
                   struct syscalls_list *out_list);

/* Compiles the list, with EPERM for everything else. */
int syscalls_compile(enum seccomp_machine machine, const struct syscalls_needs *needs,
                     struct seccomp_program *out_program, struct err *err);

#endif
