/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What glob_compile.c produces and glob.c matches. Internal to these.
 *
 * Braces are expanded, and each alternative is a pattern of its own: a list of components. As a
 * match includes everything below it, a pattern needs no `**` at its end, and a name matches as
 * soon as the list is used up.
 */
#ifndef AUTHORITY_NAMES_GLOB_INTERNAL_H
#define AUTHORITY_NAMES_GLOB_INTERNAL_H

#include <stdint.h>

#include "authority/names/glob.h"
#include "base/utf8.h"

/* Characters are code points; bytes that are not UTF-8 are numbered above them. */
enum {
    GLOB_INVALID_BYTE = 0x110000,
    GLOB_CODE_ANY = 0x200000, /* ? */
    GLOB_CODE_RUN,            /* * */
    GLOB_CODE_CLASS,          /* then a count, and as many pairs of first and last of a range */
    GLOB_CODE_NOT_CLASS,
};

/* How a component is compared; most patterns need no codes. */
enum glob_kind {
    GLOB_EQUAL, /* no wildcard */
    GLOB_ENDS,  /* one `*`, with text around it */
    GLOB_CODES,
    GLOB_DEEP, /* `**`: any number of components */
};

struct glob_component {
    enum glob_kind kind;
    struct str head; /* before the `*`, or all of it */
    struct str tail;
    const uint32_t *codes;
    const uint32_t *codes_end;
};

/* A component that may be in any directory, the form of most patterns. */
struct glob_anywhere {
    const struct glob_anywhere *next;
    const char *pattern; /* of a set: as given */
    struct glob_component component;
};

/* From the root, component by component. */
struct glob_path {
    const struct glob_path *next;
    const char *pattern; /* of a set: as given */
    size_t count;
    struct glob_component components[];
};

struct glob_rules {
    const struct glob_anywhere *anywhere;
    const struct glob_path *paths;
    size_t pattern_count;
    bool is_all;             /* one of the patterns was `**` */
    const char *all_pattern; /* of a set: which one */
};

struct glob {
    struct glob_rules rules;
};

struct glob_set {
    struct glob_rules rules;
};

/* The character at `at`, which is before `end`; the next one begins at *out_next. */
static inline uint32_t glob_char(const char *at, const char *end, const char **out_next)
{
    const unsigned char *b = (const unsigned char *)at;
    size_t len = b[0] < 0x80 ? 1 : utf8_sequence(at, (size_t)(end - at));

    *out_next = at + (len == 0 ? 1 : len);
    switch (len) {
    case 1:
        return b[0];
    case 2:
        return (b[0] & 0x1FU) << 6 | (b[1] & 0x3FU);
    case 3:
        return (b[0] & 0x0FU) << 12 | (b[1] & 0x3FU) << 6 | (b[2] & 0x3FU);
    case 4:
        return (b[0] & 0x07U) << 18 | (b[1] & 0x3FU) << 12 | (b[2] & 0x3FU) << 6 | (b[3] & 0x3FU);
    default:
        return GLOB_INVALID_BYTE | b[0];
    }
}

#endif
