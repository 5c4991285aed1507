/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/json.h"
#include "base/utf8.h"
#include "protocol/resulttext.h"
#include "protocol/toolresult.h"

enum { OUT_BYTES = 1 << 20 };

static const struct json_value *parse(struct arena *arena, struct str text)
{
    const struct json_value *document;

    assert_int_equal(json_parse(arena, text, JSON_LIMITS_DEFAULT, &document, NULL), 0);
    return document;
}

static void assert_written(struct buf *out, const char *wanted)
{
    const char *text;

    assert_int_equal(buf_terminate(out, &text), 0);
    assert_string_equal(text, wanted);
}

/* The text of an object in this form; empty if it is the object itself. */
static void expect_text(const char *object, const char *wanted)
{
    cleanup_arena struct arena arena = ARENA_INIT(OUT_BYTES);
    cleanup_buf struct buf out = BUF_INIT(OUT_BYTES);
    bool is_text;

    assert_int_equal(resulttext_write(parse(&arena, str_from(object)), &out, &is_text), 0);
    assert_int_equal(is_text, wanted[0] != '\0');
    assert_true(!is_text || resulttext_may_be_text(str_from(object)));
    assert_written(&out, wanted);
}

static void short_objects_without_text_are_known_unparsed(void **state)
{
    char padded[400];

    (void)state;
    assert_false(resulttext_may_be_text(STR("{\"path\":\"a/b.txt\"}")));
    assert_false(resulttext_may_be_text(STR("{\"path\":\"a\",\"replacements\":2}")));
    assert_false(resulttext_may_be_text(STR("{}")));
    assert_true(resulttext_may_be_text(STR("{\"conten\\u0074\":\"a\"}")));
    assert_true(resulttext_may_be_text(STR("{\"matches\":[]}")));
    snprintf(padded, sizeof(padded), "{\"path\":\"%0300d\"}", 0);
    assert_true(resulttext_may_be_text(str_from(padded)));
}

static void a_file_is_its_text(void **state)
{
    (void)state;
    expect_text("{\"path\":\"a\",\"content\":\"x \\\"q\\\"\\n\\ty\\n\",\"truncated\":false,"
                "\"totalLines\":3}",
                "x \"q\"\n\ty\n");
    expect_text("{\"path\":\"a\",\"content\":\"no end\",\"truncated\":false,\"totalLines\":1}",
                "no end");
}

static void what_a_model_must_know_of_a_file_is_in_the_last_line(void **state)
{
    (void)state;
    expect_text("{\"path\":\"a\",\"content\":\"1\\n2\",\"truncated\":true,\"totalLines\":9,"
                "\"nextStartLine\":3}",
                "1\n2\n[truncated, totalLines 9, nextStartLine 3]");
    expect_text("{\"path\":\"a\",\"content\":\"9\\n\",\"truncated\":false,\"totalLines\":9,"
                "\"startLine\":9,\"encoding\":\"ISO-8859-1\",\"note\":\"a, b\"}",
                "9\n[totalLines 9, startLine 9, encoding ISO-8859-1, note a, b]");
}

/* Some interfaces of models refuse an empty text. */
static void no_text_is_empty(void **state)
{
    (void)state;
    expect_text("{\"path\":\"a\",\"content\":\"\",\"truncated\":false,\"totalLines\":1}",
                "[empty]");
    expect_text("{\"query\":\"x\",\"matches\":[],\"truncated\":false,\"totalMatches\":0}",
                "[no matches]");
    expect_text("{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":0}", "[no output, exitCode 0]");
    expect_text("{\"path\":\"a\",\"replacements\":1,\"diff\":\"\"}", "[no difference]");
}

