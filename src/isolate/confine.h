/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process gives up what it does not need, irrevocably, before it reads its first input: inherited
 * file descriptors, new privileges and root's capabilities except those for files, being traced,
 * files elsewhere, and most system calls, including exec and sockets.
 *
 * Open what is needed from outside the places before, start threads, loops and input after. The
 * authority decides what the process may do inside the places.
 */
#ifndef ISOLATE_CONFINE_H
#define ISOLATE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "isolate/landlock.h"

enum { CONFINE_MAX_KEPT = 64, CONFINE_MAX_PLACES = 64 };

struct confine_plan {
    /*
     * What can be reached by name, plus a few places that the C library reads at run time: locales,
     * character sets, time zones.
     */
    const struct landlock_place *places;
    size_t place_count;
    bool changes_files; /* see syscalls.h */
    bool makes_links;
    bool passes_messages;
    bool answers_connections;
    bool shares_memory;
    bool keeps_rooms;
    bool has_connections;
    /* 0: no limit. More memory cannot be had; who uses more of the processor is killed. */
    uint64_t max_memory_bytes;
    unsigned max_cpu_s;
    /* It was: confine_close_fds() came first of all, and what is open since then is our own. */
    bool has_closed_fds;
};

enum confine_wall {
    CONFINE_DESCRIPTORS,
    CONFINE_PRIVILEGES,
    CONFINE_MEMORY,
    CONFINE_CORE,
    CONFINE_FILES,
    CONFINE_CALLS,
    CONFINE_WALLS
};

enum { CONFINE_WORDS_BYTES = 240 };

struct confine_finding {
    bool is_up;
    char words[CONFINE_WORDS_BYTES]; /* what it restricts, or why it is missing; for people */
};

struct confine_report {
    struct confine_finding walls[CONFINE_WALLS];
    int landlock_abi; /* 0 without */
};

/*
 * Closes all except these and 0, 1 and 2; of those three, ones not listed or not open become
 * /dev/null. For the start of a program that opens more files before it confines itself.
 */
int confine_close_fds(const int *kept_fds, size_t kept_count, struct err *err);

/*
 * Applies all restrictions. After an error some may be active, and the process must exit without
 * reading anything. ERR_INTERNAL with other threads or an io_uring; ERR_UNSUPPORTED without
 * seccomp.
 */
int confine_process(const struct confine_plan *plan, struct confine_report *out_report,
                    struct err *err);

/* The same for a command that changes files in these directories and nowhere else. */
int confine_to_directories(const char *const *paths, size_t count, struct err *err);

/* "descriptors", "privileges", "memory", "core", "files", "calls" */
const char *confine_wall_name(enum confine_wall wall);

/* For the user: a sentence for each missing restriction. */
void confine_complain(const struct confine_report *report, void (*complain)(const char *words));
/* For the log: all restrictions, missing ones as warnings. */
void confine_log(const struct confine_report *report, const struct log *log);

#endif
