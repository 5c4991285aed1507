/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What schema/compile.c produces and schema/check.c reads, and the text that both put into errors.
 * Internal to these.
 */
#ifndef BASE_SCHEMA_INTERNAL_H
#define BASE_SCHEMA_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/schema/schema.h"

/*
 * Types are bits, 1 << enum json_type. "number" is both number bits, "integer" only the JSON_INT
 * bit, and then a JSON_NUMBER without a fraction fits too.
 */
#define SCHEMA_TYPE(type) ((uint8_t)(1U << (type)))
#define SCHEMA_ANY_TYPE   ((uint8_t)((1U << (JSON_OBJECT + 1)) - 1))

/* What minLength, minItems and their opposites count. */
enum schema_count {
    SCHEMA_CHARACTERS,
    SCHEMA_ITEMS,
    SCHEMA_COUNTS,
};

struct schema_bounds {
    uint64_t min;
    uint64_t max;
};

enum schema_limit {
    SCHEMA_MINIMUM,
    SCHEMA_MAXIMUM,
    SCHEMA_LIMITS,
};

enum { SCHEMA_NOT_REQUIRED = -1 };

/* A name in `properties`, in `required` or in both. */
struct schema_field {
    struct str name;
    const struct schema *schema; /* NULL when only required */
    int required_index;          /* its index in `required`, or SCHEMA_NOT_REQUIRED */
};

struct schema_object {
    struct schema_field *fields; /* sorted by name */
    size_t field_count;
    struct str *required; /* in the order of the document */
    size_t required_count;
    const struct schema *additional; /* NULL: anything */
};

enum schema_form {
    SCHEMA_ALL_OF,
    SCHEMA_ANY_OF,
    SCHEMA_ONE_OF,
    SCHEMA_NOT, /* a list of one */
    SCHEMA_FORMS,
};

struct schema_list {
    const struct schema **schemas;
    size_t count;
};

/* NULL if the document has no such rule. */
struct schema {
    const struct schema *ref;          /* then nothing else counts; its target has no ref */
    const struct json_value *constant; /* const */
    const struct json_value *options;  /* enum, an array */
    struct schema_bounds *bounds;      /* SCHEMA_COUNTS of them */
    const struct json_value **limits;  /* SCHEMA_LIMITS of them, each may be NULL */
    const struct schema *items;
    struct schema_object *object;
    struct schema_list *forms; /* SCHEMA_FORMS of them */
    uint32_t number;           /* in order of compilation, for the compiler's notes */
    uint8_t types;             /* 0: nothing fits, as for the schema `false` */
};

static inline const struct schema *schema_target(const struct schema *schema)
{
    return schema->ref != NULL ? schema->ref : schema;
}

/* The field of that name, or NULL. */
const struct schema_field *schema_find_field(const struct schema_object *object, struct str name);

/*
 * Text for an error, in a buffer of fixed size, always terminated and never with half a character.
 * A piece that does not fit whole is omitted.
 */
struct schema_text {
    char *bytes;
    size_t size;
    size_t len;
};

void schema_text_init(struct schema_text *text, char *bytes, size_t size);

/* False if it does not fit; the text is then unchanged. */
bool schema_text_add(struct schema_text *text, struct str piece);

enum { SCHEMA_TEXT_PIECE_BYTES = 64 };

/* Adds untrusted text, made printable; beyond max_bytes, at most the above, it becomes "...". */
void schema_text_add_printable(struct schema_text *text, struct str piece, size_t max_bytes);
void schema_text_add_quoted(struct schema_text *text, struct str piece, size_t max_bytes);

/*
 * Whether it is printable, without blanks and characters that have a meaning in edits[0].oldString.
 */
bool schema_text_is_plain(struct str piece);

/*
 * Adds an item to a comma-separated list: a string without quotes if that is clear. "..." when
 * full.
 */
void schema_text_add_choice(struct schema_text *text, const struct json_value *literal);
void schema_text_add_choice_name(struct schema_text *text, struct str name);

/* Adds it as JSON, containers only indicated. */
void schema_text_add_literal(struct schema_text *text, const struct json_value *literal);

#endif
