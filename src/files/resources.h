/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a toolbox as resources: read by file:// URI, listed in pages, and completed while a
 * user types a path. Everything goes through the authority, with the grants of the tools. A front
 * end like MCP passes the results on unchanged.
 *
 * All functions except the two conversions may block and are called from workers.
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
    RESOURCE_PAGE = 1000,       /* files per page: some clients take no more than 64 of them */
    RESOURCE_DEPTH = 8,         /* levels of directories that a list descends */
    RESOURCE_COMPLETIONS = 100, /* values of one completion, as MCP allows */
};

/*
 * Appends {"contents":[{"uri":…,"mimeType":…,"text":…}]}, with "blob" instead of "text" if it is
 * not UTF-8 text. ERR_INVALID_ARGUMENT if `uri` is not that of a file, ERR_TOO_LARGE over the
 * toolbox's max_file_bytes, or the codes for names.
 */
int resource_read(struct toolbox *box, struct str uri, const struct cancel *cancel, struct buf *out,
                  struct err *err);

/*
 * Appends {"resources":[{"uri":…,"name":…,"mimeType":…}],"nextCursor":…}: the files that a tree
 * shows, in its order. An empty cursor starts; no nextCursor means the end. ERR_INVALID_ARGUMENT
 * for an invalid cursor.
 */
int resource_list(struct toolbox *box, struct str cursor, const struct cancel *cancel,
                  struct buf *out, struct err *err);

/*
 * Appends {"completion":{"values":[…],"total":…,"hasMore":…}}: paths that begin with what was
 * typed, one component further, directories with a slash. Directories that cannot be read have no
 * completions. With several folders, paths are absolute, and begin with those of the folders.
 */
int resource_complete(struct toolbox *box, struct str typed, const struct cancel *cancel,
                      struct buf *out, struct err *err);

/* Converts a URI to a name, relative to the first folder or absolute; see fileuri_name(). */
int resource_name_of_uri(const struct toolbox *box, struct str uri, char out_name[PATH_MAX],
                         size_t *out_len, struct err *err);

/* Appends the URI of such a name. */
int resource_append_uri(const struct toolbox *box, struct str name, struct buf *out);

#endif
