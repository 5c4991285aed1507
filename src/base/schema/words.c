/* SPDX-License-Identifier: Apache-2.0 */
/* The keywords of a schema, each with its effect on the compiled one. */
#include "base/schema/compile_internal.h"

#include <stdlib.h>

#include "base/cleanup.h"

static int copy_text(struct schema_compiler *c, struct str text, struct str *out_copy)
{
    int r = 0;
    char *bytes = schema_allocate(c, text.len, 1, &r);

    if (bytes == NULL)
        return r;
    if (text.len > 0)
        memcpy(bytes, text.ptr, text.len);
    *out_copy = (struct str){bytes, text.len};
    return 0;
}

static int copy_value(struct schema_compiler *c, const struct json_value *value,
                      const struct json_value **out_copy)
{
    size_t span = json_span(value);
    int r = 0;
    struct json_value *copy = schema_allocate(c, span, sizeof(*copy), &r);

    if (copy == NULL)
        return r;
    memcpy(copy, value, span * sizeof(*copy));
    for (size_t i = 0; i < span; i++) {
        struct str text = STR_EMPTY;

        if (copy[i].type != JSON_STRING && copy[i].type != JSON_NUMBER)
            continue;
        r = copy_text(c, json_str(&copy[i]), &text);
        if (r < 0)
            return r;
        copy[i].text = text.ptr;
    }
    *out_copy = copy;
    return 0;
}

static int ignore_word(struct schema_compiler *c, struct schema *schema,
                       const struct json_value *key, int argument)
{
    (void)c;
    (void)schema;
    (void)key;
    (void)argument;
    return 0;
}

/* Below the top, $id would change the meaning of references. */
static int compile_id(struct schema_compiler *c, struct schema *schema,
                      const struct json_value *key, int argument)
{
    (void)argument;
    if (schema->number != 0)
        return schema_refuse(c, key, "is supported only at the top of a schema");
    if (key[1].type != JSON_STRING)
        return schema_refuse(c, key, "must be a string");
    return 0;
}

static bool add_type(struct schema *schema, const struct json_value *name)
{
    static const struct {
        struct str name;
        uint8_t types;
    } types[] = {
        {STR_LITERAL("null"), SCHEMA_TYPE(JSON_NULL)},
        {STR_LITERAL("boolean"), SCHEMA_TYPE(JSON_BOOL)},
        {STR_LITERAL("integer"), SCHEMA_TYPE(JSON_INT)},
        {STR_LITERAL("number"), SCHEMA_TYPE(JSON_INT) | SCHEMA_TYPE(JSON_NUMBER)},
        {STR_LITERAL("string"), SCHEMA_TYPE(JSON_STRING)},
        {STR_LITERAL("array"), SCHEMA_TYPE(JSON_ARRAY)},
        {STR_LITERAL("object"), SCHEMA_TYPE(JSON_OBJECT)},
    };

    if (name->type != JSON_STRING)
        return false;
    for (size_t i = 0; i < array_size(types); i++) {
        if (!str_eq(json_str(name), types[i].name))
            continue;
        schema->types |= types[i].types;
        return true;
    }
    return false;
}

static int compile_type(struct schema_compiler *c, struct schema *schema,
                        const struct json_value *key, int argument)
{
    static const char why[] = "must be a type name or a list of type names";
    const struct json_value *value = key + 1;

    (void)argument;
    schema->types = 0;
    if (value->type != JSON_ARRAY)
        return add_type(schema, value) ? 0 : schema_refuse(c, key, why);
    json_each_item (name, value)
        if (!add_type(schema, name))
            return schema_refuse(c, key, why);
    return value->size > 0 ? 0 : schema_refuse(c, key, why);
}

static int compile_const(struct schema_compiler *c, struct schema *schema,
                         const struct json_value *key, int argument)
{
    (void)argument;
    return copy_value(c, key + 1, &schema->constant);
}

static int compile_enum(struct schema_compiler *c, struct schema *schema,
                        const struct json_value *key, int argument)
{
    (void)argument;
    if (key[1].type != JSON_ARRAY || key[1].size == 0)
        return schema_refuse(c, key, "must be a list with at least one value");
    return copy_value(c, key + 1, &schema->options);
}

static int compile_bound(struct schema_compiler *c, struct schema *schema,
                         const struct json_value *key, bool is_max, enum schema_count what)
{
    uint64_t count = (uint64_t)key[1].integer;
    int r = 0;

    if (key[1].type != JSON_INT || key[1].integer < 0)
        return schema_refuse(c, key, "must be a non-negative integer");
    if (schema->bounds == NULL) {
        schema->bounds = schema_allocate(c, SCHEMA_COUNTS, sizeof(*schema->bounds), &r);
        if (schema->bounds == NULL)
            return r;
        for (size_t i = 0; i < SCHEMA_COUNTS; i++)
            schema->bounds[i].max = UINT64_MAX;
    }
    if (is_max)
        schema->bounds[what].max = count;
    else
        schema->bounds[what].min = count;
    return 0;
}

