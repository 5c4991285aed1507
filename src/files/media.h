/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses from its first bytes and its name whether a file is text, and its media type. */
#ifndef FILES_MEDIA_H
#define FILES_MEDIA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* "image/png" and the like or "application/pdf", by the beginning of the content; else NULL. */
const char *media_type_of_content(struct str head);

bool media_is_image(const char *type);

/*
 * Whether there is a NUL in the first ENCODING_LOOK_BYTES: then it is not text. Text must also be
 * UTF-8.
 */
bool media_has_early_nul(struct str content);

/* By the extension; NULL if that is unknown. */
const char *media_type_of_name(struct str name);

/* Same, for content known to be text or binary: always returns a type that fits. */
const char *media_type_of_text(struct str name);
const char *media_type_of_bytes(struct str name);

#endif
