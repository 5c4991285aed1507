/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <endian.h>

#include "base/cleanup.h"

static char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static uint64_t load8(const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/*
 * Eight characters at a time: adds 0x20 to each byte from A to Z, and carries stay in their byte.
 */
static uint64_t ascii_lower8(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t low = word & (ones * 0x7f);
    uint64_t from_a = low + ones * (0x80 - 'A');
    uint64_t beyond_z = low + ones * (0x7f - 'Z');

    return word | ((from_a & ~beyond_z & ~word & (ones * 0x80)) >> 2);
}

static bool is_same8(const char *a, const char *b)
{
    return ascii_lower8(load8(a)) == ascii_lower8(load8(b));
}

bool str_eq_nocase(struct str a, struct str b)
{
    size_t i = 0;

    /* Most differ in their first letter already. */
    if (a.len != b.len || (a.len > 0 && ((a.ptr[0] ^ b.ptr[0]) & ~0x20) != 0))
        return false;
    if (a.len < sizeof(uint64_t)) {
        for (; i < a.len; i++)
            if (ascii_lower(a.ptr[i]) != ascii_lower(b.ptr[i]))
                return false;
        return true;
    }
    for (; i + sizeof(uint64_t) < a.len; i += sizeof(uint64_t))
        if (!is_same8(a.ptr + i, b.ptr + i))
            return false;
    /* The last eight, some of them for the second time. */
    return is_same8(a.ptr + a.len - sizeof(uint64_t), b.ptr + b.len - sizeof(uint64_t));
}

int str_compare(struct str a, struct str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.ptr, b.ptr, common);

    if (order != 0)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

bool str_starts_with(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq((struct str){s.ptr, prefix.len}, prefix);
}

size_t str_common_prefix(struct str a, struct str b)
{
    enum { BLOCK_BYTES = 256 };
    size_t len = a.len < b.len ? a.len : b.len;
    size_t i = 0;

    /* Edits change little of a file; then eight at a time: so have paths much in common. */
    while (len - i >= BLOCK_BYTES && memcmp(a.ptr + i, b.ptr + i, BLOCK_BYTES) == 0)
        i += BLOCK_BYTES;
    for (; i + sizeof(uint64_t) <= len; i += sizeof(uint64_t)) {
        uint64_t left;
        uint64_t right;

        memcpy(&left, a.ptr + i, sizeof(left));
        memcpy(&right, b.ptr + i, sizeof(right));
        if (left != right)
            return i + (size_t)__builtin_ctzll(le64toh(left ^ right)) / 8;
    }
    while (i < len && a.ptr[i] == b.ptr[i])
        i++;
    return i;
}

size_t str_common_suffix(struct str a, struct str b)
{
    size_t most = a.len < b.len ? a.len : b.len;
    const char *a_end = a.ptr + a.len;
    const char *b_end = b.ptr + b.len;
    size_t len = 0;

    while (len + sizeof(uint64_t) <= most &&
           memcmp(a_end - len - sizeof(uint64_t), b_end - len - sizeof(uint64_t),
                  sizeof(uint64_t)) == 0)
        len += sizeof(uint64_t);
    while (len < most && a_end[-(ptrdiff_t)len - 1] == b_end[-(ptrdiff_t)len - 1])
        len++;
    return len;
}

bool str_ends_with(struct str s, struct str suffix)
{
    return s.len >= suffix.len &&
           str_eq((struct str){s.ptr + (s.len - suffix.len), suffix.len}, suffix);
}

bool str_has_nul(struct str s)
{
    return s.len > 0 && memchr(s.ptr, '\0', s.len) != NULL;
}

struct str str_slice(struct str s, size_t start, size_t len)
{
    if (start > s.len)
        start = s.len;
    if (len > s.len - start)
        len = s.len - start;
    return (struct str){s.ptr + start, len};
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
    while (s.len > 0 && is_space(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

bool str_cut(struct str *rest, char separator, struct str *out_part)
{
    const char *found;

    if (rest->ptr == NULL)
        return false;
    found = rest->len > 0 ? memchr(rest->ptr, separator, rest->len) : NULL;
    if (found == NULL) {
        *out_part = *rest;
        *rest = STR_CUT_END;
        return true;
    }
    *out_part = (struct str){rest->ptr, (size_t)(found - rest->ptr)};
    rest->ptr = found + 1;
    rest->len -= out_part->len + 1;
    return true;
}

size_t str_find(struct str s, struct str needle)
{
    const char *found;

    if (needle.len == 0)
        return 0;
    if (s.len < needle.len)
        return SIZE_MAX;
    found = memmem(s.ptr, s.len, needle.ptr, needle.len);
    return found == NULL ? SIZE_MAX : (size_t)(found - s.ptr);
}

size_t str_distance(struct str a, struct str b)
{
    size_t row[STR_DISTANCE_BYTES + 1];

    if (a.len > STR_DISTANCE_BYTES || b.len > STR_DISTANCE_BYTES)
        return SIZE_MAX;
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t least = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < least)
                least = row[j] + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            row[j] = least;
        }
    }
    return row[b.len];
}

bool str_to_int64(struct str s, int64_t *out_number)
{
    bool is_negative = s.len > 0 && s.ptr[0] == '-';
    int64_t number = 0;
    size_t i = is_negative ? 1 : 0;

    if (i == s.len)
        return false;
    for (; i < s.len; i++) {
        unsigned digit = (unsigned char)s.ptr[i] - (unsigned)'0';

        if (digit > 9 || __builtin_mul_overflow(number, 10, &number))
            return false;
        /* Downwards for negatives, so that INT64_MIN is reached without passing INT64_MAX. */
        if (__builtin_add_overflow(number, is_negative ? -(int64_t)digit : (int64_t)digit, &number))
            return false;
    }
    *out_number = number;
    return true;
}

bool str_to_bytes(struct str s, uint64_t *out_bytes)
{
    static const struct {
        struct str name;
        int64_t bytes;
    } units[] = {
        {STR_LITERAL(""), 1},
        {STR_LITERAL("B"), 1},
        {STR_LITERAL("K"), 1000},
        {STR_LITERAL("KB"), 1000},
        {STR_LITERAL("KiB"), 1024},
        {STR_LITERAL("M"), 1000 * 1000},
        {STR_LITERAL("MB"), 1000 * 1000},
        {STR_LITERAL("MiB"), 1024 * 1024},
        {STR_LITERAL("G"), 1000 * 1000 * 1000},
        {STR_LITERAL("GB"), 1000 * 1000 * 1000},
        {STR_LITERAL("GiB"), 1024 * 1024 * 1024},
    };
    size_t digits = 0;
    int64_t number;
    struct str unit;

    while (digits < s.len && s.ptr[digits] >= '0' && s.ptr[digits] <= '9')
        digits++;
    if (!str_to_int64(str_slice(s, 0, digits), &number))
        return false;
    unit = str_trim(str_slice(s, digits, s.len));
    for (size_t i = 0; i < array_size(units); i++) {
        if (!str_eq_nocase(unit, units[i].name))
            continue;
        if (__builtin_mul_overflow(number, units[i].bytes, &number))
            return false;
        *out_bytes = (uint64_t)number;
        return true;
    }
    return false;
}
