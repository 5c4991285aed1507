/* SPDX-License-Identifier: Apache-2.0 */
#include "store/agentkey.h"

#include <stdio.h>

enum { KEY_CHARS = 32 };

int agentkey_create(struct store *store, struct str name, const struct store_agent *wanted,
                    struct secret *out_key, struct err *err)
{
    struct store_agent agent = *wanted;
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    int r;

    if (!store_is_name(name))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "a name has 1 to %d visible ASCII characters, like ci or laptop-editor",
                       STORE_MAX_NAME_BYTES);
    snprintf(agent.name, sizeof(agent.name), "%.*s", STR_ARG(name));
    r = secret_generate(out_key, STR("gha_"), KEY_CHARS);
    if (r < 0)
        return err_set_plain(err, r);
    sha256_init(&hash);
    sha256_add(&hash, secret_reveal(out_key)); /* to store its digest */
    sha256_end(&hash, digest);
    return store_add_agent(store, &agent, digest, err);
}
