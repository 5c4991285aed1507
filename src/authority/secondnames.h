/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a file with several names may be read: not if one of them, in the scope or in those that
 * are joined to it, is denied or usually holds secrets. The names are looked for when the first
 * such file has been opened, once for an operation. Names outside the roots are not found.
 */
#ifndef AUTHORITY_SECONDNAMES_H
#define AUTHORITY_SECONDNAMES_H

#include <pthread.h>

#include "authority/internal.h"

/* What a refusal says. */
#define SECONDNAMES_REFUSED                                                                        \
    "the file has other hard links, and one of its names is denied or usually holds secrets, or "  \
    "not all could be looked for"

struct secondname;

struct secondnames {
    struct authority_scope *scope;
    const struct cancel *cancel;
    pthread_mutex_t lock; /* guards the rest: the threads of a search have it in common */
    bool is_gathered;
    int error;                /* that gathering ended with */
    struct secondname *items; /* of denied files with several names; sorted */
    size_t count;
    size_t room;
    uint64_t seen;
};

void secondnames_init(struct secondnames *names, struct authority_scope *scope,
                      const struct cancel *cancel);
void secondnames_done(struct secondnames *names);

/*
 * For an open file: 0 if it has one name, or none that is denied; ERR_HARDLINK_REJECTED also if the
 * search was incomplete.
 */
int secondnames_check(struct secondnames *names, const struct authority_stat *about);

#endif
