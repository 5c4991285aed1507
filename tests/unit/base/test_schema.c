/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/schema/schema.h"
#include "base/utf8.h"

enum { ARENA_BYTES = 256 << 20, TEXT_BYTES = 64 << 20 };

/* A check that is bounded takes well under a second; sanitizers and slow machines get more. */
static int64_t bounded_seconds(void)
{
    return INT64_C(60) * test_slowness(); /* what is exponential takes for ever */
}

static const struct json_limits limits = {JSON_DEFAULT_MAX_BYTES, JSON_LARGEST_MAX_DEPTH};

static const struct json_value *parse(struct arena *arena, struct str text)
{
    const struct json_value *value = NULL;
    struct err err = ERR_INIT;

    if (json_parse(arena, text, limits, &value, &err) < 0)
        fail_msg("%s", err.message);
    return value;
}

static const struct schema *compile(struct arena *arena, struct str text)
{
    const struct schema *schema = NULL;
    struct err err = ERR_INIT;

    if (schema_compile(arena, parse(arena, text), &schema, &err) < 0)
        fail_msg("%.*s: %s: %s", STR_ARG(text), err.field, err.message);
    return schema;
}

static int check_text(struct str schema_text, struct str value_text, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct schema *schema = compile(&arena, schema_text);
    const struct json_value *value = parse(&arena, value_text);
    int r = schema_check(schema, value, err);

    /* Without words the verdict is the same. */
    assert_int_equal(schema_check(schema, value, NULL), r);
    return r;
}

static void accepts(const char *schema, const char *value)
{
    struct err err = ERR_INIT;

    if (check_text(str_from(schema), str_from(value), &err) != 0)
        fail_msg("%s refuses %s: %s: %s", schema, value, err.field, err.message);
}

static void refuses(const char *schema, const char *value, const char *field, const char *message)
{
    struct err err = ERR_INIT;

    if (check_text(str_from(schema), str_from(value), &err) == 0)
        fail_msg("%s accepts %s", schema, value);
    assert_int_equal(err.code, ERR_SCHEMA_MISMATCH);
    assert_string_equal(err.field, field);
    assert_string_equal(err.message, message);
}

static void compiles_not(const char *schema, const char *place, const char *message)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct schema *compiled = NULL;
    struct err err = ERR_INIT;

    if (schema_compile(&arena, parse(&arena, str_from(schema)), &compiled, &err) == 0)
        fail_msg("%s compiles", schema);
    assert_int_equal(err.code, ERR_SCHEMA_UNSUPPORTED);
    assert_string_equal(err.field, place);
    assert_string_equal(err.message, message);
    assert_null(compiled);
}

/* Of the processor: what others do on the machine does not count. */
static int64_t seconds_used(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec;
}

/* Words */

static void boolean_schemas_take_all_or_nothing(void **state)
{
    (void)state;
    accepts("true", "{\"a\":[1]}");
    accepts("{}", "null");
    refuses("false", "null", "", "is not allowed");
    refuses("{\"properties\":{\"a\":false}}", "{\"a\":1}", "a", "is not allowed");
}

static void type_names_one_or_several(void **state)
{
    (void)state;
    accepts("{\"type\":\"null\"}", "null");
    accepts("{\"type\":\"boolean\"}", "false");
    accepts("{\"type\":\"string\"}", "\"\"");
    accepts("{\"type\":\"array\"}", "[]");
    accepts("{\"type\":\"object\"}", "{}");
    accepts("{\"type\":\"number\"}", "1");
    accepts("{\"type\":\"number\"}", "1.5");
    accepts("{\"type\":[\"string\",\"null\"]}", "null");
    refuses("{\"type\":\"string\"}", "5", "", "must be a string, not a number");
    refuses("{\"type\":\"null\"}", "0", "", "must be null, not a number");
    refuses("{\"type\":\"number\"}", "\"1\"", "", "must be a number, not a string");
    refuses("{\"type\":[\"string\",\"null\"]}", "true", "",
            "must be a string or null, not a boolean");
    refuses("{\"type\":[\"integer\",\"string\",\"null\"]}", "[]", "",
            "must be a string, an integer or null, not an array");
}

static void integer_is_a_number_without_fraction(void **state)
{
    (void)state;
    accepts("{\"type\":\"integer\"}", "1");
    accepts("{\"type\":\"integer\"}", "1.0");
    accepts("{\"type\":\"integer\"}", "1e400");
    accepts("{\"type\":\"integer\"}", "-0");
    refuses("{\"type\":\"integer\"}", "1.5", "",
            "must be an integer, not a number with a fraction");
    refuses("{\"type\":\"integer\"}", "{}", "", "must be an integer, not an object");
}

static void enum_and_const_compare_by_worth(void **state)
{
    (void)state;
    accepts("{\"enum\":[1,\"a\",null]}", "1.0");
    accepts("{\"const\":{\"a\":[1],\"b\":2}}", "{\"b\":2.0,\"a\":[10e-1]}");
    accepts("{\"const\":null}", "null");
    refuses("{\"enum\":[\"file\",\"directory\",\"all\"]}", "\"x\"", "",
            "must be one of: file, directory, all");
    refuses("{\"enum\":[1,\"1\",\"two words\",true,\"true\",null,[],{\"a\":1},\"\"]}", "2", "",
            "must be one of: 1, \"1\", \"two words\", true, \"true\", null, [], {...}, \"\"");
    refuses("{\"const\":\"get\"}", "\"set\"", "", "must be \"get\"");
    refuses("{\"const\":1.50}", "1", "", "must be 1.50");
    refuses("{\"const\":false}", "0", "", "must be false");
    refuses("{\"const\":[1]}", "[2]", "", "is not the only allowed value");
    refuses("{\"const\":{\"a\":1}}", "{\"b\":1}", "", "is not the only allowed value");
}

static void long_enum_is_cut_with_dots(void **state)
{
    cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(buf_printf(&schema, "{\"enum\":["), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_printf(&schema, "\"choice%d\",", i), 0);
    assert_int_equal(buf_printf(&schema, "\"last\"]}"), 0);
    assert_int_equal(check_text(buf_view(&schema), STR("1"), &err), ERR_SCHEMA_MISMATCH);
    assert_true(str_starts_with(str_from(err.message), STR("must be one of: choice0, choice1, ")));
    assert_true(str_ends_with(str_from(err.message), STR(", ...")));
}

static void lengths_count_characters(void **state)
{
    (void)state;
    accepts("{\"minLength\":2,\"maxLength\":3}", "\"äö\"");
    accepts("{\"maxLength\":1}", "\"\\ud83d\\ude00\"");
    accepts("{\"minLength\":5}", "12");
    refuses("{\"minLength\":1}", "\"\"", "", "must have at least 1 character");
    refuses("{\"minLength\":2}", "\"ä\"", "", "must have at least 2 characters");
    refuses("{\"maxLength\":0}", "\"a\"", "", "must have at most 0 characters");
}

