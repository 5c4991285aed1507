/* SPDX-License-Identifier: Apache-2.0 */
#include "workbench.h"

#include "files/resources.h"

/* ---- reading ---- */

static int read_uri(struct bench *bench, struct str uri)
{
    buf_clear(&bench->out);
    bench->err = (struct err)ERR_INIT;
    return resource_read(bench->box, uri, NULL, &bench->out, &bench->err);
}

static struct str uri_of(struct bench *bench, const char *name)
{
    static char text[4096];
    struct buf uri = BUF_INIT(sizeof(text));

    assert_int_equal(resource_append_uri(bench->box, str_from(name), &uri), 0);
    memcpy(text, uri.data, uri.len);
    text[uri.len] = '\0';
    buf_done(&uri);
    return str_from(text);
}

/* The one item of the contents. */
static const struct json_value *content(struct bench *bench, const char *name)
{
    struct str uri = uri_of(bench, name);
    const struct json_value *contents;

    if (read_uri(bench, uri) < 0)
        fail_msg("%s", bench->err.message);
    contents = json_get(bench_parse(bench, buf_view(&bench->out)), STR("contents"));
    assert_non_null(contents);
    assert_int_equal(contents->size, 1);
    assert_true(str_eq(str_member(contents + 1, "uri"), uri));
    return contents + 1;
}

static void text_comes_as_text_and_the_rest_as_a_blob(void **state)
{
    struct bench *bench = *state;

    plant(bench, "notes.md", "# \"Title\"\n");
    plant(bench, "empty", "");
    plant_bytes_at(bench->root_fd, "data", "a\0b", 3);
    plant(bench, "latin.txt", "caf\xE9");
    plant_bytes_at(bench->root_fd, "picture.txt", "\x89PNG\r\n\x1a\n", 8);
    assert_str(str_member(content(bench, "notes.md"), "text"), "# \"Title\"\n");
    assert_str(str_member(content(bench, "notes.md"), "mimeType"), "text/markdown");
    assert_str(str_member(content(bench, "empty"), "text"), "");
    assert_str(str_member(content(bench, "data"), "blob"), "YQBi");
    assert_str(str_member(content(bench, "data"), "mimeType"), "application/octet-stream");
    assert_false(has_member(content(bench, "data"), "text"));
    assert_str(str_member(content(bench, "latin.txt"), "blob"), "Y2Fm6Q==");
    assert_str(str_member(content(bench, "picture.txt"), "mimeType"), "image/png");
    assert_true(has_member(content(bench, "picture.txt"), "blob"));
}

static void any_name_has_an_address(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a b%20\xFF.c", "x");
    assert_str(str_member(content(bench, "a b%20\xFF.c"), "text"), "x");
}

static void an_address_may_begin_with_either_name_of_the_root(void **state)
{
    struct bench *bench = *state;
    char link[sizeof(bench->base) + 8];
    cleanup_buf struct buf uri = BUF_INIT(4096);

    plant(bench, "file", "x");
    snprintf(link, sizeof(link), "%s/link", bench->base);
    assert_int_equal(symlink("root", link), 0);
    assert_int_equal(buf_printf(&uri, "file://%s/file", link), 0);
    assert_int_equal(read_uri(bench, buf_view(&uri)), ERR_PATH_OUTSIDE_ROOT);
    bench_reopen(bench, (struct toolbox_config){.given_path = link}, NULL);
    if (read_uri(bench, buf_view(&uri)) < 0)
        fail_msg("%s", bench->err.message);
    assert_str(str_member(content(bench, "file"), "text"), "x");
    /* What we make up ourselves has the one without links. */
    assert_true(str_find(uri_of(bench, "file"), str_from(bench->root)) != SIZE_MAX);
    buf_clear(&uri);
    assert_int_equal(buf_printf(&uri, "file://%s/../outside/x", link), 0);
    assert_int_equal(read_uri(bench, buf_view(&uri)), ERR_PATH_OUTSIDE_ROOT);
    assert_int_equal(unlink(link), 0);
}

static void a_file_over_the_limit_is_refused_with_its_size(void **state)
{
    struct bench *bench = *state;

    plant(bench, "file", "12345678901");
    bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 10}, NULL);
    assert_int_equal(read_uri(bench, uri_of(bench, "file")), ERR_TOO_LARGE);
    assert_contains(str_from(bench->err.message), "has 11 bytes; the limit is 10");
    assert_int_equal(bench->out.len, 0);
}

