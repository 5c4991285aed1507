/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks JSON values against a schema: the part of JSON Schema draft 7 that tool arguments need.
 * Compiling refuses keywords outside that part, so that no rule seems to be checked that is not;
 * docs/internals/schema.md has the list.
 *
 * Compile once, check often: a compiled schema is immutable and may be shared by threads. Checking
 * allocates nothing.
 */
#ifndef BASE_SCHEMA_SCHEMA_H
#define BASE_SCHEMA_SCHEMA_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

struct schema;

enum {
    /* JSON values in a schema document. */
    SCHEMA_MAX_VALUES = 1 << 16,
    /* Names in one `required`. */
    SCHEMA_MAX_REQUIRED = 1024,
    /* Limit of the work for resolving all references of a document. */
    SCHEMA_MAX_COMPILE_STEPS = 1 << 24,
    /*
     * Limit of the work for one check. Enough for 16 MiB of the smallest values under a plain
     * schema.
     */
    SCHEMA_MAX_STEPS = 1 << 24,
    /* Nested schemas during a check: 128 KiB of stack, half a worker's. */
    SCHEMA_MAX_NESTING = 256,
};

/*
 * The schema lives in the arena and does not point into the document, which may be freed with its
 * text. ERR_SCHEMA_UNSUPPORTED, for unsupported keywords as well as invalid schemas, has the
 * keyword in the message and the JSON pointer of its place in the field. Others: ERR_TOO_LARGE,
 * ERR_NO_MEMORY.
 */
int schema_compile(struct arena *arena, const struct json_value *document,
                   const struct schema **out_schema, struct err *err);

/*
 * ERR_SCHEMA_MISMATCH has the field as a person writes it, edits[0].oldString, or "" for the value
 * itself, and a message that continues it: "must be a string, not a number". ERR_TOO_LARGE if the
 * limits above are exceeded. Text from the value is cut and made printable.
 */
int schema_check(const struct schema *schema, const struct json_value *value, struct err *err);

/* The same for the arguments of a call, with a whole sentence: "path must be a string". */
int schema_check_arguments(const struct schema *schema, const struct json_value *arguments,
                           struct err *err);

#endif
