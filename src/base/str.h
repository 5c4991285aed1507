/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String views: a pointer and a length, not owned, not terminated, any bytes. Untrusted text is
 * passed as a struct str until it was checked. See utf8.h for UTF-8.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *ptr;
    size_t len;
};

#define STR_EMPTY ((struct str){"", 0})

/* A view of a string literal, usable in static tables through STR_LITERAL. */
#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
#define STR_LITERAL(literal)                                                                       \
    {                                                                                              \
        "" literal, sizeof(literal) - 1                                                            \
    }

/* printf("%.*s", STR_ARG(name)); lengths over INT_MAX are cut. */
#define STR_ARG(view) str_print_length(view), (view).ptr

static inline int str_print_length(struct str s)
{
    return s.len > INT32_MAX ? INT32_MAX : (int)s.len;
}

static inline struct str str_from(const char *text)
{
    return (struct str){text, strlen(text)};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool str_eq_c(struct str a, const char *text)
{
    return str_eq(a, str_from(text));
}

/* ASCII letters only: for header names and keywords, never for file names. */
bool str_eq_nocase(struct str a, struct str b);

/* By bytes, shorter first on a tie: <0, 0, >0. */
int str_compare(struct str a, struct str b);

bool str_starts_with(struct str s, struct str prefix);
bool str_ends_with(struct str s, struct str suffix);
/* How many bytes both begin, and end, with. */
size_t str_common_prefix(struct str a, struct str b);
size_t str_common_suffix(struct str a, struct str b);
bool str_has_nul(struct str s);

/* The view from `start`, at most `len` long, clamped to the text. */
struct str str_slice(struct str s, size_t start, size_t len);

/* Without ASCII spaces, tabs, CR and LF at both ends. */
struct str str_trim(struct str s);

/*
 * Takes the part before the first `separator` off *rest; the last part has none behind it. Returns
 * false when all parts have been taken. An empty *rest yields one empty part.
 */
bool str_cut(struct str *rest, char separator, struct str *out_part);
#define STR_CUT_END ((struct str){NULL, 0})

/* Which of the names it is, or SIZE_MAX. */
static inline size_t str_index(struct str s, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq_c(s, names[i]))
            return i;
    return SIZE_MAX;
}

/* Position of `needle` in `s`, or SIZE_MAX. */
size_t str_find(struct str s, struct str needle);

/*
 * Number of bytes to insert, remove or replace to get from one text to the other; SIZE_MAX if one
 * is longer than STR_DISTANCE_BYTES.
 */
enum { STR_DISTANCE_BYTES = 255 };
size_t str_distance(struct str a, struct str b);

/* Parses the whole view as a decimal int64_t: no spaces, no plus sign, no overflow. */
bool str_to_int64(struct str s, int64_t *out_number);

/*
 * Parses "512", "512KB", "2 MiB" to bytes, with K, KB, M, MB, G, GB (1000) or KiB, MiB, GiB (1024).
 */
bool str_to_bytes(struct str s, uint64_t *out_bytes);

#endif
