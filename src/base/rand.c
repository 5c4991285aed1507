/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { TOKEN_DRAW_BYTES = 48 }; /* enough for a key in one system call */

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

static unsigned char next_of(struct rand_pool *pool)
{
    unsigned char byte;

    if (pool->left == 0) {
        rand_bytes(pool->bytes, sizeof(pool->bytes));
        pool->left = sizeof(pool->bytes);
    }
    byte = pool->bytes[--pool->left];
    pool->bytes[pool->left] = 0;
    return byte;
}

/* The letter of a byte, or 0: as above, 62 fits four times into a byte. */
static char letter_of(unsigned char byte)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    enum { LETTERS = sizeof(alphabet) - 1, FAIR = 256 / LETTERS * LETTERS };

    return byte < FAIR ? alphabet[byte % LETTERS] : '\0';
}

void rand_pool_token(struct rand_pool *pool, char *out_text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        do
            out_text[i] = letter_of(next_of(pool));
        while (out_text[i] == '\0');
    out_text[len] = '\0';
}

void rand_token(char *out_text, size_t len)
{
    unsigned char drawn[TOKEN_DRAW_BYTES];
    size_t left = 0;

    for (size_t i = 0; i < len; i++)
        do {
            if (left == 0) {
                rand_bytes(drawn, sizeof(drawn));
                left = sizeof(drawn);
            }
            out_text[i] = letter_of(drawn[--left]);
        } while (out_text[i] == '\0');
    out_text[len] = '\0';
    explicit_bzero(drawn, sizeof(drawn));
}
