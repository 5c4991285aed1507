/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files that usually hold passwords, tokens or private keys. Their names are no secret,
 * but what is in them is asked about even where reading is allowed.
 */
#ifndef AUTHORITY_NAMES_SENSITIVE_H
#define AUTHORITY_NAMES_SENSITIVE_H

#include <stdbool.h>

#include "base/str.h"

/*
 * By the end of the path, or by a directory in it, without regard to case. The path may be absolute
 * or relative.
 */
bool sensitive_is_path(struct str path);

/*
 * The same for a name below a root, an absolute path: a folder above the root tells, too. True if
 * that is too long for a path.
 */
bool sensitive_is_below(struct str root, struct str name);

/* Whether files in the directory with this path may be sensitive by it, and not by their own name.
 */
bool sensitive_is_folder(struct str path);

#endif
