/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a toolbox as resources: read by their file:// address, listed a
 * page at a time, and completed while somebody types a path. All of it goes
 * through the authority, with the grants that the tools have. A front like MCP
 * passes the results on as they are.
 *
 * Everything but the two conversions may block and is called from workers.
 */
#ifndef FILES_RESOURCES_H
#define FILES_RESOURCES_H

#include <limits.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "base/str.h"
#include "files/toolbox.h"

enum {
    RESOURCE_PAGE = 1000,       /* files of one list: some clients take no more than 64 of them */
    RESOURCE_DEPTH = 8,         /* directories that a list goes down */
    RESOURCE_COMPLETIONS = 100, /* values of one completion, as MCP has it */
};

/*
 * Appends {"contents":[{"uri":…,"mimeType":…,"text":…}]}, with "blob" instead of
 * "text" for what is no UTF-8 text. ERR_INVALID_ARGUMENT for what is no address
 * of a file, ERR_TOO_LARGE over the toolbox's max_file_bytes, or the codes of names.
 */
int resource_read(struct toolbox *box, struct str uri, const struct cancel *cancel, struct buf *out,
                  struct err *err);

/*
 * Appends {"resources":[{"uri":…,"name":…,"mimeType":…}],"nextCursor":…}: the
 * files that a tree shows, in its order. An empty cursor begins; without
 * nextCursor that was all. ERR_INVALID_ARGUMENT for a cursor that is none.
 */
int resource_list(struct toolbox *box, struct str cursor, const struct cancel *cancel,
                  struct buf *out, struct err *err);

/*
 * Appends {"completion":{"values":[…],"total":…,"hasMore":…}}: paths that begin
 * with what was typed, one component further, directories with a slash. What
 * cannot be looked at has no completions.
 */
int resource_complete(struct toolbox *box, struct str typed, const struct cancel *cancel,
                      struct buf *out, struct err *err);

/* The name below the root that an address stands for; see fileuri_name(). */
int resource_name_of_uri(const struct toolbox *box, struct str uri, char out_name[PATH_MAX],
                         size_t *out_len, struct err *err);

/* Appends the address of a name below the root. */
int resource_append_uri(const struct toolbox *box, struct str name, struct buf *out);

#endif
