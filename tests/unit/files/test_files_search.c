/* SPDX-License-Identifier: Apache-2.0 */
#include "workbench.h"

/* "a b/c": the paths of the matches. */
static struct str found(struct bench *bench, const char *arguments)
{
    static char text[1 << 20];
    const struct json_value *object = bench_call(bench, "search_files", arguments);
    size_t len = 0;

    json_each_item (match, json_get(object, STR("matches")))
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s", len > 0 ? " " : "",
                                STR_ARG(str_member(match, "path")));
    assert_int_equal(int_member(object, "totalMatches"), json_get(object, STR("matches"))->size);
    assert_false(bool_member(object, "truncated"));
    return (struct str){text, len};
}

static void plant_project(const struct bench *bench)
{
    plant_dir(bench, "src");
    plant_dir(bench, "src/lib");
    plant_dir(bench, "src/lib/deep");
    plant(bench, "main.c", "");
    plant(bench, "Main.h", "");
    plant(bench, "src/a.c", "");
    plant(bench, "src/lib/b.c", "");
    plant(bench, "src/lib/deep/c.c", "");
    plant(bench, "src/lib/deep/c.h", "");
}

static void a_glob_without_a_slash_is_for_the_last_component(void **state)
{
    struct bench *bench = *state;

    plant_project(bench);
    assert_str(found(bench, "{\"name\":\"*.c\"}"), "src/lib/deep/c.c src/lib/b.c src/a.c main.c");
    assert_str(found(bench, "{\"name\":\"?.h\"}"), "src/lib/deep/c.h");
    assert_str(found(bench, "{\"name\":\"{a,b}.[ch]\"}"), "src/lib/b.c src/a.c");
    /* Directories are no files, and what lies in one of that name is not of that name. */
    assert_str(found(bench, "{\"name\":\"lib\"}"), "");
    assert_str(found(bench, "{\"name\":\"**\",\"dirPath\":\"src/lib/deep\"}"),
               "src/lib/deep/c.c src/lib/deep/c.h");
}

static void a_glob_with_a_slash_is_for_the_path_below_the_directory(void **state)
{
    struct bench *bench = *state;

    plant_project(bench);
    assert_str(found(bench, "{\"name\":\"src/*.c\"}"), "src/a.c");
    assert_str(found(bench, "{\"name\":\"src/*\"}"), "src/a.c");
    assert_str(found(bench, "{\"name\":\"src/**\"}"),
               "src/lib/deep/c.c src/lib/deep/c.h src/lib/b.c src/a.c");
    assert_str(found(bench, "{\"name\":\"**/deep/*.c\"}"), "src/lib/deep/c.c");
    assert_str(found(bench, "{\"name\":\"src/**/*.c\"}"), "src/lib/deep/c.c src/lib/b.c src/a.c");
    assert_str(found(bench, "{\"name\":\"lib/*.c\",\"dirPath\":\"src\"}"), "src/lib/b.c");
    /* From the root, as many write it. */
    assert_str(found(bench, "{\"name\":\"src/lib/*.c\",\"dirPath\":\"src\"}"), "src/lib/b.c");
    /* A directory stands for what lies below it. */
    assert_str(found(bench, "{\"name\":\"src/lib/deep\"}"), "src/lib/deep/c.c src/lib/deep/c.h");
}

