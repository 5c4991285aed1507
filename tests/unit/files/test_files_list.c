/* SPDX-License-Identifier: Apache-2.0 */
#include "workbench.h"

/* The paths of `entries`, each with its type's first letter: "d:src f:a.txt". */
static struct str shown(struct bench *bench, const struct json_value *object)
{
    static char text[1 << 20];
    size_t len = 0;

    (void)bench;
    json_each_item (entry, json_get(object, STR("entries"))) {
        struct str path = str_member(entry, "path");
        struct str type = str_member(entry, "type");

        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%c:%.*s", len > 0 ? " " : "",
                                type.ptr[0], STR_ARG(path));
        assert_int_equal(has_member(entry, "sizeBytes"), type.ptr[0] == 'f');
    }
    return (struct str){text, len};
}

/* Also sees to it that the text is the array. */
static const struct json_value *list(struct bench *bench, const char *arguments)
{
    const struct json_value *result = bench_result(bench, "list_files", arguments);
    const struct json_value *object = json_get(result, STR("structuredContent"));

    if (bench_is_error(result))
        fail_msg("%.*s", STR_ARG(bench_block_text(result, 0)));
    assert_non_null(object);
    assert_true(
        json_eq(json_get(object, STR("entries")), bench_parse(bench, bench_block_text(result, 0))));
    return object;
}

static void directories_come_first_then_names_in_order(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;

    plant(bench, "zeta", "12345");
    plant(bench, "alpha.txt", "");
    plant(bench, "Beta", "x");
    plant_dir(bench, "yard");
    plant_dir(bench, "attic");
    object = list(bench, "{\"dirPath\":\".\"}");
    assert_str(shown(bench, object), "d:attic d:yard f:Beta f:alpha.txt f:zeta");
    assert_false(has_member(object, "truncated"));
    assert_str(shown(bench, list(bench, "{\"dirPath\":\"\"}")),
               "d:attic d:yard f:Beta f:alpha.txt f:zeta");
}

static void paths_are_relative_to_the_root_and_sizes_are_told(void **state)
{
    struct bench *bench = *state;
    const struct json_value *entries;

    plant_dir(bench, "a");
    plant_dir(bench, "a/b");
    plant(bench, "a/b/file", "12345");
    entries = json_get(list(bench, "{\"dirPath\":\"a/./b\"}"), STR("entries"));
    assert_str(str_member(entries + 1, "path"), "a/b/file");
    assert_int_equal(int_member(entries + 1, "sizeBytes"), 5);
}

static void a_missing_directory_is_an_error_with_the_nearest(void **state)
{
    struct bench *bench = *state;

    plant(bench, "file", "x");
    plant_dir(bench, "src");
    plant_dir(bench, "src/Utils");
    assert_contains(bench_error(bench, "list_files", "{\"dirPath\":\"none/at/all\"}"),
                    "none/at/all: not found; the nearest that exists is the root");
    assert_contains(bench_error(bench, "list_files", "{\"dirPath\":\"src/util\"}"),
                    "src/util: not found; did you mean src/Utils?");
    assert_contains(bench_error(bench, "list_files", "{\"dirPath\":\"scr\"}"), "scr: not found; ");
    assert_contains(bench_error(bench, "list_files", "{\"dirPath\":\"file\"}"),
                    "file is not a directory");
}

static void links_special_files_and_version_control_are_left_out(void **state)
{
    struct bench *bench = *state;

    plant(bench, "file", "x");
    plant(bench, ".env", "x");
    plant(bench, ".eslintrc.js", "x");
    plant(bench, ".env.local", "x");
    plant(bench, ".secret", "x");
    plant_dir(bench, ".git");
    plant_dir(bench, "node_modules");
    plant_link(bench, "link", "file");
    assert_int_equal(mkfifoat(bench->root_fd, "pipe", 0644), 0);
    assert_str(shown(bench, list(bench, "{\"dirPath\":\".\"}")),
               "d:node_modules f:.env f:.env.local f:.eslintrc.js f:.secret f:file");
}

static void set_time(const struct bench *bench, const char *name, time_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

    assert_int_equal(utimensat(bench->root_fd, name, times, 0), 0);
}

