/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rule of an ignore file: ignore_rule.c parses it, ignore_match.c matches names. Internal to
 * ignore.c.
 *
 * A rule is parsed into codes, each for one byte of a name or a run of bytes. Most rules are then
 * plain text, or plain text after a `*`, and ignore.c finds them by a table; only the others become
 * patterns.
 */
#ifndef AUTHORITY_NAMES_IGNORE_INTERNAL_H
#define AUTHORITY_NAMES_IGNORE_INTERNAL_H

#include <stdint.h>

#include "authority/names/ignore.h"
#include "base/arena.h"

/* A code below 256 is that byte. */
enum {
    IGNORE_CODE_SLASH = '/', /* only between components */
    IGNORE_CODE_ANY = 256,   /* ? */
    IGNORE_CODE_RUN,         /* * */
    IGNORE_CODE_DEEP,        /* a whole component: any number of components, also none */
    IGNORE_CODE_CLASS,       /* the first of the rule's sets; the others follow */
};

struct ignore_bytes {
    uint64_t bits[4];
};

static inline bool ignore_bytes_has(const struct ignore_bytes *set, char byte)
{
    unsigned b = (unsigned char)byte;

    return (set->bits[b / 64] >> (b % 64) & 1) != 0;
}

struct ignore_codes {
    uint32_t *codes;
    size_t count;
    struct ignore_bytes *sets;
    size_t set_count;
};

enum ignore_form {
    IGNORE_PLAIN,    /* bytes only */
    IGNORE_ENDING,   /* `*` and bytes, within a component */
    IGNORE_WILDCARD, /* all else */
};

struct ignore_rule {
    struct ignore_codes codes;
    enum ignore_form form;
    bool is_negated;
    bool is_dir_only;
    /* Compared with the name from the file's directory; else with its last component. */
    bool is_anchored;
};

/*
 * Parses a line without its newline; the rule lives in `scratch`. *out_is_rule is false for
 * comments, empty lines and rules that cannot match any name.
 */
int ignore_rule_read(struct arena *scratch, struct str line, struct ignore_rule *out_rule,
                     bool *out_is_rule);

/* The bytes of a plain rule, or those after the `*` of an ending. */
int ignore_rule_text(struct arena *arena, const struct ignore_rule *rule, struct str *out_text);

/* How a component is compared; few need the codes. */
enum ignore_kind {
    IGNORE_KIND_EQUAL,
    IGNORE_KIND_ENDS, /* one `*`, with text around it */
    IGNORE_KIND_CODES,
    IGNORE_KIND_DEEP,
};

struct ignore_component {
    enum ignore_kind kind;
    struct str head; /* before the `*`, or all of it */
    struct str tail;
    const uint32_t *codes;
    size_t code_count;
};

struct ignore_pattern {
    /* First and last bytes of possible matches: these exclude most names. */
    struct ignore_bytes first;
    struct ignore_bytes last;
    const struct ignore_bytes *sets;
    size_t count;
    struct ignore_component components[];
};

int ignore_pattern_new(struct arena *arena, const struct ignore_rule *rule,
                       const struct ignore_pattern **out_pattern);

/* The name must not be empty. */
bool ignore_pattern_matches(const struct ignore_pattern *pattern, struct str name);

#endif