static void nothing_outside_or_special_can_be_read(void **state)
{
    struct bench *bench = *state;
    char uri[2 * BENCH_PATH_BYTES];

    plant_bytes_at(bench->outside_fd, "secret", "SECRET", 6);
    plant_link(bench, "link", "../outside/secret");
    plant_dir(bench, "dir");
    assert_int_equal(mkfifoat(bench->root_fd, "pipe", 0644), 0);
    snprintf(uri, sizeof(uri), "file://%s/secret", bench->outside);
    assert_int_equal(read_uri(bench, str_from(uri)), ERR_PATH_OUTSIDE_ROOT);
    snprintf(uri, sizeof(uri), "file://%s/%%2e%%2e/outside/secret", bench->root);
    assert_int_equal(read_uri(bench, str_from(uri)), ERR_PATH_OUTSIDE_ROOT);
    assert_true(read_uri(bench, uri_of(bench, "link")) < 0);
    assert_true(read_uri(bench, uri_of(bench, "dir")) < 0);
    assert_int_equal(read_uri(bench, uri_of(bench, "pipe")), ERR_NOT_REGULAR_FILE);
    assert_int_equal(read_uri(bench, uri_of(bench, "none")), ERR_NOT_FOUND);
    assert_int_equal(read_uri(bench, STR("http://x/")), ERR_INVALID_ARGUMENT);
    assert_int_equal(bench->out.len, 0);
}

/* ---- listing ---- */

/* One page: names into `out_names` with spaces between, its cursor into the result. */
static struct str page(struct bench *bench, struct str cursor, struct buf *out_names)
{
    const struct json_value *result;
    struct str next = STR_EMPTY;

    buf_clear(&bench->out);
    if (resource_list(bench->box, cursor, NULL, &bench->out, &bench->err) < 0)
        fail_msg("%s", bench->err.message);
    result = bench_parse(bench, buf_view(&bench->out));
    json_each_item (resource, json_get(result, STR("resources"))) {
        struct str uri = str_member(resource, "uri");
        char name[PATH_MAX];
        size_t len;

        assert_int_equal(resource_name_of_uri(bench->box, uri, name, &len, NULL), 0);
        assert_int_equal(buf_printf(out_names, "%s%s", out_names->len > 0 ? " " : "", name), 0);
    }
    (void)json_get_str(result, STR("nextCursor"), &next);
    return next;
}

static struct str first_page(struct bench *bench, struct buf *names)
{
    buf_clear(names);
    assert_str(page(bench, STR_EMPTY, names), "");
    return buf_view(names);
}

static void the_files_of_a_tree_are_listed(void **state)
{
    struct bench *bench = *state;
    cleanup_buf struct buf names = BUF_INIT(1 << 20);

    assert_str(first_page(bench, &names), "");
    plant(bench, "z.json", "");
    plant(bench, ".hidden", "");
    plant_dir(bench, "dir");
    plant(bench, "dir/a b", "");
    plant_dir(bench, "node_modules");
    plant(bench, "node_modules/x", "");
    plant_link(bench, "link", "z.json");
    assert_str(first_page(bench, &names), "dir/a b .hidden z.json");
    assert_contains(buf_view(&bench->out), "\"name\":\"z.json\",\"mimeType\":\"application/json\"");
}

static void files_deeper_than_eight_directories_are_not_listed(void **state)
{
    struct bench *bench = *state;
    cleanup_buf struct buf names = BUF_INIT(1 << 20);

    for (size_t len = 1; len <= 15; len += 2) {
        char name[16] = "1/2/3/4/5/6/7/8";
        char file[32];

        name[len] = '\0';
        plant_dir(bench, name);
        snprintf(file, sizeof(file), "%s/f", name);
        plant(bench, file, "");
    }
    assert_str(first_page(bench, &names),
               "1/2/3/4/5/6/7/f 1/2/3/4/5/6/f 1/2/3/4/5/f 1/2/3/4/f 1/2/3/f 1/2/f 1/f");
}

static void pages_together_are_the_whole_list(void **state)
{
    enum { DIRECTORIES = 7, IN_EACH = RESOURCE_PAGE / 2 };
    struct bench *bench = *state;
    cleanup_buf struct buf all = BUF_INIT(1 << 20);
    cleanup_buf struct buf expected = BUF_INIT(1 << 20);
    cleanup_buf struct buf cursor = BUF_INIT(1 << 20);
    int pages = 0;
    char name[32];

    for (int d = 0; d < DIRECTORIES; d++) {
        snprintf(name, sizeof(name), "d%d", d);
        plant_dir(bench, name);
        for (int i = 0; i < IN_EACH; i++) {
            snprintf(name, sizeof(name), "d%d/f%03d", d, (i * 7) % IN_EACH);
            plant(bench, name, "");
        }
    }
    plant(bench, "last", "");
    for (int d = 0; d < DIRECTORIES; d++)
        for (int i = 0; i < IN_EACH; i++)
            assert_int_equal(
                buf_printf(&expected, "%sd%d/f%03d", expected.len > 0 ? " " : "", d, i), 0);
    assert_int_equal(buf_append_str(&expected, STR(" last")), 0);
    do {
        struct str next = page(bench, buf_view(&cursor), &all);

        buf_clear(&cursor);
        assert_int_equal(buf_append_str(&cursor, next), 0);
        pages++;
        /* A file that is gone meanwhile does not disturb those behind it. */
        if (pages == 1)
            assert_int_equal(unlinkat(bench->root_fd, "d1/f499", 0), 0);
    } while (cursor.len > 0);
    assert_int_equal(pages, 4);
    assert_int_equal(all.len, expected.len);
    assert_memory_equal(all.data, expected.data, all.len);
}