static void a_list_is_sorted_by_size_or_time(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;
    const struct json_value *first;

    plant(bench, "b", "12345");
    plant(bench, "a", "1");
    plant(bench, "c", "12345");
    plant_dir(bench, "d");
    set_time(bench, "a", 3000);
    set_time(bench, "b", 1000);
    set_time(bench, "c", 2000);
    set_time(bench, "d", 2500);
    assert_str(shown(bench, list(bench, "{\"dirPath\":\".\",\"sortBy\":\"name\"}")),
               "d:d f:a f:b f:c");
    assert_str(shown(bench, list(bench, "{\"dirPath\":\".\",\"sortBy\":\"size\"}")),
               "f:b f:c f:a d:d");
    object = list(bench, "{\"dirPath\":\".\",\"sortBy\":\"time\",\"maxResults\":3}");
    assert_str(shown(bench, object), "f:a d:d f:c");
    assert_true(bool_member(object, "truncated"));
    first = json_get(object, STR("entries")) + 1;
    assert_str(str_member(first, "modifiedAt"), "1970-01-01T00:50:00.000Z");
    object = list(bench, "{\"dirPath\":\".\",\"sortBy\":\"size\",\"type\":\"file\","
                         "\"withSizes\":false,\"maxResults\":1}");
    first = json_get(object, STR("entries")) + 1;
    assert_str(str_member(first, "path"), "b");
    assert_false(has_member(first, "sizeBytes"));
    assert_false(has_member(first, "modifiedAt"));
}

static void an_excluded_directory_is_listed_when_it_is_named(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "node_modules");
    plant(bench, "node_modules/left-pad", "x");
    plant_dir(bench, ".git");
    plant(bench, ".git/HEAD", "x");
    assert_str(shown(bench, list(bench, "{\"dirPath\":\"node_modules\"}")),
               "f:node_modules/left-pad");
    assert_str(shown(bench, list(bench, "{\"dirPath\":\".git\"}")), "f:.git/HEAD");
}

static void the_type_says_what_is_listed(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "d");
    plant(bench, "f", "x");
    assert_str(shown(bench, list(bench, "{\"dirPath\":\".\",\"type\":\"file\"}")), "f:f");
    assert_str(shown(bench, list(bench, "{\"dirPath\":\".\",\"type\":\"directory\"}")), "d:d");
    assert_str(shown(bench, list(bench, "{\"dirPath\":\".\",\"type\":\"all\"}")), "d:d f:f");
    assert_contains(bench_error(bench, "list_files", "{\"dirPath\":\".\",\"type\":\"pipe\"}"),
                    "type must be");
}

static void a_list_that_is_cut_keeps_the_first_and_says_so(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;
    char name[16];

    for (int i = 299; i >= 0; i--) {
        snprintf(name, sizeof(name), "f%03d", i);
        plant(bench, name, "x");
    }
    plant_dir(bench, "zzz");
    object = list(bench, "{\"dirPath\":\".\",\"maxResults\":3}");
    assert_str(shown(bench, object), "d:zzz f:f000 f:f001");
    assert_true(bool_member(object, "truncated"));
    object = list(bench, "{\"dirPath\":\".\"}");
    assert_int_equal(json_get(object, STR("entries"))->size, 200);
    assert_true(bool_member(object, "truncated"));
    object = list(bench, "{\"dirPath\":\".\",\"maxResults\":0}");
    assert_int_equal(json_get(object, STR("entries"))->size, 200);
    object = list(bench, "{\"dirPath\":\".\",\"maxResults\":-5}");
    assert_int_equal(json_get(object, STR("entries"))->size, 200);
    object = list(bench, "{\"dirPath\":\".\",\"maxResults\":301.0}");
    assert_int_equal(json_get(object, STR("entries"))->size, 301);
    assert_false(has_member(object, "truncated"));
}

static void a_large_directory_has_sizes_for_what_is_shown(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;
    char name[16];

    for (int i = 0; i < 2500; i++) {
        snprintf(name, sizeof(name), "f%04d", (i * 7) % 2500);
        plant(bench, name, i == 0 ? "four" : "x");
    }
    object = list(bench, "{\"dirPath\":\".\",\"maxResults\":2}");
    assert_str(shown(bench, object), "f:f0000 f:f0001");
    assert_int_equal(int_member(json_get(object, STR("entries")) + 1, "sizeBytes"), 4);
    assert_true(bool_member(object, "truncated"));
}

