/* SPDX-License-Identifier: Apache-2.0 */
#include "store/password.h"

#include <argon2.h>

#include "base/rand.h"

enum {
    MEMORY_KIB = 64 << 10,
    PASSES = 1,
    LANES = 1,
    SALT_BYTES = 16,
    HASH_BYTES = 32,
};

int password_check_new(const struct secret *password, struct err *err)
{
    if (password->len < PASSWORD_MIN_BYTES)
        return err_set(err, ERR_INVALID_ARGUMENT, "a password has at least %d characters",
                       PASSWORD_MIN_BYTES);
    return 0;
}

int password_hash(const struct secret *password, char out_hash[STORE_MAX_PASSWORD_BYTES + 1])
{
    struct str text = secret_reveal(password); /* to hash it */
    unsigned char salt[SALT_BYTES];
    int code;

    rand_bytes(salt, sizeof(salt));
    code = argon2id_hash_encoded(PASSES, MEMORY_KIB, LANES, text.ptr, text.len, salt, sizeof(salt),
                                 HASH_BYTES, out_hash, STORE_MAX_PASSWORD_BYTES + 1);
    return code == ARGON2_OK ? 0 : ERR_NO_MEMORY;
}

int password_verify(const char *hash, const struct secret *password)
{
    struct str text = secret_reveal(password); /* to hash it */
    char scrap[STORE_MAX_PASSWORD_BYTES + 1];
    int code;

    if (hash == NULL)
        return password_hash(password, scrap) < 0 ? ERR_NO_MEMORY : ERR_UNAUTHORIZED;
    code = argon2id_verify(hash, text.ptr, text.len); /* compares in constant time */
    return code == ARGON2_OK                        ? 0
           : code == ARGON2_MEMORY_ALLOCATION_ERROR ? ERR_NO_MEMORY
                                                    : ERR_UNAUTHORIZED;
}
