/* SPDX-License-Identifier: Apache-2.0 */
#include "search/scan_internal.h"

#if defined(__aarch64__)

#include <arm_neon.h>

/* NEON has no movemask. Narrowing keeps four bits of every byte, and one of them is enough. */
static inline uint64_t signs(uint8x16_t compared)
{
    uint8x8_t narrowed = vshrn_n_u16(vreinterpretq_u16_u8(compared), 4);

    return vget_lane_u64(vreinterpret_u64_u8(narrowed), 0) & 0x1111111111111111U;
}

/* Gives each byte its own bit among eight; adding neighbours three times collects them. */
static inline uint64_t nonzero_64(const uint8x16_t bytes[4])
{
    const uint8x16_t weights = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201U));
    uint8x16_t bits[4];
    uint8x16_t sum;

#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++)
        bits[i] = vandq_u8(vtstq_u8(bytes[i], bytes[i]), weights);
    sum = vpaddq_u8(vpaddq_u8(bits[0], bits[1]), vpaddq_u8(bits[2], bits[3]));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sum, sum)), 0);
}

/* True is -1. */
static inline size_t count_true(uint8x16_t a, uint8x16_t b)
{
    return (size_t)-vaddvq_s8(vreinterpretq_s8_u8(vaddq_u8(a, b)));
}

#define VECTOR           uint8x16_t
#define VECTOR_BYTES     16
#define VECTOR_SIGN_BITS 4
#define VECTOR_TARGET
#define VECTOR_LOAD(p)       vld1q_u8(p)
#define VECTOR_STORE(p, v)   vst1q_u8(p, v)
#define VECTOR_FILL(b)       vdupq_n_u8((uint8_t)(b))
#define VECTOR_TABLE(t)      vld1q_u8(t)
#define VECTOR_EQ(a, b)      vceqq_u8(a, b)
#define VECTOR_AND(a, b)     vandq_u8(a, b)
#define VECTOR_OR(a, b)      vorrq_u8(a, b)
#define VECTOR_SHUFFLE(t, i) vqtbl1q_u8(t, i)
#define VECTOR_UPPER(v)      vshrq_n_u8(v, 4)
#define VECTOR_IS_ZERO(v)    (vmaxvq_u32(vreinterpretq_u32_u8(v)) == 0)
#define VECTOR_SIGNS(v)      signs(v)
#define VECTOR_NONZERO(v)    signs(vtstq_u8(v, v))
#define VECTOR_NONZERO_64(v) nonzero_64(v)
#define VECTOR_COUNT(a, b)   count_true(a, b)

#include "search/scan_vector.h"

const struct scan_functions scan_neon = {vector_needle, vector_sequences, vector_run,
                                         vector_newlines};

#endif