static void a_name_that_is_no_utf8_is_shown_all_the_same(void **state)
{
    struct bench *bench = *state;

    plant(bench, "bad\xFFname", "x");
    plant(bench, "new\nline", "x");
    assert_str(shown(bench, list(bench, "{\"dirPath\":\".\"}")),
               "f:bad\xEF\xBF\xBDname f:new\nline");
}

static struct str tree(struct bench *bench, const char *arguments)
{
    const struct json_value *result = bench_result(bench, "get_file_tree", arguments);
    struct str text = bench_block_text(result, 0);

    if (bench_is_error(result))
        fail_msg("%.*s", STR_ARG(text));
    assert_false(has_member(result, "structuredContent"));
    return text;
}

/* Behind the line that names the root. */
static struct str below(const struct bench *bench, struct str text)
{
    size_t len = strlen(bench->root);

    assert_true(str_starts_with(text, str_from(bench->root)));
    assert_int_equal(text.ptr[len], '/');
    return str_slice(text, len + 1, text.len);
}

static void names_can_be_left_out(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "src");
    plant_dir(bench, "src/gen");
    plant(bench, "src/gen/x", "");
    plant(bench, "src/a.c", "");
    plant(bench, "src/a.log", "");
    plant(bench, "b.log", "");
    assert_str(shown(bench, list(bench, "{\"dirPath\":\".\",\"excludePatterns\":[\"*.log\"]}")),
               "d:src");
    assert_str(shown(bench, list(bench, "{\"dirPath\":\"src\","
                                        "\"excludePatterns\":[\"src/*.c\",\"gen/\"]}")),
               "f:src/a.log");
    assert_str(below(bench, tree(bench, "{\"dirPath\":\".\",\"maxDepth\":3,"
                                        "\"excludePatterns\":[\"gen\",\"**/*.log\"]}")),
               "\n  src/\n    a.c");
    assert_str(below(bench, tree(bench, "{\"dirPath\":\".\",\"maxDepth\":3,"
                                        "\"excludePatterns\":[\"src/**\"]}")),
               "\n  b.log");
    assert_contains(
        bench_error(bench, "get_file_tree", "{\"dirPath\":\".\",\"excludePatterns\":[\"+(a)\"]}"),
        "excludePatterns: ");
}

static void a_tree_as_json_has_the_same_names(void **state)
{
    struct bench *bench = *state;
    const struct json_value *root;
    const struct json_value *children;
    struct str text;

    plant_dir(bench, "a");
    plant_dir(bench, "a/b");
    plant_dir(bench, "a/b/c");
    plant_dir(bench, "e");
    plant(bench, "a/b/ x", "");
    plant(bench, "z", "");
    root = bench_parse(bench, tree(bench, "{\"dirPath\":\".\",\"maxDepth\":3,"
                                          "\"format\":\"json\"}"));
    assert_true(str_starts_with(str_member(root, "path"), str_from(bench->root)));
    children = json_get(root, STR("children"));
    text = STR("[{\"name\":\"a\",\"type\":\"directory\",\"children\":["
               "{\"name\":\"b\",\"type\":\"directory\",\"children\":["
               "{\"name\":\"c\",\"type\":\"directory\",\"notOpened\":\"maxDepth\"},"
               "{\"name\":\" x\",\"type\":\"file\"}]}]},"
               "{\"name\":\"e\",\"type\":\"directory\",\"children\":[]},"
               "{\"name\":\"z\",\"type\":\"file\"}]");
    assert_true(json_eq(children, bench_parse(bench, text)));
    root = bench_parse(bench, tree(bench, "{\"dirPath\":\"a/b\",\"maxDepth\":0,"
                                          "\"format\":\"json\"}"));
    assert_true(str_ends_with(str_member(root, "path"), STR("/a/b/")));
    assert_int_equal(json_get(root, STR("children"))->size, 0);
    assert_false(has_member(root, "truncated"));
}

