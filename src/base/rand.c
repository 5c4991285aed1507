/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void rand_bytes(void *out_bytes, size_t len)
{
    char *next = out_bytes;

    while (len > 0) {
        ssize_t got = getrandom(next, len, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            abort();
        next += got;
        len -= (size_t)got;
    }
}

uint32_t rand_below(uint32_t below)
{
    uint32_t unfair;
    uint32_t drawn;

    assert(below > 0);
    /* Throwing away the first 2^32 mod `below` values leaves each remainder equally likely. */
    unfair = -below % below;
    do
        rand_bytes(&drawn, sizeof(drawn));
    while (drawn < unfair);
    return drawn % below;
}

void rand_token(char *out_text, size_t len)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

    for (size_t i = 0; i < len; i++)
        out_text[i] = alphabet[rand_below(sizeof(alphabet) - 1)];
    out_text[len] = '\0';
}
