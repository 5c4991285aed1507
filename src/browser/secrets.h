/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets that were captured from pages. They stay in this process until a credential is made of
 * them; no result has one.
 */
#ifndef BROWSER_SECRETS_H
#define BROWSER_SECRETS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

struct browser_secrets;

enum { BROWSER_SECRETS_MAX = 64 };

int browser_secrets_new(struct browser_secrets **out_secrets);
/* Wipes all. */
void browser_secrets_free(struct browser_secrets *secrets);
void browser_secrets_clear(struct browser_secrets *secrets);

/* Over an earlier one of the same field. */
int browser_secrets_put(struct browser_secrets *secrets, struct str key, struct str field,
                        struct str value, struct err *err);
/* Forgets the fields of a key. */
void browser_secrets_drop(struct browser_secrets *secrets, struct str key);
/* Appends the names of its fields, as a JSON array. */
int browser_secrets_write_names(const struct browser_secrets *secrets, struct str key,
                                struct buf *out);

/*
 * Appends the object for a credential: the members of `plain`, which may be NULL, and the secrets.
 * `resolved` has names of captured fields where the secrets shall be; NULL: each under its own
 * name.
 */
int browser_secrets_write_data(const struct browser_secrets *secrets, struct str key,
                               const struct json_value *plain, const struct json_value *resolved,
                               struct buf *out, struct err *err);

#endif
