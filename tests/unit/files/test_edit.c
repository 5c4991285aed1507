/* SPDX-License-Identifier: Apache-2.0 */
#include "changebench.h"

#include <sys/xattr.h>

static const char *edit_arguments(struct bench *bench, const char *path, const char *old,
                                  const char *new)
{
    return arguments(bench, "filePath", path, "oldString", old, "newString", new, (char *)NULL);
}

static void edit(struct bench *bench, const char *path, const char *old, const char *new)
{
    const struct json_value *result =
        bench_call(bench, "edit_file", edit_arguments(bench, path, old, new));

    assert_true(str_eq_c(str_member(result, "path"), path));
    assert_int_equal(int_member(result, "replacements"), 1);
    assert_null(json_get(result, STR("inexact")));
    assert_int_equal(result->size, 3); /* and the diff */
}

static struct str edit_error(struct bench *bench, const char *path, const char *old,
                             const char *new)
{
    return bench_error(bench, "edit_file", edit_arguments(bench, path, old, new));
}

/* ---- edit_file ---- */

static void the_one_occurrence_is_replaced(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "one two one");
    edit(bench, "a", "two", "2");
    assert_file(bench, "a", "one 2 one");
    edit(bench, "a", "one 2 one", "");
    assert_file(bench, "a", "");
}

static void several_occurrences_are_refused_with_their_lines(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "1\n2\nx\n4\nx x\n");
    assert_contains(edit_error(bench, "a", "x", "y"),
                    "3 matches: lines 3, 5; add context or set replaceAll");
    plant(bench, "tabs", "\tx  y\n\tx  y\n");
    assert_contains(edit_error(bench, "tabs", "x y", "z"),
                    "2 matches: lines 1, 2; copy it exactly");
    assert_file(bench, "a", "1\n2\nx\n4\nx x\n");
}

static void all_occurrences_are_replaced_on_request(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant(bench, "a", "x\nb\nx\n");
    result = bench_call(bench, "edit_file",
                        "{\"filePath\":\"a\",\"oldString\":\"x\",\"newString\":\"xx\","
                        "\"replaceAll\":true}");
    assert_int_equal(int_member(result, "replacements"), 2);
    assert_str(str_member(result, "diff"),
               "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n-x\n+xx\n b\n-x\n+xx\n");
    assert_file(bench, "a", "xx\nb\nxx\n");
}

static void a_match_that_is_not_exact_is_told(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant(bench, "crlf", "one\r\ntwo\r\nthree\r\n");
    result = bench_call(bench, "edit_file", edit_arguments(bench, "crlf", "two\nthree", "2\n3\n4"));
    assert_contains(str_member(result, "inexact"), "oldString matched line 2 with other line ends");
    assert_file(bench, "crlf", "one\r\n2\r\n3\r\n4\r\n");
    plant(bench, "tabs", "if (x)\n\treturn  1;\nelse\n");
    result =
        bench_call(bench, "edit_file",
                   edit_arguments(bench, "tabs", "    return 1;\nelse", "    return 2;\nelse"));
    assert_contains(str_member(result, "inexact"), "oldString matched line 2 with other blanks");
    assert_file(bench, "tabs", "if (x)\n\treturn 2;\nelse\n");
}

static void replacements_are_literal(void **state)
{
    static const char *const texts[] = {"$&", "$1", "$$", "$`", "$'", "\\1", "&", "\\n", "%s"};
    struct bench *bench = *state;

    for (size_t i = 0; i < array_size(texts); i++) {
        char expected[64];

        plant(bench, "a", "before x.*y after");
        edit(bench, "a", "x.*y", texts[i]);
        snprintf(expected, sizeof(expected), "before %s after", texts[i]);
        assert_file(bench, "a", expected);
    }
}