static void a_glob_in_a_directory_that_does_not_exist_is_refused(void **state)
{
    struct bench *bench = *state;
    char text[BENCH_PATH_BYTES + 64];

    plant_project(bench);
    assert_contains(bench_error(bench, "search_files", "{\"name\":\"lib/*.c\"}"),
                    "name 'lib/*.c' can match nothing: there is no directory lib");
    assert_contains(bench_error(bench, "search_files", "{\"filePattern\":\"src/libs/**\"}"),
                    "did you mean src/lib?");
    assert_contains(bench_error(bench, "search_files", "{\"name\":\"main.c/x\"}"),
                    "can match nothing");
    assert_contains(bench_error(bench, "search_files", "{\"name\":\"../x\"}"), "name: ");
    /* One of several suffices. */
    assert_str(found(bench, "{\"name\":\"{lib,src}/*.c\"}"), "src/a.c");
    snprintf(text, sizeof(text), "{\"name\":\"%s/src/*.c\"}", bench->root);
    assert_str(found(bench, text), "src/a.c");
    snprintf(text, sizeof(text), "{\"name\":\"%s/main.c\"}", bench->root);
    assert_str(found(bench, text), "main.c");
    snprintf(text, sizeof(text), "{\"name\":\"%s/src/*.c\",\"dirPath\":\"src\"}", bench->root);
    assert_str(found(bench, text), "src/a.c");
    snprintf(text, sizeof(text), "{\"name\":\"%s/*.c\",\"dirPath\":\"src\"}", bench->root);
    assert_contains(bench_error(bench, "search_files", text), "it is not below dirPath");
}

static void a_single_file_can_be_searched(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;

    plant_dir(bench, "src");
    plant(bench, "src/a.c", "one\ntwo\n");
    plant(bench, "src/b.c", "two\n");
    object = bench_call(bench, "search_files", "{\"query\":\"two\",\"dirPath\":\"src/a.c\"}");
    assert_int_equal(int_member(object, "totalMatches"), 1);
    assert_str(found(bench, "{\"query\":\"two\",\"dirPath\":\"src/a.c\"}"), "src/a.c");
}

static void assert_advice(struct bench *bench, const char *arguments, const char *words)
{
    const struct json_value *result = bench_call(bench, "search_files", arguments);

    assert_int_equal(has_member(result, "hint"), words[0] != '\0');
    if (words[0] != '\0' && str_find(str_member(result, "hint"), str_from(words)) == SIZE_MAX)
        fail_msg("%s: %.*s", arguments, STR_ARG(str_member(result, "hint")));
}

static void a_pattern_that_is_none_says_what_else_there_is(void **state)
{
    struct bench *bench = *state;

    assert_str(bench_error(bench, "search_files", "{\"pattern\":\"foo(\"}"),
               "the pattern is not valid at byte 4: missing closing parenthesis; for plain text "
               "use query, for the names of files name");
    assert_contains(bench_error(bench, "search_files", "{\"pattern\":\"*.ts\"}"),
                    "for the names of files name");
    assert_lacks(bench_error(bench, "search_files", "{\"pattern\":\"a\\nb\"}"), "use query");
}

static void what_matches_nothing_gets_a_hint(void **state)
{
    struct bench *bench = *state;

    plant(bench, "index.ts", "one\n");
    assert_advice(bench, "{\"name\":\"index\"}", "put * before and behind it");
    assert_advice(bench, "{\"filePattern\":\"!*.ts\",\"query\":\"one\"}", "use excludePatterns");
    assert_advice(bench, "{\"filePattern\":\"*.js,*.ts\",\"query\":\"one\"}", "{*.ts,*.js}");
    assert_advice(bench, "{\"filePattern\":\"*.(js|ts)\",\"query\":\"one\"}", "{a,b}");
    assert_advice(bench, "{\"filePattern\":\"*.py\",\"query\":\"one\"}",
                  "no file that was searched");
    assert_advice(bench, "{\"filePattern\":\"*.ts\",\"query\":\"two\"}", "");
    assert_advice(bench, "{\"pattern\":\"one\\\\|two\"}", "alternatives are a|b");
    assert_advice(bench, "{\"pattern\":\"\\\\<one\\\\>\"}", "\\b");
    assert_advice(bench, "{\"pattern\":\"/one/i\"}", "leave them out");
    assert_advice(bench, "{\"pattern\":\"one|/x/\"}", "");
}