static void a_tree_is_indented_and_ends_at_its_depth(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "src");
    plant_dir(bench, "src/deep");
    plant_dir(bench, "src/deep/er");
    plant(bench, "src/deep/er/x", "x");
    plant(bench, "src/a.c", "x");
    plant(bench, "src-not", "x");
    plant_dir(bench, "attic");
    plant(bench, "README", "x");
    assert_str(below(bench, tree(bench, "{\"dirPath\":\".\"}")),
               "\n  attic/ (empty)\n  src/\n    deep/ (not opened: maxDepth)\n    a.c\n  README\n  "
               "src-not");
    assert_str(
        below(bench, tree(bench, "{\"dirPath\":\".\",\"maxDepth\":1}")),
        "\n  attic/ (not opened: maxDepth)\n  src/ (not opened: maxDepth)\n  README\n  src-not");
    assert_str(below(bench, tree(bench, "{\"dirPath\":\"src\",\"maxDepth\":9}")),
               "src/\n  deep/\n    er/\n      x\n  a.c");
}

static void a_name_that_begins_with_blanks_is_not_taken_for_one_below(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "a");
    plant(bench, "a/x", "x");
    plant(bench, "  x", "x");
    plant(bench, "\\y", "x");
    plant(bench, "z ", "x");
    assert_str(below(bench, tree(bench, "{\"dirPath\":\".\"}")),
               "\n  a/\n    x\n  \\  x\n  \\\\y\n  z ");
}

static void a_tree_does_not_open_what_is_fetched_or_built(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "node_modules");
    plant(bench, "node_modules/x", "x");
    plant_dir(bench, "dist");
    plant_dir(bench, "lib");
    plant_dir(bench, "lib/__pycache__");
    plant(bench, "lib/build", "a file of that name is none of them");
    plant(bench, ".hidden", "x");
    plant(bench, ".gitignore", "x");
    plant_link(bench, "link", "lib");
    assert_str(below(bench, tree(bench, "{\"dirPath\":\".\"}")),
               "\n  dist/ (not opened: excluded)\n  lib/\n    __pycache__/ (not opened: excluded)\n"
               "    build\n  node_modules/ (not opened: excluded)\n  .gitignore\n  .hidden");
    assert_str(below(bench, tree(bench, "{\"dirPath\":\"node_modules\"}")), "node_modules/\n  x");
    /* A link inside that is named leads where it leads. */
    assert_str(below(bench, tree(bench, "{\"dirPath\":\"link\"}")),
               "lib/\n  __pycache__/ (not opened: excluded)\n  build");
}

static void a_tree_says_why_nothing_is_shown_below(void **state)
{
    struct bench *bench = *state;

    assert_str(below(bench, tree(bench, "{\"dirPath\":\".\"}")), "\n(empty)");
    plant_dir(bench, "bare");
    plant_dir(bench, "linked");
    plant_link(bench, "linked/x", "../bare");
    plant_dir(bench, "locked");
    plant_dir(bench, "deep");
    plant_dir(bench, "deep/er");
    assert_int_equal(fchmodat(bench->root_fd, "locked", 0, 0), 0);
    assert_contains(tree(bench, "{\"dirPath\":\".\"}"), "\n  bare/ (empty)\n");
    assert_contains(tree(bench, "{\"dirPath\":\".\"}"), "\n  linked/ (nothing to show)\n");
    assert_contains(tree(bench, "{\"dirPath\":\".\"}"), "\n    er/ (not opened: maxDepth)\n");
    if (geteuid() == 0)
        assert_contains(tree(bench, "{\"dirPath\":\".\"}"), "\n  locked/ (empty)");
    else
        assert_contains(tree(bench, "{\"dirPath\":\".\"}"), "\n  locked/ (not opened: ");
    assert_int_equal(fchmodat(bench->root_fd, "locked", 0755, 0), 0);
    assert_str(below(bench, tree(bench, "{\"dirPath\":\".\",\"maxDepth\":0}")),
               "\n(maxDepth 0 shows nothing below it)");
}

static void a_tree_of_nothing_or_of_a_file_is_an_error(void **state)
{
    struct bench *bench = *state;

    plant(bench, "file", "x");
    assert_contains(bench_error(bench, "get_file_tree", "{\"dirPath\":\"none\"}"),
                    "none: not found");
    assert_contains(bench_error(bench, "get_file_tree", "{\"dirPath\":\"none\",\"maxDepth\":0}"),
                    "none: not found");
    assert_contains(bench_error(bench, "get_file_tree", "{\"dirPath\":\"file\"}"),
                    "file is not a directory");
    assert_contains(bench_error(bench, "get_file_tree", "{\"dirPath\":\"file\",\"maxDepth\":0}"),
                    "file is not a directory");
}