static void a_cursor_that_is_none_is_refused(void **state)
{
    struct bench *bench = *state;

    buf_clear(&bench->out);
    assert_int_equal(resource_list(bench->box, STR("%zz"), NULL, &bench->out, &bench->err),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(bench->out.len, 0);
}

/* ---- completing ---- */

static struct str completed(struct bench *bench, struct str typed)
{
    static char text[1 << 16];
    const struct json_value *completion;
    size_t len = 0;

    buf_clear(&bench->out);
    if (resource_complete(bench->box, typed, NULL, &bench->out, &bench->err) < 0)
        fail_msg("%s", bench->err.message);
    completion = json_get(bench_parse(bench, buf_view(&bench->out)), STR("completion"));
    assert_non_null(completion);
    json_each_item (value, json_get(completion, STR("values")))
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s", len > 0 ? " " : "",
                                STR_ARG(json_str(value)));
    assert_int_equal(bool_member(completion, "hasMore"),
                     int_member(completion, "total") > RESOURCE_COMPLETIONS);
    return (struct str){text, len};
}

static void a_path_is_completed_component_by_component(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "src");
    plant_dir(bench, "src/tools");
    plant(bench, "src/toml.c", "");
    plant(bench, "src/other.c", "");
    plant(bench, "setup", "");
    plant(bench, ".hidden", "");
    plant_link(bench, "sources", "src");
    plant(bench, "s\xFF", "");
    assert_str(completed(bench, STR("")), "src/ .hidden setup");
    assert_str(completed(bench, STR("s")), "src/ setup");
    assert_str(completed(bench, STR("sr")), "src/");
    assert_str(completed(bench, STR("src/")), "src/tools/ src/other.c src/toml.c");
    assert_str(completed(bench, STR("src/to")), "src/tools/ src/toml.c");
    assert_str(completed(bench, STR("sources/to")), "sources/tools/ sources/toml.c");
    assert_str(completed(bench, STR("src/toml.c/")), "");
    assert_str(completed(bench, STR("none/x")), "");
    assert_str(completed(bench, STR(".h")), ".hidden");
    assert_str(completed(bench, STR("../")), "");
    assert_str(completed(bench, STR("/etc/pass")), "");
    assert_str(completed(bench, STR("a\0b/")), "");
}

static void no_more_than_a_hundred_values_and_the_number_of_all(void **state)
{
    struct bench *bench = *state;
    const struct json_value *completion;
    char name[16];

    for (int i = 0; i < 130; i++) {
        snprintf(name, sizeof(name), "f%03d", 129 - i);
        plant(bench, name, "");
    }
    assert_true(str_starts_with(completed(bench, STR("f")), STR("f000 f001 ")));
    completion = json_get(bench_parse(bench, buf_view(&bench->out)), STR("completion"));
    assert_int_equal(json_get(completion, STR("values"))->size, 100);
    assert_int_equal(int_member(completion, "total"), 130);
}

/* ---- rights ---- */

static void denied_names_are_neither_read_nor_listed_nor_completed(void **state)
{
    static const char *const denied[] = {".env", "*.key", "private/**", NULL};
    struct bench *bench = *state;
    cleanup_buf struct buf names = BUF_INIT(1 << 20);

    plant(bench, ".env", "TOKEN");
    plant(bench, "my.key", "TOKEN");
    plant(bench, "my.txt", "x");
    plant_dir(bench, "private");
    plant(bench, "private/file", "TOKEN");
    plant_link(bench, "innocent", ".env");
    bench_deny(bench, denied);
    assert_int_equal(read_uri(bench, uri_of(bench, ".env")), ERR_DENIED_BY_POLICY);
    assert_int_equal(read_uri(bench, uri_of(bench, "innocent")), ERR_DENIED_BY_POLICY);
    assert_int_equal(read_uri(bench, uri_of(bench, "private/file")), ERR_DENIED_BY_POLICY);
    assert_str(first_page(bench, &names), "my.txt");
    assert_str(completed(bench, STR("")), "my.txt");
    assert_str(completed(bench, STR("my.k")), "");
    assert_str(completed(bench, STR("private/")), "");
}

TEST_MAIN(BENCH_TEST(text_comes_as_text_and_the_rest_as_a_blob),
          BENCH_TEST(any_name_has_an_address),
          BENCH_TEST(an_address_may_begin_with_either_name_of_the_root),
          BENCH_TEST(a_file_over_the_limit_is_refused_with_its_size),
          BENCH_TEST(nothing_outside_or_special_can_be_read),
          BENCH_TEST(the_files_of_a_tree_are_listed),
          BENCH_TEST(files_deeper_than_eight_directories_are_not_listed),
          BENCH_TEST(pages_together_are_the_whole_list),
          BENCH_TEST(a_cursor_that_is_none_is_refused),
          BENCH_TEST(a_path_is_completed_component_by_component),
          BENCH_TEST(no_more_than_a_hundred_values_and_the_number_of_all),
          BENCH_TEST(denied_names_are_neither_read_nor_listed_nor_completed))
