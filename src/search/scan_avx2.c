/* SPDX-License-Identifier: Apache-2.0 */
#include "search/scan_internal.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define VECTOR             __m256i
#define VECTOR_BYTES       32
#define VECTOR_SIGN_BITS   1
#define VECTOR_TARGET      __attribute__((target("avx2,popcnt")))
#define VECTOR_LOAD(p)     _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define VECTOR_STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define VECTOR_FILL(b)     _mm256_set1_epi8((char)(b))
#define VECTOR_TABLE(t)                                                                            \
    _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(t)))
#define VECTOR_EQ(a, b)      _mm256_cmpeq_epi8(a, b)
#define VECTOR_AND(a, b)     _mm256_and_si256(a, b)
#define VECTOR_OR(a, b)      _mm256_or_si256(a, b)
#define VECTOR_SHUFFLE(t, i) _mm256_shuffle_epi8(t, i)
#define VECTOR_UPPER(v)      _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(0x0F))
#define VECTOR_IS_ZERO(v)    (_mm256_testz_si256(v, v) != 0)
#define VECTOR_SIGNS(v)      ((uint32_t)_mm256_movemask_epi8(v))
#define VECTOR_NONZERO(v)    (~VECTOR_SIGNS(_mm256_cmpeq_epi8(v, _mm256_setzero_si256())))
#define VECTOR_NONZERO_64(v)                                                                       \
    ((uint64_t)VECTOR_NONZERO((v)[0]) | (uint64_t)VECTOR_NONZERO((v)[1]) << 32)
#define VECTOR_COUNT(a, b)                                                                         \
    (size_t) __builtin_popcountll((uint64_t)VECTOR_SIGNS(a) | (uint64_t)VECTOR_SIGNS(b) << 32)

#include "search/scan_vector.h"

const struct scan_functions scan_avx2 = {vector_needle, vector_sequences, vector_run,
                                         vector_newlines};

#endif
