/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the next byte that a JSON or UTF-8 parser must look at, sixteen at a time if the processor
 * can. A byte is plain if it is ASCII, at least 0x20, and neither a double quote nor a backslash.
 */
#ifndef BASE_SCAN_H
#define BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { SCAN_STEP = 16 };

/* A call would cost as much as its few instructions. */
#define SCAN_INLINE static inline __attribute__((always_inline))

/* Signed on purpose: bytes from 0x80 are negative, so one comparison finds them and the controls.
 */
SCAN_INLINE bool scan_is_plain(char c)
{
    return (signed char)c >= 0x20 && c != '"' && c != '\\';
}

/* Which of the SCAN_STEP bytes at `p` are not plain: one bit for each, SCAN_BITS apart. */
#if defined(__SSE2__)

enum { SCAN_BITS = 1 };

SCAN_INLINE uint64_t scan_specials(const char *p)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)p);
    __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    __m128i low_or_high = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
    __m128i special = _mm_or_si128(_mm_or_si128(quote, backslash), low_or_high);

    return (unsigned)_mm_movemask_epi8(special);
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

enum { SCAN_BITS = 4 };

SCAN_INLINE uint64_t scan_specials(const char *p)
{
    uint8x16_t bytes = vld1q_u8((const uint8_t *)p);
    uint8x16_t quote = vceqq_u8(bytes, vdupq_n_u8('"'));
    uint8x16_t backslash = vceqq_u8(bytes, vdupq_n_u8('\\'));
    uint8x16_t low_or_high = vcltq_s8(vreinterpretq_s8_u8(bytes), vdupq_n_s8(0x20));
    uint8x16_t special = vorrq_u8(vorrq_u8(quote, backslash), low_or_high);
    /* Four bits of the result for each byte: the nearest thing to a movemask here. */
    uint8x8_t narrowed = vshrn_n_u16(vreinterpretq_u16_u8(special), 4);

    return vget_lane_u64(vreinterpret_u64_u8(narrowed), 0) & 0x1111111111111111U;
}

#else

enum { SCAN_BITS = 1 };

SCAN_INLINE uint64_t scan_specials(const char *p)
{
    uint64_t specials = 0;

    for (size_t i = 0; i < SCAN_STEP; i++)
        specials |= (uint64_t)!scan_is_plain(p[i]) << i;
    return specials;
}

#endif

/* The first of those found by scan_specials(); there must be one. */
SCAN_INLINE size_t scan_first(uint64_t specials)
{
    return (size_t)__builtin_ctzll(specials) / SCAN_BITS;
}

/*
 * How many of the SCAN_STEP bytes at `p` come before the first that is not plain; SCAN_STEP if all
 * are plain. With `copy`, also copies all SCAN_STEP bytes there.
 */
SCAN_INLINE size_t scan_step(const char *p, char *copy)
{
    uint64_t specials = scan_specials(p);

    if (copy != NULL)
        memcpy(copy, p, SCAN_STEP);
    return specials == 0 ? SCAN_STEP : scan_first(specials);
}

/* The first byte in [p, end) that is not plain, or end. */
SCAN_INLINE const char *scan_plain(const char *p, const char *end)
{
    while (end - p >= SCAN_STEP) {
        size_t plain = scan_step(p, NULL);

        p += plain;
        if (plain < SCAN_STEP)
            return p;
    }
    while (p < end && scan_is_plain(*p))
        p++;
    return p;
}

/* True when any of the eight bytes in `word` is not plain. */
SCAN_INLINE bool scan_word_has_special(uint64_t word)
{
    const uint64_t each = 0x0101010101010101U;
    /*
     * Subtracting borrows from a smaller byte, and sets its high bit; a byte that already has its
     * high bit set is special anyway.
     */
    uint64_t low = word - each * 0x20;
    uint64_t quote = (word ^ each * '"') - each;
    uint64_t backslash = (word ^ each * '\\') - each;

    return ((word | low | quote | backslash) & each * 0x80) != 0;
}

/* Copies fewer than SCAN_STEP bytes if all are plain, in two loads that may overlap. */
SCAN_INLINE bool scan_copy_short(const char *p, size_t len, char *to)
{
    uint64_t words[2];
    uint32_t halves[2];

    if (len >= 8) {
        memcpy(&words[0], p, 8);
        memcpy(&words[1], p + len - 8, 8);
        if (scan_word_has_special(words[0]) || scan_word_has_special(words[1]))
            return false;
        memcpy(to, &words[0], 8);
        memcpy(to + len - 8, &words[1], 8);
        return true;
    }
    if (len >= 4) {
        memcpy(&halves[0], p, 4);
        memcpy(&halves[1], p + len - 4, 4);
        if (scan_word_has_special((uint64_t)halves[0] << 32 | halves[1]))
            return false;
        memcpy(to, &halves[0], 4);
        memcpy(to + len - 4, &halves[1], 4);
        return true;
    }
    for (size_t i = 0; i < len; i++) {
        if (!scan_is_plain(p[i]))
            return false;
        to[i] = p[i];
    }
    return true;
}

/*
 * Same, copying the plain bytes to *copy and advancing it. Up to SCAN_STEP bytes after the new
 * *copy may be overwritten: leave room for them.
 */
SCAN_INLINE const char *scan_copy_plain(const char *p, const char *end, char **copy)
{
    char *to = *copy;

    while (end - p >= SCAN_STEP) {
        size_t plain = scan_step(p, to);

        p += plain;
        to += plain;
        if (plain < SCAN_STEP) {
            *copy = to;
            return p;
        }
    }
    if (scan_copy_short(p, (size_t)(end - p), to)) {
        *copy = to + (end - p);
        return end;
    }
    while (p < end && scan_is_plain(*p))
        *to++ = *p++;
    *copy = to;
    return p;
}

#endif
