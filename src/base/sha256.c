/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <endian.h>
#include <stdatomic.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/secret.h"

enum { ROUNDS = 64, LENGTH_AT = SHA256_BLOCK_BYTES - 8 };

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t round_constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t rotate_right(uint32_t x, unsigned bits)
{
    return x >> bits | x << (32 - bits);
}

static void expand(const unsigned char *block, uint32_t words[ROUNDS])
{
    for (size_t i = 0; i < 16; i++) {
        uint32_t word;

        memcpy(&word, block + 4 * i, sizeof(word));
        words[i] = be32toh(word);
    }
    for (size_t i = 16; i < ROUNDS; i++) {
        uint32_t near = words[i - 2];
        uint32_t far = words[i - 15];

        words[i] = words[i - 16] + words[i - 7] +
                   (rotate_right(far, 7) ^ rotate_right(far, 18) ^ far >> 3) +
                   (rotate_right(near, 17) ^ rotate_right(near, 19) ^ near >> 10);
    }
}

static void absorb_plainly(uint32_t state[8], const unsigned char *block)
{
    uint32_t words[ROUNDS];
    uint32_t a = state[0];
    uint32_t b = state[1];
    uint32_t c = state[2];
    uint32_t d = state[3];
    uint32_t e = state[4];
    uint32_t f = state[5];
    uint32_t g = state[6];
    uint32_t h = state[7];

    expand(block, words);
    for (size_t i = 0; i < ROUNDS; i++) {
        uint32_t chosen = (e & f) ^ (~e & g);
        uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        uint32_t first = h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                         chosen + round_constants[i] + words[i];
        uint32_t second =
            (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) + majority;

        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

#if defined(__x86_64__)

enum { SSSE3_AND_SSE41 = 1 << 9 | 1 << 19, SHA_EXTENSIONS = 1 << 29 };

static bool finds_instructions(void)
{
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;

    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & SSSE3_AND_SSE41) == SSSE3_AND_SSE41 &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & SHA_EXTENSIONS) != 0;
}

/* The processor's own rounds, two at a time, on the state in the order that they want. */
__attribute__((target("sha,sse4.1"))) static void absorb_quickly(uint32_t state[8],
                                                                 const unsigned char *block)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    const __m128i abef_before = _mm_alignr_epi8(cdab, efgh, 8);
    const __m128i cdgh_before = _mm_blend_epi16(efgh, cdab, 0xf0);
    __m128i abef = abef_before;
    __m128i cdgh = cdgh_before;
    __m128i words[4]; /* the last sixteen */

    for (size_t i = 0; i < ROUNDS / 4; i++) {
        __m128i four;

        if (i < 4) {
            four = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)block + i), big_endian);
        } else {
            __m128i last = words[(i + 3) % 4];

            four = _mm_sha256msg1_epu32(words[i % 4], words[(i + 1) % 4]);
            four = _mm_add_epi32(four, _mm_alignr_epi8(last, words[(i + 2) % 4], 4));
            four = _mm_sha256msg2_epu32(four, last);
        }
        words[i % 4] = four;
        four = _mm_add_epi32(four, _mm_loadu_si128((const __m128i *)round_constants + i));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, four);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(four, 0x0e));
    }
    cdab = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1b);
    efgh = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(cdab, efgh, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(efgh, cdab, 8));
}

#else

static bool finds_instructions(void)
{
    return false;
}

static void absorb_quickly(uint32_t state[8], const unsigned char *block)
{
    absorb_plainly(state, block);
}

#endif

/* Asked once, because a virtual machine's host answers it. */
enum { NOT_ASKED, IS_PLAIN, IS_QUICK };
static atomic_int speed = NOT_ASKED;

void sha256_use_instructions(bool is_allowed)
{
    atomic_store_explicit(&speed, is_allowed && finds_instructions() ? IS_QUICK : IS_PLAIN,
                          memory_order_relaxed);
}

