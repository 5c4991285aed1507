/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by copies/apply.c and copies/undo.c only. */
#ifndef COPIES_APPLY_INTERNAL_H
#define COPIES_APPLY_INTERNAL_H

#include "copies/apply.h"

enum {
    APPLY_MAX_STEPS = COPIES_MAX_ENTRIES,
    APPLY_PLAN_BYTES = COPIES_MAX_RECORD_BYTES,
    APPLY_PATH_BYTES = 128, /* "fix.undo/3/17" */
};

/* In the order in which they are done. */
enum apply_kind {
    APPLY_DELETE,
    APPLY_REMOVE_DIRECTORY,
    APPLY_MAKE_PARENT, /* a directory above something that is added */
    APPLY_MAKE_DIRECTORY,
    APPLY_ADD,
    APPLY_REPLACE,
    APPLY_KINDS
};

struct apply_step {
    enum apply_kind kind;
    struct str name;
    unsigned char digest[SHA256_BYTES];   /* of the new content */
    const struct copies_difference *item; /* of a plan that was read: NULL */
};

struct apply_plan {
    struct arena arena;
    struct apply_step *steps;
    size_t count;
    size_t room;
    unsigned number; /* of the undo folder */
};

#define APPLY_PLAN_INIT                                                                            \
    {                                                                                              \
        .arena = ARENA_INIT((size_t)APPLY_PLAN_BYTES)                                              \
    }

void apply_plan_done(struct apply_plan *plan);
#define cleanup_plan cleanup_with(apply_plan_done)
int apply_plan_add(struct apply_plan *plan, const struct apply_step *step);
int apply_plan_write(const struct apply_plan *plan, struct buf *out);
int apply_plan_parse(struct str text, struct apply_plan *out_plan);

/* The newest undo folder of a workspace; 0: none. */
int apply_find_last(const struct copies_applying *applying, unsigned *out_number, struct err *err);
/* "NAME.undo/3/LAST" in the scope of records; with NULL the folder itself. */
struct str apply_path(const struct copies_applying *applying, unsigned number, const char *last,
                      char out_path[APPLY_PATH_BYTES]);
/* The place of what step `index` replaces. */
struct str apply_kept(const struct copies_applying *applying, unsigned number, size_t index,
                      char out_path[APPLY_PATH_BYTES]);

/* Whether the failure of one step is no reason to leave the others. */
bool apply_may_go_on(int code);

/* What the project looks like now, for the record; entries that are new in it wait in `fresh`. */
int apply_note(struct copies_record *record, struct copies_record *fresh,
               struct authority_scope *project, struct str name);
/* Adds them and saves the record. */
int apply_save(const struct copies_applying *applying, const struct copies_record *fresh,
               struct err *err);

#endif
