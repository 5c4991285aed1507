/* SPDX-License-Identifier: Apache-2.0 */
#include "search/scan_internal.h"

#if defined(__x86_64__)

#include <tmmintrin.h>

#define VECTOR               __m128i
#define VECTOR_BYTES         16
#define VECTOR_SIGN_BITS     1
#define VECTOR_TARGET        __attribute__((target("ssse3")))
#define VECTOR_LOAD(p)       _mm_loadu_si128((const __m128i *)(const void *)(p))
#define VECTOR_STORE(p, v)   _mm_storeu_si128((__m128i *)(void *)(p), v)
#define VECTOR_FILL(b)       _mm_set1_epi8((char)(b))
#define VECTOR_TABLE(t)      _mm_loadu_si128((const __m128i *)(const void *)(t))
#define VECTOR_EQ(a, b)      _mm_cmpeq_epi8(a, b)
#define VECTOR_AND(a, b)     _mm_and_si128(a, b)
#define VECTOR_OR(a, b)      _mm_or_si128(a, b)
#define VECTOR_SHUFFLE(t, i) _mm_shuffle_epi8(t, i)
#define VECTOR_UPPER(v)      _mm_and_si128(_mm_srli_epi16(v, 4), _mm_set1_epi8(0x0F))
#define VECTOR_IS_ZERO(v)    (_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128())) == 0xFFFF)
#define VECTOR_SIGNS(v)      ((uint32_t)_mm_movemask_epi8(v))
#define VECTOR_NONZERO(v)    (0xFFFFU & ~VECTOR_SIGNS(_mm_cmpeq_epi8(v, _mm_setzero_si128())))
#define VECTOR_NONZERO_64(v)                                                                       \
    ((uint64_t)VECTOR_NONZERO((v)[0]) | (uint64_t)VECTOR_NONZERO((v)[1]) << 16 |                   \
     (uint64_t)VECTOR_NONZERO((v)[2]) << 32 | (uint64_t)VECTOR_NONZERO((v)[3]) << 48)
#define VECTOR_COUNT(a, b) (size_t) __builtin_popcount(VECTOR_SIGNS(a) | VECTOR_SIGNS(b) << 16)

#include "search/scan_vector.h"

const struct scan_functions scan_ssse3 = {vector_needle, vector_sequences, vector_run,
                                          vector_newlines};

#endif