static void limits_are_exact(void **state)
{
    (void)state;
    accepts("{\"minimum\":1,\"maximum\":2}", "1");
    accepts("{\"minimum\":1,\"maximum\":2}", "2.0");
    accepts("{\"minimum\":1}", "\"0\"");
    accepts("{\"maximum\":9007199254740993}", "9007199254740992");
    refuses("{\"minimum\":1}", "0", "", "must be at least 1");
    refuses("{\"maximum\":10}", "10.00000000000000000000000000000000001", "", "must be at most 10");
    refuses("{\"minimum\":0.5}", "4.9e-1", "", "must be at least 0.5");
    refuses("{\"maximum\":-1e2}", "-99", "", "must be at most -1e2");
}

static void items_are_checked_one_by_one(void **state)
{
    (void)state;
    accepts("{\"items\":{\"type\":\"string\"},\"minItems\":1,\"maxItems\":2}", "[\"a\",\"b\"]");
    accepts("{\"items\":false}", "[]");
    accepts("{\"items\":false,\"minItems\":3}", "{}");
    refuses("{\"items\":{\"type\":\"string\"}}", "[\"a\",1]", "[1]",
            "must be a string, not a number");
    refuses("{\"items\":false}", "[1]", "[0]", "is not allowed");
    refuses("{\"minItems\":1}", "[]", "", "must have at least 1 item");
    refuses("{\"maxItems\":2}", "[1,2,3]", "", "must have at most 2 items");
}

static void fields_are_known_required_or_additional(void **state)
{
    (void)state;
    accepts("{\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]}",
            "{\"a\":\"\",\"b\":1}");
    accepts("{\"required\":[\"a\"],\"properties\":{\"b\":true}}", "{\"a\":1}");
    accepts("{\"required\":[]}", "{}");
    accepts("{\"required\":[\"a\"]}", "[]");
    accepts("{\"additionalProperties\":{\"type\":\"string\"},\"properties\":{\"n\":{}}}",
            "{\"n\":1,\"x\":\"\"}");
    refuses("{\"required\":[\"b\",\"a\"]}", "{}", "b", "is required");
    refuses("{\"required\":[\"b\",\"a\"]}", "{\"b\":1}", "a", "is required");
    refuses("{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":null}", "a",
            "must be a string, not null");
    refuses("{\"properties\":{\"a\":true},\"additionalProperties\":false}", "{\"a\":1,\"b\":1}",
            "b", "is not a known field");
    refuses("{\"required\":[\"a\"],\"additionalProperties\":false}", "{\"a\":1}", "a",
            "is not a known field");
    refuses("{\"additionalProperties\":{\"type\":\"string\"}}", "{\"x\":1}", "x",
            "must be a string, not a number");
}

static void every_required_name_is_looked_for(void **state)
{
    cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf value = BUF_INIT(TEXT_BYTES);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(buf_printf(&schema, "{\"required\":["), 0);
    assert_int_equal(buf_printf(&value, "{"), 0);
    for (int i = 0; i < SCHEMA_MAX_REQUIRED; i++) {
        assert_int_equal(buf_printf(&schema, "%s\"f%d\"", i > 0 ? "," : "", i), 0);
        if (i < SCHEMA_MAX_REQUIRED - 1)
            assert_int_equal(buf_printf(&value, "%s\"f%d\":0", i > 0 ? "," : "", i), 0);
    }
    assert_int_equal(buf_printf(&schema, "]}"), 0);
    assert_int_equal(buf_printf(&value, "}"), 0);
    assert_int_equal(check_text(buf_view(&schema), buf_view(&value), &err), ERR_SCHEMA_MISMATCH);
    assert_string_equal(err.field, "f1023");
    value.len--;
    assert_int_equal(buf_printf(&value, ",\"f1023\":0}"), 0);
    assert_int_equal(check_text(buf_view(&schema), buf_view(&value), &err), 0);
}

static void forms_combine(void **state)
{
    (void)state;
    accepts("{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "2");
    accepts("{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":3}]}", "3");
    accepts("{\"oneOf\":[{\"maximum\":1},{\"minimum\":1}]}", "2");
    accepts("{\"not\":{\"type\":\"string\"}}", "1");
    refuses("{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "4", "", "must be at most 3");
    refuses("{\"oneOf\":[{\"maximum\":1},{\"minimum\":1}]}", "1", "",
            "matches more than one of the allowed forms");
    refuses("{\"not\":{\"type\":\"string\"}}", "\"\"", "", "has a form that is not allowed");
    refuses("{\"anyOf\":[{\"maximum\":1},{\"minimum\":3}]}", "2", "", "must be at most 1");
    refuses("{\"anyOf\":[{\"items\":{\"maximum\":1}},{\"items\":false},{\"maxItems\":0}]}", "[2]",
            "", "matches none of the allowed forms");
}

static void references_lead_to_places_in_the_document(void **state)
{
    (void)state;
    accepts(
        "{\"definitions\":{\"a\":{\"type\":\"string\"}},\"items\":{\"$ref\":\"#/definitions/a\"}}",
        "[\"x\"]");
    refuses("{\"$defs\":{\"a\":{\"type\":\"string\"}},\"items\":{\"$ref\":\"#/$defs/a\"}}", "[1]",
            "[0]", "must be a string, not a number");
    refuses("{\"properties\":{\"a/b\":{\"type\":\"null\"},\"c~d%\":{\"type\":\"null\"},"
            "\"é\":{\"type\":\"null\"},\"x\":{\"$ref\":\"#/properties/a~1b\"},"
            "\"y\":{\"$ref\":\"#/properties/c~0d%25\"},\"z\":{\"$ref\":\"#/properties/%C3%a9\"}}}",
            "{\"x\":null,\"y\":null,\"z\":0}", "z", "must be null, not a number");
    refuses("{\"anyOf\":[{\"type\":\"string\"},{\"$ref\":\"#/anyOf/0\"}]}", "1", "",
            "must be a string, not a number");
    /* A chain, and words beside $ref that do not count. */
    refuses(
        "{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/c\",\"pattern\":1},"
        "\"c\":{\"type\":\"null\"}},\"items\":{\"$ref\":\"#/$defs/a\",\"maxLength\":0}}",
        "[\"long\"]", "[0]", "must be null, not a string");
    accepts("{\"properties\":{\"$ref\":{\"type\":\"string\"}}}", "{\"$ref\":\"#/no\"}");
}

static void recursive_references_follow_the_value(void **state)
{
    static const char tree[] =
        "{\"type\":\"object\",\"properties\":{\"children\":{\"type\":\"array\",\"items\":{\"$ref\":"
        "\"#\"}},\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]}";

    (void)state;
    accepts(tree, "{\"name\":\"a\",\"children\":[{\"name\":\"b\",\"children\":[]}]}");
    refuses(tree, "{\"name\":\"a\",\"children\":[{\"name\":\"b\",\"children\":[{}]}]}",
            "children[0].children[0].name", "is required");
}

