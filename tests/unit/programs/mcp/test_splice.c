/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "programs/mcp/splice.h"

struct row {
    const char *before;
    const char *after;   /* NULL: refused */
    const char *problem; /* of those */
};

typedef int splice_fn(struct str text, struct str group, struct str name, struct str value,
                      struct buf *out, struct err *err);

static void check(splice_fn *splice, const char *group, const char *value, const struct row *rows,
                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cleanup_buf struct buf out = BUF_INIT(1 << 16);
        cleanup_buf struct buf again = BUF_INIT(1 << 16);
        struct err err = ERR_INIT;
        const char *text;
        int r = splice(str_from(rows[i].before), str_from(group), STR("us"), str_from(value), &out,
                       &err);

        if (rows[i].after == NULL) {
            assert_int_equal(r, ERR_UNSUPPORTED);
            assert_string_equal(err.message, rows[i].problem);
            continue;
        }
        if (r < 0)
            fail_msg("%s: %s", rows[i].before, err.message);
        assert_int_equal(buf_terminate(&out, &text), 0);
        assert_string_equal(text, rows[i].after);
        /* Once more changes nothing. */
        assert_int_equal(
            splice(buf_view(&out), str_from(group), STR("us"), str_from(value), &again, NULL), 0);
        assert_true(str_eq(buf_view(&again), buf_view(&out)));
    }
}

static void json_keeps_everything_but_the_one_member(void **state)
{
    static const struct row rows[] = {
        {"", "{\n  \"g\": {\n    \"us\": {\n      \"a\": 1\n    }\n  }\n}\n", NULL},
        {"// hello\n", "// hello\n{\n  \"g\": {\n    \"us\": {\n      \"a\": 1\n    }\n  }\n}\n",
         NULL},
        {"{}\n", "{\n  \"g\": {\n    \"us\": {\n      \"a\": 1\n    }\n  }\n}\n", NULL},
        {" {}\n", " {\n   \"g\": {\n     \"us\": {\n       \"a\": 1\n     }\n   }\n }\n", NULL},
        {"{\"x\":[1,{\"g\":{}}]}",
         "{\"x\":[1,{\"g\":{}}],\n  \"g\": {\n    \"us\": {\n      \"a\": 1\n    }\n  }\n}", NULL},
        {"{\n\t\"g\": {},\n\t\"b\": \"}\\\"\"\n}\n",
         "{\n\t\"g\": {\n\t\t\"us\": {\n\t\t\t\"a\": 1\n\t\t}\n\t},\n\t\"b\": \"}\\\"\"\n}\n",
         NULL},
        {"{\n  \"g\": {\n    \"z\": 1 // one, \"us\": 2\n    /* } */\n  }\n}\n",
         "{\n  \"g\": {\n    \"z\": 1, // one, \"us\": 2\n    /* } */\n    \"us\": {\n      \"a\": "
         "1\n    }\n  }\n}\n",
         NULL},
        {"{\n    \"g\": {\n        \"z\": 1,\n    },\n}\n",
         "{\n    \"g\": {\n        \"z\": 1,\n        \"us\": {\n            \"a\": 1\n        "
         "},\n "
         "   },\n}\n",
         NULL},
        {"{\r\n  \"g\": {\r\n    \"us\": [1, 2],\r\n    \"z\": null\r\n  }\r\n}\r\n",
         "{\r\n  \"g\": {\r\n    \"us\": {\r\n      \"a\": 1\r\n    },\r\n    \"z\": null\r\n  "
         "}\r\n}\r\n",
         NULL},
    };

    (void)state;
    check(splice_json, "g", "{\n  \"a\": 1\n}", rows, array_size(rows));
}

static void json_that_is_not_understood_is_refused_with_its_line(void **state)
{
    static const struct row rows[] = {
        {"[]", NULL, "line 1: it does not begin with {"},
        {"{", NULL, "line 1: a string is missing"},
        {"{\n\"a\": 1\n\"b\": 2}", NULL, "line 3: a comma is missing"},
        {"{\"a\" 1}", NULL, "line 1: a colon is missing"},
        {"{\"a\": }", NULL, "line 1: a value is missing"},
        {"{\"a\": \"x}", NULL, "line 1: a string has no end"},
        {"{} /* ", NULL, "line 1: a comment has no end"},
        {"{} x", NULL, "line 1: something follows the last }"},
        {"{\"g\": []}", NULL, "line 1: the list of servers is not an object"},
        {"{\"g\": {}, \"g\": {}}", NULL, "line 1: a name occurs twice"},
        {"{\"g\": {\"us\": 1, \"us\": 2}}", NULL, "line 1: a name occurs twice"},
        {"{\"\\u0067\": {}}", NULL, "line 1: a name has an escaped character"},
    };
    cleanup_buf struct buf deep = BUF_INIT(1 << 12);
    cleanup_buf struct buf out = BUF_INIT(1 << 12);

    (void)state;
    check(splice_json, "g", "{}", rows, array_size(rows));
    assert_int_equal(buf_append_str(&deep, STR("{\"a\": ")), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_append_char(&deep, '['), 0);
    assert_int_equal(splice_json(buf_view(&deep), STR("g"), STR("us"), STR("{}"), &out, NULL),
                     ERR_UNSUPPORTED);
}