static void several_files_have_a_line_before_each(void **state)
{
    (void)state;
    expect_text("{\"files\":[{\"path\":\"a\",\"content\":\"1\",\"truncated\":true,"
                "\"totalLines\":2,\"nextStartLine\":2},"
                "{\"path\":\"b\\nc\",\"content\":\"\",\"truncated\":false,\"totalLines\":1},"
                "{\"path\":\"d\",\"error\":\"d: not found\"}]}",
                "==> a <==\n1\n[truncated, totalLines 2, nextStartLine 2]\n"
                "==> b\xef\xbf\xbd"
                "c <==\n[empty]\n==> d <==\n[error d: not found]");
}

static void matches_are_lines_below_their_file(void **state)
{
    (void)state;
    expect_text("{\"query\":\"x\",\"matches\":[{\"path\":\"a\",\"lineNumber\":2,\"line\":\"x\"},"
                "{\"path\":\"a\",\"lineNumber\":7,\"line\":\"\\tx\"},"
                "{\"path\":\"b\",\"lineNumber\":1,\"line\":\"x:\"}],"
                "\"truncated\":false,\"totalMatches\":3}",
                "a\n2:x\n7:\tx\nb\n1:x:\n");
    expect_text("{\"query\":\"x\",\"matches\":[{\"path\":\"a\",\"lineNumber\":3,\"line\":\"x\","
                "\"before\":[\"1\",\"2\"],\"after\":[\"4\"]},"
                "{\"path\":\"a\",\"lineNumber\":9,\"line\":\"x\",\"before\":[\"8\"],"
                "\"after\":[]}],\"truncated\":true,\"totalMatches\":5,"
                "\"skipped\":{\"binary\":2}}",
                "a\n1-1\n2-2\n3:x\n4-4\n--\n8-8\n9:x\n"
                "[truncated, totalMatches 5, skipped {\"binary\":2}]");
    /* Lines that are around two matches, or match themselves, come once. */
    expect_text("{\"query\":\"x\",\"matches\":[{\"path\":\"a\",\"lineNumber\":1,\"line\":\"x\","
                "\"after\":[\"2\",\"x\"]},{\"path\":\"a\",\"lineNumber\":3,\"line\":\"x\","
                "\"before\":[\"x\",\"2\"],\"after\":[\"4\",\"5\"]},"
                "{\"path\":\"a\",\"lineNumber\":6,\"line\":\"x\",\"before\":[\"4\",\"5\"]}],"
                "\"truncated\":false,\"totalMatches\":3}",
                "a\n1:x\n2-2\n3:x\n4-4\n5-5\n6:x\n");
    expect_text("{\"name\":\"*\",\"matches\":[{\"path\":\"a\"},{\"path\":\"b/c\"}],"
                "\"truncated\":false,\"totalMatches\":2}",
                "a\nb/c\n");
}

static void expect_entries(const struct resulttext_entry *entries, size_t count, bool is_truncated,
                           const char *wanted)
{
    cleanup_buf struct buf out = BUF_INIT(OUT_BYTES);

    for (size_t i = 0; i < count; i++)
        assert_int_equal(resulttext_append_entry(&entries[i], &out), 0);
    assert_int_equal(resulttext_end_entries(is_truncated, &out), 0);
    assert_written(&out, wanted);
}

static void entries_are_names_with_sizes(void **state)
{
    const struct resulttext_entry entries[] = {
        {.path = STR("d"), .is_directory = true},
        {.path = STR("d e.txt"), .has_size = true, .size = 12},
        {.path = STR("f")},
        {.path = STR("a\nb"), .has_size = true, .modified = STR("2026-01-02")},
    };

    (void)state;
    expect_entries(entries, array_size(entries), true,
                   "d/\nd e.txt\t12\nf\na" UTF8_REPLACEMENT "b\t0\t2026-01-02\n[truncated]");
    expect_entries(entries, 1, false, "d/\n");
    expect_entries(entries, 0, false, "[empty]");
    expect_entries(entries, 0, true, "[empty, truncated]");
}