static void annotations_are_ignored(void **state)
{
    (void)state;
    accepts("{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$comment\":\"c\",\"$id\":"
            "\"http://x/\",\"title\":\"t\",\"description\":\"d\",\"default\":{\"pattern\":1},"
            "\"examples\":[{\"$ref\":\"no\"}],\"readOnly\":true,\"writeOnly\":false,\"format\":"
            "\"email\",\"contentEncoding\":\"base64\",\"contentMediaType\":\"a/b\",\"deprecated\":"
            "true,\"x-anything\":{\"pattern\":\"x\"}}",
            "\"not an address\"");
}

/* Refused schemas */

static void left_out_words_are_refused_with_their_place(void **state)
{
    static const char *const left_out[] = {
        "pattern",
        "patternProperties",
        "multipleOf",
        "uniqueItems",
        "contains",
        "if",
        "then",
        "else",
        "propertyNames",
        "additionalItems",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minProperties",
        "maxProperties",
        "$anchor",
        "dependencies",
        "minimun",
        "prefixItems",
        "unevaluatedProperties",
        "nullable",
        "x",
        "",
        "$dynamicRef",
        "dependentRequired",
    };

    (void)state;
    for (size_t i = 0; i < array_size(left_out); i++) {
        char schema[128];
        char place[128];
        char message[128];

        snprintf(schema, sizeof(schema), "{\"properties\":{\"a\":{\"type\":\"string\",\"%s\":1}}}",
                 left_out[i]);
        snprintf(place, sizeof(place), "/properties/a/%s", left_out[i]);
        snprintf(message, sizeof(message), "\"%s\" is not supported in a schema", left_out[i]);
        compiles_not(schema, place, message);
    }
    compiles_not("{\"items\":[{\"type\":\"string\"}]}", "/items",
                 "\"items\" as a list of schemas is not supported");
    compiles_not("{\"definitions\":{\"unused\":{\"not\":{\"pattern\":\"x\"}}}}",
                 "/definitions/unused/not/pattern", "\"pattern\" is not supported in a schema");
    compiles_not("{\"allOf\":[true,{\"a/b~c\":1}]}", "/allOf/1/a~1b~0c",
                 "\"a/b~c\" is not supported in a schema");
    compiles_not("{\"properties\":{\"a\":{\"$id\":\"http://x/\"}}}", "/properties/a/$id",
                 "\"$id\" is supported only at the top of a schema");
}

