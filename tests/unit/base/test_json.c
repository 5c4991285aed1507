/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"

enum { ARENA_BYTES = 64 << 20 };

static struct arena arena = ARENA_INIT(ARENA_BYTES);

static int reset(void **state)
{
    (void)state;
    arena_done(&arena);
    arena_init(&arena, ARENA_BYTES);
    return 0;
}

static const struct json_value *parse(struct str text)
{
    const struct json_value *document = NULL;
    struct err err = ERR_INIT;

    if (json_parse(&arena, text, JSON_LIMITS_DEFAULT, &document, &err) < 0)
        fail_msg("%s", err.message);
    return document;
}

static int parse_error(struct str text, struct json_limits limits, struct err *err)
{
    const struct json_value *document = NULL;
    int r = json_parse(&arena, text, limits, &document, err);

    if (r < 0)
        assert_null(document);
    return r;
}

static void scalars_keep_their_type_and_value(void **state)
{
    (void)state;
    assert_int_equal(parse(STR("null"))->type, JSON_NULL);
    assert_int_equal(parse(STR("true"))->integer, 1);
    assert_int_equal(parse(STR(" false\n"))->integer, 0);
    assert_int_equal(parse(STR("\t-17 "))->integer, -17);
    assert_str(json_str(parse(STR("\"text\""))), "text");
    assert_str(json_str(parse(STR("\"\""))), "");
}

static void numbers_are_exact(void **state)
{
    static const struct {
        struct str text;
        enum json_type type;
        int64_t integer;
    } cases[] = {
        {STR_LITERAL("0"), JSON_INT, 0},
        {STR_LITERAL("9223372036854775807"), JSON_INT, INT64_MAX},
        {STR_LITERAL("-9223372036854775808"), JSON_INT, INT64_MIN},
        {STR_LITERAL("9007199254740993"), JSON_INT, 9007199254740993},
        {STR_LITERAL("9223372036854775808"), JSON_NUMBER, 0},
        {STR_LITERAL("-9223372036854775809"), JSON_NUMBER, 0},
        {STR_LITERAL("-0"), JSON_NUMBER, 0},
        {STR_LITERAL("1.0"), JSON_NUMBER, 0},
        {STR_LITERAL("1e5"), JSON_NUMBER, 0},
        {STR_LITERAL("0.1000000000000000055511151231257827"), JSON_NUMBER, 0},
        {STR_LITERAL("1E+400"), JSON_NUMBER, 0},
        {STR_LITERAL("123456789012345678901234567890"), JSON_NUMBER, 0},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        const struct json_value *number = parse(cases[i].text);

        assert_int_equal(number->type, cases[i].type);
        if (number->type == JSON_INT)
            assert_true(number->integer == cases[i].integer);
        else
            assert_true(str_eq(json_str(number), cases[i].text));
    }
}

static void escapes_are_decoded(void **state)
{
    (void)state;
    assert_str(json_str(parse(STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""))), "\"\\/\b\f\n\r\t");
    assert_str(json_str(parse(STR("\"\\u0041\\u00e4\\u20AC\\uD83D\\uDE00\""))),
               "A\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    assert_str(json_str(parse(STR("\"\xC3\xA4 plain, then \\u00e4\""))),
               "\xC3\xA4 plain, then \xC3\xA4");
}

static void a_nul_inside_a_string_is_kept(void **state)
{
    const struct json_value *object = parse(STR("{\"a\\u0000b\":\"c\\u0000d\",\"a\":1}"));

    (void)state;
    assert_str(json_str(object + 1), "a\0b");
    assert_str(json_str(object + 2), "c\0d");
    assert_int_equal(json_get(object, STR("a"))->integer, 1);
    assert_str(json_str(json_get(object, STR("a\0b"))), "c\0d");
}