static void literal_text_like_a_regular_expression_gets_a_hint(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "one|two\nthree\n");
    assert_str(str_member(bench_call(bench, "search_files", "{\"query\":\"one|three\"}"), "hint"),
               "query is literal text; use pattern for a regular expression");
    assert_true(has_member(bench_call(bench, "search_files", "{\"query\":\"\\\\bone\"}"), "hint"));
    assert_false(has_member(bench_call(bench, "search_files", "{\"query\":\"one|t\"}"), "hint"));
    assert_false(has_member(bench_call(bench, "search_files", "{\"query\":\"four\"}"), "hint"));
    assert_false(has_member(bench_call(bench, "search_files", "{\"pattern\":\"x|y\"}"), "hint"));
}

static void either_argument_or_both(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;

    plant_project(bench);
    assert_str(found(bench, "{\"filePattern\":\"src/*.c\"}"), "src/a.c");
    assert_str(found(bench, "{\"name\":\"c.*\",\"filePattern\":\"**/*.h\"}"), "src/lib/deep/c.h");
    object = bench_call(bench, "search_files", "{\"filePattern\":\"*.x\"}");
    assert_str(str_member(object, "name"), "*.x");
    object = bench_call(bench, "search_files", "{\"name\":\"*.y\",\"filePattern\":\"*.x\"}");
    assert_str(str_member(object, "name"), "*.y");
    assert_true(bench_is_error(bench_result(bench, "search_files", "{\"dirPath\":\"src\"}")));
}

static void case_is_ignored_when_asked_for(void **state)
{
    struct bench *bench = *state;

    plant_project(bench);
    assert_str(found(bench, "{\"name\":\"MAIN.*\"}"), "");
    assert_str(found(bench, "{\"name\":\"MAIN.*\",\"ignoreCase\":true}"), "Main.h main.c");
    assert_str(found(bench, "{\"name\":\"SRC/LIB/*.C\",\"ignoreCase\":true}"), "src/lib/b.c");
    assert_str(found(bench, "{\"name\":\"[L-N]AIN.H\",\"ignoreCase\":true}"), "Main.h");
}

static void what_a_tree_leaves_out_is_not_searched(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "node_modules");
    plant(bench, "node_modules/x.js", "");
    plant_dir(bench, ".hidden");
    plant(bench, ".hidden/x.js", "");
    plant(bench, ".x.js", "");
    plant(bench, "x.js", "");
    plant_dir(bench, ".git");
    plant(bench, ".git/x.js", "");
    plant(bench, ".gitignore", "node_modules/\n");
    plant_link(bench, "link.js", "x.js");
    assert_str(found(bench, "{\"name\":\"*.js\"}"), ".hidden/x.js .x.js x.js");
    assert_str(found(bench, "{\"name\":\"**/*.js\"}"), ".hidden/x.js .x.js x.js");
    /* Unless a glob names it, whatever .gitignore says. */
    assert_str(found(bench, "{\"name\":\"node_modules/*.js\"}"), "node_modules/x.js");
    assert_str(found(bench, "{\"name\":\"{node_modules,.git}/**\"}"),
               ".git/x.js node_modules/x.js");
    assert_str(found(bench, "{\"name\":\"*.js\",\"dirPath\":\"node_modules\"}"),
               "node_modules/x.js");
}

static void results_are_the_first_in_order_and_all_are_counted(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;
    char name[16];

    for (int i = 0; i < 80; i++) {
        snprintf(name, sizeof(name), "f%02d", (i * 37) % 80);
        plant(bench, name, "");
    }
    object = bench_call(bench, "search_files", "{\"name\":\"f*\"}");
    assert_int_equal(json_get(object, STR("matches"))->size, 50);
    assert_true(bool_member(object, "truncated"));
    assert_int_equal(int_member(object, "totalMatches"), 80);
    object = bench_call(bench, "search_files", "{\"name\":\"f*\",\"maxResults\":2}");
    assert_str(str_member(json_get(object, STR("matches")) + 1, "path"), "f00");
    assert_int_equal(json_get(object, STR("matches"))->size, 2);
    assert_int_equal(int_member(object, "totalMatches"), 80);
}

