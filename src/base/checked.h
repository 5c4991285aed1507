/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Size arithmetic that detects overflow. Untrusted sizes are added and multiplied only through
 * these.
 */
#ifndef BASE_CHECKED_H
#define BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True when a + b fits; only then is *out_sum set. */
static inline bool checked_add(size_t a, size_t b, size_t *out_sum)
{
    size_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out_sum = sum;
    return true;
}

/* True when a * b fits; only then is *out_product set. */
static inline bool checked_mul(size_t a, size_t b, size_t *out_product)
{
    size_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out_product = product;
    return true;
}

/* a + b, saturated: for deadlines, where "very far" is the right answer. */
static inline int64_t checked_add_ms(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

#endif
