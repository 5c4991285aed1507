/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redacts what looks like a secret in text for a log: our own keys (gw_…, sess_…), values after a
 * name that indicates a secret (token=…, "password": "…"), credentials after an authorization
 * scheme, passwords in URLs. It is only a safety net: a secret belongs in a struct secret. Takes
 * linear time.
 */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define REDACT_MARK "[redacted]"

/* Whether the name ends in a word for a secret, in any spelling: "session_key", "X-Api-Key". */
bool redact_names_secret(struct str name);

/*
 * Appends the text with its secrets replaced. If the buffer's limit is reached, what was appended
 * is a redacted beginning.
 */
int redact_all(struct str text, struct buf *out);

/*
 * Same, at most `max` bytes; *out_used is how much of the text they represent. Scans all of the
 * text first, so that a cut never exposes half of a secret.
 */
int redact_cut(struct str text, size_t max, struct buf *out, size_t *out_used);

#endif