static void wrong_schemas_are_refused(void **state)
{
    static const struct {
        const char *word;
        const char *value;
        const char *why;
    } wrong[] = {
        {"type", "5", "must be a type name or a list of type names"},
        {"type", "\"text\"", "must be a type name or a list of type names"},
        {"type", "[]", "must be a type name or a list of type names"},
        {"type", "[\"string\",1]", "must be a type name or a list of type names"},
        {"enum", "{}", "must be a list with at least one value"},
        {"enum", "[]", "must be a list with at least one value"},
        {"minLength", "-1", "must be a non-negative integer"},
        {"maxLength", "1.5", "must be a non-negative integer"},
        {"minItems", "\"1\"", "must be a non-negative integer"},
        {"maxItems", "-1.0", "must be a non-negative integer"},
        {"minItems", "2.0", "must be a non-negative integer"},
        {"maxItems", "null", "must be a non-negative integer"},
        {"minimum", "\"1\"", "must be a number"},
        {"maximum", "true", "must be a number"},
        {"properties", "[]", "must be an object of schemas"},
        {"definitions", "[]", "must be an object of schemas"},
        {"$defs", "true", "must be an object of schemas"},
        {"required", "true", "must be a list of names"},
        {"required", "[1]", "must be a list of names"},
        {"required", "[\"a\",\"b\",\"a\"]", "has a duplicate field"},
        {"items", "1", "must be a schema: an object or a boolean"},
        {"additionalProperties", "\"x\"", "must be a schema: an object or a boolean"},
        {"not", "null", "must be a schema: an object or a boolean"},
        {"anyOf", "{}", "must be a list with at least one schema"},
        {"oneOf", "[]", "must be a list with at least one schema"},
        {"allOf", "[1]", "must be a schema: an object or a boolean"},
        {"$id", "1", "must be a string"},
        {"$ref", "1", "must be a string"},
        {"$ref", "\"\"", "to another document is not supported"},
        {"$ref", "\"other.json\"", "to another document is not supported"},
        {"$ref", "\"http://x/#/a\"", "to another document is not supported"},
        {"$ref", "\"#name\"", "to an anchor is not supported"},
        {"$ref", "\"#/a\"", "does not exist"},
        {"$ref", "\"#/$ref/0\"", "does not exist"},
        {"$ref", "\"#/%4\"", "has a percent sign without two hexadecimal digits"},
        {"$ref", "\"#/%zz\"", "has a percent sign without two hexadecimal digits"},
        {"$ref", "\"#/~2\"", "has a ~ that is neither ~0 nor ~1"},
        {"$ref", "\"#/~\"", "has a ~ that is neither ~0 nor ~1"},
        {"$ref", "\"#/$ref\"", "must be a schema: an object or a boolean"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(wrong); i++) {
        char schema[128];
        char place[64];
        char message[128];

        snprintf(schema, sizeof(schema), "{\"%s\":%s}", wrong[i].word, wrong[i].value);
        snprintf(place, sizeof(place), "/%s", wrong[i].word);
        snprintf(message, sizeof(message), "\"%s\" %s", wrong[i].word, wrong[i].why);
        compiles_not(schema, place, message);
    }
    compiles_not("[]", "", "a schema must be an object or a boolean");
    compiles_not("\"string\"", "", "a schema must be an object or a boolean");
    compiles_not("{\"properties\":{\"a\":1}}", "/properties/a",
                 "\"a\" must be a schema: an object or a boolean");
    compiles_not("{\"$ref\":\"#/x/0\",\"x\":[{\"a\":1}]}", "/x/0/a",
                 "\"a\" is not supported in a schema");
    compiles_not("{\"anyOf\":[{\"$ref\":\"#/anyOf/01\"},true]}", "/anyOf/0/$ref",
                 "\"$ref\" does not exist");
    compiles_not("{\"anyOf\":[{\"$ref\":\"#/anyOf/2\"},true]}", "/anyOf/0/$ref",
                 "\"$ref\" does not exist");
    compiles_not("{\"$ref\":\"#/d/a/b\",\"d\":{\"a\":{\"$id\":\"http://x/\",\"b\":{}}}}", "/$ref",
                 "\"$ref\" past an inner $id is not supported");
}

static void references_that_go_in_circles_are_refused(void **state)
{
    static const char why[] = "this schema refers to itself in an endless loop";

    (void)state;
    compiles_not("{\"$ref\":\"#\"}", "", why);
    compiles_not("{\"allOf\":[{\"$ref\":\"#\"}]}", "", why);
    compiles_not("{\"type\":\"object\",\"anyOf\":[{\"type\":\"string\"},{\"$ref\":\"#\"}]}", "",
                 why);
    compiles_not("{\"items\":{\"not\":{\"$ref\":\"#/items\"}}}", "/items", why);
    compiles_not(
        "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"oneOf\":["
        "true,{\"$ref\":\"#/$defs/a\"}]}}}",
        "/$defs/a", why);
    compiles_not("{\"definitions\":{\"unused\":{\"$ref\":\"#/definitions/unused\"}}}",
                 "/definitions/unused", why);
    /* Twice the same place is no circle. */
    accepts("{\"$defs\":{\"a\":{\"type\":\"null\"}},\"allOf\":[{\"$ref\":\"#/$defs/a\"},{\"$ref\":"
            "\"#/$defs/a\"}]}",
            "null");
}

static void schema_outlives_its_document(void **state)
{
    cleanup_arena struct arena kept = ARENA_INIT(ARENA_BYTES);
    char text[] = "{\"properties\":{\"name\":{\"enum\":[\"long enough\",1.5,[\"x\"]]},\"n\":{"
                  "\"minimum\":1.25}},\"required\":[\"name\"]}";
    const struct schema *schema = NULL;
    struct err err = ERR_INIT;

    (void)state;
    {
        cleanup_arena struct arena gone = ARENA_INIT(ARENA_BYTES);

        assert_int_equal(schema_compile(&kept, parse(&gone, str_from(text)), &schema, &err), 0);
    }
    memset(text, '?', sizeof(text));
    assert_int_equal(schema_check(schema, parse(&kept, STR("{\"name\":[\"x\"],\"n\":1.25}")), &err),
                     0);
    assert_int_equal(schema_check(schema, parse(&kept, STR("{\"name\":\"x\"}")), &err),
                     ERR_SCHEMA_MISMATCH);
    assert_string_equal(err.message, "must be one of: \"long enough\", 1.5, [...]");
    assert_int_equal(schema_check(schema, parse(&kept, STR("{}")), &err), ERR_SCHEMA_MISMATCH);
    assert_string_equal(err.field, "name");
}

static void compiling_stops_at_the_arenas_ceiling(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *document =
        parse(&arena, STR("{\"properties\":{\"a\":{\"enum\":[1,\"two\"]},\"b\":{\"minLength\":1,"
                          "\"maximum\":3},\"c\":{\"anyOf\":[{\"$ref\":\"#/properties/a\"}]}},"
                          "\"required\":[\"a\"],\"additionalProperties\":false}"));

    (void)state;
    for (size_t room = 0; room < 4096; room += 16) {
        cleanup_arena struct arena small = ARENA_INIT(room);
        const struct schema *schema = NULL;
        struct err err = ERR_INIT;
        int r = schema_compile(&small, document, &schema, &err);

        if (r < 0)
            assert_int_equal(r, ERR_TOO_LARGE);
        assert_true((r == 0) == (schema != NULL));
    }
}

static void the_complaint_about_an_argument_names_it(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct schema *schema =
        compile(&arena, STR("{\"type\":\"object\",\"required\":[\"x\"],\"properties\":{\"x\":{"
                            "\"type\":\"integer\"}}}"));
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(schema_check_arguments(schema, parse(&arena, STR("{\"x\":1}")), &err), 0);
    assert_int_equal(schema_check_arguments(schema, parse(&arena, STR("{}")), &err),
                     ERR_SCHEMA_MISMATCH);
    assert_string_equal(err.message, "x is required");
    assert_string_equal(err.field, "x");
    assert_int_equal(schema_check_arguments(schema, parse(&arena, STR("[]")), &err),
                     ERR_SCHEMA_MISMATCH);
    assert_string_equal(err.message, "the arguments must be an object, not an array");
}

/* Which complaint helps */

static void tagged_forms_complain_about_the_form_that_is_meant(void **state)
{
    static const char cookies[] =
        "{\"anyOf\":["
        "{\"type\":\"object\",\"properties\":{\"action\":{\"type\":\"string\",\"const\":\"get\"},"
        "\"url\":{\"type\":\"string\"},\"page\":{\"type\":\"string\"}},\"required\":[\"action\"],"
        "\"additionalProperties\":false},"
        "{\"type\":\"object\",\"properties\":{\"action\":{\"type\":\"string\",\"const\":\"set\"},"
        "\"cookies\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"name\":{"
        "\"type\":\"string\"},\"site\":{\"type\":\"string\",\"enum\":[\"Strict\",\"Lax\"]}},"
        "\"required\":[\"name\"],\"additionalProperties\":false}},"
        "\"page\":{\"$ref\":\"#/anyOf/0/properties/page\"}},\"required\":[\"action\",\"cookies\"],"
        "\"additionalProperties\":false}]}";

    (void)state;
    accepts(cookies, "{\"action\":\"get\",\"page\":\"1\"}");
    accepts(cookies, "{\"cookies\":[{\"name\":\"a\",\"site\":\"Lax\"}],\"action\":\"set\"}");
    refuses(cookies, "{}", "action", "is required");
    refuses(cookies, "{\"action\":\"drop\"}", "action", "must be one of: get, set");
    refuses(cookies, "{\"action\":\"set\"}", "cookies", "is required");
    refuses(cookies, "{\"action\":\"get\",\"cookies\":[]}", "cookies", "is not a known field");
    refuses(cookies, "{\"cookies\":[{}],\"action\":\"set\"}", "cookies[0].name", "is required");
    refuses(cookies, "{\"cookies\":[{\"name\":\"a\",\"site\":\"?\"}],\"action\":\"set\"}",
            "cookies[0].site", "must be one of: Strict, Lax");
    refuses(cookies, "{\"action\":\"set\",\"cookies\":[],\"page\":1}", "page",
            "must be a string, not a number");
    refuses(cookies, "[]", "", "must be an object, not an array");
}

static void untagged_forms_complain_about_the_nearest(void **state)
{
    static const char element[] =
        "{\"properties\":{\"element\":{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"ref\":{"
        "\"type\":\"string\"}},\"required\":[\"ref\"],\"additionalProperties\":false},{\"type\":"
        "\"object\",\"properties\":{\"selector\":{\"type\":\"string\"}},\"required\":[\"selector\"]"
        ","
        "\"additionalProperties\":false}]}}}";

    (void)state;
    accepts(element, "{\"element\":{\"selector\":\"a\"}}");
    refuses(element, "{\"element\":{\"selector\":1}}", "element.selector",
            "must be a string, not a number");
    refuses(element, "{\"element\":{}}", "element", "must have one of these fields: ref, selector");
    refuses(element, "{\"element\":{\"ref\":\"a\",\"x\":1}}", "element.x", "is not a known field");
    refuses(element, "{\"element\":{\"ref\":\"a\",\"selector\":\"b\"}}", "element",
            "matches none of the allowed forms");
    refuses(element, "{\"element\":\"a\"}", "element", "must be an object, not a string");
}

static void types_of_several_forms_add_up(void **state)
{
    static const char schema[] = "{\"anyOf\":[{\"type\":\"string\",\"minLength\":3},{\"oneOf\":[{"
                                 "\"type\":\"null\"},{\"type\":\"integer\"}]}]}";

    (void)state;
    refuses(schema, "true", "", "must be a string, an integer or null, not a boolean");
    refuses(schema, "\"a\"", "", "must have at least 3 characters");
}

static void tags_inside_a_group_do_not_speak_for_all(void **state)
{
    static const char schema[] =
        "{\"anyOf\":[{\"properties\":{\"k\":{\"const\":\"a\"}}},{\"anyOf\":[{\"properties\":{\"k\":"
        "{"
        "\"const\":\"b\"}}},{\"properties\":{\"k\":{\"const\":\"c\"}}}]}]}";

    (void)state;
    accepts(schema, "{\"k\":\"c\"}");
    refuses(schema, "{\"k\":\"d\"}", "", "matches none of the allowed forms");
}

static void enum_tells_forms_apart_too(void **state)
{
    static const char schema[] =
        "{\"oneOf\":[{\"properties\":{\"k\":{\"enum\":[\"a\",\"b\"]},\"v\":{\"type\":\"string\"}}},"
        "{\"properties\":{\"k\":{\"enum\":[\"c\",\"d\"]},\"v\":{\"type\":\"null\"}}}]}";

    (void)state;
    accepts(schema, "{\"k\":\"c\",\"v\":null}");
    refuses(schema, "{\"v\":5,\"k\":\"c\"}", "v", "must be null, not a number");
    refuses(schema, "{\"v\":5,\"k\":\"b\"}", "v", "must be a string, not a number");
}

/* Fields as people write them */

static void fields_are_written_as_paths(void **state)
{
    static const char edits[] = "{\"properties\":{\"edits\":{\"items\":{\"properties\":{"
                                "\"oldString\":{\"type\":\"string\"}},"
                                "\"additionalProperties\":{\"items\":{\"items\":false}}}}},"
                                "\"additionalProperties\":{\"type\":"
                                "\"null\"}}";

    (void)state;
    refuses(edits, "{\"edits\":[{\"oldString\":1}]}", "edits[0].oldString",
            "must be a string, not a number");
    refuses(edits, "{\"edits\":[{},{\"x\":[[],[1]]}]}", "edits[1].x[1][0]", "is not allowed");
    refuses(edits, "{\"größe\":1}", "größe", "must be null, not a number");
    refuses(edits, "{\"\":1}", "[\"\"]", "must be null, not a number");
    refuses(edits, "{\"a.b\":1}", "[\"a.b\"]", "must be null, not a number");
    refuses(edits, "{\"a b\":1}", "[\"a b\"]", "must be null, not a number");
    refuses(edits, "{\"a\\\"]\\\\\":1}", "[\"a\\\"]\\\\\"]", "must be null, not a number");
}

static void names_that_do_not_print_are_escaped(void **state)
{
    static const char schema[] = "{\"additionalProperties\":false}";

    (void)state;
    refuses(schema, "{\"a\\nb\\u001b[31m\\u0000\\u007f\":1}", "[\"a\\nb\\x1b[31m\\x00\\x7f\"]",
            "is not a known field");
    refuses(schema, "{\"\\u0085\\u202e\\u2066\\ufeff\\udb40\\udc41\":1}",
            "[\"\\u{85}\\u{202e}\\u{2066}\\u{feff}\\u{e0041}\"]", "is not a known field");
    refuses("{\"enum\":[\"a\\u0007\"]}", "1", "", "must be one of: \"a\\x07\"");
    compiles_not("{\"a\\u001b\":1}", "/a\\x1b", "\"a\\x1b\" is not supported in a schema");
}

static void long_names_are_cut_between_characters(void **state)
{
    cleanup_buf struct buf value = BUF_INIT(TEXT_BYTES);
    struct err err = ERR_INIT;

    (void)state;
    for (int lead = 0; lead < 5; lead++) {
        buf_clear(&value);
        assert_int_equal(buf_printf(&value, "{\"%.*s", lead, "xxxxx"), 0);
        for (int i = 0; i < 10000; i++)
            assert_int_equal(buf_append_str(&value, STR("\xF0\x9F\x98\x80")), 0);
        assert_int_equal(buf_printf(&value, "\":1}"), 0);
        assert_int_equal(
            check_text(STR("{\"additionalProperties\":false}"), buf_view(&value), &err),
            ERR_SCHEMA_MISMATCH);
        assert_true(utf8_is_valid(str_from(err.field)));
        assert_true(str_ends_with(str_from(err.field), STR("...")));
        assert_true(strlen(err.field) < 64);
    }
}

static void long_paths_keep_their_end(void **state)
{
    cleanup_buf struct buf value = BUF_INIT(TEXT_BYTES);
    struct err err = ERR_INIT;

    (void)state;
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_printf(&value, "{\"level%d\":", i), 0);
    assert_int_equal(buf_printf(&value, "5"), 0);
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_append_char(&value, '}'), 0);
    assert_int_equal(
        check_text(STR("{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"}}"),
                   buf_view(&value), &err),
        ERR_SCHEMA_MISMATCH);
    assert_true(str_starts_with(str_from(err.field), STR("....level")));
    assert_true(str_ends_with(str_from(err.field), STR(".level58.level59")));
}

