/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process gives up what it does not need, for good, before it reads its first
 * input: descriptors it inherited, new privileges and root's old ones but for files,
 * being looked into, files elsewhere, and most system calls, exec and sockets among them.
 *
 * Opening what is needed from outside the places comes before, threads, loops and
 * input after. What the process may do inside the places is left to the authority.
 */
#ifndef ISOLATE_CONFINE_H
#define ISOLATE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "isolate/landlock.h"

enum { CONFINE_MAX_KEPT = 64, CONFINE_MAX_PLACES = 64 };

struct confine_plan {
    /*
     * What may be reached by name. Besides, a few places that the C library reads as it goes:
     * locales, character sets, time zones.
     */
    const struct landlock_place *places;
    size_t place_count;
    bool requires_landlock; /* without it: ERR_UNSUPPORTED, else only reported */
    bool changes_files;     /* see syscalls.h */
    bool passes_messages;
    bool answers_connections;
    bool asks_on_terminal;

    /*
     * Descriptors that stay open, besides those of the places. Of 0, 1 and 2, those that are not
     * named become /dev/null.
     */
    const int *kept_fds;
    size_t kept_count;
    /* confine_close_fds() was called first of all, and what is open since then is our own. */
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
    char words[CONFINE_WORDS_BYTES]; /* what it holds, or why it is not there; for a person */
};

struct confine_report {
    struct confine_finding walls[CONFINE_WALLS];
    int landlock_abi; /* 0 without */
};

/*
 * Closes all but these and 0, 1 and 2; of those three, what is not named or not open becomes
 * /dev/null. For the start of a program that opens more before it confines itself.
 */
int confine_close_fds(const int *kept_fds, size_t kept_count, struct err *err);

/*
 * Builds all walls. After an error some of them may stand, and the process must end without
 * having read anything. ERR_INTERNAL with other threads or an io_uring; ERR_UNSUPPORTED without
 * seccomp.
 */
int confine_process(const struct confine_plan *plan, struct confine_report *out_report,
                    struct err *err);

/* "descriptors", "privileges", "memory", "core", "files", "calls" */
const char *confine_wall_name(enum confine_wall wall);

/* For the user of a program: a sentence for each wall that is missing. */
void confine_complain(const struct confine_report *report, void (*complain)(const char *words));
/* For its log: all of them, and those that are missing as warnings. */
void confine_log(const struct confine_report *report, const struct log *log);

#endif
