/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of files: file:///absolute/path, or file:relative/path in the first folder. */
#ifndef BROWSER_FILEURL_H
#define BROWSER_FILEURL_H

#include <limits.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/*
 * The path of a file: address, decoded, with "." and ".." resolved; relative as it was given.
 * ERR_INVALID_ARGUMENT or the codes for names.
 */
int fileurl_path(struct str url, char out_path[PATH_MAX], struct err *err);

/* Appends the absolute address of a path that fileurl_path() returned, with what follows it in url.
 */
int fileurl_append(struct buf *out, struct str base_dir, struct str path, struct str url);

#endif