static void a_glob_that_is_none_is_an_error_that_shows_it(void **state)
{
    struct bench *bench = *state;

    assert_contains(bench_error(bench, "search_files", "{\"name\":\"[a\"}"), "[a");
    assert_contains(bench_error(bench, "search_files", "{\"name\":\"\"}"), "glob");
    assert_contains(bench_error(bench, "search_files", "{\"name\":\"x\",\"dirPath\":\"none\"}"),
                    "none: not found");
    assert_contains(bench_error(bench, "search_files", "{\"name\":\"x\",\"dirPath\":\"..\"}"),
                    ".. is outside the root");
}

static void denied_names_are_not_found(void **state)
{
    static const char *const denied[] = {"*.key", "private/**", NULL};
    struct bench *bench = *state;

    plant(bench, "a.key", "");
    plant(bench, "a.txt", "");
    plant_dir(bench, "private");
    plant(bench, "private/b.txt", "");
    bench_deny(bench, denied);
    assert_str(found(bench, "{\"name\":\"*\"}"), "a.txt");
    assert_str(found(bench, "{\"name\":\"**/*.txt\"}"), "a.txt");
    assert_contains(bench_error(bench, "search_files", "{\"name\":\"*\",\"dirPath\":\"private\"}"),
                    "denied");
}

/* ---- in the files ---- */

/* "path:1:line …": what was found, each in its own brackets. */
static struct str lines_found(struct bench *bench, const char *arguments)
{
    static char text[1 << 20];
    const struct json_value *object = bench_call(bench, "search_files", arguments);
    size_t len = 0;

    json_each_item (match, json_get(object, STR("matches")))
        len += (size_t)snprintf(
            text + len, sizeof(text) - len, "[%.*s:%lld:%.*s]", STR_ARG(str_member(match, "path")),
            (long long)int_member(match, "lineNumber"), STR_ARG(str_member(match, "line")));
    return (struct str){text, len};
}

static void plant_texts(const struct bench *bench)
{
    plant_dir(bench, "src");
    plant(bench, "src/a.c", "int one;\nint (two);\nINT three;\n");
    plant(bench, "notes.txt",
          "one\r\nGr\xC3\xB6\xC3\x9F"
          "e one\nlast int");
    plant(bench, "image.png", "int\n\x01\x02");
    plant_bytes_at(bench->root_fd, "binary", "int\n\0", 5);
}

static void text_is_found_as_it_is(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;

    plant_texts(bench);
    assert_str(lines_found(bench, "{\"query\":\"one\"}"),
               "[src/a.c:1:int one;][notes.txt:1:one][notes.txt:2:Gr\xC3\xB6\xC3\x9F"
               "e one]");
    assert_str(lines_found(bench, "{\"query\":\"(two)\"}"), "[src/a.c:2:int (two);]");
    assert_str(lines_found(bench, "{\"query\":\"int\",\"name\":\"*.c\"}"),
               "[src/a.c:1:int one;][src/a.c:2:int (two);]");
    assert_str(lines_found(bench, "{\"query\":\"int\",\"dirPath\":\"src\",\"ignoreCase\":true}"),
               "[src/a.c:1:int one;][src/a.c:2:int (two);][src/a.c:3:INT three;]");
    assert_str(lines_found(bench, "{\"query\":\"GR\xC3\x96\xE1\xBA\x9E"
                                  "E\",\"ignoreCase\":true}"),
               "[notes.txt:2:Gr\xC3\xB6\xC3\x9F"
               "e one]");
    object = bench_call(bench, "search_files", "{\"query\":\"int\",\"filePattern\":\"*\"}");
    assert_str(str_member(object, "query"), "int");
    assert_str(str_member(object, "name"), "*");
    assert_int_equal(int_member(object, "totalMatches"), 4);
    assert_int_equal(int_member(json_get(object, STR("skipped")), "binary"), 1);
}