static int compile_min(struct schema_compiler *c, struct schema *schema,
                       const struct json_value *key, int what)
{
    return compile_bound(c, schema, key, false, (enum schema_count)what);
}

static int compile_max(struct schema_compiler *c, struct schema *schema,
                       const struct json_value *key, int what)
{
    return compile_bound(c, schema, key, true, (enum schema_count)what);
}

static int compile_limit(struct schema_compiler *c, struct schema *schema,
                         const struct json_value *key, int limit)
{
    int r = 0;

    if (key[1].type != JSON_INT && key[1].type != JSON_NUMBER)
        return schema_refuse(c, key, "must be a number");
    if (schema->limits == NULL)
        schema->limits = schema_allocate(c, SCHEMA_LIMITS, sizeof(*schema->limits), &r);
    if (schema->limits == NULL)
        return r;
    return copy_value(c, key + 1, &schema->limits[limit]);
}

static int compile_items(struct schema_compiler *c, struct schema *schema,
                         const struct json_value *key, int argument)
{
    (void)argument;
    if (key[1].type == JSON_ARRAY)
        return schema_refuse(c, key, "as a list of schemas is not supported");
    return schema_want(c, key + 1, key, &schema->items);
}

static int want_object(struct schema_compiler *c, struct schema *schema)
{
    int r = 0;

    if (schema->object == NULL)
        schema->object = schema_allocate(c, 1, sizeof(*schema->object), &r);
    return schema->object != NULL ? 0 : r;
}

static int compile_additional(struct schema_compiler *c, struct schema *schema,
                              const struct json_value *key, int argument)
{
    int r = want_object(c, schema);

    (void)argument;
    if (r < 0)
        return r;
    return schema_want(c, key + 1, key, &schema->object->additional);
}

static int compare_fields(const void *a, const void *b)
{
    const struct schema_field *x = a;
    const struct schema_field *y = b;

    return str_compare(x->name, y->name);
}

