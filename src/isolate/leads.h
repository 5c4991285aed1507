/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where paths of the user's rules lead through links at present, as far as they exist. What they
 * mean is left to the caller.
 */
#ifndef ISOLATE_LEADS_H
#define ISOLATE_LEADS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The part of an absolute path that exists, without links; *out_len is its length in `path`, 0 for
 * the root directory. False if not even that one can be found.
 */
bool leads_find_existing(const char *path, char out_found[PATH_MAX], size_t *out_len);

/*
 * Whether this normalised absolute path leads elsewhere; *out_found then names the same without
 * links. A link that an agent may have made in its folder, to have nothing left to work with, does
 * not count: one to the system, to what holds the link, or to what holds the folder. `folder` is a
 * real path, or empty.
 */
bool leads_elsewhere(const char *path, const char *folder, char out_found[PATH_MAX]);

#endif
