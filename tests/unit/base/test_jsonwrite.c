/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>

#include "base/jsonwrite.h"
#include "base/utf8.h"

static struct buf out = BUF_INIT(1 << 20);
static struct json_writer w;

static int start(void **state)
{
    (void)state;
    buf_clear(&out);
    json_writer_init(&w, &out);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    buf_done(&out);
    return 0;
}

static void structure_and_commas_are_put_in(void **state)
{
    (void)state;
    json_begin_object(&w);
    json_key(&w, STR("a"));
    json_begin_array(&w);
    json_write_int(&w, 1);
    json_write_bool(&w, true);
    json_write_bool(&w, false);
    json_write_null(&w);
    json_begin_object(&w);
    json_end_object(&w);
    json_begin_array(&w);
    json_end_array(&w);
    json_end_array(&w);
    json_made_key(&w, (struct str)JSON_MADE_KEY("b"));
    json_write_str(&w, STR("text"));
    json_key(&w, STR("c"));
    json_write_int(&w, 2);
    json_end_object(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_str(buf_view(&out), "{\"a\":[1,true,false,null,{},[]],\"b\":\"text\",\"c\":2}");
}

static void pretty_output_is_indented(void **state)
{
    (void)state;
    json_writer_set_pretty(&w);
    json_begin_object(&w);
    json_key(&w, STR("a"));
    json_begin_array(&w);
    json_write_int(&w, 1);
    json_write_int(&w, 2);
    json_end_array(&w);
    json_made_key(&w, (struct str)JSON_MADE_KEY("e"));
    json_begin_object(&w);
    json_end_object(&w);
    json_end_object(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_str(buf_view(&out), "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"e\": {}\n}");
}

static void what_must_be_escaped_is(void **state)
{
    char all[128];

    (void)state;
    for (int i = 0; i < 128; i++)
        all[i] = (char)i;
    json_write_str(&w, (struct str){all, sizeof(all)});
    assert_int_equal(json_writer_finish(&w), 0);
    assert_str(buf_view(&out),
               "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r"
               "\\u000e\\u000f\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018"
               "\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f !\\\"#$%&'()*+,-./0123456789:;"
               "<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\x7f\"");
}

static void integers_of_every_length(void **state)
{
    static const int64_t numbers[] = {0,    7,  10,  99,        100,       999,      1000,
                                      9999, -1, -10, 123456789, INT64_MAX, INT64_MIN};

    (void)state;
    json_begin_array(&w);
    for (size_t i = 0; i < array_size(numbers); i++)
        json_write_int(&w, numbers[i]);
    json_end_array(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_str(buf_view(&out), "[0,7,10,99,100,999,1000,9999,-1,-10,123456789,"
                               "9223372036854775807,-9223372036854775808]");
}

static void invalid_utf8_is_refused_or_replaced(void **state)
{
    static const struct {
        struct str text;
        const char *replaced;
    } cases[] = {
        {STR_LITERAL("\xFF"), "\"" UTF8_REPLACEMENT "\""},
        {STR_LITERAL("a\xC3"), "\"a" UTF8_REPLACEMENT "\""},
        {STR_LITERAL("\xE2\x82z"), "\"" UTF8_REPLACEMENT UTF8_REPLACEMENT "z\""},
        {STR_LITERAL("\xED\xA0\x80"), "\"" UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT "\""},
    };

    for (size_t i = 0; i < array_size(cases); i++) {
        start(state);
        json_write_str(&w, cases[i].text);
        assert_int_equal(json_writer_finish(&w), ERR_INVALID_UTF8);
        start(state);
        json_write_str_lossy(&w, cases[i].text);
        assert_int_equal(json_writer_finish(&w), 0);
        assert_true(str_eq_c(buf_view(&out), cases[i].replaced));
    }
}

static void calls_after_an_error_do_nothing(void **state)
{
    struct buf small = BUF_INIT(8);

    (void)state;
    json_writer_init(&w, &small);
    json_begin_object(&w);
    json_key(&w, STR("a long key that does not fit"));
    json_write_str(&w, STR("x"));
    json_made_key(&w, (struct str)JSON_MADE_KEY("b"));
    json_begin_array(&w);
    json_write_int(&w, 1);
    json_end_array(&w);
    json_end_object(&w);
    json_end_object(&w);
    assert_int_equal(json_writer_finish(&w), ERR_TOO_LARGE);
    assert_true(small.len <= 8);
    buf_done(&small);
}

static void a_made_key_grows_the_buffer_or_fails(void **state)
{
    (void)state;
    for (size_t max = 0; max < 12; max++) {
        struct buf small = BUF_INIT(max);

        json_writer_init(&w, &small);
        json_begin_object(&w);
        json_made_key(&w, (struct str)JSON_MADE_KEY("name"));
        json_write_int(&w, 1);
        json_end_object(&w);
        if (json_writer_finish(&w) == 0)
            assert_str(buf_view(&small), "{\"name\":1}");
        else
            assert_true(small.len <= max);
        buf_done(&small);
    }
}

static void depth_is_limited(void **state)
{
    (void)state;
    for (int i = 0; i < JSON_WRITER_MAX_DEPTH; i++)
        json_begin_array(&w);
    for (int i = 0; i < JSON_WRITER_MAX_DEPTH; i++)
        json_end_array(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    start(state);
    for (int i = 0; i <= JSON_WRITER_MAX_DEPTH; i++)
        json_begin_array(&w);
    assert_int_equal(json_writer_finish(&w), ERR_JSON_DEPTH);
}

static void finished_json_is_spliced_as_it_is(void **state)
{
    (void)state;
    json_begin_object(&w);
    json_key(&w, STR("result"));
    json_splice(&w, STR("{\"content\": [ ]}"));
    json_key(&w, STR("id"));
    json_splice(&w, STR("7"));
    json_end_object(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_str(buf_view(&out), "{\"result\":{\"content\": [ ]},\"id\":7}");
}

/* Every length and place of a special character around the steps of the fast path. */
static void written_text_reads_back_the_same(void **state)
{
    static const char *const specials[] = {"\"",   "\\",       "\n",
                                           "\x01", "\xC3\xA4", "\xF0\x9F\x98\x80"};
    struct arena arena = ARENA_INIT(1 << 20);

    for (size_t len = 0; len < 70; len++) {
        for (size_t place = 0; place <= len; place++) {
            for (size_t i = 0; i < array_size(specials); i++) {
                char text[100];
                size_t special_len = strlen(specials[i]);
                const struct json_value *value;
                struct str view = {text, len + special_len};

                memset(text, 'x', sizeof(text));
                memcpy(text + place, specials[i], special_len);
                start(state);
                json_write_str(&w, view);
                assert_int_equal(json_writer_finish(&w), 0);
                assert_int_equal(
                    json_parse(&arena, buf_view(&out), JSON_LIMITS_DEFAULT, &value, NULL), 0);
                assert_true(str_eq(json_str(value), view));
                arena_reset(&arena);
            }
        }
    }
    arena_done(&arena);
}

static void a_read_document_is_written_whole(void **state)
{
    struct str text = STR("{\"a\":[1,-2.50,1e400,\"\\u0000\xE2\x82\xAC\"],\"b\":{\"c\":[[]]},"
                          "\"d\":[true,false,null,-0]}");
    struct arena arena = ARENA_INIT(1 << 20);
    const struct json_value *document;

    (void)state;
    assert_int_equal(json_parse(&arena, text, JSON_LIMITS_DEFAULT, &document, NULL), 0);
    json_write_value(&w, document);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_true(str_eq(buf_view(&out), text));
    arena_done(&arena);
}

#define write_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

TEST_MAIN(write_test(structure_and_commas_are_put_in), write_test(pretty_output_is_indented),
          write_test(what_must_be_escaped_is), write_test(integers_of_every_length),
          write_test(invalid_utf8_is_refused_or_replaced),
          write_test(calls_after_an_error_do_nothing),
          write_test(a_made_key_grows_the_buffer_or_fails), write_test(depth_is_limited),
          write_test(finished_json_is_spliced_as_it_is),
          write_test(written_text_reads_back_the_same),
          write_test(a_read_document_is_written_whole))
