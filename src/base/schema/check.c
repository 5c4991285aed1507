/* SPDX-License-Identifier: Apache-2.0 */
#include "base/schema/schema.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/decimal.h"
#include "base/schema/check_internal.h"
#include "base/utf8.h"

enum {
    /* Comparing this much text as a whole is about as much work as one rule. */
    COMPARED_BYTES_A_STEP = 32,
    /* The same for text that is read byte by byte, or compared until its place is found. */
    READ_BYTES_A_STEP = 8,
    /* Of one name inside a field. */
    NAME_BYTES = 48,
    PART_BYTES = 64,
};

static struct schema_path path_to_item(const struct schema_path *outer, size_t index)
{
    return (struct schema_path){
        .outer = outer, .index = index, .depth = schema_depth_of(outer) + 1};
}

static void print_part(const struct schema_path *path, struct schema_text *text)
{
    char index[24];

    if (path->name.ptr == NULL) {
        snprintf(index, sizeof(index), "[%zu]", path->index);
        schema_text_add(text, str_from(index));
    } else if (schema_text_is_plain(path->name)) {
        if (path->outer != NULL)
            schema_text_add(text, STR("."));
        schema_text_add_printable(text, path->name, NAME_BYTES);
    } else {
        schema_text_add(text, STR("["));
        schema_text_add_quoted(text, path->name, NAME_BYTES);
        schema_text_add(text, STR("]"));
    }
}

/* From the end to the front: if it does not fit, the beginning is dropped, which says least. */
static const char *print_path(const struct schema_path *path, char room[ERR_FIELD_BYTES])
{
    static const struct str more = STR_LITERAL("...");
    size_t start = ERR_FIELD_BYTES - 1;

    room[start] = '\0';
    for (; path != NULL; path = path->outer) {
        char bytes[PART_BYTES];
        struct schema_text part;

        schema_text_init(&part, bytes, sizeof(bytes));
        print_part(path, &part);
        if (part.len + more.len > start) {
            start -= more.len;
            memcpy(room + start, more.ptr, more.len);
            break;
        }
        start -= part.len;
        memcpy(room + start, part.bytes, part.len);
    }
    return room + start;
}

/* Separate from schema_complain(), so that trying forms does not pay for its stack. */
static int SCHEMA_ASIDE __attribute__((format(printf, 3, 0)))
report(struct schema_checking *c, const struct schema_path *path, const char *format, va_list args)
{
    char field[ERR_FIELD_BYTES];
    char message[ERR_MESSAGE_BYTES];

    vsnprintf(message, sizeof(message), format, args);
    return err_set_field(c->err, ERR_SCHEMA_MISMATCH, print_path(path, field), "%s", message);
}

int schema_complain(struct schema_checking *c, struct schema_failure failure,
                    const struct schema_path *path, const char *format, ...)
{
    va_list args;

    c->failure = failure;
    if (c->is_silent)
        return ERR_SCHEMA_MISMATCH;
    va_start(args, format);
    report(c, path, format, args);
    va_end(args);
    return ERR_SCHEMA_MISMATCH;
}

int schema_complain_of_value(struct schema_checking *c, const struct json_value *value,
                             const struct schema_path *path, const char *format, ...)
{
    va_list args;

    c->failure = schema_other_failure(path, value);
    if (c->is_silent)
        return ERR_SCHEMA_MISMATCH;
    va_start(args, format);
    report(c, path, format, args);
    va_end(args);
    return ERR_SCHEMA_MISMATCH;
}

static int SCHEMA_ASIDE too_large(struct schema_checking *c, const struct schema_path *path,
                                  const char *why)
{
    char field[ERR_FIELD_BYTES];

    return err_set_field(c->err, ERR_TOO_LARGE, print_path(path, field), "%s", why);
}

static inline int spend(struct schema_checking *c, size_t steps, const struct schema_path *path)
{
    if (steps > c->steps_left)
        return too_large(c, path, "is too complex to check");
    c->steps_left -= steps;
    return 0;
}

