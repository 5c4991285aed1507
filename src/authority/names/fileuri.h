/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts between file:// URIs and names below the root. Every byte of a name survives the round
 * trip; whether the authority permits the name is not checked here.
 */
#ifndef AUTHORITY_NAMES_FILEURI_H
#define AUTHORITY_NAMES_FILEURI_H

#include <limits.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Appends the URI of `name` below `root_path`, which is absolute. */
int fileuri_append(struct buf *out, struct str root_path, struct str name);

/* Appends `text`, percent-encoding all but letters, digits and -._~/ */
int fileuri_append_encoded(struct buf *out, struct str text);

/* ERR_INVALID_ARGUMENT for a broken escape, ERR_INVALID_PATH for a NUL or PATH_MAX bytes. */
int fileuri_decode(struct str text, char out_text[PATH_MAX], size_t *out_len);

/*
 * The name below the root in canonical form: no ".", "..", or doubled slashes. The URI has no host
 * or "localhost", no query and no fragment. ERR_INVALID_ARGUMENT for other URIs, else the codes for
 * names.
 */
int fileuri_name(struct str uri, struct str root_path, char out_name[PATH_MAX], size_t *out_len,
                 struct err *err);

#endif
