/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 of RFC 4648: the alphabet with '+' and '/', padded, no line breaks. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buf.h"
#include "base/str.h"

/* Appends nothing on ERR_TOO_LARGE or ERR_NO_MEMORY. */
int base64_append(struct buf *out, struct str bytes);

/* The same in the alphabet with '-' and '_', for URLs, and without padding. */
int base64_append_url(struct buf *out, struct str bytes);

/*
 * Appends the decoded bytes. ERR_INVALID_ARGUMENT for any text that base64_append() does not write:
 * the same bytes have one form only. Appends nothing then.
 */
int base64_decode(struct buf *out, struct str text);

#endif
