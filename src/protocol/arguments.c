/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/arguments.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "protocol/nearname.h"

enum {
    SHOWN_BYTES = 64, /* of a name in a message */
    WHERE_BYTES = 96,
    LIST_DEPTH = 32, /* of a list that was sent as text */
};

/* The arguments of a tool, or those of a list's items. */
struct table {
    const struct catalog_argument *rows;
    size_t count;
};

/* ---- names ---- */

static const struct catalog_argument *find_exactly(const struct table *table, struct str name)
{
    for (size_t i = 0; i < table->count; i++)
        if (str_eq(table->rows[i].name, name))
            return &table->rows[i];
    return NULL;
}

static bool is_called(const struct catalog_argument *argument, struct str folded)
{
    if (str_eq(argument->folded, folded))
        return true;
    for (size_t i = 0; i < argument->alias_count; i++)
        if (str_eq(argument->aliases[i].folded, folded))
            return true;
    return false;
}

static const struct catalog_argument *find(const struct table *table, struct str name)
{
    const struct catalog_argument *found = find_exactly(table, name);
    char text[NEARNAME_BYTES];
    struct str folded = {text, 0};

    if (found != NULL)
        return found;
    folded.len = nearname_fold(name, text);
    for (size_t i = 0; i < table->count && folded.len > 0; i++)
        if (is_called(&table->rows[i], folded))
            return &table->rows[i];
    return NULL;
}

static const struct catalog_argument *find_nearest(const struct table *table, struct str name)
{
    const struct catalog_argument *nearest = NULL;
    size_t best = SIZE_MAX;
    char text[NEARNAME_BYTES];
    struct str folded = {text, nearname_fold(name, text)};

    for (size_t i = 0; i < table->count && folded.len > 0; i++) {
        const struct catalog_argument *row = &table->rows[i];

        for (size_t j = 0; j <= row->alias_count && !row->is_ignored; j++) {
            size_t far =
                nearname_distance(folded, j == 0 ? row->folded : row->aliases[j - 1].folded);

            if (far < best) {
                best = far;
                nearest = row;
            }
        }
    }
    return nearest;
}

static int refuse_unknown(const struct table *table, const char *where, struct str name,
                          struct err *err)
{
    const struct catalog_argument *nearest = find_nearest(table, name);
    char shown[SHOWN_BYTES + PRINTABLE_CUT_BYTES];
    char known[ERR_MESSAGE_BYTES] = "there are no arguments";
    char field[ERR_FIELD_BYTES];
    size_t len = 0;

    printable_cut(name, PRINTABLE_LINE, shown, SHOWN_BYTES);
    snprintf(field, sizeof(field), "%s%s", where, shown);
    if (nearest != NULL)
        return err_set_field(err, ERR_SCHEMA_MISMATCH, field, "%s: unknown; did you mean %.*s?",
                             field, STR_ARG(nearest->name));
    for (size_t i = 0; i < table->count && len < sizeof(known) && !table->rows[i].is_ignored; i++)
        len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%.*s",
                                i == 0 ? "the arguments are " : ", ", STR_ARG(table->rows[i].name));
    return err_set_field(err, ERR_SCHEMA_MISMATCH, field, "%s: unknown; %.180s", field, known);
}

/* ---- values ---- */

static bool is_needed(const struct catalog_argument *argument)
{
    return argument->is_required && argument->assumed.len == 0;
}

/* Whether the value stays as it is; of a list of objects, not looking at its items. */
static bool fits(const struct catalog_argument *argument, const struct json_value *value)
{
    if (value->type == JSON_NULL)
        return is_needed(argument);
    if (value->type != JSON_STRING)
        return true;
    return argument->type == CATALOG_STRING ? value->size > 0 || is_needed(argument)
                                            : argument->type == CATALOG_OTHER;
}

/* Models that name all arguments write null or "" for what they leave out. */
static bool is_left_out(const struct catalog_argument *argument, const struct json_value *value)
{
    struct str text = value->type == JSON_STRING ? str_trim(json_str(value)) : STR_EMPTY;

    return !fits(argument, value) && text.len == 0 && !is_needed(argument);
}

static bool is_for_others(struct str name)
{
    return name.len > 0 && name.ptr[0] == '_';
}

