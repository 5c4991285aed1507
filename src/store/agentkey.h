/* SPDX-License-Identifier: Apache-2.0 */
/* Gives an agent a key. The store keeps its digest; the key itself exists only here. */
#ifndef STORE_AGENTKEY_H
#define STORE_AGENTKEY_H

#include "base/secret.h"
#include "store/store.h"

/*
 * Adds an agent of this name, with a new key in *out_key, to be shown once; `wanted` has the rest.
 * ERR_INVALID_ARGUMENT for a name that could not be shown; ERR_ALREADY_EXISTS. Durable when it
 * returns.
 */
int agentkey_create(struct store *store, struct str name, const struct store_agent *wanted,
                    struct secret *out_key, struct err *err);

#endif