static void toml_keeps_everything_but_the_one_table(void **state)
{
    static const struct row rows[] = {
        {"", "[g.us]\na = 1\n", NULL},
        {"x = 1", "x = 1\n\n[g.us]\na = 1\n", NULL},
        {"[g.us]", "[g.us]\na = 1\n", NULL},
        {"[g.us] # we\nb = 2\nc = [\n  \"]\", # [\n]\n\n# them\n[g.us.env]\nX = \"1\"\n",
         "[g.us] # we\na = 1\n\n# them\n[g.us.env]\nX = \"1\"\n", NULL},
        {"[ \"g\" . 'us' ]\nb = { x = \"}\" }\n[[h]]\n", "[ \"g\" . 'us' ]\na = 1\n[[h]]\n", NULL},
        {"[g]\nother = 1\n[g.them]\nus = 2\n",
         "[g]\nother = 1\n[g.them]\nus = 2\n\n[g.us]\na = 1\n", NULL},
    };

    (void)state;
    check(splice_toml, "g", "a = 1\n", rows, array_size(rows));
}

static void toml_that_is_not_understood_is_refused_with_its_line(void **state)
{
    static const struct row rows[] = {
        {"x = 1\ng = { us = 1 }\n", NULL, "line 2: the servers are not written as tables"},
        {"g.us.a = 1\n", NULL, "line 1: the servers are not written as tables"},
        {"[g]\nus.a = 1\n", NULL, "line 2: the server is not written as a table"},
        {"[g]\n\"us\" = {}\n", NULL, "line 2: the server is not written as a table"},
        {"[[g]]\n", NULL, "line 1: the servers are a list"},
        {"[g.us]\n[g.us]\n", NULL, "line 2: the table occurs twice"},
        {"x = \"\"\"\n[g.us]\n\"\"\"\n", NULL, "line 1: a string has several lines"},
        {"x = [\n", NULL, "line 2: a bracket is not closed"},
        {"x = ]\n", NULL, "line 1: a bracket is closed that was not opened"},
        {"x = \"a\n", NULL, "line 1: a string has no end"},
        {"[g\n", NULL, "line 1: a table has no ]"},
        {"?\n", NULL, "line 1: it is not understood"},
    };

    (void)state;
    check(splice_toml, "g", "a = 1\n", rows, array_size(rows));
}

static void json_loses_the_one_member_and_its_comma(void **state)
{
    static const struct row rows[] = {
        {"", "", NULL},
        {"{\"x\": {\"us\": 1}}\n", "{\"x\": {\"us\": 1}}\n", NULL},
        {"{\"g\": {\"them\": 1}}\n", "{\"g\": {\"them\": 1}}\n", NULL},
        {"{\n  \"g\": {\n    \"us\": {\n      \"a\": 1\n    }\n  }\n}\n", "{\n  \"g\": {}\n}\n",
         NULL},
        {"{\"g\": {\"us\": 1, \"z\": 2}}", "{\"g\": {\"z\": 2}}", NULL},
        {"{\"g\": {\"z\": 2, \"us\": 1}}", "{\"g\": {\"z\": 2 }}", NULL},
        {"{\n  \"g\": {\n    \"z\": 1, // one, \"us\": 2\n    \"us\": {\n      \"a\": 1\n    }\n "
         " }\n}\n",
         "{\n  \"g\": {\n    \"z\": 1 // one, \"us\": 2\n  }\n}\n", NULL},
        {"{\n  \"g\": {\n    \"z\": 1,\n    \"us\": 2,\n  },\n}\n",
         "{\n  \"g\": {\n    \"z\": 1,\n  },\n}\n", NULL},
        {"{\n  \"g\": {\n    \"us\": 2, // ours\n    \"z\": 1\n  }\n}\n",
         "{\n  \"g\": {\n    // ours\n    \"z\": 1\n  }\n}\n", NULL},
        {"{\r\n  \"g\": {\r\n    \"us\": 2,\r\n    \"z\": 1\r\n  }\r\n}\r\n",
         "{\r\n  \"g\": {\r\n    \"z\": 1\r\n  }\r\n}\r\n", NULL},
        {"{\"g\": []}", NULL, "line 1: the list of servers is not an object"},
    };

    (void)state;
    check(splice_json, "g", "", rows, array_size(rows));
}

static void toml_loses_the_one_table_and_those_below_it(void **state)
{
    static const struct row rows[] = {
        {"", "", NULL},
        {"x = 1\n[g.them]\nus = 2\n", "x = 1\n[g.them]\nus = 2\n", NULL},
        {"x = 1\n\n[g.us]\na = 1\n", "x = 1\n", NULL},
        {"[g.us]", "", NULL},
        {"x = 1\n\n[g.us] # we\nb = 2\n# in it\nc = [\n  \"]\", # [\n]\n\n[g.us.env]\nX = "
         "\"1\"\n\n# "
         "them\n[g.them]\ny = 1\n",
         "x = 1\n\n# them\n[g.them]\ny = 1\n", NULL},
        {"[g.us.env]\nX = 1\n[h]\n[g.us]\na = 1\n[i]\n", "[h]\n[i]\n", NULL},
        {"g.us.a = 1\n", NULL, "line 1: the servers are not written as tables"},
    };

    (void)state;
    check(splice_toml, "g", "", rows, array_size(rows));
}

TEST_MAIN(cmocka_unit_test(json_loses_the_one_member_and_its_comma),
          cmocka_unit_test(toml_loses_the_one_table_and_those_below_it),
          cmocka_unit_test(json_keeps_everything_but_the_one_member),
          cmocka_unit_test(json_that_is_not_understood_is_refused_with_its_line),
          cmocka_unit_test(toml_keeps_everything_but_the_one_table),
          cmocka_unit_test(toml_that_is_not_understood_is_refused_with_its_line))
