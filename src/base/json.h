/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses JSON: strict RFC 8259, in valid UTF-8, no duplicate keys, no lone surrogates, within
 * limits. jsonwrite.h writes, decimal.h does exact arithmetic on numbers, schema.h validates.
 *
 * A document is one array of 16-byte values in document order. A container is followed by its
 * content; its span says how many values to skip:
 *
 *     {"a":[1,2],"b":null}   object span 7 | "a" | array span 3 | 1 | 2 | "b" | null
 *
 * Strings without escapes point into the parsed text, which must therefore outlive the document.
 * Nothing is NUL-terminated, and a string may contain a NUL (\u0000).
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
    JSON_NUMBER, /* any other number: its text is kept as written */
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
        size_t span;      /* JSON_ARRAY, JSON_OBJECT: number of values, including itself */
    };
};

struct json_limits {
    size_t max_bytes; /* at most JSON_MAX_BYTES */
    unsigned max_depth;
};

/* Sizes are stored in 32 bits. */
#define JSON_MAX_BYTES ((size_t)UINT32_MAX - 64)

enum {
    JSON_DEFAULT_MAX_BYTES = 16 << 20,
    JSON_DEFAULT_MAX_DEPTH = 64,
    JSON_LARGEST_MAX_DEPTH = 512,
};
#define JSON_LIMITS_DEFAULT ((struct json_limits){JSON_DEFAULT_MAX_BYTES, JSON_DEFAULT_MAX_DEPTH})

/*
 * Parses one document. Errors: ERR_INVALID_JSON, ERR_INVALID_UTF8, ERR_JSON_DEPTH,
 * ERR_JSON_DUPLICATE_KEY, ERR_TOO_LARGE (text or arena), ERR_NO_MEMORY; the message has line and
 * column.
 */
int json_parse(struct arena *arena, struct str text, struct json_limits limits,
               const struct json_value **out_document, struct err *err);

/*
 * The same, except that a lone surrogate (half a character, as in "\ud83d") becomes U+FFFD. For
 * senders that cut texts anywhere and cannot be told.
 */
int json_parse_mended(struct arena *arena, struct str text, struct json_limits limits,
                      const struct json_value **out_document, struct err *err);

static inline size_t json_span(const struct json_value *value)
{
    return value->type >= JSON_ARRAY ? value->span : 1;
}

/* The value after this one and its content. */
static inline const struct json_value *json_next(const struct json_value *value)
{
    return value + json_span(value);
}

/* Iterates over items in order; does nothing for anything but an array. */
#define json_each_item(item, array)                                                                \
    for (const struct json_value *                                                                 \
             item = (array) + 1,                                                                   \
            *item##_end = (array) + ((array)->type == JSON_ARRAY ? (array)->span : 1);             \
         item != item##_end; item = json_next(item))

/*
 * Iterates over members in order; the value of `key` is key + 1. Does nothing for anything but an
 * object.
 */
#define json_each_member(key, object)                                                              \
    for (const struct json_value *                                                                 \
             key = (object) + 1,                                                                   \
            *key##_end = (object) + ((object)->type == JSON_OBJECT ? (object)->span : 1);          \
         key != key##_end; key = json_next(key + 1))

/* The text of a string or of a JSON_NUMBER. */
static inline struct str json_str(const struct json_value *value)
{
    return (struct str){value->text, value->size};
}

/* The member's value; NULL if there is none or this is not an object. */
const struct json_value *json_get(const struct json_value *object, struct str key);

/*
 * A member of the wanted type. False if missing or of another type; the output is then unchanged.
 */
bool json_get_str(const struct json_value *object, struct str key, struct str *out_text);
bool json_get_int(const struct json_value *object, struct str key, int64_t *out_number);
bool json_get_bool(const struct json_value *object, struct str key, bool *out_is_true);

/* A number that a schema calls an integer: 3, 3.0 and 3e0 alike, clamped to an int64_t. */
bool json_get_whole(const struct json_value *object, struct str key, int64_t *out_number);

/* Copies the value with its content and texts into the arena. NULL: see arena->error. */
const struct json_value *json_copy(struct arena *arena, const struct json_value *value);

/* Whether the values are equal: objects in any order, numbers by value. */
bool json_eq(const struct json_value *a, const struct json_value *b);

/* "string", "integer", … as a schema calls them; JSON_NUMBER is "number". */
const char *json_type_name(enum json_type type);

#endif
