/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha1.h"

#include <string.h>

/* The names of FIPS 180-4: a block is 16 words, which become 80. */
enum { BLOCK_BYTES = 64, BLOCK_WORDS = 16, ROUNDS = 80, STATE_WORDS = 5, LENGTH_BYTES = 8 };

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

static uint32_t read_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t mix(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
    if (round < 20)
        return ((b & c) | (~b & d)) + 0x5A827999;
    if (round < 40)
        return (b ^ c ^ d) + 0x6ED9EBA1;
    if (round < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC;
    return (b ^ c ^ d) + 0xCA62C1D6;
}

static void add_block(uint32_t state[STATE_WORDS], const uint8_t *block)
{
    uint32_t words[ROUNDS];
    uint32_t v[STATE_WORDS];

    for (unsigned i = 0; i < BLOCK_WORDS; i++)
        words[i] = read_word(block + (size_t)i * 4);
    for (unsigned i = BLOCK_WORDS; i < ROUNDS; i++)
        words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    memcpy(v, state, sizeof(v));
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint32_t next = rotate(v[0], 5) + mix(i, v[1], v[2], v[3]) + v[4] + words[i];

        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = next;
    }
    for (unsigned i = 0; i < STATE_WORDS; i++)
        state[i] += v[i];
}

void sha1(struct str text, uint8_t out_digest[SHA1_BYTES])
{
    uint32_t state[STATE_WORDS] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    uint8_t last[2 * BLOCK_BYTES] = {0};
    size_t whole = text.len - text.len % BLOCK_BYTES;
    size_t rest = text.len - whole;
    size_t last_len = rest + 1 + LENGTH_BYTES <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;
    uint64_t bits = (uint64_t)text.len * 8;

    for (size_t at = 0; at < whole; at += BLOCK_BYTES)
        add_block(state, (const uint8_t *)text.ptr + at);
    /* What is left, a one bit, zeros, and how many bits there were. */
    if (rest > 0)
        memcpy(last, text.ptr + whole, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        last[last_len - 1 - i] = (uint8_t)(bits >> (8 * i));
    for (size_t at = 0; at < last_len; at += BLOCK_BYTES)
        add_block(state, last + at);
    for (size_t i = 0; i < SHA1_BYTES; i++)
        out_digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}