/* Hostile */

/*
 * What a worker of loop/ has. Sanitizers and builds without optimization have
 * frames of another size, and there only the verdicts count.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_LARGE_FRAMES 1
#endif
#endif
#if defined(HAS_LARGE_FRAMES) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||  \
    !defined(__OPTIMIZE__)
enum { STACK_BYTES = 8 << 20, STACK_BYTES_FOR_A_CHECK = 8 << 20 };
#else
enum { STACK_BYTES = 256 << 10, STACK_BYTES_FOR_A_CHECK = STACK_BYTES / 2 };
#endif

struct deep_check {
    const struct schema *schema;
    const struct json_value *value;
    struct err err;
    bool is_silent;
    int result;
};

static void *run_deep_check(void *argument)
{
    struct deep_check *check = argument;

    check->result =
        schema_check(check->schema, check->value, check->is_silent ? NULL : &check->err);
    return NULL;
}

/* The result of the check on a thread of its own; how much of the stack it wrote to is told. */
static int check_on_a_worker_stack(struct deep_check *check, size_t *out_used)
{
    enum { PAGE_BYTES = 4096, PAINT = 0xa5 };
    unsigned char *stack = aligned_alloc(PAGE_BYTES, STACK_BYTES);
    size_t untouched = 0;
    pthread_attr_t attributes;
    pthread_t thread;

    assert_non_null(stack);
    memset(stack, PAINT, STACK_BYTES);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_deep_check, check), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    while (untouched < STACK_BYTES && stack[untouched] == PAINT)
        untouched++;
    *out_used = STACK_BYTES - untouched;
    free(stack);
    return check->result;
}

