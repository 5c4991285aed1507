/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the two halves of a check: schema/check.c has the rules, schema/forms.c the keywords
 * that try several schemas on one value and must then choose the most helpful complaint. Internal
 * to these.
 */
#ifndef BASE_SCHEMA_CHECK_INTERNAL_H
#define BASE_SCHEMA_CHECK_INTERNAL_H

#include "base/schema/internal.h"

/*
 * For what a check does besides recursing: keeps its frame off the recursion's stack, since
 * SCHEMA_MAX_NESTING levels share a small one.
 */
#define SCHEMA_ASIDE __attribute__((noinline))

/* The violated rule, as far as it matters for choosing the most helpful of several complaints. */
enum schema_rule {
    SCHEMA_RULE_TYPE,
    SCHEMA_RULE_TAG,      /* a field with one allowed value, which distinguishes forms */
    SCHEMA_RULE_FORM,     /* none of several forms */
    SCHEMA_RULE_REQUIRED, /* a missing field */
    SCHEMA_RULE_OTHER,
};

/* Position of the check: a chain on the stack, innermost first; NULL is the value itself. */
struct schema_path {
    const struct schema_path *outer;
    struct str name; /* ptr NULL: an array item */
    size_t index;
    unsigned depth;
};

struct schema_failure {
    enum schema_rule rule;
    unsigned depth;  /* of the value it is about: a missing field or a tag is about its object */
    uint8_t types;   /* SCHEMA_RULE_TYPE: the types that would fit */
    struct str name; /* SCHEMA_RULE_TAG, SCHEMA_RULE_REQUIRED: the field */
    const struct schema *schema;
    const struct json_value *value;
};

struct schema_checking {
    size_t steps_left;
    unsigned nesting;
    /* Trying a form: only `failure` is kept, no text is written. */
    bool is_silent;
    struct schema_failure failure;
    struct err *err;
    /* The choices in a message, leaving room for its beginning. */
    char list[ERR_MESSAGE_BYTES - 48];
};

static inline unsigned schema_depth_of(const struct schema_path *path)
{
    return path != NULL ? path->depth : 0;
}

static inline struct schema_path schema_path_to_name(const struct schema_path *outer,
                                                     struct str name)
{
    return (struct schema_path){.outer = outer, .name = name, .depth = schema_depth_of(outer) + 1};
}

static inline struct schema_failure schema_other_failure(const struct schema_path *path,
                                                         const struct json_value *value)
{
    return (struct schema_failure){
        .rule = SCHEMA_RULE_OTHER, .depth = schema_depth_of(path), .value = value};
}

/* Check the value against one schema; the recursion is behind these two. */
int schema_check_value(struct schema_checking *c, const struct schema *schema,
                       const struct json_value *value, const struct schema_path *path);
int schema_check_combined(struct schema_checking *c, const struct schema_list *forms,
                          const struct json_value *value, const struct schema_path *path);

/*
 * ERR_SCHEMA_MISMATCH. Keeps the failure for a caller that tries forms; writes a message only if
 * needed.
 */
int schema_complain(struct schema_checking *c, struct schema_failure failure,
                    const struct schema_path *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with SCHEMA_RULE_OTHER about this value. */
int schema_complain_of_value(struct schema_checking *c, const struct json_value *value,
                             const struct schema_path *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int schema_complain_of_type(struct schema_checking *c, uint8_t types,
                            const struct json_value *value, const struct schema_path *path);

/* Whether const and enum are satisfied: 1, 0, or an error. */
int schema_fits_literals(struct schema_checking *c, const struct schema *schema,
                         const struct json_value *value, const struct schema_path *path);

/* Adds what const or enum allow to a list. */
void schema_list_literals(const struct schema *schema, struct schema_text *list);

/* The field for a member, or NULL if the schema does not name it. Counts as work. */
int schema_find_member(struct schema_checking *c, const struct schema_object *object,
                       const struct json_value *key, const struct schema_path *path,
                       const struct schema_field **out_field);

#endif
