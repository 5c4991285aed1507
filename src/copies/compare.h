/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was changed in a copy, compared with the project as it is now. A file is only read if its
 * copy has changed since both were known to be the same.
 */
#ifndef COPIES_COMPARE_H
#define COPIES_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/sha256.h"
#include "copies/record.h"
#include "gatehouse/authority.h"

/* A workspace that is in use: its record and both folders. */
struct copies_workspace {
    struct copies_record *record;
    struct authority_scope *project;
    struct authority_scope *copy;
    const struct cancel *cancel;
};

enum copies_change {
    COPIES_ADDED,
    COPIES_MODIFIED,
    COPIES_MODE, /* only whether it can be executed */
    COPIES_DELETED,
};

struct copies_difference {
    struct str name;
    enum copies_change change;
    enum authority_type type; /* of the copy; of something deleted, of the original */
    struct authority_stat original;
    struct authority_stat copy;
    bool has_original;
    bool has_copy;
    /* The original has changed too: what about it; or NULL. */
    const char *conflict;
    /* It can never be applied: why; or NULL. */
    const char *refusal;
    bool is_sensitive; /* the content is not shown */
};

struct copies_differences {
    struct copies_difference *items; /* by name */
    size_t count;
    size_t room;
    struct arena arena;
};

#define COPIES_DIFFERENCES_INIT                                                                    \
    {                                                                                              \
        .arena = ARENA_INIT((size_t)COPIES_MAX_RECORD_BYTES)                                       \
    }

void copies_differences_done(struct copies_differences *differences);
#define cleanup_differences cleanup_with(copies_differences_done)

/* "added", "modified", "mode", "deleted" */
const char *copies_change_name(enum copies_change change);

/*
 * Names a change as it is now: another content, state of the original or conflict gives another id.
 */
enum { COPIES_ID_CHARS = 32 };
void copies_change_id(const struct copies_difference *item, char out_id[COPIES_ID_CHARS + 1]);

/*
 * Only what is, or lies in, one of the paths; with none of them, everything. ERR_NOT_FOUND if
 * nothing of the project or its copy has the path.
 */
int copies_compare(const struct copies_workspace *workspace, const char *const *paths,
                   size_t path_count, struct copies_differences *out_differences, struct err *err);

/* The digest of a file, which must be this very one, unchanged: else ERR_BUSY. */
int copies_digest(struct authority_scope *scope, struct str name,
                  const struct authority_stat *expected, const struct cancel *cancel,
                  unsigned char out_digest[SHA256_BYTES], struct err *err);

#endif
