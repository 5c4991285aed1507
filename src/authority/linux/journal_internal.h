/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's file format, as linux/journal.c writes it and linux/sweep.c reads it, and the form
 * of names in it. Internal to the Linux backend.
 */
#ifndef AUTHORITY_LINUX_JOURNAL_INTERNAL_H
#define AUTHORITY_LINUX_JOURNAL_INTERNAL_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

#include "authority/linux/internal.h"
#include "base/str.h"

#define JOURNAL_MAGIC    "gatehouse/undo\n"
#define JOURNAL_PREFIX   "journal-"
#define JOURNAL_FRESH    "fresh-"  /* until it is locked and initialised */
#define JOURNAL_CORRUPT  "corrupt" /* the last one that could not be read */
#define LINUX_TEMP_START ".gatehouse-"

enum {
    JOURNAL_VERSION = 2,
    /* Separate, so that trees, which take long, cannot use up the slots that every write needs. */
    JOURNAL_FILE_SLOTS = 96, /* more than edit_files replaces together */
    JOURNAL_TREE_SLOTS = 64,
    JOURNAL_SLOTS = JOURNAL_FILE_SLOTS + JOURNAL_TREE_SLOTS,
    /* Workspaces need no slots: they are identified by their location. */
    JOURNAL_MAX_WORKSPACES = 512, /* each holds a file descriptor */
    JOURNAL_NAME_BYTES = 48,
    LINUX_TEMP_RANDOM = 24,
};

enum journal_state {
    JOURNAL_FREE,
    JOURNAL_CLAIMED, /* being filled in: nothing was created yet */
    JOURNAL_USED,
};

struct journal_slot {
    uint64_t device; /* of the directory */
    uint64_t inode;
    uint32_t kind; /* enum linux_leftover */
    char last[LINUX_TEMP_NAME_BYTES];
    char path[PATH_MAX]; /* of the directory; without links when written */
};

/* What is known of a file well enough to know it again after a rename. */
struct journal_print {
    uint64_t inode;
    uint64_t size;
    int64_t modified_s;
    int64_t modified_ns;
};

/*
 * A temporary name whose file is being exchanged with the one that has the name `target`. As long
 * as the leader, a slot like it, names itself here, those that name it are to be undone.
 */
struct journal_swap {
    _Atomic uint32_t leader; /* its slot, plus 1; 0: nothing is exchanged */
    struct journal_print old;
    struct journal_print new;
    char target[NAME_MAX + 1];
};

/* The states are adjacent, so that finding a free one touches one page. */
struct journal_image {
    char magic[16];
    uint32_t version;
    uint32_t slot_count;
    uint32_t slot_bytes;
    _Atomic uint32_t states[JOURNAL_SLOTS];
    struct journal_slot slots[JOURNAL_SLOTS];
    struct journal_swap swaps[JOURNAL_FILE_SLOTS];
};

void linux_fill_print(const struct stat *about, struct journal_print *out_print);

/* Whether linux_temp_name() could have made the name. */
bool linux_is_temp_name(struct str name);

/*
 * Removes what journals of dead owners list, their workspaces, which are in the directory temp_fd
 * under the journal's name, and those journals. What fails now stays in the journal. *budget is
 * reduced by the entries of trees and workspaces; returns true if it was too small, and there may
 * be more to do.
 */
bool linux_sweep(int state_fd, int temp_fd, uint64_t *budget, const struct cancel *cancel);

#endif