static bool is_plain(const struct table *table, const struct json_value *object)
{
    json_each_member (key, object) {
        const struct catalog_argument *argument = find_exactly(table, json_str(key));

        if (argument == NULL || argument->is_ignored || !fits(argument, key + 1))
            return false;
        if (argument->item_count == 0 || argument->type != CATALOG_ARRAY)
            continue;
        json_each_item (item, key + 1)
            if (!is_plain(&(struct table){argument->items, argument->item_count}, item))
                return false;
    }
    return true;
}

static bool lacks_assumed(const struct table *table, const struct json_value *object)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].assumed.len > 0 && json_get(object, table->rows[i].name) == NULL)
            return true;
    return false;
}

/* The object that this text stands for: its selector, which takes a ref as well. */
static const struct json_value *object_of_text(struct arena *arena,
                                               const struct catalog_argument *argument,
                                               const struct json_value *text)
{
    const struct table members = {argument->items, argument->item_count};
    const struct catalog_argument *selector = find_exactly(&members, STR("selector"));
    struct json_value *object =
        selector != NULL ? arena_alloc_array(arena, 3, sizeof(*object)) : NULL;

    if (object == NULL)
        return text;
    object[0] = (struct json_value){.type = JSON_OBJECT, .size = 1, .span = 3};
    object[1] = (struct json_value){
        .type = JSON_STRING, .size = (uint32_t)selector->name.len, .text = selector->name.ptr};
    object[2] = *text;
    return object;
}

/* Sets *out_value to NULL if the argument counts as missing. */
static int convert(struct arena *arena, const struct catalog_argument *argument,
                   const struct json_value *value, struct json_value *room,
                   const struct json_value **out_value)
{
    const struct json_limits limits = {JSON_DEFAULT_MAX_BYTES, LIST_DEPTH};
    const struct json_value *list;
    struct str text;

    *out_value = value;
    if (fits(argument, value))
        return 0;
    text = value->type == JSON_STRING ? str_trim(json_str(value)) : STR_EMPTY;
    if (is_left_out(argument, value)) {
        *out_value = NULL;
    } else if (argument->type == CATALOG_INTEGER) {
        room->type = JSON_INT;
        if (str_to_int64(text, &room->integer))
            *out_value = room;
    } else if (argument->type == CATALOG_BOOLEAN) {
        room->type = JSON_BOOL;
        room->integer = str_eq_nocase(text, STR("true"));
        if (room->integer == 1 || str_eq_nocase(text, STR("false")))
            *out_value = room;
    } else if ((argument->type == CATALOG_ARRAY && str_starts_with(text, STR("["))) ||
               (argument->type == CATALOG_OBJECT && str_starts_with(text, STR("{")))) {
        int r = json_parse(arena, text, limits, &list, NULL);

        if (r == 0)
            *out_value = list;
        return r == ERR_NO_MEMORY || r == ERR_TOO_LARGE ? r : 0;
    } else if (argument->type == CATALOG_OBJECT && text.len > 0) {
        *out_value = object_of_text(arena, argument, value);
        return arena->error;
    } else if (argument->type == CATALOG_ARRAY && argument->item_count == 0) {
        struct json_value *one = arena_alloc_array(arena, 2, sizeof(*one));

        if (one == NULL)
            return arena->error;
        one[0] = (struct json_value){.type = JSON_ARRAY, .size = 1, .span = 2};
        one[1] = *value;
        *out_value = one;
    }
    return 0; /* what could not be converted does not fit the schema */
}

/* ---- the new arguments ---- */

struct builder {
    struct arena *arena;
    const struct json_value *whole; /* the arguments as given */
    struct table table;             /* of the tool */
    struct json_value *values;
    size_t count;
    size_t room;
};

static int push(struct builder *builder, const struct json_value *values, size_t count)
{
    if (builder->room - builder->count < count) {
        size_t room = 2 * (builder->room + count);
        struct json_value *grown =
            arena_regrow(builder->arena, builder->values, room * sizeof(*grown));

        if (grown == NULL)
            return builder->arena->error == ERR_TOO_LARGE ? ERR_TOO_LARGE : ERR_NO_MEMORY;
        builder->values = grown;
        builder->room = room;
    }
    memcpy(&builder->values[builder->count], values, count * sizeof(*values));
    builder->count += count;
    return 0;
}

static int push_name(struct builder *builder, struct str name)
{
    const struct json_value key = {
        .type = JSON_STRING, .size = (uint32_t)name.len, .text = name.ptr};

    return push(builder, &key, 1);
}

