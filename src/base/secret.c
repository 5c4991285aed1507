/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rand.h"

void secret_wipe(void *bytes, size_t len)
{
    explicit_bzero(bytes, len);
}

void secret_done(struct secret *secret)
{
    secret_wipe(secret, sizeof(*secret));
}

int secret_set(struct secret *secret, struct str text)
{
    if (text.len == 0)
        return ERR_INVALID_ARGUMENT;
    if (text.len > SECRET_MAX_BYTES)
        return ERR_TOO_LARGE;
    secret_done(secret);
    memcpy(secret->bytes, text.ptr, text.len);
    secret->len = text.len;
    return 0;
}

int secret_generate(struct secret *secret, struct str prefix, size_t random_chars)
{
    char drawn[SECRET_MAX_BYTES + 1];

    if (random_chars == 0)
        return ERR_INVALID_ARGUMENT;
    if (prefix.len > SECRET_MAX_BYTES || random_chars > SECRET_MAX_BYTES - prefix.len)
        return ERR_TOO_LARGE;
    rand_token(drawn, random_chars);
    secret_done(secret);
    if (prefix.len > 0)
        memcpy(secret->bytes, prefix.ptr, prefix.len);
    memcpy(secret->bytes + prefix.len, drawn, random_chars);
    secret->len = prefix.len + random_chars;
    secret_wipe(drawn, sizeof(drawn));
    return 0;
}

bool secret_bytes_eq(const void *a, const void *b, size_t len)
{
    const unsigned char *left = a;
    const unsigned char *right = b;
    volatile uint64_t difference = 0; /* volatile: no compiler may stop at the first one */
    size_t i = 0;

    for (; len - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        uint64_t words[2];

        memcpy(&words[0], left + i, sizeof(uint64_t));
        memcpy(&words[1], right + i, sizeof(uint64_t));
        difference = difference | (words[0] ^ words[1]);
    }
    for (; i < len; i++)
        difference = difference | (uint64_t)(left[i] ^ right[i]);
    return difference == 0;
}

bool secret_eq(const struct secret *secret, struct str given)
{
    return secret->len > 0 && secret->len == given.len &&
           secret_bytes_eq(secret->bytes, given.ptr, given.len);
}

struct str secret_reveal(const struct secret *secret)
{
    return (struct str){secret->bytes, secret->len};
}

void secret_text_done(struct secret_text *secret)
{
    if (secret->bytes != NULL)
        secret_wipe(secret->bytes, secret->len);
    free(secret->bytes);
    *secret = (struct secret_text)SECRET_TEXT_INIT;
}

int secret_text_set(struct secret_text *secret, struct str text)
{
    char *bytes;

    if (text.len == 0)
        return ERR_INVALID_ARGUMENT;
    if (text.len > SECRET_TEXT_MAX_BYTES)
        return ERR_TOO_LARGE;
    bytes = malloc(text.len);
    if (bytes == NULL)
        return ERR_NO_MEMORY;
    memcpy(bytes, text.ptr, text.len);
    secret_text_done(secret);
    secret->len = text.len;
    secret->bytes = bytes;
    return 0;
}

struct str secret_text_reveal(const struct secret_text *secret)
{
    return secret->len > 0 ? (struct str){secret->bytes, secret->len} : STR_EMPTY;
}