static void line_ends_mode_and_attributes_are_kept(void **state)
{
    struct bench *bench = *state;
    char path[BENCH_PATH_BYTES + 8];
    char value[8] = "";
    bool has_attributes;

    plant(bench, "a", "\xEF\xBB\xBFone\r\ntwo\r\nthree");
    set_mode(bench, "a", 0750);
    snprintf(path, sizeof(path), "%s/a", bench->root);
    has_attributes = setxattr(path, "user.mark", "kept", 4, 0) == 0;
    edit(bench, "a", "two", "2");
    assert_file(bench, "a", "\xEF\xBB\xBFone\r\n2\r\nthree");
    assert_int_equal(mode_of(bench, "a"), 0750);
    if (has_attributes) {
        assert_int_equal(getxattr(path, "user.mark", value, sizeof(value)), 4);
        assert_memory_equal(value, "kept", 4);
    }
}

static void a_dry_run_shows_the_diff_and_changes_nothing(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant(bench, "a", "1\n2\n3\n");
    result = bench_call(bench, "edit_file",
                        "{\"filePath\":\"a\",\"oldString\":\"2\",\"newString\":\"two\","
                        "\"dryRun\":true}");
    assert_str(str_member(result, "path"), "a");
    assert_str(str_member(result, "diff"), "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n");
    assert_file(bench, "a", "1\n2\n3\n");
    assert_int_equal(int_member(undo_all(bench), "remaining"), 0);
}

static void limits_hold_before_and_after(void **state)
{
    struct bench *bench = *state;

    bench_reopen(bench, (struct toolbox_config){.may_write = true, .max_file_bytes = 10}, NULL);
    plant(bench, "large", "12345678901");
    plant(bench, "full", "1234567890");
    assert_contains(edit_error(bench, "large", "1", ""), "11 bytes exceed the limit of 10");
    assert_contains(edit_error(bench, "full", "1", "ab"), "11 bytes exceed the limit of 10");
    assert_file(bench, "full", "1234567890");
    edit(bench, "full", "12", "ab");
    assert_file(bench, "full", "ab34567890");
}

static void binaries_and_others_are_refused(void **state)
{
    struct bench *bench = *state;

    plant_bytes_at(bench->root_fd, "nul", "a\0b", 3);
    plant(bench, "neither", "caf\xE9\x01");
    plant(bench, "damaged", "caf\xC3\xA9 et th\xC3\xA9, \xE9\n");
    plant_bytes_at(bench->root_fd, "half",
                   "\xFF\xFE"
                   "a\0\x00\xD8"
                   "b\0",
                   8);
    plant_dir(bench, "d");
    assert_contains(edit_error(bench, "nul", "a", "b"), "binary");
    assert_contains(edit_error(bench, "neither", "c", "b"), "binary");
    assert_contains(edit_error(bench, "damaged", "c", "b"), "is UTF-8 with bytes in it");
    assert_contains(edit_error(bench, "half", "a", "b"), "not valid utf-16le");
    assert_contains(edit_error(bench, "d", "c", "b"), "d: is a directory; use list_files");
    assert_contains(edit_error(bench, "missing", "c", "b"), "missing: not found");
}

static void a_missing_passage_is_explained(void **state)
{
    struct bench *bench = *state;

    plant(bench, "tabs", "if (x)\n\treturn  1;\nelse\n");
    assert_contains(edit_error(bench, "tabs", "else\nnothing", "x"),
                    "its first line is line 3 of 3");
    assert_contains(edit_error(bench, "tabs", "nowhere", "x"),
                    "the file has 3 lines; read it first");
    plant(bench, "one", "x");
    assert_contains(edit_error(bench, "one", "nowhere", "y"), "the file has 1 line; read it first");
    plant(bench, "none", "");
    assert_contains(edit_error(bench, "none", "x", "y"), "the file has 0 lines; read it first");
    plant(bench, "code", "int i;\n\n  int count = 1;\x1b[1m\nlong other;\n");
    assert_str(edit_error(bench, "code", "\n\tint count  = 1;!!!\nreturn", "x"),
               "code: oldString was not found: the file has 4 lines; line 3 is similar: "
               "int count = 1;\\x1b[1m");
    assert_contains(edit_error(bench, "code", "unlike all of them", "x"), "read it first");
}