/* The value of a member that was pushed since `start`, where its object begins; or NULL. */
static const struct json_value *find_pushed(const struct builder *builder, size_t start,
                                            struct str name)
{
    for (size_t i = start + 1; i < builder->count; i += 1 + json_span(&builder->values[i + 1]))
        if (str_eq(json_str(&builder->values[i]), name))
            return &builder->values[i + 1];
    return NULL;
}

/* An argument that stands beside a list and belongs to its items. */
static const struct catalog_argument *find_in_lists(const struct table *table, struct str name)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct table items = {table->rows[i].items, table->rows[i].item_count};
        const struct catalog_argument *found =
            table->rows[i].type == CATALOG_ARRAY ? find(&items, name) : NULL;

        if (found != NULL && !found->is_ignored)
            return found;
    }
    return NULL;
}

/* An argument whose object has such a member, if there is only one. */
static const struct catalog_argument *find_object_of(const struct table *table, struct str name)
{
    const struct catalog_argument *found = NULL;

    for (size_t i = 0; i < table->count; i++) {
        const struct table members = {table->rows[i].items, table->rows[i].item_count};

        if (table->rows[i].type != CATALOG_OBJECT || find(&members, name) == NULL)
            continue;
        if (found != NULL)
            return NULL;
        found = &table->rows[i];
    }
    return found;
}

/* The argument whose object the member stands beside; or NULL. */
static const struct catalog_argument *find_beside(const struct table *table,
                                                  const struct json_value *key)
{
    struct str name = json_str(key);
    const struct catalog_argument *argument =
        is_for_others(name) || find(table, name) != NULL ? NULL : find_object_of(table, name);
    const struct table members = argument != NULL
                                     ? (struct table){argument->items, argument->item_count}
                                     : (struct table){NULL, 0};

    return argument != NULL && is_left_out(find(&members, name), key + 1) ? NULL : argument;
}

/* Of each argument, in a bit: whether a member stands beside it. */
static uint64_t find_all_beside(const struct table *table, const struct json_value *object)
{
    uint64_t found = 0;

    json_each_member (key, object) {
        const struct catalog_argument *argument = find_beside(table, key);

        if (argument != NULL)
            found |= UINT64_C(1) << (argument - table->rows);
    }
    return found;
}

static int push_object(struct builder *builder, const struct table *table, const char *where,
                       const struct json_value *object, struct err *err);

static int push_items(struct builder *builder, const struct catalog_argument *argument,
                      const struct json_value *list, struct err *err)
{
    const struct table table = {argument->items, argument->item_count};
    size_t start = builder->count;
    size_t index = 0;
    int r = push(builder, list, 1);

    json_each_item (item, list) {
        char where[WHERE_BYTES];

        if (r < 0)
            return r;
        snprintf(where, sizeof(where), "%.*s[%zu].", STR_ARG(argument->name), index++);
        r = item->type == JSON_OBJECT ? push_object(builder, &table, where, item, err)
                                      : push(builder, item, json_span(item));
    }
    if (r == 0)
        builder->values[start].span = builder->count - start;
    return r;
}

static bool has_type(enum catalog_type type, const struct json_value *value)
{
    switch (type) {
    case CATALOG_STRING:
        return value->type == JSON_STRING;
    case CATALOG_INTEGER:
        return value->type == JSON_INT || value->type == JSON_NUMBER;
    case CATALOG_BOOLEAN:
        return value->type == JSON_BOOL;
    case CATALOG_ARRAY:
        return value->type == JSON_ARRAY;
    case CATALOG_OBJECT:
        return value->type == JSON_OBJECT;
    case CATALOG_OTHER:
        break;
    }
    return true;
}

/* The schema's refusal would be about an argument that was not given by this name. */
static int check_alias(const struct catalog_argument *argument, struct str name,
                       const struct json_value *value, const char *where, struct err *err)
{
    static const char *const types[] = {
        [CATALOG_STRING] = "a string",   [CATALOG_INTEGER] = "an integer",
        [CATALOG_BOOLEAN] = "a boolean", [CATALOG_ARRAY] = "a list",
        [CATALOG_OBJECT] = "an object",  [CATALOG_OTHER] = ""};
    char shown[SHOWN_BYTES + PRINTABLE_CUT_BYTES];
    char text[NEARNAME_BYTES];
    struct str folded = {text, 0};

    folded.len = nearname_fold(name, text);
    if (has_type(argument->type, value) || str_eq(argument->folded, folded))
        return 0;
    printable_cut(name, PRINTABLE_LINE, shown, SHOWN_BYTES);
    return err_set_field(err, ERR_SCHEMA_MISMATCH, shown,
                         "%s%s: another name of %.*s, which must be %s", where, shown,
                         STR_ARG(argument->name), types[argument->type]);
}