static void a_regular_expression_is_matched_line_by_line(void **state)
{
    struct bench *bench = *state;

    plant_texts(bench);
    assert_str(lines_found(bench, "{\"pattern\":\"^int\\\\s+\\\\w+;$\"}"), "[src/a.c:1:int one;]");
    assert_str(
        lines_found(bench, "{\"pattern\":\"(?i)THREE|t$\",\"filePattern\":\"{src/**,*.txt}\"}"),
        "[src/a.c:3:INT three;][notes.txt:3:last int]");
    assert_contains(bench_error(bench, "search_files", "{\"pattern\":\"(open\"}"), "parenthesis");
    assert_contains(bench_error(bench, "search_files", "{\"pattern\":\"\"}"), "empty");
    assert_contains(bench_error(bench, "search_files", "{\"query\":\"a\",\"pattern\":\"a\"}"),
                    "not both");
}

static void a_hostile_expression_is_an_error_and_no_stall(void **state)
{
    struct bench *bench = *state;
    char line[20001];

    memset(line, 'a', sizeof(line) - 2);
    line[sizeof(line) - 2] = 'b';
    line[sizeof(line) - 1] = '\0';
    plant(bench, "hostile", line);
    assert_contains(bench_error(bench, "search_files", "{\"pattern\":\"(a+)+$\"}"), "hostile");
}

static void lines_around_a_match_come_with_it(void **state)
{
    struct bench *bench = *state;
    const struct json_value *match;

    plant(bench, "f", "1\n2\n3 x\n4\n5\n");
    match = json_get(bench_call(bench, "search_files", "{\"query\":\"x\",\"contextLines\":1}"),
                     STR("matches")) +
            1;
    assert_int_equal(json_get(match, STR("before"))->size, 1);
    assert_str(json_str(json_get(match, STR("before")) + 1), "2");
    assert_int_equal(json_get(match, STR("after"))->size, 1);
    assert_str(json_str(json_get(match, STR("after")) + 1), "4");
}

static void long_lines_are_cut_around_the_match(void **state)
{
    struct bench *bench = *state;
    const struct json_value *match;
    struct str line;
    char text[3000];

    memset(text, '.', sizeof(text));
    memcpy(text + 1500, "needle", 6);
    text[sizeof(text) - 1] = '\0';
    plant(bench, "long", text);
    match =
        json_get(bench_call(bench, "search_files", "{\"query\":\"needle\"}"), STR("matches")) + 1;
    line = str_member(match, "line");
    assert_true(line.len <= 200 + 2 * 3);
    assert_true(str_find(line, STR("needle")) != SIZE_MAX);
}

static void ignore_files_are_heeded_unless_told_not_to(void **state)
{
    struct bench *bench = *state;

    plant(bench, ".gitignore", "*.log\n");
    plant(bench, "a.log", "x\n");
    plant(bench, "a.txt", "x\n");
    assert_str(lines_found(bench, "{\"query\":\"x\"}"), "[a.txt:1:x]");
    assert_str(lines_found(bench, "{\"query\":\"x\",\"includeIgnored\":true}"),
               "[a.log:1:x][a.txt:1:x]");
    assert_str(found(bench, "{\"name\":\"a.*\"}"), "a.txt");
}

static void lines_are_counted_and_the_first_come_back(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;

    plant(bench, "a", "x\nx\nx\n");
    plant(bench, "b", "x\nx\n");
    object = bench_call(bench, "search_files", "{\"query\":\"x\",\"maxResults\":4}");
    assert_int_equal(json_get(object, STR("matches"))->size, 4);
    assert_int_equal(int_member(object, "totalMatches"), 5);
    assert_true(bool_member(object, "truncated"));
    object = bench_call(bench, "search_files", "{\"query\":\"x\",\"maxResults\":5}");
    assert_false(bool_member(object, "truncated"));
}

