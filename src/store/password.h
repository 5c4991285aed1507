/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of passwords: argon2id. Hashing takes 64 MiB and about a tenth of a second on purpose, so
 * a server does it on a worker.
 */
#ifndef STORE_PASSWORD_H
#define STORE_PASSWORD_H

#include "base/secret.h"
#include "store/store.h"

enum {
    PASSWORD_MIN_BYTES = 8,
    PASSWORD_MAX_BYTES = SECRET_MAX_BYTES,
};

/* ERR_INVALID_ARGUMENT says in `err` what is wrong with a new password. */
int password_check_new(const struct secret *password, struct err *err);

int password_hash(const struct secret *password, char out_hash[STORE_MAX_PASSWORD_BYTES + 1]);

/*
 * Takes the same time for a wrong password and for no hash (NULL), which is never right: nobody
 * learns by it which users exist. ERR_UNAUTHORIZED, or ERR_NO_MEMORY.
 */
int password_verify(const char *hash, const struct secret *password);

#endif