/* Adds a member to the object that begins at `start`, unless it counts as missing. */
static int push_member(struct builder *builder, size_t start,
                       const struct catalog_argument *argument, const struct json_value *key,
                       const char *where, struct err *err)
{
    const struct json_value *before = find_pushed(builder, start, argument->name);
    const struct json_value *value;
    struct json_value room = {0};
    int r = convert(builder->arena, argument, key + 1, &room, &value);

    if (r < 0 || value == NULL)
        return r;
    r = check_alias(argument, json_str(key), value, where, err);
    if (r < 0)
        return r;
    if (before != NULL) {
        char shown[SHOWN_BYTES + PRINTABLE_CUT_BYTES];

        if (json_eq(before, value))
            return 0;
        printable_cut(json_str(key), PRINTABLE_LINE, shown, SHOWN_BYTES);
        return err_set_field(err, ERR_SCHEMA_MISMATCH, argument->name.ptr,
                             "%s%.*s: given twice with different values, also as %s", where,
                             STR_ARG(argument->name), shown);
    }
    r = push_name(builder, argument->name);
    if (r < 0)
        return r;
    builder->values[start].size++;
    return argument->item_count > 0 && argument->type == CATALOG_ARRAY && value->type == JSON_ARRAY
               ? push_items(builder, argument, value, err)
               : push(builder, value, json_span(value));
}

/* NULL if the argument has that name itself, or another one. */
static const struct catalog_alias *find_alias(const struct catalog_argument *argument,
                                              struct str name)
{
    char text[NEARNAME_BYTES];
    struct str folded = {text, 0};

    folded.len = nearname_fold(name, text);
    for (size_t i = 0; i < argument->alias_count && folded.len > 0; i++)
        if (str_eq(argument->aliases[i].folded, folded))
            return &argument->aliases[i];
    return NULL;
}

/* What the value of an alias says about the argument. */
static struct json_value read_alias(const struct catalog_alias *alias,
                                    const struct json_value *value)
{
    int at = 0;

    if (value->type == JSON_BOOL && alias->yes.len > 0) {
        struct str word = value->integer != 0 ? alias->yes : alias->no;

        return (struct json_value){
            .type = JSON_STRING, .size = (uint32_t)word.len, .text = word.ptr};
    }
    if (value->type == JSON_ARRAY && alias->item >= 0)
        json_each_item (item, value)
            if (at++ == alias->item && json_span(item) == 1)
                return *item;
    return (struct json_value){.type = JSON_NULL};
}

static int refuse_list(const struct table *table, struct str name, const char *where,
                       struct err *err)
{
    char shown[SHOWN_BYTES + PRINTABLE_CUT_BYTES];
    char list[WHERE_BYTES] = "";
    size_t len = 0;

    for (size_t i = 0; i < table->count && len < sizeof(list); i++)
        if (find_alias(&table->rows[i], name) != NULL)
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%.*s", len > 0 ? ", " : "",
                                    STR_ARG(table->rows[i].name));
    printable_cut(name, PRINTABLE_LINE, shown, SHOWN_BYTES);
    return err_set_field(err, ERR_SCHEMA_MISMATCH, shown, "%s%s: must be a list, [%s]", where,
                         shown, list);
}

/* One name may stand for several arguments: each is an item of its list. */
static int push_named(struct builder *builder, const struct table *table, size_t start,
                      const struct catalog_argument *argument, const struct json_value *key,
                      const char *where, struct err *err)
{
    const struct catalog_alias *alias = find_alias(argument, json_str(key));
    int r = 0;

    if (argument->is_ignored)
        return 0;
    if (alias == NULL || (alias->item < 0 && (alias->yes.len == 0 || key[1].type != JSON_BOOL)))
        return push_member(builder, start, argument, key, where, err);
    if (key[1].type == JSON_NULL || (key[1].type == JSON_STRING && key[1].size == 0))
        return 0;
    for (size_t i = 0; i < table->count && r == 0; i++) {
        struct json_value member[2] = {*key};

        alias = find_alias(&table->rows[i], json_str(key));
        if (alias == NULL)
            continue;
        member[1] = read_alias(alias, key + 1);
        r = member[1].type != JSON_NULL
                ? push_member(builder, start, &table->rows[i], member, where, err)
                : refuse_list(table, json_str(key), where, err);
    }
    return r;
}

