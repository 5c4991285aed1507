/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files that programs of the user run by themselves, outside of any sandbox: Git's hooks
 * and settings, start-up files of shells, settings of editors and agents that name commands. Who
 * may change files in a folder has not thought of these.
 */
#ifndef AUTHORITY_NAMES_AUTORUN_H
#define AUTHORITY_NAMES_AUTORUN_H

#include <stdbool.h>

#include "base/str.h"

/*
 * By the end of the path, or by a folder in it, without regard to case. The path may be absolute or
 * relative.
 */
bool autorun_is_path(struct str path);

#endif
