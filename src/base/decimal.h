/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact comparison of JSON numbers of any length, without floating point: two
 * numbers that differ in the hundredth digit differ, be it one of the exponent.
 * Both kinds of number value are taken, JSON_INT and JSON_NUMBER. The time taken
 * grows with the texts, never with what they are worth.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdbool.h>

struct json_value;

/* <0, 0, >0. 1, 1.0, 10e-1 are equal, and so are 0 and -0. */
int decimal_compare(const struct json_value *a, const struct json_value *b);

/* No fraction: 1, 1.0 and 1e3 have none, 1.5 and 1e-1 have. */
bool decimal_is_integer(const struct json_value *number);

#endif
