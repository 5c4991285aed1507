/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two halves of the compiler share: schema/compile.c walks the
 * document, schema/words.c knows the words. Nobody else includes this.
 */
#ifndef BASE_SCHEMA_COMPILE_INTERNAL_H
#define BASE_SCHEMA_COMPILE_INTERNAL_H

#include "base/schema/internal.h"

enum schema_note_state { SCHEMA_NOTE_NEW, SCHEMA_NOTE_OPEN, SCHEMA_NOTE_DONE };

/* What the compiler remembers about a schema it has met, at the schema's number. */
struct schema_note {
    const struct json_value *location;
    struct schema *schema;
    /* The search for loops. */
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
    uint32_t *numbers; /* by place in the document: the schema's number + 1, or 0 */
    size_t steps_left;
    struct err *err;
};

/* One word of a schema; `key` is its name in the document and key + 1 its value. */
typedef int schema_compile_word(struct schema_compiler *c, struct schema *schema,
                                const struct json_value *key, int argument);

struct schema_word {
    struct str name;
    schema_compile_word *compile;
    int argument;
};

/* The word of that name, or NULL when it is not supported. $ref is not among them. */
const struct schema_word *schema_find_word(struct str name);

/*
 * The schema at `location`, now or later: a location is compiled once however
 * often it is referred to, and its rules are filled in when its turn comes, so
 * nesting and references take no stack. An error names the word `blamed`.
 */
int schema_want(struct schema_compiler *c, const struct json_value *location,
                const struct json_value *blamed, const struct schema **out_schema);

/* ERR_SCHEMA_UNSUPPORTED at a word or a schema; the message is its name and `why`. */
int schema_refuse(const struct schema_compiler *c, const struct json_value *at, const char *why);

/* Zeroed. NULL with *out_error when there is no room. */
void *schema_allocate(struct schema_compiler *c, size_t count, size_t size, int *out_error);

#endif