/* ---- somebody else ---- */

/* A hook of the authority: while something is kept for undoing, somebody else writes. */
struct meddling {
    struct bench *bench;
    const char *kept; /* the file whose content is read a second time, for the log */
    const char *names[2];
    int reads;
    bool is_done;
};

static void meddle(void *data, const struct authority_context *context,
                   struct authority_decision *decision)
{
    struct meddling *meddling = data;

    (void)decision;
    if (context->operation != AUTHORITY_OP_READ || !str_eq_c(context->name, meddling->kept) ||
        ++meddling->reads != 2)
        return;
    meddling->is_done = true;
    for (size_t i = 0; i < array_size(meddling->names) && meddling->names[i] != NULL; i++) {
        char text[32];

        snprintf(text, sizeof(text), "theirs %s", meddling->names[i]);
        plant(meddling->bench, meddling->names[i], text);
    }
}

static void meddle_with(struct bench *bench, struct meddling *meddling, const char *kept,
                        const char *first, const char *second)
{
    *meddling = (struct meddling){.bench = bench, .kept = kept, .names = {first, second}};
    assert_int_equal(authority_add_hook(bench->authority,
                                        &(struct authority_hook){
                                            .id = "meddling", .before = meddle, .data = meddling}),
                     0);
}

static void a_file_that_changed_meanwhile_is_edited_as_it_is_then(void **state)
{
    struct bench *bench = *state;
    struct meddling meddling;

    plant(bench, "a", "one two");
    /* When the old content is put away, somebody writes. */
    meddle_with(bench, &meddling, "a", "a", NULL);
    assert_contains(edit_error(bench, "a", "two", "2"), "a: oldString was not found");
    authority_remove_hook(bench->authority, "meddling");
    assert_true(meddling.is_done);
    assert_file(bench, "a", "theirs a");
    assert_int_equal(int_member(undo_all(bench), "remaining"), 0);
    assert_file(bench, "a", "theirs a");

    plant(bench, "a", "is it theirs?");
    meddle_with(bench, &meddling, "a", "a", NULL);
    edit(bench, "a", "theirs", "ours");
    authority_remove_hook(bench->authority, "meddling");
    assert_true(meddling.is_done);
    assert_file(bench, "a", "ours a");
    assert_int_equal(int_member(undo_all(bench), "remaining"), 0);
    assert_file(bench, "a", "theirs a");
}

static void undoing_an_edit_spares_what_somebody_wrote_before_it(void **state)
{
    struct bench *bench = *state;
    struct meddling meddling;
    const struct json_value *result;

    plant(bench, "a", "the first");
    call_write(bench, "a", "our theirs");
    meddle_with(bench, &meddling, "a", "a", NULL);
    edit(bench, "a", "theirs", "ours");
    authority_remove_hook(bench->authority, "meddling");
    assert_true(meddling.is_done);
    assert_file(bench, "a", "ours a");
    result = undo_all(bench);
    assert_str(outcome_of(result, 0), "restored");
    assert_contains(outcome_of(result, 1), "somebody else has changed it since");
    assert_file(bench, "a", "theirs a");
}

/* ---- edit_files ---- */

static void several_files_are_edited_in_order(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;
    const struct json_value *files;

    plant(bench, "a", "1 2 3");
    plant(bench, "b", "x");
    plant_link(bench, "link", "a");
    result =
        bench_call(bench, "edit_files",
                   "{\"edits\":[{\"filePath\":\"a\",\"oldString\":\"2\",\"newString\":\"two\"},"
                   "{\"filePath\":\"b\",\"oldString\":\"x\",\"newString\":\"y\"},"
                   "{\"filePath\":\"link\",\"oldString\":\"two 3\",\"newString\":\"$&\"}]}");
    assert_file(bench, "a", "1 $&");
    assert_file(bench, "b", "y");
    assert_false(bool_member(result, "dryRun"));
    files = json_get(result, STR("files"));
    assert_int_equal(files->size, 2);
    assert_str(str_member(files + 1, "path"), "a");
    assert_int_equal(int_member(files + 1, "edits"), 2);
    assert_int_equal(int_member(files + 1, "replacements"), 2);
    assert_contains(str_member(result, "diff"), "-1 2 3");
    assert_contains(str_member(result, "diff"), "+y");
    /* One call, one change. */
    result = bench_call(bench, "undo_changes", "{}");
    assert_int_equal(json_get(result, STR("undone"))->size, 2);
    assert_file(bench, "a", "1 2 3");
    assert_file(bench, "b", "x");
}

