/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file:// addresses and names below the root. Any byte of a name survives the
 * way there and back; what the authority thinks of the name is not asked here.
 */
#ifndef FILES_FILEURI_H
#define FILES_FILEURI_H

#include <limits.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Appends the address of `name` below `root_path`, which is absolute. */
int fileuri_append(struct buf *out, struct str root_path, struct str name);

/* Appends `text` with all but letters, digits and -._~/ percent-encoded. */
int fileuri_append_encoded(struct buf *out, struct str text);

/* ERR_INVALID_ARGUMENT for a broken escape, ERR_INVALID_PATH for a NUL or PATH_MAX bytes. */
int fileuri_decode(struct str text, char out_text[PATH_MAX], size_t *out_len);

/*
 * The name below the root, in one form: no ".", "..", or doubled slashes. The
 * address has no host or "localhost", no query and no fragment.
 * ERR_INVALID_ARGUMENT when it is no such address, else the codes of names.
 */
int fileuri_name(struct str uri, struct str root_path, char out_name[PATH_MAX], size_t *out_len,
                 struct err *err);

#endif
