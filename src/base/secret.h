/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A short secret: a token, a key, a password. It has its own type so that it cannot be printed by
 * accident, is compared in constant time and is wiped when done. Secrets at rest are stored as
 * hashes elsewhere.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { SECRET_MAX_BYTES = 256 };

struct secret {
    size_t len;
    char bytes[SECRET_MAX_BYTES];
};

#define SECRET_INIT                                                                                \
    {                                                                                              \
        .len = 0                                                                                   \
    }

/* Wipes it; the compiler cannot optimise that away. */
void secret_done(struct secret *secret);
#define cleanup_secret cleanup_with(secret_done)

/* ERR_INVALID_ARGUMENT when empty, ERR_TOO_LARGE over SECRET_MAX_BYTES. */
int secret_set(struct secret *secret, struct str text);

/* Makes `prefix` followed by `random_chars` characters of rand_token(): gw_… and sess_…. */
int secret_generate(struct secret *secret, struct str prefix, size_t random_chars);

/* In constant time; only the lengths can leak. */
bool secret_eq(const struct secret *secret, struct str given);

/* Same for two memory blocks of equal length, such as a signature and the expected one. */
bool secret_bytes_eq(const void *a, const void *b, size_t len);

/* For the code that must send or hash it; say why there. */
struct str secret_reveal(const struct secret *secret);

/* A longer secret, on the heap: a private key as PEM. The same rules apply. */
enum { SECRET_TEXT_MAX_BYTES = 64 << 10 };

struct secret_text {
    size_t len;
    char *bytes;
};

#define SECRET_TEXT_INIT                                                                           \
    {                                                                                              \
        .len = 0                                                                                   \
    }

void secret_text_done(struct secret_text *secret);
#define cleanup_secret_text cleanup_with(secret_text_done)

/* ERR_INVALID_ARGUMENT when empty, ERR_TOO_LARGE over SECRET_TEXT_MAX_BYTES, ERR_NO_MEMORY. */
int secret_text_set(struct secret_text *secret, struct str text);

/* Like secret_reveal(): say why there. */
struct str secret_text_reveal(const struct secret_text *secret);

/* Wipes any memory, for buffers that held a secret temporarily. */
void secret_wipe(void *bytes, size_t len);

#endif
