/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the two halves of the compiler: schema/compile.c walks the document, schema/words.c
 * knows the keywords. Internal to these.
 */
#ifndef BASE_SCHEMA_COMPILE_INTERNAL_H
#define BASE_SCHEMA_COMPILE_INTERNAL_H

#include "base/schema/internal.h"

enum schema_note_state { SCHEMA_NOTE_NEW, SCHEMA_NOTE_OPEN, SCHEMA_NOTE_DONE };

/* The compiler's data about a schema, at the schema's number. */
struct schema_note {
    const struct json_value *location;
    struct schema *schema;
    /* For finding loops. */
    size_t next_edge;
    uint32_t came_from;
    enum schema_note_state state;
};

struct schema_compiler {
    struct arena *arena;
    const struct json_value *document;
    struct schema_note *notes; /* also the queue: the first compiled_count have their rules */
    size_t note_count;
    size_t compiled_count;
    uint32_t *numbers; /* by position in the document: the schema's number + 1, or 0 */
    size_t steps_left;
    struct err *err;
};

/* Compiles one keyword of a schema; `key` is its name in the document and key + 1 its value. */
typedef int schema_compile_word(struct schema_compiler *c, struct schema *schema,
                                const struct json_value *key, int argument);

struct schema_word {
    struct str name;
    schema_compile_word *compile;
    int argument;
};

/* The keyword of that name, or NULL if it is not supported. $ref is not among them. */
const struct schema_word *schema_find_word(struct str name);

/*
 * The schema at `location`, compiled now or later: each location is compiled once, however often it
 * is referred to, and its rules are filled in when its turn comes, so that nesting and references
 * need no stack. An error names the keyword `blamed`.
 */
int schema_want(struct schema_compiler *c, const struct json_value *location,
                const struct json_value *blamed, const struct schema **out_schema);

/* ERR_SCHEMA_UNSUPPORTED at a keyword or a schema; the message is its name and `why`. */
int schema_refuse(const struct schema_compiler *c, const struct json_value *at, const char *why);

/* Zeroed. NULL with *out_error when there is no room. */
void *schema_allocate(struct schema_compiler *c, size_t count, size_t size, int *out_error);

#endif
