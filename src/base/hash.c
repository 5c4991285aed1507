/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <pthread.h>
#include <string.h>

#include "base/rand.h"

struct sip {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}

/*
 * Inlined into hash_str(), so that the state stays in registers, which halves its time for short
 * names.
 */
static inline __attribute__((always_inline)) void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate_left(s->v1, 13) ^ s->v0;
    s->v3 = rotate_left(s->v3, 16) ^ s->v2;
    s->v0 = rotate_left(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = rotate_left(s->v1, 17) ^ s->v2;
    s->v3 = rotate_left(s->v3, 21) ^ s->v0;
    s->v2 = rotate_left(s->v2, 32);
}

static inline __attribute__((always_inline)) void sip_absorb(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

uint64_t hash_str(const struct hash_key *key, struct str text)
{
    struct sip s = {
        key->low ^ 0x736f6d6570736575U,
        key->high ^ 0x646f72616e646f6dU,
        key->low ^ 0x6c7967656e657261U,
        key->high ^ 0x7465646279746573U,
    };
    size_t whole = text.len & ~(size_t)7;
    uint64_t word;

    for (size_t i = 0; i < whole; i += 8) {
        memcpy(&word, text.ptr + i, 8);
        sip_absorb(&s, word);
    }
    word = 0;
    if (text.len > whole)
        memcpy(&word, text.ptr + whole, text.len - whole);
    sip_absorb(&s, word | (uint64_t)text.len << 56);
    s.v2 ^= 0xff;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static struct hash_key process_key;

static void draw_process_key(void)
{
    rand_bytes(&process_key, sizeof(process_key));
}

const struct hash_key *hash_process_key(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, draw_process_key);
    return &process_key;
}