static void commands_are_their_output_and_how_they_failed(void **state)
{
    (void)state;
    expect_text("{\"stdout\":\"a\\n\",\"stderr\":\"\",\"exitCode\":0}", "a\n");
    expect_text("{\"stdout\":\"a\",\"stderr\":\"b\\n\",\"exitCode\":3}",
                "a\n[stderr]\nb\n[exitCode 3]");
    expect_text("{\"stdout\":\"\",\"stderr\":\"b\",\"exitCode\":null,\"timedOut\":true}",
                "[stderr]\nb\n[exitCode null, timedOut]");
    expect_text("{\"jobId\":\"j\",\"output\":\"o\\n\",\"cursor\":2,\"hasMore\":false,"
                "\"state\":\"running\"}",
                "o\n[cursor 2, state running]");
}

static void edits_are_their_diff(void **state)
{
    (void)state;
    expect_text("{\"path\":\"a\",\"replacements\":2,\"diff\":\"--- a/a\\n\"}", "--- a/a\n");
    expect_text("{\"path\":\"a\",\"replacements\":1,\"diff\":\"--- a/a\\n\",\"undoable\":false}",
                "--- a/a\n[replacements 1, undoable false]");
    expect_text("{\"files\":[{\"path\":\"a\",\"edits\":1,\"replacements\":1},"
                "{\"path\":\"b\",\"edits\":1,\"replacements\":1,\"inexact\":\"blanks\"}],"
                "\"dryRun\":true,\"diff\":\"--- a/a\\n\"}",
                "[b: inexact blanks]\n--- a/a\n[dryRun]");
}

static void other_objects_stay_json(void **state)
{
    (void)state;
    expect_text("{\"path\":\"a\"}", "");
    expect_text("{\"destinationPath\":\"a\",\"files\":3,\"directories\":1}", "");
    expect_text("{\"undone\":[],\"remaining\":0}", "");
}

static void expect_result(const char *object, enum toolresult_form form, const char *wanted)
{
    cleanup_buf struct buf out = BUF_INIT(OUT_BYTES);

    assert_int_equal(toolresult_write_object(&out, str_from(object), form, false), 0);
    assert_written(&out, wanted);
}

static void each_form_has_what_its_clients_read(void **state)
{
    const char *object = "{\"path\":\"a\",\"content\":\"x\\n\"}";

    (void)state;
    expect_result(object, TOOLRESULT_JSON,
                  "{\"content\":[{\"type\":\"text\",\"text\":"
                  "\"{\\\"path\\\":\\\"a\\\",\\\"content\\\":\\\"x\\\\n\\\"}\"}],"
                  "\"structuredContent\":{\"path\":\"a\",\"content\":\"x\\n\"}}");
    expect_result(object, TOOLRESULT_BOTH,
                  "{\"content\":[{\"type\":\"text\",\"text\":\"x\\n\"}],"
                  "\"structuredContent\":{\"path\":\"a\",\"content\":\"x\\n\"}}");
    expect_result(object, TOOLRESULT_TEXT, "{\"content\":[{\"type\":\"text\",\"text\":\"x\\n\"}]}");
    expect_result("{\"path\":\"a\"}", TOOLRESULT_TEXT,
                  "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"path\\\":\\\"a\\\"}\"}]}");
}

/* Whoever knows the text of an object gives it, as a part of the object or beside it. */
static void a_text_that_is_known_need_not_be_made(void **state)
{
    const struct str object = STR("{\"path\":\"a\",\"content\":\"x\\n\"}");
    const struct str quoted = str_slice(object, object.len - 6, 5);
    const enum toolresult_form forms[] = {TOOLRESULT_JSON, TOOLRESULT_BOTH, TOOLRESULT_TEXT};

    (void)state;
    for (size_t i = 0; i < array_size(forms); i++) {
        cleanup_buf struct buf made = BUF_INIT(OUT_BYTES);
        cleanup_buf struct buf told = BUF_INIT(OUT_BYTES);
        const char *text;

        assert_int_equal(toolresult_write_object(&made, object, forms[i], false), 0);
        assert_int_equal(toolresult_write_told(&told, object, quoted, forms[i]), 0);
        assert_int_equal(buf_terminate(&made, &text), 0);
        assert_written(&told, text);
    }
}