static void nest(struct buf *text, const char *open, int depth, const char *core, const char *close)
{
    buf_clear(text);
    for (int i = 0; i < depth; i++)
        assert_int_equal(buf_printf(text, "%s", open), 0);
    assert_int_equal(buf_printf(text, "%s", core), 0);
    for (int i = 0; i < depth; i++)
        assert_int_equal(buf_printf(text, "%s", close), 0);
}

/* Each way that a check goes deeper, as deep as it gets: it ends in words, not in a crash. */
static void deepest_checks_fit_half_of_a_workers_stack(void **state)
{
    static const struct {
        const char *schema;
        const char *open;
        const char *close;
        const char *core;
        int depth;
        int result;
    } cases[] = {
        {"{\"properties\":{\"a\":{\"anyOf\":[{\"$ref\":\"#\"}]}},\"required\":[\"a\"]}",
         "{\"a\":", "}", "1", 400, ERR_TOO_LARGE},
        {"{\"anyOf\":[{\"properties\":{\"a\":{\"$ref\":\"#\"}}},{\"required\":[\"b\"]}]}",
         "{\"a\":", "}", "1", 512, ERR_TOO_LARGE},
        {"{\"items\":{\"$ref\":\"#\"}}", "[", "]", "", 512, ERR_TOO_LARGE},
        {"{\"additionalProperties\":{\"oneOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}}",
         "{\"a\":", "}", "1", 512, ERR_TOO_LARGE},
        {"{\"items\":{\"not\":{\"not\":{\"$ref\":\"#\"}}}}", "[", "]", "", 512, ERR_TOO_LARGE},
        {"{\"allOf\":[{\"anyOf\":[{\"items\":{\"$ref\":\"#\"}}]}]}", "[", "]", "", 512,
         ERR_TOO_LARGE},
        /* What the JSON reader takes unless told otherwise, with three forms around each value. */
        {"{\"allOf\":[{\"anyOf\":[{\"oneOf\":[{\"items\":{\"$ref\":\"#\"}}]}]}]}", "[", "]", "",
         JSON_DEFAULT_MAX_DEPTH, 0},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"object\",\"required\":[\"a\"],"
         "\"properties\":{\"a\":{\"$ref\":\"#\"}}}]}",
         "{\"a\":", "}", "\"\"", JSON_DEFAULT_MAX_DEPTH, 0},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"object\",\"required\":[\"a\"],"
         "\"properties\":{\"a\":{\"$ref\":\"#\"}}}]}",
         "{\"a\":", "}", "5", JSON_DEFAULT_MAX_DEPTH, ERR_SCHEMA_MISMATCH},
    };
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);

    (void)state;
    for (size_t i = 0; i < 2 * array_size(cases); i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        struct deep_check check = {.err = ERR_INIT, .is_silent = i % 2 == 1};
        size_t used;

        nest(&text, cases[i / 2].open, cases[i / 2].depth, cases[i / 2].core, cases[i / 2].close);
        check.schema = compile(&arena, str_from(cases[i / 2].schema));
        check.value = parse(&arena, buf_view(&text));
        assert_int_equal(check_on_a_worker_stack(&check, &used), cases[i / 2].result);
        if (used > STACK_BYTES_FOR_A_CHECK)
            fail_msg("%s took %zu bytes", cases[i / 2].schema, used);
    }
}

/* Forms down to the limit, and then a literal that is as deep as a value gets. */
static void deepest_literal_below_the_deepest_forms_fits_a_workers_stack(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf literal = BUF_INIT(TEXT_BYTES);
    struct deep_check check = {.err = ERR_INIT};
    int forms = SCHEMA_MAX_NESTING - 2;
    size_t used;

    (void)state;
    nest(&literal, "{\"a\":", JSON_LARGEST_MAX_DEPTH - 4, "1", "}");
    assert_int_equal(buf_printf(&schema, "{\"allOf\":[{\"$ref\":\"#/$defs/d0\"}],\"$defs\":{"), 0);
    for (int i = 0; i < forms; i++)
        assert_int_equal(
            buf_printf(&schema, "\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"}]},", i, i + 1), 0);
    assert_int_equal(
        buf_printf(&schema, "\"d%d\":{\"const\":%.*s}}}", forms, STR_ARG(buf_view(&literal))), 0);
    check.schema = compile(&arena, buf_view(&schema));
    check.value = parse(&arena, buf_view(&literal));
    assert_int_equal(check_on_a_worker_stack(&check, &used), 0);
}

static void long_chains_of_forms_end_at_the_nesting_limit(void **state)
{
    cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(buf_printf(&schema, "{\"allOf\":[{\"$ref\":\"#/$defs/d0\"}],\"$defs\":{"), 0);
    for (int i = 0; i < 2000; i++)
        assert_int_equal(
            buf_printf(&schema, "\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"}]},", i, i + 1), 0);
    assert_int_equal(buf_printf(&schema, "\"d2000\":true}}"), 0);
    assert_int_equal(check_text(buf_view(&schema), STR("1"), &err), ERR_TOO_LARGE);
    assert_string_equal(err.message, "is nested too deeply to check");
}

static void long_chains_of_references_cost_nothing(void **state)
{
    cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);

    (void)state;
    assert_int_equal(buf_printf(&schema, "{\"$ref\":\"#/d/d0\",\"d\":{"), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_printf(&schema, "\"d%d\":{\"$ref\":\"#/d/d%d\"},", i, i + 1), 0);
    assert_int_equal(buf_printf(&schema, "\"d1000\":{\"type\":\"null\"}}}"), 0);
    assert_int_equal(check_text(buf_view(&schema), STR("null"), NULL), 0);
    assert_int_equal(check_text(buf_view(&schema), STR("1"), NULL), ERR_SCHEMA_MISMATCH);
}

static void exponential_forms_end_at_the_work_limit(void **state)
{
    /* Each level tries both forms, and both descend before they fail. */
    static const char recursive[] =
        "{\"anyOf\":[{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"maxItems\":1},{\"properties\":{"
        "\"a\":{\"$ref\":\"#\"}},\"minItems\":1}],\"not\":{\"const\":5}}";
    cleanup_buf struct buf value = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf doubling = BUF_INIT(TEXT_BYTES);
    int64_t start = seconds_used();
    struct err err = ERR_INIT;

    (void)state;
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_printf(&value, "{\"a\":"), 0);
    assert_int_equal(buf_printf(&value, "5"), 0);
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_append_char(&value, '}'), 0);
    assert_int_equal(check_text(str_from(recursive), buf_view(&value), &err), ERR_TOO_LARGE);
    assert_string_equal(err.message, "is too complex to check");

    assert_int_equal(buf_printf(&doubling, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{"), 0);
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_printf(&doubling,
                                    "\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":"
                                    "\"#/$defs/d%d\"}]},",
                                    i, i + 1, i + 1),
                         0);
    assert_int_equal(buf_printf(&doubling, "\"d60\":true}}"), 0);
    assert_int_equal(check_text(buf_view(&doubling), STR("1"), &err), ERR_TOO_LARGE);
    assert_true(seconds_used() - start < bounded_seconds());
}

static void a_limit_reached_inside_not_is_no_acceptance(void **state)
{
    cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);

    (void)state;
    assert_int_equal(buf_printf(&schema, "{\"not\":{\"$ref\":\"#/$defs/d0\"},\"$defs\":{"), 0);
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_printf(&schema,
                                    "\"d%d\":{\"oneOf\":[{\"not\":{\"$ref\":\"#/$defs/d%d\"}},{"
                                    "\"$ref\":\"#/$defs/d%d\"}]},",
                                    i, i + 1, i + 1),
                         0);
    assert_int_equal(buf_printf(&schema, "\"d60\":false}}"), 0);
    assert_int_equal(check_text(buf_view(&schema), STR("1"), NULL), ERR_TOO_LARGE);
}