static void names_cannot_fake_lines_of_a_tree(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a\n  fake", "");
    assert_str(below(bench, tree(bench, "{\"dirPath\":\".\"}")), "\n  a\xEF\xBF\xBD  fake");
}

/* The first 10,000 in the order of the tree, whatever the order on the disk. */
static void a_tree_that_is_cut_keeps_the_first_and_says_so(void **state)
{
    struct bench *bench = *state;
    char name[32];
    struct str text;
    size_t lines = 0;

    for (int d = 0; d < 12; d++) {
        snprintf(name, sizeof(name), "d%02d", 11 - d);
        plant_dir(bench, name);
        for (int i = 0; i < 1000; i++) {
            snprintf(name, sizeof(name), "d%02d/f%03d", 11 - d, 999 - i);
            plant(bench, name, "");
        }
    }
    text = tree(bench, "{\"dirPath\":\".\"}");
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    assert_int_equal(lines, 10000 + 1);
    /* Ten directories with nine whole ones and what remains of the tenth. */
    assert_contains(text, "  d08/\n    f000\n");
    assert_contains(text, "  d09/\n    f000\n");
    assert_contains(text, "    f989\n(truncated at 10000 entries");
    assert_lacks(text, "d10");
}

static void denied_names_are_in_no_list_and_no_tree(void **state)
{
    static const char *const denied[] = {".env", "private/**", "*.key", NULL};
    struct bench *bench = *state;

    plant(bench, ".env", "x");
    plant(bench, "my.key", "x");
    plant(bench, "open", "x");
    plant_dir(bench, "private");
    plant(bench, "private/x", "x");
    plant_dir(bench, "lib");
    plant(bench, "lib/.env", "x");
    plant(bench, "lib/b.key", "x");
    bench_deny(bench, denied);
    assert_str(shown(bench, list(bench, "{\"dirPath\":\".\"}")), "d:lib f:open");
    assert_str(shown(bench, list(bench, "{\"dirPath\":\"lib\"}")), "");
    assert_str(below(bench, tree(bench, "{\"dirPath\":\".\",\"maxDepth\":9}")),
               "\n  lib/ (empty)\n  open");
    assert_contains(bench_error(bench, "list_files", "{\"dirPath\":\"private\"}"), "denied");
    assert_contains(bench_error(bench, "get_file_tree", "{\"dirPath\":\"private\"}"), "denied");
}

TEST_MAIN(BENCH_TEST(directories_come_first_then_names_in_order),
          BENCH_TEST(paths_are_relative_to_the_root_and_sizes_are_told),
          BENCH_TEST(a_missing_directory_is_an_error_with_the_nearest),
          BENCH_TEST(links_special_files_and_version_control_are_left_out),
          BENCH_TEST(an_excluded_directory_is_listed_when_it_is_named),
          BENCH_TEST(the_type_says_what_is_listed), BENCH_TEST(a_list_is_sorted_by_size_or_time),
          BENCH_TEST(names_can_be_left_out), BENCH_TEST(a_tree_as_json_has_the_same_names),
          BENCH_TEST(a_list_that_is_cut_keeps_the_first_and_says_so),
          BENCH_TEST(a_large_directory_has_sizes_for_what_is_shown),
          BENCH_TEST(a_name_that_is_no_utf8_is_shown_all_the_same),
          BENCH_TEST(a_tree_is_indented_and_ends_at_its_depth),
          BENCH_TEST(a_name_that_begins_with_blanks_is_not_taken_for_one_below),
          BENCH_TEST(a_tree_does_not_open_what_is_fetched_or_built),
          BENCH_TEST(a_tree_says_why_nothing_is_shown_below),
          BENCH_TEST(a_tree_of_nothing_or_of_a_file_is_an_error),
          BENCH_TEST(names_cannot_fake_lines_of_a_tree),
          BENCH_TEST(a_tree_that_is_cut_keeps_the_first_and_says_so),
          BENCH_TEST(denied_names_are_in_no_list_and_no_tree))