/* Cost of looking at one value, without its content. */
static size_t text_steps(const struct json_value *value)
{
    if (value->type == JSON_NUMBER)
        return 1 + value->size / READ_BYTES_A_STEP;
    return 1 + (value->type == JSON_STRING ? value->size / COMPARED_BYTES_A_STEP : 0);
}

/* Cost of comparing this value and its content with another, for this side. */
static int spend_on_value(struct schema_checking *c, const struct json_value *value,
                          const struct schema_path *path)
{
    for (size_t i = 0; i < json_span(value); i++) {
        int r = spend(c, text_steps(&value[i]), path);

        /* json_eq may look each member up by walking half of the other object. */
        json_each_member (key, &value[i]) {
            if (r == 0)
                r = spend(c, text_steps(key) * (value[i].size / 2), path);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static bool is_number(const struct json_value *value)
{
    return value->type == JSON_INT || value->type == JSON_NUMBER;
}

/* 1 for the same value, 0 for another, or an error. */
static int is_literal(struct schema_checking *c, const struct json_value *literal,
                      const struct json_value *value, const struct schema_path *path)
{
    /* Equal containers take up the same number of values, equal strings the same bytes. */
    bool may_be_equal = is_number(value)
                            ? is_number(literal)
                            : literal->type == value->type && literal->size == value->size &&
                                  json_span(literal) == json_span(value);
    int r = spend(c, 1, path);

    if (r == 0 && may_be_equal)
        r = spend_on_value(c, value, path);
    /* Numbers that differ in length may still be equal, and each is read to its end. */
    if (r == 0 && may_be_equal)
        r = spend_on_value(c, literal, path);
    if (r < 0)
        return r;
    return may_be_equal && json_eq(literal, value);
}

int schema_fits_literals(struct schema_checking *c, const struct schema *schema,
                         const struct json_value *value, const struct schema_path *path)
{
    int r = 1;

    if (schema->constant != NULL)
        r = is_literal(c, schema->constant, value, path);
    if (r <= 0 || schema->options == NULL)
        return r;
    json_each_item (option, schema->options) {
        r = is_literal(c, option, value, path);
        if (r != 0)
            return r;
    }
    return 0;
}

void schema_list_literals(const struct schema *schema, struct schema_text *list)
{
    if (schema->constant != NULL) {
        schema_text_add_choice(list, schema->constant);
        return;
    }
    json_each_item (option, schema->options)
        schema_text_add_choice(list, option);
}

static int complain_of_literals(struct schema_checking *c, const struct schema *schema,
                                struct schema_failure failure, const struct schema_path *path)
{
    struct schema_text list;

    if (c->is_silent)
        return schema_complain(c, failure, path, "%s", "");
    schema_text_init(&list, c->list, sizeof(c->list));
    if (schema->constant == NULL) {
        schema_list_literals(schema, &list);
        return schema_complain(c, failure, path, "must be one of: %s", list.bytes);
    }
    if (schema->constant->type >= JSON_ARRAY)
        return schema_complain(c, failure, path, "is not the only allowed value");
    schema_text_add_literal(&list, schema->constant);
    return schema_complain(c, failure, path, "must be %s", list.bytes);
}

static int SCHEMA_ASIDE check_literals(struct schema_checking *c, const struct schema *schema,
                                       const struct json_value *value,
                                       const struct schema_path *path)
{
    int r = schema_fits_literals(c, schema, value, path);

    if (r != 0)
        return r < 0 ? r : 0;
    return complain_of_literals(c, schema, schema_other_failure(path, value), path);
}

static bool fits_type(uint8_t types, const struct json_value *value)
{
    if ((types & SCHEMA_TYPE(value->type)) != 0)
        return true;
    return value->type == JSON_NUMBER && (types & SCHEMA_TYPE(JSON_INT)) != 0 &&
           decimal_is_integer(value);
}

/* "a string, an array or null" */
static void list_types(uint8_t types, struct schema_text *list)
{
    static const struct str names[] = {
        [JSON_NULL] = STR_LITERAL("null"),        [JSON_BOOL] = STR_LITERAL("a boolean"),
        [JSON_INT] = STR_LITERAL("an integer"),   [JSON_NUMBER] = STR_LITERAL("a number"),
        [JSON_STRING] = STR_LITERAL("a string"),  [JSON_ARRAY] = STR_LITERAL("an array"),
        [JSON_OBJECT] = STR_LITERAL("an object"),
    };

    if ((types & SCHEMA_TYPE(JSON_NUMBER)) != 0)
        types = (uint8_t)(types & ~SCHEMA_TYPE(JSON_INT));
    /* From behind: null reads best at the end. */
    for (int type = JSON_OBJECT; type >= JSON_NULL; type--) {
        if ((types & SCHEMA_TYPE(type)) == 0)
            continue;
        types = (uint8_t)(types & ~SCHEMA_TYPE(type));
        if (list->len > 0)
            schema_text_add(list, types != 0 ? STR(", ") : STR(" or "));
        schema_text_add(list, names[type]);
    }
}

int schema_complain_of_type(struct schema_checking *c, uint8_t types,
                            const struct json_value *value, const struct schema_path *path)
{
    static const char *const nouns[] = {
        [JSON_NULL] = "null",        [JSON_BOOL] = "a boolean",  [JSON_INT] = "a number",
        [JSON_NUMBER] = "a number",  [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
        [JSON_OBJECT] = "an object",
    };
    struct schema_failure failure = {
        .rule = SCHEMA_RULE_TYPE, .depth = schema_depth_of(path), .types = types, .value = value};
    struct schema_text list;
    const char *noun = nouns[value->type];

    if (types == 0)
        return schema_complain(c, failure, path, "is not allowed");
    schema_text_init(&list, c->list, sizeof(c->list));
    if (!c->is_silent)
        list_types(types, &list);
    if (value->type == JSON_NUMBER && (types & SCHEMA_TYPE(JSON_INT)) != 0)
        noun = "a number with a fraction";
    return schema_complain(c, failure, path, "must be %s, not %s", list.bytes, noun);
}

static int SCHEMA_ASIDE check_bounds(struct schema_checking *c, const struct schema *schema,
                                     enum schema_count what, uint64_t count,
                                     const struct json_value *value, const struct schema_path *path)
{
    static const char *const nouns[] = {
        [SCHEMA_CHARACTERS] = "character",
        [SCHEMA_ITEMS] = "item",
    };
    const struct schema_bounds *bounds;
    uint64_t bound;
    bool is_short;

    if (schema->bounds == NULL)
        return 0;
    bounds = &schema->bounds[what];
    is_short = count < bounds->min;
    if (!is_short && count <= bounds->max)
        return 0;
    bound = is_short ? bounds->min : bounds->max;
    return schema_complain_of_value(c, value, path, "must have at %s %llu %s%s",
                                    is_short ? "least" : "most", (unsigned long long)bound,
                                    nouns[what], bound == 1 ? "" : "s");
}

static int SCHEMA_ASIDE check_string(struct schema_checking *c, const struct schema *schema,
                                     const struct json_value *value, const struct schema_path *path)
{
    int r;

    if (schema->bounds == NULL)
        return 0;
    r = spend(c, value->size / READ_BYTES_A_STEP, path);
    if (r < 0)
        return r;
    return check_bounds(c, schema, SCHEMA_CHARACTERS, utf8_count(json_str(value)), value, path);
}

static int SCHEMA_ASIDE check_number(struct schema_checking *c, const struct schema *schema,
                                     const struct json_value *value, const struct schema_path *path)
{
    static const char *const words[] = {
        [SCHEMA_MINIMUM] = "at least",
        [SCHEMA_MAXIMUM] = "at most",
    };

    for (size_t i = 0; schema->limits != NULL && i < SCHEMA_LIMITS; i++) {
        const struct json_value *limit = schema->limits[i];
        struct schema_text text;
        int order;
        int r;

        if (limit == NULL)
            continue;
        r = spend(c, text_steps(value) + text_steps(limit), path);
        if (r < 0)
            return r;
        order = decimal_compare(value, limit);
        if (i == SCHEMA_MINIMUM ? order >= 0 : order <= 0)
            continue;
        schema_text_init(&text, c->list, sizeof(c->list));
        if (!c->is_silent)
            schema_text_add_literal(&text, limit);
        return schema_complain_of_value(c, value, path, "must be %s %s", words[i], text.bytes);
    }
    return 0;
}

static int check_array(struct schema_checking *c, const struct schema *schema,
                       const struct json_value *value, const struct schema_path *path)
{
    size_t index = 0;
    int r = check_bounds(c, schema, SCHEMA_ITEMS, value->size, value, path);

    if (r < 0 || schema->items == NULL)
        return r;
    json_each_item (item, value) {
        struct schema_path inner = path_to_item(path, index++);

        r = schema_check_value(c, schema->items, item, &inner);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool is_tag(const struct schema *schema)
{
    return schema->constant != NULL || (schema->options != NULL && schema->options->size == 1);
}

int schema_find_member(struct schema_checking *c, const struct schema_object *object,
                       const struct json_value *key, const struct schema_path *path,
                       const struct schema_field **out_field)
{
    int r = spend(c, 1 + key->size / READ_BYTES_A_STEP, path);

    if (r < 0)
        return r;
    *out_field = object->field_count > 0 ? schema_find_field(object, json_str(key)) : NULL;
    return 0;
}

static int check_tag(struct schema_checking *c, const struct schema *schema,
                     const struct json_value *key, const struct schema_path *path)
{
    struct schema_path inner = schema_path_to_name(path, json_str(key));
    int r = schema_fits_literals(c, schema, key + 1, &inner);

    if (r != 0)
        return r < 0 ? r : 0;
    return complain_of_literals(c, schema,
                                (struct schema_failure){.rule = SCHEMA_RULE_TAG,
                                                        .depth = schema_depth_of(path),
                                                        .name = inner.name,
                                                        .schema = schema,
                                                        .value = key + 1},
                                &inner);
}

/*
 * Checks that all required fields are there, and that the fields that tell forms apart fit. Before
 * descending: a form that is not meant is left at once, so that nested forms stay cheap.
 */
static int SCHEMA_ASIDE check_required(struct schema_checking *c,
                                       const struct schema_object *object,
                                       const struct json_value *value,
                                       const struct schema_path *path)
{
    uint64_t seen[SCHEMA_MAX_REQUIRED / 64] = {0};
    size_t seen_count = 0;
    struct schema_path missing;
    size_t i = 0;
    int r;

    json_each_member (key, value) {
        const struct schema_field *field;

        r = schema_find_member(c, object, key, path, &field);
        if (r < 0)
            return r;
        if (field == NULL)
            continue;
        if (field->required_index != SCHEMA_NOT_REQUIRED) {
            size_t index = (size_t)field->required_index;

            seen[index / 64] |= UINT64_C(1) << index % 64;
            seen_count++;
        }
        if (field->schema != NULL && is_tag(schema_target(field->schema))) {
            r = check_tag(c, schema_target(field->schema), key, path);
            if (r < 0)
                return r;
        }
    }
    if (seen_count == object->required_count)
        return 0;
    while ((seen[i / 64] >> i % 64 & 1) != 0)
        i++;
    missing = schema_path_to_name(path, object->required[i]);
    /* Trying forms compares their failures, and so their names. */
    r = spend(c, missing.name.len / COMPARED_BYTES_A_STEP, path);
    if (r < 0)
        return r;
    return schema_complain(c,
                           (struct schema_failure){.rule = SCHEMA_RULE_REQUIRED,
                                                   .depth = schema_depth_of(path),
                                                   .name = missing.name,
                                                   .value = value},
                           &missing, "is required");
}

static int SCHEMA_ASIDE complain_of_name(struct schema_checking *c, const struct json_value *key,
                                         const struct schema_path *path)
{
    struct schema_path inner = schema_path_to_name(path, json_str(key));

    return schema_complain(c, schema_other_failure(path, key), &inner, "is not a known field");
}

static int check_member(struct schema_checking *c, const struct schema_object *object,
                        const struct json_value *key, const struct schema_path *path)
{
    const struct schema_field *field;
    const struct schema *schema;
    struct schema_path inner = schema_path_to_name(path, json_str(key));
    int r = schema_find_member(c, object, key, path, &field);

    if (r < 0)
        return r;
    schema = field != NULL && field->schema != NULL ? field->schema : object->additional;
    if (schema == NULL)
        return 0;
    if (schema == object->additional && schema_target(schema)->types == 0)
        return complain_of_name(c, key, path);
    return schema_check_value(c, schema, key + 1, &inner);
}

static int check_object(struct schema_checking *c, const struct schema *schema,
                        const struct json_value *value, const struct schema_path *path)
{
    const struct schema_object *object = schema->object;
    int r;

    if (object == NULL)
        return 0;
    if (object->field_count > 0) {
        r = check_required(c, object, value, path);
        if (r < 0)
            return r;
    }
    json_each_member (key, value) {
        r = check_member(c, object, key, path);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_by_type(struct schema_checking *c, const struct schema *schema,
                         const struct json_value *value, const struct schema_path *path)
{
    switch ((enum json_type)value->type) {
    case JSON_STRING:
        return check_string(c, schema, value, path);
    case JSON_INT:
    case JSON_NUMBER:
        return check_number(c, schema, value, path);
    case JSON_ARRAY:
        return check_array(c, schema, value, path);
    case JSON_OBJECT:
        return check_object(c, schema, value, path);
    case JSON_NULL:
    case JSON_BOOL:
        break;
    }
    return 0;
}

static int check_rules(struct schema_checking *c, const struct schema *schema,
                       const struct json_value *value, const struct schema_path *path)
{
    int r = spend(c, value->type == JSON_NUMBER ? text_steps(value) : 1, path);

    if (r < 0)
        return r;
    if (!fits_type(schema->types, value))
        return schema_complain_of_type(c, schema->types, value, path);
    if (schema->constant != NULL || schema->options != NULL) {
        r = check_literals(c, schema, value, path);
        if (r < 0)
            return r;
    }
    r = check_by_type(c, schema, value, path);
    if (r < 0 || schema->forms == NULL)
        return r;
    return schema_check_combined(c, schema->forms, value, path);
}

int schema_check_value(struct schema_checking *c, const struct schema *schema,
                       const struct json_value *value, const struct schema_path *path)
{
    int r;

    if (c->nesting == SCHEMA_MAX_NESTING)
        return too_large(c, path, "is nested too deeply to check");
    c->nesting++;
    r = check_rules(c, schema_target(schema), value, path);
    c->nesting--;
    return r;
}

int schema_check(const struct schema *schema, const struct json_value *value, struct err *err)
{
    struct schema_checking c = {
        .steps_left = SCHEMA_MAX_STEPS,
        /* Without words to fill in, the verdict is all that is wanted. */
        .is_silent = err == NULL,
        .err = err,
    };

    return schema_check_value(&c, schema, value, NULL);
}

int schema_check_arguments(const struct schema *schema, const struct json_value *arguments,
                           struct err *err)
{
    struct err why = ERR_INIT;
    int r = schema_check(schema, arguments, &why);

    if (r < 0)
        return err_set_field(err, r, why.field, "%s %s",
                             why.field[0] != '\0' ? why.field : "the arguments",
                             why.code != 0 ? why.message : err_text(r));
    return 0;
}