const struct schema_field *schema_find_field(const struct schema_object *object, struct str name)
{
    size_t low = 0;
    size_t high = object->field_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(object->fields[middle].name, name);

        if (order == 0)
            return &object->fields[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int read_properties(struct schema_compiler *c, struct schema_object *object,
                           const struct json_value *properties)
{
    json_each_member (key, properties) {
        struct schema_field *field = &object->fields[object->field_count++];
        int r;

        field->required_index = SCHEMA_NOT_REQUIRED;
        r = copy_text(c, json_str(key), &field->name);
        if (r == 0)
            r = schema_want(c, key + 1, key, &field->schema);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_required(struct schema_compiler *c, struct schema_object *object,
                         const struct json_value *required)
{
    json_each_item (name, required) {
        struct schema_field *field = &object->fields[object->field_count++];
        int r = copy_text(c, json_str(name), &field->name);

        if (r < 0)
            return r;
        field->required_index = (int)object->required_count;
        object->required[object->required_count++] = field->name;
    }
    return 0;
}

/* Merges the two entries of a name that is a property and required. */
static bool sort_fields(struct schema_object *object)
{
    struct schema_field *fields = object->fields;
    size_t kept = 0;

    qsort(fields, object->field_count, sizeof(*fields), compare_fields);
    for (size_t i = 0; i < object->field_count; i++) {
        struct schema_field *last = kept > 0 ? &fields[kept - 1] : NULL;

        if (last == NULL || !str_eq(last->name, fields[i].name)) {
            fields[kept++] = fields[i];
            continue;
        }
        if (fields[i].schema != NULL && last->schema == NULL)
            last->schema = fields[i].schema;
        else if (fields[i].schema == NULL && last->required_index == SCHEMA_NOT_REQUIRED)
            last->required_index = fields[i].required_index;
        else
            return false;
    }
    object->field_count = kept;
    return true;
}

/* `properties` and `required` are two keywords with one table; whichever comes first builds it. */
static int compile_fields(struct schema_compiler *c, struct schema *schema,
                          const struct json_value *key, int argument)
{
    const struct json_value *location = c->notes[schema->number].location;
    const struct json_value *properties = json_get(location, STR("properties"));
    const struct json_value *required = json_get(location, STR("required"));
    struct schema_object *object;
    size_t count = 0;
    int r = want_object(c, schema);

    (void)argument;
    (void)key;
    if (r < 0)
        return r;
    object = schema->object;
    if (object->fields != NULL)
        return 0;
    if (properties != NULL) {
        if (properties->type != JSON_OBJECT)
            return schema_refuse(c, properties - 1, "must be an object of schemas");
        count += properties->size;
    }
    if (required != NULL) {
        if (required->type != JSON_ARRAY)
            return schema_refuse(c, required - 1, "must be a list of names");
        json_each_item (name, required)
            if (name->type != JSON_STRING)
                return schema_refuse(c, required - 1, "must be a list of names");
        if (required->size > SCHEMA_MAX_REQUIRED)
            return schema_refuse(c, required - 1, "names more fields than are supported");
        count += required->size;
        object->required = schema_allocate(c, required->size, sizeof(*object->required), &r);
        if (object->required == NULL)
            return r;
    }
    object->fields = schema_allocate(c, count, sizeof(*object->fields), &r);
    if (object->fields == NULL)
        return r;
    if (properties != NULL)
        r = read_properties(c, object, properties);
    if (r == 0 && required != NULL)
        r = read_required(c, object, required);
    if (r < 0)
        return r;
    return sort_fields(object) ? 0 : schema_refuse(c, required - 1, "has a duplicate field");
}

static int compile_definitions(struct schema_compiler *c, struct schema *schema,
                               const struct json_value *key, int argument)
{
    (void)schema;
    (void)argument;
    if (key[1].type != JSON_OBJECT)
        return schema_refuse(c, key, "must be an object of schemas");
    json_each_member (name, key + 1) {
        const struct schema *unused;
        int r = schema_want(c, name + 1, name, &unused);

        if (r < 0)
            return r;
    }
    return 0;
}

static int add_form(struct schema_compiler *c, struct schema_list *list,
                    const struct json_value *location, const struct json_value *key)
{
    int r = schema_want(c, location, key, &list->schemas[list->count]);

    if (r == 0)
        list->count++;
    return r;
}

static int compile_form(struct schema_compiler *c, struct schema *schema,
                        const struct json_value *key, int form)
{
    const struct json_value *value = key + 1;
    struct schema_list *list;
    int r = 0;

    if (form != SCHEMA_NOT && (value->type != JSON_ARRAY || value->size == 0))
        return schema_refuse(c, key, "must be a list with at least one schema");
    if (schema->forms == NULL)
        schema->forms = schema_allocate(c, SCHEMA_FORMS, sizeof(*schema->forms), &r);
    if (schema->forms == NULL)
        return r;
    list = &schema->forms[form];
    list->schemas =
        schema_allocate(c, form == SCHEMA_NOT ? 1 : value->size, sizeof(*list->schemas), &r);
    if (list->schemas == NULL)
        return r;
    if (form == SCHEMA_NOT)
        return add_form(c, list, value, key);
    json_each_item (item, value) {
        r = add_form(c, list, item, key);
        if (r < 0)
            return r;
    }
    return 0;
}

static const struct schema_word words[] = {
    {STR_LITERAL("$comment"), ignore_word, 0},
    {STR_LITERAL("$defs"), compile_definitions, 0},
    {STR_LITERAL("$id"), compile_id, 0},
    {STR_LITERAL("$schema"), ignore_word, 0},
    {STR_LITERAL("additionalProperties"), compile_additional, 0},
    {STR_LITERAL("allOf"), compile_form, SCHEMA_ALL_OF},
    {STR_LITERAL("anyOf"), compile_form, SCHEMA_ANY_OF},
    {STR_LITERAL("const"), compile_const, 0},
    {STR_LITERAL("contentEncoding"), ignore_word, 0},
    {STR_LITERAL("contentMediaType"), ignore_word, 0},
    {STR_LITERAL("default"), ignore_word, 0},
    {STR_LITERAL("definitions"), compile_definitions, 0},
    {STR_LITERAL("deprecated"), ignore_word, 0},
    {STR_LITERAL("description"), ignore_word, 0},
    {STR_LITERAL("enum"), compile_enum, 0},
    {STR_LITERAL("examples"), ignore_word, 0},
    {STR_LITERAL("format"), ignore_word, 0},
    {STR_LITERAL("items"), compile_items, 0},
    {STR_LITERAL("maxItems"), compile_max, SCHEMA_ITEMS},
    {STR_LITERAL("maxLength"), compile_max, SCHEMA_CHARACTERS},
    {STR_LITERAL("maximum"), compile_limit, SCHEMA_MAXIMUM},
    {STR_LITERAL("minItems"), compile_min, SCHEMA_ITEMS},
    {STR_LITERAL("minLength"), compile_min, SCHEMA_CHARACTERS},
    {STR_LITERAL("minimum"), compile_limit, SCHEMA_MINIMUM},
    {STR_LITERAL("not"), compile_form, SCHEMA_NOT},
    {STR_LITERAL("oneOf"), compile_form, SCHEMA_ONE_OF},
    {STR_LITERAL("properties"), compile_fields, 0},
    {STR_LITERAL("readOnly"), ignore_word, 0},
    {STR_LITERAL("required"), compile_fields, 0},
    {STR_LITERAL("title"), ignore_word, 0},
    {STR_LITERAL("type"), compile_type, 0},
    {STR_LITERAL("writeOnly"), ignore_word, 0},
};

const struct schema_word *schema_find_word(struct str name)
{
    for (size_t i = 0; i < array_size(words); i++)
        if (str_eq(words[i].name, name))
            return &words[i];
    return NULL;
}
