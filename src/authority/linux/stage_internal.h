/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file being written, shared by linux/stage.c, which writes it, and linux/publish.c, which puts
 * it in place.
 */
#ifndef AUTHORITY_LINUX_STAGE_INTERNAL_H
#define AUTHORITY_LINUX_STAGE_INTERNAL_H

#include "authority/linux/internal.h"

enum stage_form {
    STAGE_NAMELESS, /* O_TMPFILE */
    STAGE_NAMED,    /* under temp_name, which the journal knows */
    STAGE_IN_PLACE, /* in a private tree */
};

struct backend_stage {
    struct linux_backend *backend;
    struct backend_root *root;
    struct backend_lookup lookup;
    struct linux_place place;
    int fd;
    int old_fd; /* the file that is replaced; -1 for a new one */
    bool is_old_readable;
    struct stat old_about;               /* when it was opened */
    struct stat new_about;               /* when it was made, where it replaces one */
    struct authority_exchange *exchange; /* what is told and expected of the old file; or NULL */
    enum stage_form form;
    enum backend_create create;
    bool is_dressed; /* has its mode and the rest, also where it replaces a file */
    bool is_locked;  /* the new file; see linux_stage_lock */
    uint64_t written;
    uint64_t max_bytes;
    const struct cancel *cancel;
    int journal_slot;
    char temp_name[LINUX_TEMP_NAME_BYTES];
};

/* Enters a new name in the journal, if there is one. */
int linux_stage_take_name(struct backend_stage *stage);
void linux_stage_forget_name(struct backend_stage *stage);
/*
 * Says that the owner of a file with a temporary name lives, and makes whoever finds it in place
 * too early wait. A file that is written at once and renamed has its temporary name for
 * microseconds, and goes without: see clean.c. Call it before whatever takes longer.
 */
void linux_stage_lock(struct backend_stage *stage);
/* Creates it under a name of its own, with a mode that gives nobody more than the old file's. */
int linux_stage_create_like_old(struct backend_stage *stage, unsigned mode);

#endif
