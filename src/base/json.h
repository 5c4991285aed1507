/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON: RFC 8259 to the letter, in valid UTF-8, no duplicate keys, no
 * lone surrogates, within limits. Writing is jsonwrite.h, exact arithmetic on
 * numbers decimal.h, validation schema.h.
 *
 * A document is one array of 16-byte values in reading order. A container is
 * followed by what it holds; its span says how many values to step over:
 *
 *     {"a":[1,2],"b":null}   object span 7 | "a" | array span 3 | 1 | 2 | "b" | null
 *
 * Strings without escapes point into the text that was parsed, so that text
 * must live as long as the document. Nothing is terminated by a NUL, and a
 * string may contain one (\u0000).
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,    /* fits an int64_t and was written without fraction or exponent */
    JSON_NUMBER, /* any other number: its text is kept as it was written */
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json_value {
    uint8_t type;
    uint32_t size; /* bytes of text, items of an array, members of an object */
    union {
        int64_t integer;  /* JSON_INT; JSON_BOOL: 0 or 1 */
        const char *text; /* JSON_STRING, JSON_NUMBER */
        size_t span;      /* JSON_ARRAY, JSON_OBJECT: values taken up, itself included */
    };
};

struct json_limits {
    size_t max_bytes; /* at most JSON_MAX_BYTES */
    unsigned max_depth;
};

/* Sizes are kept in 32 bits. */
#define JSON_MAX_BYTES ((size_t)UINT32_MAX - 64)

enum {
    JSON_DEFAULT_MAX_BYTES = 16 << 20,
    JSON_DEFAULT_MAX_DEPTH = 64,
    JSON_LARGEST_MAX_DEPTH = 512,
};
#define JSON_LIMITS_DEFAULT ((struct json_limits){JSON_DEFAULT_MAX_BYTES, JSON_DEFAULT_MAX_DEPTH})

/*
 * Reads one document. Errors: ERR_INVALID_JSON, ERR_INVALID_UTF8,
 * ERR_JSON_DEPTH, ERR_JSON_DUPLICATE_KEY, ERR_TOO_LARGE (text or arena),
 * ERR_NO_MEMORY; the message says line and column.
 */
int json_parse(struct arena *arena, struct str text, struct json_limits limits,
               const struct json_value **out_document, struct err *err);

static inline size_t json_span(const struct json_value *value)
{
    return value->type >= JSON_ARRAY ? value->span : 1;
}

/* The value behind this one and all it holds. */
static inline const struct json_value *json_next(const struct json_value *value)
{
    return value + json_span(value);
}

/* Items in order; no turn for anything but an array. */
#define json_each_item(item, array)                                                                \
    for (const struct json_value *                                                                 \
             item = (array) + 1,                                                                   \
            *item##_end = (array) + ((array)->type == JSON_ARRAY ? (array)->span : 1);             \
         item != item##_end; item = json_next(item))

/* Members in order; the value of `key` is key + 1. No turn for anything but an object. */
#define json_each_member(key, object)                                                              \
    for (const struct json_value *                                                                 \
             key = (object) + 1,                                                                   \
            *key##_end = (object) + ((object)->type == JSON_OBJECT ? (object)->span : 1);          \
         key != key##_end; key = json_next(key + 1))

/* The text of a string or of a kept number. */
static inline struct str json_str(const struct json_value *value)
{
    return (struct str){value->text, value->size};
}

/* The member's value; NULL when there is none or when this is no object. */
const struct json_value *json_get(const struct json_value *object, struct str key);

/* A member of the wanted type. False when missing or of another type; the output then stays. */
bool json_get_str(const struct json_value *object, struct str key, struct str *out_text);
bool json_get_int(const struct json_value *object, struct str key, int64_t *out_number);
bool json_get_bool(const struct json_value *object, struct str key, bool *out_is_true);

/* A number that a schema calls an integer: 3, 3.0 and 3e0 alike, clamped to an int64_t. */
bool json_get_whole(const struct json_value *object, struct str key, int64_t *out_number);

/* The value and all it holds, with its texts, in memory of the arena. NULL: see arena->error. */
const struct json_value *json_copy(struct arena *arena, const struct json_value *value);

/* The same value: objects in any order, numbers by what they are worth. */
bool json_eq(const struct json_value *a, const struct json_value *b);

/* "string", "integer", … as a schema calls them; JSON_NUMBER is "number". */
const char *json_type_name(enum json_type type);

#endif