static void absorb(uint32_t state[8], const unsigned char *block)
{
    int known = atomic_load_explicit(&speed, memory_order_relaxed);

    if (known == NOT_ASKED) {
        sha256_use_instructions(true);
        known = atomic_load_explicit(&speed, memory_order_relaxed);
    }
    if (known == IS_QUICK)
        absorb_quickly(state, block);
    else
        absorb_plainly(state, block);
}

void sha256_init(struct sha256 *hash)
{
    static const uint32_t start[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };

    memcpy(hash->state, start, sizeof(start));
    hash->length = 0;
}

void sha256_add(struct sha256 *hash, struct str bytes)
{
    const unsigned char *from = (const unsigned char *)bytes.ptr;
    size_t left = bytes.len;
    size_t used = hash->length % SHA256_BLOCK_BYTES;

    hash->length += left;
    if (used > 0) {
        size_t part = SHA256_BLOCK_BYTES - used < left ? SHA256_BLOCK_BYTES - used : left;

        memcpy(hash->block + used, from, part);
        from += part;
        left -= part;
        if (used + part < SHA256_BLOCK_BYTES)
            return;
        absorb(hash->state, hash->block);
    }
    for (; left >= SHA256_BLOCK_BYTES; left -= SHA256_BLOCK_BYTES, from += SHA256_BLOCK_BYTES)
        absorb(hash->state, from);
    if (left > 0)
        memcpy(hash->block, from, left);
}

void sha256_end(struct sha256 *hash, unsigned char out_digest[SHA256_BYTES])
{
    uint64_t bits = htobe64(hash->length * 8);
    size_t used = hash->length % SHA256_BLOCK_BYTES;

    hash->block[used++] = 0x80;
    if (used > LENGTH_AT) {
        memset(hash->block + used, 0, SHA256_BLOCK_BYTES - used);
        absorb(hash->state, hash->block);
        used = 0;
    }
    memset(hash->block + used, 0, LENGTH_AT - used);
    memcpy(hash->block + LENGTH_AT, &bits, sizeof(bits));
    absorb(hash->state, hash->block);
    for (size_t i = 0; i < 8; i++) {
        uint32_t word = htobe32(hash->state[i]);

        memcpy(out_digest + 4 * i, &word, sizeof(word));
    }
    secret_wipe(hash, sizeof(*hash));
}

void sha256_of(struct str bytes, unsigned char out_digest[SHA256_BYTES])
{
    struct sha256 hash;

    sha256_init(&hash);
    sha256_add(&hash, bytes);
    sha256_end(&hash, out_digest);
}

void hmac_init(struct hmac *mac, struct str key)
{
    unsigned char padded[SHA256_BLOCK_BYTES] = {0};

    if (key.len > SHA256_BLOCK_BYTES) {
        sha256_init(&mac->inner);
        sha256_add(&mac->inner, key);
        sha256_end(&mac->inner, padded);
    } else if (key.len > 0) {
        memcpy(padded, key.ptr, key.len);
    }
    for (size_t i = 0; i < SHA256_BLOCK_BYTES; i++) {
        mac->outer_pad[i] = padded[i] ^ 0x5c;
        padded[i] ^= 0x36;
    }
    sha256_init(&mac->inner);
    sha256_add(&mac->inner, (struct str){(const char *)padded, sizeof(padded)});
    secret_wipe(padded, sizeof(padded));
}

void hmac_add(struct hmac *mac, struct str bytes)
{
    sha256_add(&mac->inner, bytes);
}

void hmac_add_part(struct hmac *mac, struct str bytes)
{
    uint64_t length = htobe64(bytes.len);

    hmac_add(mac, (struct str){(const char *)&length, sizeof(length)});
    hmac_add(mac, bytes);
}

void hmac_end(struct hmac *mac, unsigned char out_digest[SHA256_BYTES])
{
    unsigned char inner[SHA256_BYTES];

    sha256_end(&mac->inner, inner);
    sha256_init(&mac->inner);
    sha256_add(&mac->inner, (struct str){(const char *)mac->outer_pad, SHA256_BLOCK_BYTES});
    sha256_add(&mac->inner, (struct str){(const char *)inner, sizeof(inner)});
    sha256_end(&mac->inner, out_digest);
    secret_wipe(mac, sizeof(*mac));
}
