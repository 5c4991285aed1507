/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file holds, judged by its first bytes and its name: text or not, and
 * which media type.
 */
#ifndef FILES_MEDIA_H
#define FILES_MEDIA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum { MEDIA_HEAD_BYTES = 8 << 10 }; /* of a file: as much as is looked at for a NUL */

/* "image/png" and its kin or "application/pdf", by the beginning of the content; else NULL. */
const char *media_type_of_content(struct str head);

bool media_is_image(const char *type);

/* A NUL in the first MEDIA_HEAD_BYTES: then it is no text. The rest must be UTF-8 to be text. */
bool media_has_early_nul(struct str content);

/* By the ending of the name; NULL when that says nothing. */
const char *media_type_of_name(struct str name);

/* The same for a content that is known to be text or not: always one that fits it. */
const char *media_type_of_text(struct str name);
const char *media_type_of_bytes(struct str name);

#endif
