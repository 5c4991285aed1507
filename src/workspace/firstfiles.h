/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of --workspace-files: read once, before the first input, for the workspaces' host. */
#ifndef WORKSPACE_FIRSTFILES_H
#define WORKSPACE_FIRSTFILES_H

#include "base/buf.h"
#include "gatehouse/authority.h"

struct firstfiles_folder {
    const char *path;    /* absolute */
    const char *given;   /* by the user, for the error message */
    bool with_sensitive; /* also what usually holds secrets */
};

/*
 * Appends the files of the folder as the wire has them. Links and what is no file are left out, and
 * so is what usually holds secrets, which *out_left_out counts.
 */
int firstfiles_read(struct authority *authority, const struct firstfiles_folder *folder,
                    struct buf *out, size_t *out_left_out, struct err *err);

#endif
