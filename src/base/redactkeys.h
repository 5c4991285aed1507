/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hides keys in text that an agent reads. Prose is full of words like "password" and "basic", so
 * unlike base/redact.h this goes by the shape of the key itself: tokens of well-known services, our
 * own keys, JSON web tokens, what follows "Bearer", passwords in URLs, private keys. A key of an
 * unknown shape stays. Takes linear time.
 */
#ifndef BASE_REDACTKEYS_H
#define BASE_REDACTKEYS_H

#include "base/buf.h"
#include "base/str.h"

/*
 * Appends the text with each key replaced by "[REDACTED:kind:number]"; the same key has the same
 * number. The text may be plain or JSON: what is replaced has no quote and no half of an escape, so
 * JSON stays JSON, at any depth of quoting.
 */
int redact_keys(struct str text, struct buf *out);

/* The same, with numbers that somebody else gives. */
typedef size_t redact_number_fn(void *data, const char *kind, struct str key);
int redact_keys_numbered(struct str text, redact_number_fn *number, void *data, struct buf *out);

#endif