static void an_edit_that_fails_leaves_all_files(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "1 2 3");
    plant(bench, "b", "x");
    assert_contains(
        bench_error(bench, "edit_files",
                    "{\"edits\":[{\"filePath\":\"a\",\"oldString\":\"2\",\"newString\":\"two\"},"
                    "{\"filePath\":\"b\",\"oldString\":\"nowhere\",\"newString\":\"y\"}]}"),
        "b: edits[1]: oldString was not found");
    assert_file(bench, "a", "1 2 3");
    assert_file(bench, "b", "x");
}

static const char two_edits[] =
    "{\"edits\":[{\"filePath\":\"a\",\"oldString\":\"A\",\"newString\":\"new\"},"
    "{\"filePath\":\"b\",\"oldString\":\"B\",\"newString\":\"new\"}]%s}";

static void a_dry_run_of_all_shows_one_diff(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;
    char text[400];

    plant(bench, "a", "A\n");
    plant(bench, "b", "B\n");
    snprintf(text, sizeof(text), two_edits, ",\"dryRun\":true");
    result = bench_call(bench, "edit_files", text);
    assert_true(bool_member(result, "dryRun"));
    assert_str(str_member(result, "diff"), "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-A\n+new\n"
                                           "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-B\n+new\n");
    assert_file(bench, "a", "A\n");
}

static void one_file_that_somebody_changed_leaves_all(void **state)
{
    struct bench *bench = *state;
    struct meddling meddling;
    char text[400];

    plant(bench, "a", "A");
    set_mode(bench, "a", 0640);
    plant(bench, "b", "B");
    snprintf(text, sizeof(text), two_edits, "");
    meddle_with(bench, &meddling, "b", "b", NULL);
    assert_contains(bench_error(bench, "edit_files", text), "b: edits[1]: oldString was not found");
    authority_remove_hook(bench->authority, "meddling");
    assert_true(meddling.is_done);
    assert_file(bench, "a", "A");
    assert_int_equal(mode_of(bench, "a"), 0640);
    assert_file(bench, "b", "theirs b");
    assert_int_equal(json_get(undo_all(bench), STR("undone"))->size, 0);
}

TEST_MAIN(CHANGE_TEST(the_one_occurrence_is_replaced),
          CHANGE_TEST(several_occurrences_are_refused_with_their_lines),
          CHANGE_TEST(all_occurrences_are_replaced_on_request),
          CHANGE_TEST(a_match_that_is_not_exact_is_told), CHANGE_TEST(replacements_are_literal),
          CHANGE_TEST(line_ends_mode_and_attributes_are_kept),
          CHANGE_TEST(a_dry_run_shows_the_diff_and_changes_nothing),
          CHANGE_TEST(limits_hold_before_and_after), CHANGE_TEST(binaries_and_others_are_refused),
          CHANGE_TEST(a_missing_passage_is_explained),
          CHANGE_TEST(a_file_that_changed_meanwhile_is_edited_as_it_is_then),
          CHANGE_TEST(undoing_an_edit_spares_what_somebody_wrote_before_it),
          CHANGE_TEST(several_files_are_edited_in_order),
          CHANGE_TEST(an_edit_that_fails_leaves_all_files),
          CHANGE_TEST(a_dry_run_of_all_shows_one_diff),
          CHANGE_TEST(one_file_that_somebody_changed_leaves_all))