static void strings_without_escapes_point_into_the_text(void **state)
{
    struct str text = STR("[\"plain\",\"esc\\n\"]");
    const struct json_value *array = parse(text);

    (void)state;
    assert_ptr_equal((array + 1)->text, text.ptr + 2);
    assert_true((array + 2)->text < text.ptr || (array + 2)->text > text.ptr + text.len);
}

/* Every length and every place of the special byte around the steps of the fast path. */
static void strings_of_every_length_are_read_right(void **state)
{
    char text[200];
    char expected[200];

    (void)state;
    for (size_t len = 0; len < 80; len++) {
        for (size_t special = 0; special <= len; special++) {
            size_t at = 0;
            const struct json_value *value;

            text[at++] = '"';
            for (size_t i = 0; i < len; i++) {
                expected[i] = (char)('a' + i % 26);
                text[at++] = expected[i];
                if (i == special) {
                    expected[i] = '\n';
                    text[at - 1] = '\\';
                    text[at++] = 'n';
                }
            }
            text[at++] = '"';
            value = parse((struct str){text, at});
            assert_int_equal(value->size, len);
            assert_memory_equal(value->text, expected, len);
        }
        arena_reset(&arena);
    }
}

static void containers_can_be_walked_and_stepped_over(void **state)
{
    const struct json_value *root =
        parse(STR("{\"a\":[1,[2,3],{}],\"b\":{\"c\":null},\"d\":\"e\"}"));
    const struct json_value *array = json_get(root, STR("a"));
    int members = 0;
    int items = 0;

    (void)state;
    assert_int_equal(root->size, 3);
    assert_true(json_next(root) == root + root->span);
    json_each_member (key, root) {
        assert_int_equal(key->type, JSON_STRING);
        members++;
    }
    json_each_item (item, array)
        items++;
    assert_int_equal(members, 3);
    assert_int_equal(items, 3);
    assert_int_equal(array->size, 3);
    assert_int_equal((array + 2)->type, JSON_ARRAY);
    assert_int_equal(json_next(array + 2)->type, JSON_OBJECT);
    json_each_item (item, root)
        fail_msg("an object has no items");
    json_each_member (key, array)
        fail_msg("an array has no members");
    assert_null(json_get(array, STR("a")));
    assert_null(json_get(root, STR("x")));
}

static void whole_numbers_are_read_in_any_spelling(void **state)
{
    static const struct {
        const char *json;
        int64_t number;
    } cases[] = {
        {"{\"n\":3}", 3},
        {"{\"n\":3.0}", 3},
        {"{\"n\":-3e0}", -3},
        {"{\"n\":1e300}", INT64_MAX},
        {"{\"n\":-1e300}", INT64_MIN},
        {"{\"n\":-1000000000000000000000000000000000000000000000000000000000000000000000}",
         INT64_MIN},
    };
    int64_t number = 7;

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        assert_true(json_get_whole(parse(str_from(cases[i].json)), STR("n"), &number));
        assert_int_equal(number, cases[i].number);
    }
    number = 7;
    assert_false(json_get_whole(parse(STR("{\"n\":\"3\"}")), STR("n"), &number));
    assert_false(json_get_whole(parse(STR("{\"n\":true}")), STR("n"), &number));
    assert_false(json_get_whole(parse(STR("{}")), STR("n"), &number));
    assert_int_equal(number, 7);
}

static void getters_refuse_the_wrong_type(void **state)
{
    const struct json_value *root = parse(STR("{\"s\":\"x\",\"i\":5,\"b\":true,\"n\":1.5}"));
    struct str text = STR("old");
    int64_t number = 1;
    bool is_true = false;

    (void)state;
    assert_true(json_get_str(root, STR("s"), &text));
    assert_true(json_get_int(root, STR("i"), &number));
    assert_true(json_get_bool(root, STR("b"), &is_true));
    assert_str(text, "x");
    assert_int_equal(number, 5);
    assert_true(is_true);
    assert_false(json_get_str(root, STR("i"), &text));
    assert_false(json_get_int(root, STR("n"), &number));
    assert_false(json_get_int(root, STR("b"), &number));
    assert_false(json_get_bool(root, STR("missing"), &is_true));
    assert_int_equal(number, 5);
}

