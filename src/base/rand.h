/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpredictable bytes from the kernel. If the machine cannot provide them, the program aborts:
 * guessable keys would be worse.
 */
#ifndef BASE_RAND_H
#define BASE_RAND_H

#include <stddef.h>
#include <stdint.h>

void rand_bytes(void *out_bytes, size_t len);

/* Uniform in [0, below); `below` must not be 0. */
uint32_t rand_below(uint32_t below);

/* `len` characters of A-Z a-z 0-9, about 5.95 bits each, and a terminating NUL. */
void rand_token(char *out_text, size_t len);

/*
 * Random bytes for many tokens, drawn with one system call; each is wiped when it is used. The
 * process must not fork while it has one, or both would draw the same.
 */
enum { RAND_POOL_BYTES = 1024 };

struct rand_pool {
    size_t left;
    unsigned char bytes[RAND_POOL_BYTES];
};

/* As rand_token(). */
void rand_pool_token(struct rand_pool *pool, char *out_text, size_t len);

#endif
