/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The globs of `excludePatterns`: what a list, a tree or a search leaves out, with all below it. A
 * glob with a slash may be relative to where the tool starts or to the root.
 */
#ifndef FILES_EXCLUDES_H
#define FILES_EXCLUDES_H

#include "files/nameglob.h"
#include "files/tool.h"

struct excludes {
    struct nameglob *globs; /* in the call's arena */
    size_t count;
    struct str start; /* the directory that names are relative to */
};

int excludes_read(struct tool_call *call, struct str start, struct excludes *out_excludes,
                  struct err *err);

/* Thread-safe. */
bool excludes_match(const struct excludes *excludes, struct str name);

#endif