static void duplicate_keys_are_refused(void **state)
{
    static const struct str cases[] = {
        STR_LITERAL("{\"a\":1,\"a\":1}"),
        STR_LITERAL("{\"a\":1,\"b\":2,\"\\u0061\":3}"),
        STR_LITERAL("{\"\":1,\"\":2}"),
        STR_LITERAL("[{\"x\":{\"a\":[],\"a\":{}}}]"),
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++)
        assert_int_equal(parse_error(cases[i], JSON_LIMITS_DEFAULT, NULL), ERR_JSON_DUPLICATE_KEY);
    parse(STR("{\"a\":{\"a\":{\"a\":1}},\"A\":2}"));
}

/* Small objects are compared, large ones hashed: the last key repeats one of the others. */
static void duplicates_are_found_at_any_place_and_size(void **state)
{
    (void)state;
    for (int size = 2; size <= 40; size++) {
        for (int twin = 0; twin < size; twin++) {
            cleanup_buf struct buf text = BUF_INIT(1 << 16);

            /* twin == size - 1: the last key is its own, so nothing repeats. */
            buf_append_char(&text, '{');
            for (int i = 0; i < size; i++)
                buf_printf(&text, "%s\"key%d\":[%d]", i > 0 ? "," : "", i == size - 1 ? twin : i,
                           i);
            buf_append_char(&text, '}');
            assert_int_equal(parse_error(buf_view(&text), JSON_LIMITS_DEFAULT, NULL),
                             twin == size - 1 ? 0 : ERR_JSON_DUPLICATE_KEY);
        }
        arena_reset(&arena);
    }
}

static void depth_is_limited(void **state)
{
    char text[2 * JSON_LARGEST_MAX_DEPTH + 2];

    (void)state;
    for (unsigned depth = 1; depth <= JSON_LARGEST_MAX_DEPTH; depth *= 2) {
        struct json_limits limits = {1000000, depth};

        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(parse_error((struct str){text, 2 * depth}, limits, NULL), 0);
        limits.max_depth--;
        assert_int_equal(parse_error((struct str){text, 2 * depth}, limits, NULL), ERR_JSON_DEPTH);
    }
    assert_int_equal(parse_error(STR("7"), (struct json_limits){10, 0}, NULL), 0);
    assert_int_equal(parse_error(STR("{}"), (struct json_limits){10, 0}, NULL), ERR_JSON_DEPTH);
}

static void size_is_limited(void **state)
{
    (void)state;
    assert_int_equal(parse_error(STR("12345"), (struct json_limits){5, 8}, NULL), 0);
    assert_int_equal(parse_error(STR("123456"), (struct json_limits){5, 8}, NULL), ERR_TOO_LARGE);
}

static void memory_is_limited_by_the_arena(void **state)
{
    enum { ITEMS = 100000 };
    struct arena small = ARENA_INIT(100000);
    const struct json_value *document;
    char *text = malloc(ITEMS * 2 + 1);
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < ITEMS; i++) {
        text[i * 2] = i == 0 ? '[' : ',';
        text[i * 2 + 1] = '1';
    }
    text[ITEMS * 2] = ']';
    assert_int_equal(
        json_parse(&small, (struct str){text, ITEMS * 2 + 1}, JSON_LIMITS_DEFAULT, &document, &err),
        ERR_TOO_LARGE);
    assert_true(small.held <= small.max);
    assert_int_equal(
        json_parse(&arena, (struct str){text, ITEMS * 2 + 1}, JSON_LIMITS_DEFAULT, &document, &err),
        0);
    assert_int_equal(document->size, ITEMS);
    /* What was reserved too much is given back. */
    assert_in_range(arena.held, ITEMS * 16, ITEMS * 16 + 4096);
    arena_done(&small);
    free(text);
}