static void tagged_recursion_is_cheap(void **state)
{
    /* The tag stands behind the child, yet the form that is not meant is left at once. */
    static const char schema[] =
        "{\"anyOf\":[{\"properties\":{\"child\":{\"$ref\":\"#\"},\"kind\":{\"const\":\"a\"}}},{"
        "\"properties\":{\"child\":{\"$ref\":\"#\"},\"kind\":{\"const\":\"b\"}}}]}";
    cleanup_buf struct buf value = BUF_INIT(TEXT_BYTES);

    (void)state;
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_printf(&value, "{\"child\":"), 0);
    assert_int_equal(buf_printf(&value, "{}"), 0);
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_printf(&value, ",\"kind\":\"b\"}"), 0);
    assert_int_equal(check_text(str_from(schema), buf_view(&value), NULL), 0);
}

static void large_objects_are_checked_in_linear_time(void **state)
{
    cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf value = BUF_INIT(TEXT_BYTES);
    int64_t start = seconds_used();
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(buf_printf(&schema, "{\"properties\":{\"f0\":true"), 0);
    for (int i = 1; i < 20000; i++)
        assert_int_equal(buf_printf(&schema, ",\"f%d\":{}", i), 0);
    assert_int_equal(buf_printf(&schema, "},\"required\":[\"f19999\",\"missing\"],"
                                         "\"additionalProperties\":{\"type\":\"integer\"}}"),
                     0);
    assert_int_equal(buf_printf(&value, "{\"missing\":0"), 0);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(buf_printf(&value, ",\"f%d\":%d", i, i), 0);
    assert_int_equal(buf_printf(&value, "}"), 0);
    assert_int_equal(check_text(buf_view(&schema), buf_view(&value), &err), 0);
    value.data[2] = 'M';
    assert_int_equal(check_text(buf_view(&schema), buf_view(&value), &err), ERR_SCHEMA_MISMATCH);
    assert_string_equal(err.field, "missing");
    assert_true(seconds_used() - start < bounded_seconds());
}

static void work_on_text_counts(void **state)
{
    cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf value = BUF_INIT(TEXT_BYTES);
    struct err err = ERR_INIT;

    (void)state;
    /* 10 MB counted once is fine, counted a thousand times it is not. */
    assert_int_equal(buf_append_char(&value, '"'), 0);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(buf_printf(&value, "%01000d", 0), 0);
    assert_int_equal(buf_append_char(&value, '"'), 0);
    assert_int_equal(check_text(STR("{\"minLength\":10000000}"), buf_view(&value), &err), 0);
    assert_int_equal(buf_printf(&schema, "{\"allOf\":[{\"minLength\":1}"), 0);
    for (int i = 1; i < 1000; i++)
        assert_int_equal(buf_printf(&schema, ",{\"minLength\":%d}", i), 0);
    assert_int_equal(buf_printf(&schema, "]}"), 0);
    assert_int_equal(check_text(buf_view(&schema), buf_view(&value), &err), ERR_TOO_LARGE);
    /* A long string that cannot be equal costs no more than a short one. */
    buf_clear(&schema);
    assert_int_equal(buf_printf(&schema, "{\"not\":{\"enum\":[0"), 0);
    for (int i = 1; i < 1000; i++)
        assert_int_equal(buf_printf(&schema, ",\"%d\"", i), 0);
    assert_int_equal(buf_printf(&schema, "]}}"), 0);
    assert_int_equal(check_text(buf_view(&schema), buf_view(&value), &err), 0);
}

static void comparing_large_objects_counts(void **state)
{
    cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf value = BUF_INIT(TEXT_BYTES);
    int64_t start = seconds_used();

    (void)state;
    /* The same members in opposite order: each is looked up from the far end. */
    assert_int_equal(buf_printf(&schema, "{\"const\":{\"k\":0"), 0);
    assert_int_equal(buf_printf(&value, "{\"k\":0"), 0);
    for (int i = 0; i < 30000; i++) {
        assert_int_equal(buf_printf(&schema, ",\"%05d\":0", i), 0);
        assert_int_equal(buf_printf(&value, ",\"%05d\":0", 29999 - i), 0);
    }
    assert_int_equal(buf_printf(&schema, "}}"), 0);
    assert_int_equal(buf_printf(&value, "}"), 0);
    assert_int_equal(check_text(buf_view(&schema), buf_view(&value), NULL), ERR_TOO_LARGE);
    assert_true(seconds_used() - start < bounded_seconds());
}

static void append_zeros(struct buf *text, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(buf_append_char(text, '0'), 0);
}

/* The literal is far longer than the value, and is read as often as the value is looked at. */
static void length_of_literals_counts(void **state)
{
    static const char *const around[][3] = {
        {"{\"items\":{\"not\":{\"enum\":[1", "]}}}", "1"},
        {"{\"items\":{\"not\":{\"const\":[1", "]}}}", "[1]"},
        {"{\"items\":{\"not\":{\"const\":{\"a\":1", "}}}}", "{\"a\":1}"},
        {"{\"items\":{\"maximum\":1", "}}", "1"},
    };
    int64_t start = seconds_used();

    (void)state;
    for (size_t i = 0; i < array_size(around); i++) {
        cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);
        cleanup_buf struct buf value = BUF_INIT(TEXT_BYTES);
        struct err err = ERR_INIT;

        assert_int_equal(buf_printf(&schema, "%s", around[i][0]), 0);
        append_zeros(&schema, 1000000);
        assert_int_equal(buf_printf(&schema, "%s", around[i][1]), 0);
        assert_int_equal(buf_printf(&value, "[%s", around[i][2]), 0);
        for (int j = 1; j < 20000; j++)
            assert_int_equal(buf_printf(&value, ",%s", around[i][2]), 0);
        assert_int_equal(buf_printf(&value, "]"), 0);
        assert_int_equal(check_text(buf_view(&schema), buf_view(&value), &err), ERR_TOO_LARGE);
        assert_string_equal(err.message, "is too complex to check");
    }
    assert_true(seconds_used() - start < bounded_seconds());
}

/* Names that differ only at their end, in opposite order: each is compared with many, to the end.
 */
