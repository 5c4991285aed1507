/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hides what looks like a secret in text that goes to a log: keys of ours
 * (gw_…, sess_…), values behind a name that speaks of a secret (token=…,
 * "password": "…"), credentials behind an authorization scheme, passwords in
 * URLs. A net for what slips through, not a licence: a secret belongs in a
 * struct secret. Time is linear in the text.
 */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define REDACT_MARK "[redacted]"

/* A name that ends in a word for something secret, in any spelling: "session_key", "X-Api-Key". */
bool redact_names_secret(struct str name);

/*
 * Appends the text with its secrets replaced. If the buffer's ceiling stops it,
 * what was appended is a redacted beginning.
 */
int redact_all(struct str text, struct buf *out);

/*
 * The same, at most `max` bytes of it; *out_used is how much of the text they
 * stand for. All of the text is looked at first: a cut shows no half of a secret.
 */
int redact_cut(struct str text, size_t max, struct buf *out, size_t *out_used);

#endif
