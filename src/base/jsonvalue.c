/* SPDX-License-Identifier: Apache-2.0 */
/* Accessors of parsed values; json.c parses. */
#include "base/json.h"

#include <stdlib.h>

#include "base/decimal.h"

const struct json_value *json_get(const struct json_value *object, struct str key)
{
    json_each_member (member, object) {
        struct str name = json_str(member);

        /* Most names of the same length differ in their first byte. */
        if (name.len == key.len && (key.len == 0 || name.ptr[0] == key.ptr[0]) && str_eq(name, key))
            return member + 1;
    }
    return NULL;
}

static const struct json_value *get_typed(const struct json_value *object, struct str key,
                                          enum json_type type)
{
    const struct json_value *value = json_get(object, key);

    return value != NULL && value->type == type ? value : NULL;
}

bool json_get_str(const struct json_value *object, struct str key, struct str *out_text)
{
    const struct json_value *value = get_typed(object, key, JSON_STRING);

    if (value == NULL)
        return false;
    *out_text = json_str(value);
    return true;
}

bool json_get_int(const struct json_value *object, struct str key, int64_t *out_number)
{
    const struct json_value *value = get_typed(object, key, JSON_INT);

    if (value == NULL)
        return false;
    *out_number = value->integer;
    return true;
}

bool json_get_bool(const struct json_value *object, struct str key, bool *out_is_true)
{
    const struct json_value *value = get_typed(object, key, JSON_BOOL);

    if (value == NULL)
        return false;
    *out_is_true = value->integer != 0;
    return true;
}

bool json_get_whole(const struct json_value *object, struct str key, int64_t *out_number)
{
    const struct json_value *value = json_get(object, key);
    char text[64];
    double number;

    if (value != NULL && value->type == JSON_INT) {
        *out_number = value->integer;
        return true;
    }
    if (value == NULL || value->type != JSON_NUMBER)
        return false;
    if (value->size >= sizeof(text)) {
        *out_number = value->text[0] == '-' ? INT64_MIN : INT64_MAX;
        return true;
    }
    memcpy(text, value->text, value->size);
    text[value->size] = '\0';
    number = strtod(text, NULL);
    if (number >= 0x1p62)
        *out_number = INT64_MAX;
    else
        *out_number = number <= -0x1p62 ? INT64_MIN : (int64_t)number;
    return true;
}

static bool objects_eq(const struct json_value *a, const struct json_value *b)
{
    /* Equal objects mostly have the same order: look at the same position first. */
    const struct json_value *twin = b + 1;

    if (a->size != b->size)
        return false;
    json_each_member (key, a) {
        const struct json_value *other;

        if (str_eq(json_str(twin), json_str(key)))
            other = twin + 1;
        else
            other = json_get(b, json_str(key));
        if (other == NULL || !json_eq(key + 1, other))
            return false;
        twin = json_next(other);
        if (twin == json_next(b))
            twin = b + 1;
    }
    return true;
}

bool json_eq(const struct json_value *a, const struct json_value *b)
{
    bool a_is_number = a->type == JSON_INT || a->type == JSON_NUMBER;
    bool b_is_number = b->type == JSON_INT || b->type == JSON_NUMBER;

    if (a_is_number && b_is_number)
        return decimal_compare(a, b) == 0;
    if (a->type != b->type)
        return false;
    switch ((enum json_type)a->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->integer == b->integer;
    case JSON_STRING:
        return str_eq(json_str(a), json_str(b));
    case JSON_ARRAY: {
        const struct json_value *other = b + 1;

        if (a->size != b->size)
            return false;
        json_each_item (item, a) {
            if (!json_eq(item, other))
                return false;
            other = json_next(other);
        }
        return true;
    }
    case JSON_OBJECT:
        return objects_eq(a, b);
    case JSON_INT:
    case JSON_NUMBER:
        break; /* compared above */
    }
    return false;
}

const char *json_type_name(enum json_type type)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",     [JSON_BOOL] = "boolean",  [JSON_INT] = "integer",
        [JSON_NUMBER] = "number", [JSON_STRING] = "string", [JSON_ARRAY] = "array",
        [JSON_OBJECT] = "object",
    };

    return names[type];
}

const struct json_value *json_copy(struct arena *arena, const struct json_value *value)
{
    size_t span = json_span(value);
    struct json_value *copy = arena_alloc_array(arena, span, sizeof(*copy));

    if (copy == NULL)
        return NULL;
    memcpy(copy, value, span * sizeof(*copy));
    for (size_t i = 0; i < span; i++) {
        if (copy[i].type != JSON_STRING && copy[i].type != JSON_NUMBER)
            continue;
        copy[i].text = arena_copy(arena, json_str(&value[i]));
        if (copy[i].text == NULL)
            return NULL;
    }
    return copy;
}