/* The values and the decoded strings share one ceiling, whatever it is. */
static void every_ceiling_is_kept_and_none_is_fatal(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 20);

    (void)state;
    buf_append_char(&text, '[');
    for (int i = 0; i < 500; i++)
        buf_printf(&text, "0,{\"key%d\":\"\\n\"},", i);
    buf_printf(&text, "{");
    for (int i = 0; i < 100; i++)
        buf_printf(&text, "\"k%d\":0,", i);
    buf_printf(&text, "\"last\":\"\\t%01000d\"}]", 0);
    for (size_t max = 0; max < 80000; max += 97) {
        struct arena small = ARENA_INIT(max);
        const struct json_value *document = NULL;
        int r = json_parse(&small, buf_view(&text), JSON_LIMITS_DEFAULT, &document, NULL);

        assert_true(r == 0 || r == ERR_TOO_LARGE);
        assert_true(small.held <= max);
        assert_int_equal(r == 0, document != NULL);
        if (max > 79000)
            assert_int_equal(r, 0);
        arena_done(&small);
    }
}

static void errors_say_where(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(parse_error(STR("{\n  \"\xC3\xA4\": nul\n}"), JSON_LIMITS_DEFAULT, &err),
                     ERR_INVALID_JSON);
    assert_non_null(strstr(err.message, "line 2 column 8"));
    assert_int_equal(parse_error(STR("[1,]"), JSON_LIMITS_DEFAULT, &err), ERR_INVALID_JSON);
    assert_non_null(strstr(err.message, "line 1 column 4"));
    assert_int_equal(parse_error(STR("\"a\xFF\""), JSON_LIMITS_DEFAULT, &err), ERR_INVALID_UTF8);
    assert_non_null(strstr(err.message, "line 1 column 3"));
    assert_int_equal(parse_error(STR("[{\"\\u0061\":1,\n\"a\":2}, 3]"), JSON_LIMITS_DEFAULT, &err),
                     ERR_JSON_DUPLICATE_KEY);
    assert_non_null(strstr(err.message, "line 2 column 6"));
}

static void a_document_cut_anywhere_is_refused(void **state)
{
    struct str text =
        STR("{\"a\":[1,-2.5e+3,\"x\\u00e4\\ny\xE2\x82\xAC\",true,false,null],\"b\":{}}");

    (void)state;
    for (size_t len = 0; len < text.len; len++) {
        /* A copy of exactly this size lets the sanitizer see a read behind the end. */
        char *copy = malloc(len > 0 ? len : 1);
        int r;

        assert_non_null(copy);
        memcpy(copy, text.ptr, len);
        r = parse_error((struct str){copy, len}, JSON_LIMITS_DEFAULT, NULL);
        assert_true(r == ERR_INVALID_JSON || r == ERR_INVALID_UTF8);
        free(copy);
    }
    parse(text);
}

static void equality_ignores_order_and_spelling(void **state)
{
    static const struct {
        struct str a;
        struct str b;
        bool is_equal;
    } cases[] = {
        {STR_LITERAL("{\"a\":1,\"b\":[1,2]}"), STR_LITERAL("{\"b\":[1.0,2e0],\"a\":1}"), true},
        {STR_LITERAL("{\"a\":1}"), STR_LITERAL("{\"a\":1,\"b\":1}"), false},
        {STR_LITERAL("{\"a\":1}"), STR_LITERAL("{\"b\":1}"), false},
        {STR_LITERAL("[1,2]"), STR_LITERAL("[2,1]"), false},
        {STR_LITERAL("[[],{}]"), STR_LITERAL("[[],{}]"), true},
        {STR_LITERAL("\"\\u0061\""), STR_LITERAL("\"a\""), true},
        {STR_LITERAL("0"), STR_LITERAL("false"), false},
        {STR_LITERAL("1"), STR_LITERAL("\"1\""), false},
        {STR_LITERAL("null"), STR_LITERAL("null"), true},
        {STR_LITERAL("true"), STR_LITERAL("false"), false},
        {STR_LITERAL("{\"a\":1,\"b\":2,\"c\":3}"), STR_LITERAL("{\"c\":3,\"a\":1,\"b\":2}"), true},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        assert_int_equal(json_eq(parse(cases[i].a), parse(cases[i].b)), cases[i].is_equal);
        assert_int_equal(json_eq(parse(cases[i].b), parse(cases[i].a)), cases[i].is_equal);
    }
}