static void length_of_names_in_literals_counts(void **state)
{
    enum { NAMES = 1000, NAME_ZEROS = 8000 };
    cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf value = BUF_INIT(TEXT_BYTES);
    int64_t start = seconds_used();

    (void)state;
    assert_int_equal(buf_printf(&schema, "{\"const\":{"), 0);
    assert_int_equal(buf_printf(&value, "{"), 0);
    for (int i = 0; i < NAMES; i++) {
        assert_int_equal(buf_printf(&schema, "%s\"", i > 0 ? "," : ""), 0);
        append_zeros(&schema, NAME_ZEROS);
        assert_int_equal(buf_printf(&schema, "%04d\":0", i), 0);
        assert_int_equal(buf_printf(&value, "%s\"", i > 0 ? "," : ""), 0);
        append_zeros(&value, NAME_ZEROS);
        assert_int_equal(buf_printf(&value, "%04d\":0", NAMES - 1 - i), 0);
    }
    assert_int_equal(buf_printf(&schema, "}}"), 0);
    assert_int_equal(buf_printf(&value, "}"), 0);
    assert_int_equal(check_text(buf_view(&schema), buf_view(&value), NULL), ERR_TOO_LARGE);
    assert_true(seconds_used() - start < bounded_seconds());
}

/* All forms miss the same field, and complaints are compared by its name. */
static void length_of_missing_names_counts(void **state)
{
    cleanup_buf struct buf schema = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf value = BUF_INIT(TEXT_BYTES);
    int64_t start = seconds_used();

    (void)state;
    assert_int_equal(buf_printf(&schema, "{\"items\":{\"not\":{\"anyOf\":["), 0);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(buf_printf(&schema, "%s{\"required\":[\"", i > 0 ? "," : ""), 0);
        append_zeros(&schema, 1000000);
        assert_int_equal(buf_printf(&schema, "\"]}"), 0);
    }
    assert_int_equal(buf_printf(&schema, "]}}}"), 0);
    assert_int_equal(buf_printf(&value, "[{}"), 0);
    for (int i = 1; i < 100000; i++)
        assert_int_equal(buf_printf(&value, ",{}"), 0);
    assert_int_equal(buf_printf(&value, "]"), 0);
    assert_int_equal(check_text(buf_view(&schema), buf_view(&value), NULL), ERR_TOO_LARGE);
    assert_true(seconds_used() - start < bounded_seconds());
}

static void large_schemas_are_refused_in_bounded_time(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    const struct schema *schema = NULL;
    int64_t start = seconds_used();
    struct err err = ERR_INIT;

    (void)state;
    /* Many references into one large object. */
    assert_int_equal(buf_printf(&text, "{\"$defs\":{\"a\":true"), 0);
    for (int i = 0; i < 8000; i++)
        assert_int_equal(buf_printf(&text, ",\"d%d\":{\"$ref\":\"#/$defs/d%d\"}", i, i + 1), 0);
    assert_int_equal(buf_printf(&text, "}}"), 0);
    assert_int_equal(schema_compile(&arena, parse(&arena, buf_view(&text)), &schema, &err),
                     ERR_TOO_LARGE);
    assert_string_equal(err.message, "the schema has too many references to follow");

    buf_clear(&text);
    assert_int_equal(buf_printf(&text, "{\"enum\":[0"), 0);
    for (int i = 1; i < SCHEMA_MAX_VALUES; i++)
        assert_int_equal(buf_printf(&text, ",0"), 0);
    assert_int_equal(buf_printf(&text, "]}"), 0);
    assert_int_equal(schema_compile(&arena, parse(&arena, buf_view(&text)), &schema, &err),
                     ERR_TOO_LARGE);

    buf_clear(&text);
    assert_int_equal(buf_printf(&text, "{\"required\":[\"a\""), 0);
    for (int i = 0; i < SCHEMA_MAX_REQUIRED; i++)
        assert_int_equal(buf_printf(&text, ",\"%d\"", i), 0);
    assert_int_equal(buf_printf(&text, "]}"), 0);
    assert_int_equal(schema_compile(&arena, parse(&arena, buf_view(&text)), &schema, &err),
                     ERR_SCHEMA_UNSUPPORTED);
    assert_string_equal(err.message, "\"required\" names more fields than are supported");
    assert_true(seconds_used() - start < bounded_seconds());
}

TEST_MAIN(cmocka_unit_test(boolean_schemas_take_all_or_nothing),
          cmocka_unit_test(type_names_one_or_several),
          cmocka_unit_test(integer_is_a_number_without_fraction),
          cmocka_unit_test(enum_and_const_compare_by_worth),
          cmocka_unit_test(long_enum_is_cut_with_dots), cmocka_unit_test(lengths_count_characters),
          cmocka_unit_test(limits_are_exact), cmocka_unit_test(items_are_checked_one_by_one),
          cmocka_unit_test(fields_are_known_required_or_additional),
          cmocka_unit_test(every_required_name_is_looked_for), cmocka_unit_test(forms_combine),
          cmocka_unit_test(references_lead_to_places_in_the_document),
          cmocka_unit_test(recursive_references_follow_the_value),
          cmocka_unit_test(annotations_are_ignored),
          cmocka_unit_test(left_out_words_are_refused_with_their_place),
          cmocka_unit_test(wrong_schemas_are_refused),
          cmocka_unit_test(references_that_go_in_circles_are_refused),
          cmocka_unit_test(schema_outlives_its_document),
          cmocka_unit_test(compiling_stops_at_the_arenas_ceiling),
          cmocka_unit_test(the_complaint_about_an_argument_names_it),
          cmocka_unit_test(tagged_forms_complain_about_the_form_that_is_meant),
          cmocka_unit_test(untagged_forms_complain_about_the_nearest),
          cmocka_unit_test(types_of_several_forms_add_up),
          cmocka_unit_test(tags_inside_a_group_do_not_speak_for_all),
          cmocka_unit_test(enum_tells_forms_apart_too),
          cmocka_unit_test(fields_are_written_as_paths),
          cmocka_unit_test(names_that_do_not_print_are_escaped),
          cmocka_unit_test(long_names_are_cut_between_characters),
          cmocka_unit_test(long_paths_keep_their_end),
          cmocka_unit_test(deepest_checks_fit_half_of_a_workers_stack),
          cmocka_unit_test(deepest_literal_below_the_deepest_forms_fits_a_workers_stack),
          cmocka_unit_test(long_chains_of_forms_end_at_the_nesting_limit),
          cmocka_unit_test(long_chains_of_references_cost_nothing),
          cmocka_unit_test(exponential_forms_end_at_the_work_limit),
          cmocka_unit_test(a_limit_reached_inside_not_is_no_acceptance),
          cmocka_unit_test(tagged_recursion_is_cheap),
          cmocka_unit_test(large_objects_are_checked_in_linear_time),
          cmocka_unit_test(work_on_text_counts), cmocka_unit_test(comparing_large_objects_counts),
          cmocka_unit_test(length_of_literals_counts),
          cmocka_unit_test(length_of_names_in_literals_counts),
          cmocka_unit_test(length_of_missing_names_counts),
          cmocka_unit_test(large_schemas_are_refused_in_bounded_time))
