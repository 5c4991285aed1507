/* SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

enum { INT64_TEXT_BYTES = 24 };

/* An exponent as written: it may have any number of digits, or none at all. */
struct exponent {
    int sign; /* -1 or 1 */
    struct str digits;
};

/*
 * sign * 0.d1d2d3… * 10^(shift + exponent), with d1 not 0 and the last digit not 0. The digits stay
 * in the text, around the point if there is one.
 */
struct decimal {
    int sign; /* -1, 0, 1; 0 is zero, and the rest is then unused */
    const char *digits;
    const char *digits_end;
    size_t digit_count; /* the point not counted */
    int64_t shift;      /* where the point stands; no further away than the text is long */
    struct exponent exponent;
};

/* More than two shifts can compensate, since the size of a text fits 32 bits. */
static const int64_t difference_limit = INT64_C(1) << 40;

static struct exponent read_exponent(const char *at, const char *end)
{
    struct exponent exponent = {.sign = 1};

    if (at < end && (*at == '+' || *at == '-'))
        exponent.sign = *at++ == '-' ? -1 : 1;
    exponent.digits = (struct str){at, (size_t)(end - at)};
    return exponent;
}

/* The digit `place` places before the last one; 0 before the first. */
static int exponent_digit(const struct exponent *exponent, size_t place)
{
    const struct str digits = exponent->digits;

    return place < digits.len ? exponent->sign * (digits.ptr[digits.len - 1 - place] - '0') : 0;
}

/*
 * a - b, exact up to the limit; beyond it only the sign counts. Digit by digit
 * from the front: past the limit, what follows is too small to lead back.
 */
static int64_t exponent_difference(const struct exponent *a, const struct exponent *b)
{
    size_t place = a->digits.len > b->digits.len ? a->digits.len : b->digits.len;
    int64_t difference = 0;

    while (place-- > 0) {
        difference = difference * 10 + exponent_digit(a, place) - exponent_digit(b, place);
        if (difference > difference_limit || difference < -difference_limit)
            break;
    }
    return difference;
}

static bool is_filler(char c)
{
    return c == '0' || c == '.';
}

/* `text` is a number by the JSON grammar. */
static struct decimal read_decimal(struct str text)
{
    const char *at = text.ptr;
    const char *end = text.ptr + text.len;
    const char *mantissa_end;
    const char *point = NULL;
    struct decimal d = {.sign = 1};

    if (*at == '-') {
        d.sign = -1;
        at++;
    }
    for (mantissa_end = at; mantissa_end < end; mantissa_end++) {
        if (*mantissa_end == 'e' || *mantissa_end == 'E')
            break;
        if (*mantissa_end == '.')
            point = mantissa_end;
    }
    if (point == NULL)
        point = mantissa_end;
    d.digits = at;
    d.digits_end = mantissa_end;
    while (d.digits < d.digits_end && is_filler(*d.digits))
        d.digits++;
    if (d.digits == d.digits_end)
        return (struct decimal){.sign = 0};
    while (is_filler(d.digits_end[-1]))
        d.digits_end--;
    if (mantissa_end < end)
        d.exponent = read_exponent(mantissa_end + 1, end);
    /* Behind the point, each zero before the first digit counts down, and the point itself not. */
    d.shift = d.digits < point ? point - d.digits : point + 1 - d.digits;
    d.digit_count = (size_t)(d.digits_end - d.digits);
    if (point > d.digits && point < d.digits_end)
        d.digit_count--;
    return d;
}

static struct decimal decimal_of(const struct json_value *number, char room[INT64_TEXT_BYTES])
{
    int length;

    if (number->type == JSON_NUMBER)
        return read_decimal(json_str(number));
    assert(number->type == JSON_INT);
    length = snprintf(room, INT64_TEXT_BYTES, "%lld", (long long)number->integer);
    return read_decimal((struct str){room, (size_t)length});
}

static int compare_digits(const struct decimal *a, const struct decimal *b)
{
    const char *x = a->digits;
    const char *y = b->digits;

    while (true) {
        if (x < a->digits_end && *x == '.')
            x++;
        if (y < b->digits_end && *y == '.')
            y++;
        /* The longer one goes on with digits of which the last is not 0: it is larger. */
        if (x == a->digits_end || y == b->digits_end)
            return (x < a->digits_end) - (y < b->digits_end);
        if (*x != *y)
            return *x < *y ? -1 : 1;
        x++;
        y++;
    }
}

int decimal_compare(const struct json_value *a, const struct json_value *b)
{
    char room_a[INT64_TEXT_BYTES];
    char room_b[INT64_TEXT_BYTES];
    struct decimal x;
    struct decimal y;
    int64_t difference;

    if (a->type == JSON_INT && b->type == JSON_INT)
        return (a->integer > b->integer) - (a->integer < b->integer);
    x = decimal_of(a, room_a);
    y = decimal_of(b, room_b);
    if (x.sign != y.sign)
        return x.sign < y.sign ? -1 : 1;
    if (x.sign == 0)
        return 0;
    difference = exponent_difference(&x.exponent, &y.exponent) + x.shift - y.shift;
    if (difference != 0)
        return difference < 0 ? -x.sign : x.sign;
    return compare_digits(&x, &y) * x.sign;
}

bool decimal_is_integer(const struct json_value *number)
{
    static const struct exponent none = {.sign = 1};
    struct decimal d;

    if (number->type == JSON_INT)
        return true;
    d = read_decimal(json_str(number));
    return d.sign == 0 ||
           exponent_difference(&d.exponent, &none) + d.shift >= (int64_t)d.digit_count;
}