static void a_copy_outlives_text_and_arena(void **state)
{
    static const char text[] = "{\"a\":[1,\"x\\ny\",2.50,null,true,{}],\"b\":\"\",\"c\":[]}";
    struct arena other = ARENA_INIT(ARENA_BYTES);
    struct arena tiny = ARENA_INIT(16);
    char *kept = malloc(sizeof(text));
    const struct json_value *copy;

    (void)state;
    assert_non_null(kept);
    memcpy(kept, text, sizeof(text));
    copy = json_copy(&other, parse(str_from(kept)));
    assert_non_null(copy);
    assert_null(json_copy(&tiny, parse(str_from(kept))));
    memset(kept, 'x', sizeof(text));
    free(kept);
    reset(NULL);
    assert_true(json_eq(copy, parse(str_from(text))));
    /* A part alone as well. */
    assert_true(json_eq(json_copy(&other, json_get(copy, STR("a"))),
                        parse(STR("[1,\"x\\ny\",2.5,null,true,{}]"))));
    arena_done(&tiny);
    arena_done(&other);
}

#define json_test(name) cmocka_unit_test_setup_teardown(name, reset, reset)

static void lone_surrogates_are_replaced_only_where_that_is_asked_for(void **state)
{
    static const struct {
        const char *text;
        const char *read;
    } rows[] = {
        {"\"\\uD800\"", UTF8_REPLACEMENT},
        {"\"\\uDC00x\"", UTF8_REPLACEMENT "x"},
        {"\"\\uD83D\\uDE00\"", "\xF0\x9F\x98\x80"},
        {"\"\\uD83D\\uD83D\\uDE00\"", UTF8_REPLACEMENT "\xF0\x9F\x98\x80"},
        {"\"\\uDE00\\uD83D\"", UTF8_REPLACEMENT UTF8_REPLACEMENT},
        {"\"a\\uD83D\\n\"", "a" UTF8_REPLACEMENT "\n"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        const struct json_value *document;

        assert_int_equal(
            json_parse_mended(&arena, str_from(rows[i].text), JSON_LIMITS_DEFAULT, &document, NULL),
            0);
        assert_true(str_eq_c(json_str(document), rows[i].read));
    }
    assert_int_equal(parse_error(STR("\"\\uD800\""), JSON_LIMITS_DEFAULT, NULL), ERR_INVALID_JSON);
}

TEST_MAIN(json_test(scalars_keep_their_type_and_value), json_test(numbers_are_exact),
          json_test(escapes_are_decoded),
          json_test(lone_surrogates_are_replaced_only_where_that_is_asked_for),
          json_test(a_nul_inside_a_string_is_kept),
          json_test(strings_without_escapes_point_into_the_text),
          json_test(strings_of_every_length_are_read_right),
          json_test(containers_can_be_walked_and_stepped_over),
          json_test(whole_numbers_are_read_in_any_spelling),
          json_test(getters_refuse_the_wrong_type), json_test(duplicate_keys_are_refused),
          json_test(duplicates_are_found_at_any_place_and_size), json_test(depth_is_limited),
          json_test(size_is_limited), json_test(memory_is_limited_by_the_arena),
          json_test(every_ceiling_is_kept_and_none_is_fatal), json_test(errors_say_where),
          json_test(a_document_cut_anywhere_is_refused),
          json_test(equality_ignores_order_and_spelling), json_test(a_copy_outlives_text_and_arena))
