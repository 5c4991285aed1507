/* SPDX-License-Identifier: Apache-2.0 */
/* The media type of a file, by how its content begins; the name says nothing. */
#ifndef HOSTFS_CONTENTTYPE_H
#define HOSTFS_CONTENTTYPE_H

#include "base/str.h"

enum { CONTENTTYPE_BYTES = 512 }; /* that are looked at */

/*
 * `head` is the beginning of the file, or all of it. "application/octet-stream" if nothing else
 * fits.
 */
struct str contenttype_of(struct str head);

#endif
