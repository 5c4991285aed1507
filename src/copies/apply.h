/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings changes of a copy into the project, and takes them back.
 *
 * Before the first change, the notes for undo say what is going to be done, with a digest of each
 * new content; what a step replaces or removes is kept before it is done. So after a kill in the
 * middle the same undo takes back what was done until then, and nothing that has changed since.
 */
#ifndef COPIES_APPLY_H
#define COPIES_APPLY_H

#include "base/err.h"
#include "copies/compare.h"
#include "copies/store.h"

struct copies_applying {
    struct copies_store *store; /* locked */
    const char *name;
    const struct copies_workspace *workspace; /* with a project that may be written to */
    bool overwrites;                          /* also where the original has changed */
    /* Reports what is left as it is, and why. */
    void (*told)(void *data, struct str name, const char *why);
    void *data;
};

/* Whether it would be applied. */
bool copies_is_applicable(const struct copies_applying *applying,
                          const struct copies_difference *item);

/* *out_done is set also after an error, when some of it has been done. */
int copies_apply(const struct copies_applying *applying,
                 const struct copies_differences *differences, size_t *out_done, struct err *err);

/*
 * Takes the last apply back, as far as nobody has changed the same files since. ERR_NOT_FOUND if
 * there is none.
 */
int copies_undo(const struct copies_applying *applying, size_t *out_done, struct err *err);
/* Whether there is an apply to take back. */
bool copies_can_undo(const struct copies_applying *applying);

#endif
