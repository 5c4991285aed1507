/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104), for tokens that we issue and must recognise.
 * Layers with a TLS library have faster ones there.
 */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { SHA256_BYTES = 32, SHA256_BLOCK_BYTES = 64 };

struct sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[SHA256_BLOCK_BYTES];
};

void sha256_init(struct sha256 *hash);
void sha256_add(struct sha256 *hash, struct str bytes);
/* Wipes the state: the hash may have been over a secret. */
void sha256_end(struct sha256 *hash, unsigned char out_digest[SHA256_BYTES]);
/* All three, of bytes in one piece. */
void sha256_of(struct str bytes, unsigned char out_digest[SHA256_BYTES]);

/* For tests, which look at both ways: by default the processor's instructions if it has them. */
void sha256_use_instructions(bool is_allowed);

struct hmac {
    struct sha256 inner;
    unsigned char outer_pad[SHA256_BLOCK_BYTES];
};

void hmac_init(struct hmac *mac, struct str key);
void hmac_add(struct hmac *mac, struct str bytes);
/* Adds the length first, so that no part can pass into the next. */
void hmac_add_part(struct hmac *mac, struct str bytes);
void hmac_end(struct hmac *mac, unsigned char out_digest[SHA256_BYTES]);

#endif