static void an_answer_has_a_ceiling(void **state)
{
    enum { LINES = 10000, LENGTH = 240 };
    struct bench *bench = *state;
    const struct json_value *object;
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    char name[2 * LENGTH + 2];

    memset(name, 'd', sizeof(name));
    name[LENGTH] = '\0';
    plant_dir(bench, name);
    name[LENGTH] = '/';
    name[sizeof(name) - 1] = '\0';
    for (int i = 0; i < LINES; i++)
        assert_int_equal(buf_append_str(&text, STR("x\n")), 0);
    plant_bytes_at(bench->root_fd, name, text.data, text.len);
    object = bench_call(bench, "search_files", "{\"query\":\"x\",\"maxResults\":10000}");
    assert_int_equal(int_member(object, "totalMatches"), LINES);
    assert_true(bool_member(object, "truncated"));
    assert_in_range(json_get(object, STR("matches"))->size, 1000, LINES - 1);
}

static void names_can_be_left_out_of_a_search(void **state)
{
    struct bench *bench = *state;

    plant_project(bench);
    assert_str(found(bench, "{\"name\":\"*.c\",\"excludePatterns\":[\"lib\"]}"), "src/a.c main.c");
    assert_str(found(bench, "{\"name\":\"*.c\",\"excludePatterns\":[\"src/lib/*.c\",\"main.*\"]}"),
               "src/lib/deep/c.c src/a.c");
    assert_str(found(bench, "{\"name\":\"*.c\",\"dirPath\":\"src\","
                            "\"excludePatterns\":[\"src/lib/deep/**\"]}"),
               "src/lib/b.c src/a.c");
}

static void denied_files_are_not_searched(void **state)
{
    static const char *const denied[] = {"*.key", "private/**", NULL};
    struct bench *bench = *state;

    plant(bench, "a.key", "secret\n");
    plant(bench, "a.txt", "secret\n");
    plant_dir(bench, "private");
    plant(bench, "private/b.txt", "secret\n");
    bench_deny(bench, denied);
    assert_str(lines_found(bench, "{\"query\":\"secret\"}"), "[a.txt:1:secret]");
}

TEST_MAIN(BENCH_TEST(text_is_found_as_it_is),
          BENCH_TEST(a_regular_expression_is_matched_line_by_line),
          BENCH_TEST(a_hostile_expression_is_an_error_and_no_stall),
          BENCH_TEST(lines_around_a_match_come_with_it),
          BENCH_TEST(long_lines_are_cut_around_the_match),
          BENCH_TEST(ignore_files_are_heeded_unless_told_not_to),
          BENCH_TEST(lines_are_counted_and_the_first_come_back),
          BENCH_TEST(an_answer_has_a_ceiling), BENCH_TEST(denied_files_are_not_searched),
          BENCH_TEST(a_glob_without_a_slash_is_for_the_last_component),
          BENCH_TEST(a_glob_with_a_slash_is_for_the_path_below_the_directory),
          BENCH_TEST(a_glob_in_a_directory_that_does_not_exist_is_refused),
          BENCH_TEST(a_single_file_can_be_searched), BENCH_TEST(either_argument_or_both),
          BENCH_TEST(case_is_ignored_when_asked_for),
          BENCH_TEST(what_a_tree_leaves_out_is_not_searched),
          BENCH_TEST(results_are_the_first_in_order_and_all_are_counted),
          BENCH_TEST(a_glob_that_is_none_is_an_error_that_shows_it),
          BENCH_TEST(denied_names_are_not_found),
          BENCH_TEST(a_pattern_that_is_none_says_what_else_there_is),
          BENCH_TEST(what_matches_nothing_gets_a_hint),
          BENCH_TEST(literal_text_like_a_regular_expression_gets_a_hint),
          BENCH_TEST(names_can_be_left_out_of_a_search))
