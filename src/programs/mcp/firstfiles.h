/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of --workspace-files: read once, before the first input, for the workspaces' host. */
#ifndef PROGRAMS_MCP_FIRSTFILES_H
#define PROGRAMS_MCP_FIRSTFILES_H

#include "base/buf.h"
#include "gatehouse/authority.h"

/*
 * Appends the files of the folder as the wire has them. What usually holds secrets is left out
 * unless `with_sensitive`, and so are links and what is no file; *out_left_out counts the former.
 */
int firstfiles_read(struct authority *authority, const char *path, bool with_sensitive,
                    struct buf *out, size_t *out_left_out, struct err *err);

#endif
