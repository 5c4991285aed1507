/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys that results have hidden, by the marks that stand for them, so that browser_capture_secret
 * can be told which one is meant. They stay in this process.
 */
#ifndef BROWSER_REDACTED_H
#define BROWSER_REDACTED_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct browser_redacted;

enum { BROWSER_REDACTED_MAX = 256 }; /* the last ones */

int browser_redacted_new(struct browser_redacted **out_redacted);
/* Wipes all. */
void browser_redacted_free(struct browser_redacted *redacted);
/* No number is used again. */
void browser_redacted_clear(struct browser_redacted *redacted);

/* As redact_keys(), for JSON text; remembers the keys as those of `host`. */
int browser_redacted_write(struct browser_redacted *redacted, struct str host, struct str text,
                           struct buf *out);
/*
 * The key behind "[REDACTED:kind:number]", as long as it is kept. ERR_DENIED_BY_POLICY if it is of
 * another host, or of none.
 */
int browser_redacted_find(const struct browser_redacted *redacted, struct str host, struct str mark,
                          struct str *out_key, struct err *err);

#endif