/* A result of a command that printed this many bytes and then failed, or not. */
static void write_command(size_t bytes, bool has_failed, enum toolresult_form form, struct buf *out)
{
    cleanup_buf struct buf object = BUF_INIT(OUT_BYTES);

    assert_int_equal(buf_append_str(&object, STR("{\"stdout\":\"")), 0);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(buf_append_char(&object, 'x'), 0);
    assert_int_equal(
        buf_printf(&object, "\\\"isError\\\":true}\",\"exitCode\":%d}", has_failed ? 3 : 0), 0);
    assert_int_equal(toolresult_write_object(out, buf_view(&object), form, has_failed), 0);
}

static void an_error_is_one_however_long_it_is(void **state)
{
    const enum toolresult_form forms[] = {TOOLRESULT_JSON, TOOLRESULT_BOTH, TOOLRESULT_TEXT};
    const size_t sizes[] = {0, 100, 70000, 400000};

    (void)state;
    for (size_t i = 0; i < array_size(forms) * array_size(sizes); i++) {
        cleanup_buf struct buf failed = BUF_INIT(4 * OUT_BYTES);
        cleanup_buf struct buf done = BUF_INIT(4 * OUT_BYTES);
        struct err err = ERR_INIT;

        write_command(sizes[i / array_size(forms)], true, forms[i % array_size(forms)], &failed);
        assert_true(toolresult_is_error(buf_view(&failed), &err));
        assert_int_equal(err.code, ERR_TOOL_FAILED);
        assert_string_equal(err.message, "exit code 3");
        err = (struct err)ERR_INIT;
        write_command(sizes[i / array_size(forms)], false, forms[i % array_size(forms)], &done);
        assert_false(toolresult_is_error(buf_view(&done), &err));
        assert_int_equal(err.code, 0);
    }
}

static void errors_are_a_message_or_an_object_with_it(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(OUT_BYTES);
    struct err err = ERR_INIT;

    (void)state;
    (void)err_set(&err, ERR_NOT_FOUND, "\"a\": gone");
    assert_int_equal(toolresult_write_error(&err, TOOLRESULT_BOTH, &out), 0);
    assert_written(&out, "{\"content\":[{\"type\":\"text\",\"text\":\"\\\"a\\\": gone\"}],"
                         "\"isError\":true}");
    buf_clear(&out);
    assert_int_equal(toolresult_write_error(&err, TOOLRESULT_JSON, &out), 0);
    assert_written(&out, "{\"content\":[{\"type\":\"text\",\"text\":"
                         "\"{\\\"error\\\":\\\"\\\\\\\"a\\\\\\\": gone\\\"}\"}],"
                         "\"isError\":true}");
}

TEST_MAIN(cmocka_unit_test(short_objects_without_text_are_known_unparsed),
          cmocka_unit_test(a_file_is_its_text),
          cmocka_unit_test(what_a_model_must_know_of_a_file_is_in_the_last_line),
          cmocka_unit_test(no_text_is_empty),
          cmocka_unit_test(several_files_have_a_line_before_each),
          cmocka_unit_test(matches_are_lines_below_their_file),
          cmocka_unit_test(entries_are_names_with_sizes),
          cmocka_unit_test(commands_are_their_output_and_how_they_failed),
          cmocka_unit_test(edits_are_their_diff), cmocka_unit_test(other_objects_stay_json),
          cmocka_unit_test(each_form_has_what_its_clients_read),
          cmocka_unit_test(a_text_that_is_known_need_not_be_made),
          cmocka_unit_test(an_error_is_one_however_long_it_is),
          cmocka_unit_test(errors_are_a_message_or_an_object_with_it))