/* What stands beside the list. */
static int push_inherited(struct builder *builder, const struct table *table, size_t start,
                          struct err *err)
{
    json_each_member (key, builder->whole) {
        const struct catalog_argument *argument = find(table, json_str(key));
        int r;

        if (argument == NULL || argument->is_ignored || is_for_others(json_str(key)) ||
            find(&builder->table, json_str(key)) != NULL ||
            find_pushed(builder, start, argument->name) != NULL)
            continue;
        r = push_member(builder, start, argument, key, "", err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Makes the object of what stands beside it. */
static int push_beside(struct builder *builder, const struct table *table, size_t start,
                       const struct catalog_argument *argument, const struct json_value *object,
                       const char *where, struct err *err)
{
    const struct json_value header = {.type = JSON_OBJECT};
    const struct table members = {argument->items, argument->item_count};
    bool is_given = find_pushed(builder, start, argument->name) != NULL;
    size_t inner = builder->count + 1;
    int r = is_given ? 0 : push_name(builder, argument->name);

    if (r == 0 && !is_given)
        r = push(builder, &header, 1);
    json_each_member (key, object) {
        if (r < 0)
            return r;
        if (find_beside(table, key) != argument)
            continue;
        r = is_given ? refuse_unknown(table, where, json_str(key), err)
                     : push_member(builder, inner, find(&members, json_str(key)), key, where, err);
    }
    if (r < 0)
        return r;
    builder->values[inner].span = builder->count - inner;
    builder->values[start].size++;
    return 0;
}

static int push_assumed(struct builder *builder, const struct catalog_argument *argument,
                        size_t start)
{
    const struct json_value value = {.type = JSON_STRING,
                                     .size = (uint32_t)argument->assumed.len,
                                     .text = argument->assumed.ptr};
    int r = push_name(builder, argument->name);

    builder->values[start].size++;
    return r == 0 ? push(builder, &value, 1) : r;
}

static int push_object(struct builder *builder, const struct table *table, const char *where,
                       const struct json_value *object, struct err *err)
{
    const struct json_value header = {.type = JSON_OBJECT};
    bool is_whole = object == builder->whole;
    uint64_t beside = find_all_beside(table, object);
    size_t start = builder->count;
    int r = push(builder, &header, 1);

    assert(table->count <= 64 && (table->rows != NULL || table->count == 0));
    json_each_member (key, object) {
        struct str name = json_str(key);
        const struct catalog_argument *argument = find(table, name);

        if (r < 0)
            return r;
        if (is_for_others(name))
            continue;
        /* Where others have a description of what they name beside it. */
        if (argument != NULL && (key[1].type == JSON_STRING || key[1].type == JSON_NULL) &&
            (beside >> (argument - table->rows) & 1) != 0)
            continue;
        if (argument != NULL)
            r = push_named(builder, table, start, argument, key, where, err);
        else if (find_object_of(table, name) == NULL &&
                 (!is_whole || find_in_lists(table, name) == NULL))
            r = refuse_unknown(table, where, name, err);
    }
    for (size_t i = 0; i < table->count && r == 0; i++)
        if ((beside >> i & 1) != 0)
            r = push_beside(builder, table, start, &table->rows[i], object, where, err);
    if (r == 0 && !is_whole)
        r = push_inherited(builder, table, start, err);
    for (size_t i = 0; i < table->count && r == 0; i++)
        if (table->rows[i].assumed.len > 0 &&
            find_pushed(builder, start, table->rows[i].name) == NULL)
            r = push_assumed(builder, &table->rows[i], start);
    if (r == 0)
        builder->values[start].span = builder->count - start;
    return r;
}

int arguments_normalise(struct arena *arena, const struct catalog_tool *tool,
                        const struct json_value *arguments, const struct json_value **out_arguments,
                        struct err *err)
{
    struct builder builder = {
        .arena = arena,
        .whole = arguments,
        .table = {tool->arguments, tool->argument_count},
    };
    int r;

    if (arguments->type != JSON_OBJECT ||
        (is_plain(&builder.table, arguments) && !lacks_assumed(&builder.table, arguments))) {
        *out_arguments = arguments;
        return 0;
    }
    r = push_object(&builder, &builder.table, "", arguments, err);
    if (r < 0) {
        if (builder.values != NULL)
            arena_regrow_free(arena, builder.values);
        return err != NULL && err->code == r ? r : err_set_plain(err, r);
    }
    arena_adopt(arena, builder.values);
    *out_arguments = builder.values;
    return 0;
}
