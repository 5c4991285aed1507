/* SPDX-License-Identifier: Apache-2.0 */
/* Which name of the catalogue, of a tool or an argument, an unknown one could mean. */
#ifndef PROTOCOL_NEARNAME_H
#define PROTOCOL_NEARNAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { NEARNAME_BYTES = 48 }; /* no name is longer */

/* In lower case, without '_' and '-'. Returns the length; 0 if it is too long to be a name. */
size_t nearname_fold(struct str name, char out_folded[NEARNAME_BYTES]);

/*
 * Of two folded names: less is nearer. SIZE_MAX if the one cannot mean the other: more than a third
 * of it is wrong, and neither is a part of the other.
 */
size_t nearname_distance(struct str given, struct str known);

#endif
