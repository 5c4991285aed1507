/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact comparison of JSON numbers of any length, without floating point: numbers differ even if
 * only in the hundredth digit, or in the exponent. Accepts both kinds of number values, JSON_INT
 * and JSON_NUMBER. The time depends on the length of the texts, not on the values.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdbool.h>

struct json_value;

/* <0, 0, >0. 1, 1.0, 10e-1 are equal, and so are 0 and -0. */
int decimal_compare(const struct json_value *a, const struct json_value *b);

/* Whether it has no fraction: true for 1, 1.0 and 1e3, false for 1.5 and 1e-1. */
bool decimal_is_integer(const struct json_value *number);

#endif
