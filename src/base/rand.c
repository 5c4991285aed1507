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

void rand_token(char *out_text, size_t len)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    /* As above, for a byte: 62 fits four times below this. */
    enum { LETTERS = sizeof(alphabet) - 1, FAIR = 256 / LETTERS * LETTERS };
    unsigned char drawn[TOKEN_DRAW_BYTES];
    size_t left = 0;

    for (size_t i = 0; i < len; i++) {
        do {
            if (left == 0) {
                rand_bytes(drawn, sizeof(drawn));
                left = sizeof(drawn);
            }
            left--;
        } while (drawn[left] >= FAIR);
        out_text[i] = alphabet[drawn[left] % LETTERS];
    }
    out_text[len] = '\0';
    explicit_bzero(drawn, sizeof(drawn));
}
