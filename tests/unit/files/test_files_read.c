/* SPDX-License-Identifier: Apache-2.0 */
#include "workbench.h"

#include <sys/resource.h>

#include "base/cancel.h"

static const struct json_value *read_file(struct bench *bench, const char *arguments)
{
    return bench_call(bench, "read_file", arguments);
}

/* ---- lines ---- */

static void a_file_comes_back_as_it_is(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;

    plant(bench, "file", "\xEF\xBB\xBFone\r\ntwo \"2\"\\\n\n\tthree");
    object = read_file(bench, "{\"filePath\":\"./file\"}");
    assert_str(str_member(object, "path"), "./file");
    assert_str(str_member(object, "content"), "\xEF\xBB\xBFone\r\ntwo \"2\"\\\n\n\tthree");
    assert_false(bool_member(object, "truncated"));
    assert_int_equal(int_member(object, "totalLines"), 4);
    assert_int_equal(object->size, 4);
}

static void what_follows_the_last_line_end_is_a_line(void **state)
{
    struct bench *bench = *state;

    plant(bench, "ended", "a\n");
    plant(bench, "empty", "");
    assert_int_equal(int_member(read_file(bench, "{\"filePath\":\"ended\"}"), "totalLines"), 2);
    assert_str(str_member(read_file(bench, "{\"filePath\":\"ended\"}"), "content"), "a\n");
    assert_int_equal(int_member(read_file(bench, "{\"filePath\":\"empty\"}"), "totalLines"), 1);
    assert_str(str_member(read_file(bench, "{\"filePath\":\"empty\"}"), "content"), "");
}

static void a_window_says_where_it_goes_on(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;

    plant(bench, "file", "1\n2\n3\n4\n5\n");
    object = read_file(bench, "{\"filePath\":\"file\",\"startLine\":2,\"maxLines\":2}");
    assert_str(str_member(object, "content"), "2\n3");
    assert_true(bool_member(object, "truncated"));
    assert_int_equal(int_member(object, "totalLines"), 6);
    assert_int_equal(int_member(object, "startLine"), 2);
    assert_int_equal(int_member(object, "nextStartLine"), 4);
    object = read_file(bench, "{\"filePath\":\"file\",\"startLine\":5,\"maxLines\":2}");
    assert_str(str_member(object, "content"), "5\n");
    assert_false(bool_member(object, "truncated"));
    assert_false(has_member(object, "nextStartLine"));
    object = read_file(bench, "{\"filePath\":\"file\",\"startLine\":5,\"maxLines\":1}");
    assert_str(str_member(object, "content"), "5");
    assert_int_equal(int_member(object, "nextStartLine"), 6);
    object = read_file(bench, "{\"filePath\":\"file\",\"startLine\":99}");
    assert_str(str_member(object, "content"), "");
    assert_false(bool_member(object, "truncated"));
    assert_int_equal(int_member(object, "totalLines"), 6);
}

static void a_window_may_be_told_by_its_last_line(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;

    plant(bench, "file", "1\n2\n3\n4\n5\n");
    object = read_file(bench, "{\"filePath\":\"file\",\"startLine\":2,\"endLine\":3}");
    assert_str(str_member(object, "content"), "2\n3");
    assert_int_equal(int_member(object, "nextStartLine"), 4);
    object = read_file(bench, "{\"filePath\":\"file\",\"startLine\":2,\"endLine\":1}");
    assert_str(str_member(object, "content"), "2");
}

static void odd_numbers_are_brought_into_range(void **state)
{
    struct bench *bench = *state;
    char text[4096] = "";

    for (int i = 0; i < 1000; i++)
        memcpy(text + (size_t)2 * (size_t)i, "x\n", 2);
    plant(bench, "file", text);
    assert_int_equal(
        int_member(read_file(bench, "{\"filePath\":\"file\",\"startLine\":-3}"), "nextStartLine"),
        201);
    assert_int_equal(
        int_member(read_file(bench, "{\"filePath\":\"file\",\"maxLines\":1000}"), "nextStartLine"),
        501);
    assert_int_equal(
        int_member(read_file(bench, "{\"filePath\":\"file\",\"maxLines\":0}"), "nextStartLine"), 2);
    assert_int_equal(
        int_member(read_file(bench, "{\"filePath\":\"file\",\"maxLines\":3.0}"), "nextStartLine"),
        4);
    assert_int_equal(
        int_member(read_file(bench, "{\"filePath\":\"file\",\"maxLines\":1e300}"), "nextStartLine"),
        501);
    assert_str(
        str_member(read_file(bench, "{\"filePath\":\"file\",\"startLine\":9223372036854775807}"),
                   "content"),
        "");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"file\",\"maxLines\":1.5}"),
                    "maxLines must be an integer");
    bench_reopen(bench, (struct toolbox_config){.max_lines = 3}, NULL);
    assert_int_equal(int_member(read_file(bench, "{\"filePath\":\"file\"}"), "nextStartLine"), 4);
}

/* ---- files over the limit ---- */

/* `count` lines "<number>-<width times 'x'>\n". */
static void plant_lines(const struct bench *bench, const char *name, int count, int width)
{
    cleanup_buf struct buf text = BUF_INIT(BENCH_OUT_BYTES);

    for (int i = 1; i <= count; i++) {
        assert_int_equal(buf_printf(&text, "%d-%0*d\n", i, width, 0), 0);
    }
    plant_bytes_at(bench->root_fd, name, text.data, text.len);
}

static void windows_of_a_large_file_are_those_of_a_small_one(void **state)
{
    struct bench *bench = *state;
    static const char *const windows[] = {
        "{\"filePath\":\"file\"}",
        "{\"filePath\":\"file\",\"startLine\":2,\"maxLines\":2}",
        "{\"filePath\":\"file\",\"startLine\":9990,\"maxLines\":11}",
        "{\"filePath\":\"file\",\"startLine\":9991,\"maxLines\":11}",
        "{\"filePath\":\"file\",\"startLine\":10001}",
        "{\"filePath\":\"file\",\"startLine\":10002}",
        "{\"filePath\":\"file\",\"startLine\":5000,\"maxLines\":100}",
    };
    struct str contents[array_size(windows)];
    int64_t next[array_size(windows)];

    plant_lines(bench, "file", 10000, 60); /* pieces end within lines */
    for (int is_large = 0; is_large < 2; is_large++) {
        bench_reopen(
            bench, (struct toolbox_config){.max_file_bytes = is_large ? 64 << 10 : 4 << 20}, NULL);
        for (size_t i = 0; i < array_size(windows); i++) {
            const struct json_value *object = read_file(bench, windows[i]);
            int64_t found = -1;

            (void)json_get_int(object, STR("nextStartLine"), &found);
            assert_int_equal(int_member(object, "totalLines"), 10001);
            assert_int_equal(has_member(object, "totalBytes"), is_large);
            if (is_large) {
                assert_true(str_eq(contents[i], str_member(object, "content")));
                assert_int_equal(found, next[i]);
                assert_int_equal(bool_member(object, "truncated"), found != -1);
            }
            contents[i] = str_member(object, "content");
            next[i] = found;
        }
    }
    assert_str(contents[1], "2-000000000000000000000000000000000000000000000000000000000000\n"
                            "3-000000000000000000000000000000000000000000000000000000000000");
}

static void a_large_window_ends_with_the_last_line_that_fits(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;
    int64_t next = 1;
    int windows = 0;
    cleanup_buf struct buf all = BUF_INIT(BENCH_OUT_BYTES);
    static char whole[1 << 20];
    int fd;
    ssize_t len;

    plant_lines(bench, "file", 300, 100);
    bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 1000}, NULL);
    /* Put together again, the windows are the file. */
    while (true) {
        char arguments[64];

        snprintf(arguments, sizeof(arguments), "{\"filePath\":\"file\",\"startLine\":%d}",
                 (int)next);
        object = read_file(bench, arguments);
        assert_true(str_member(object, "content").len <= 1000);
        assert_false(has_member(object, "note"));
        assert_int_equal(buf_append_str(&all, str_member(object, "content")), 0);
        windows++;
        if (!bool_member(object, "truncated"))
            break;
        assert_int_equal(buf_append_char(&all, '\n'), 0);
        assert_true(int_member(object, "nextStartLine") > next);
        next = int_member(object, "nextStartLine");
    }
    fd = openat(bench->root_fd, "file", O_RDONLY | O_CLOEXEC);
    len = read(fd, whole, sizeof(whole));
    close(fd);
    assert_int_equal(all.len, len);
    assert_memory_equal(all.data, whole, all.len);
    assert_true(windows > 30);
}

static void a_line_over_the_limit_is_cut_with_a_note(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;
    static char text[5000];

    /* Characters of two bytes, so that the limit falls into one. */
    for (size_t i = 0; i < 2000; i++)
        memcpy(text + 2 * i, "\xC3\xA4", 2);
    memcpy(text + 4000, "\nend", 5);
    plant(bench, "file", text);
    bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 1001}, NULL);
    object = read_file(bench, "{\"filePath\":\"file\"}");
    assert_in_range(str_member(object, "content").len, 998, 1001);
    assert_true(bool_member(object, "truncated"));
    assert_contains(str_member(object, "note"), "line 1 is longer than 1001 bytes");
    assert_int_equal(int_member(object, "nextStartLine"), 2);
    object = read_file(bench, "{\"filePath\":\"file\",\"startLine\":2}");
    assert_str(str_member(object, "content"), "end");
    assert_false(bool_member(object, "truncated"));
    /* In the last line there is nowhere to go on. */
    text[4000] = '\0';
    plant(bench, "file", text);
    object = read_file(bench, "{\"filePath\":\"file\"}");
    assert_true(bool_member(object, "truncated"));
    assert_false(has_member(object, "nextStartLine"));
    assert_int_equal(int_member(object, "totalLines"), 1);
}

static long most_memory_kb(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* A sparse file: no bytes on the disk, and far more than memory may take. */
static void memory_is_flat_whatever_the_file(void **state)
{
    struct bench *bench = *state;
    int fd = openat(bench->root_fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    long before = most_memory_kb();
    static char text[16 << 10];
    const struct json_value *object;

    memset(text, 'x', sizeof(text));
    text[0] = '\n';
    assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
    assert_int_equal(pwrite(fd, "\nlast", 5, 300 << 20), 5);
    close(fd);
    object = read_file(bench, "{\"filePath\":\"file\",\"startLine\":3}");
    assert_str(str_member(object, "content"), "last");
    assert_int_equal(int_member(object, "totalLines"), 3);
    assert_int_equal(int_member(object, "totalBytes"), (300 << 20) + 5);
    assert_true(most_memory_kb() - before < 64 << 10);
}

struct reports {
    uint64_t count;
    uint64_t last;
};

static void count_report(void *data, uint64_t done, uint64_t total, const char *what)
{
    struct reports *reports = data;

    assert_non_null(what);
    assert_true(done > reports->last && done <= total);
    reports->last = done;
    reports->count++;
}

static void a_long_read_reports_progress_and_can_be_cancelled(void **state)
{
    struct bench *bench = *state;
    int fd = openat(bench->root_fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    struct reports reports = {0};
    struct cancel cancel;
    struct tool_call *call;
    static char text[16 << 10];

    memset(text, 'x', sizeof(text));
    assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
    assert_int_equal(pwrite(fd, "\nlast", 5, 300 << 20), 5);
    close(fd);
    call = bench_prepare(bench, "read_file", "{\"filePath\":\"file\",\"startLine\":2}");
    assert_non_null(call);
    assert_int_equal(tool_run(call, NULL, count_report, &reports, &bench->out), 0);
    assert_true(reports.count > 0);
    cancel_init(&cancel, &clock_system, CANCEL_NO_DEADLINE);
    cancel_now(&cancel);
    buf_clear(&bench->out);
    assert_int_equal(tool_run(call, &cancel, NULL, NULL, &bench->out), ERR_CANCELLED);
    assert_int_equal(bench->out.len, 0);
    tool_free(call);
}

/* ---- what is no text ---- */

static void text_in_other_encodings_is_converted(void **state)
{
    static const char wide[] = "\xFF\xFEo\0n\0e\0\n\0\x26\x26";
    struct bench *bench = *state;
    const struct json_value *object;

    for (int is_large = 0; is_large < 2; is_large++) {
        if (is_large)
            bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 11}, NULL);
        plant(bench, "latin", "one line\ncaf\xE9\n");
        object = read_file(bench, "{\"filePath\":\"latin\",\"startLine\":2}");
        assert_str(str_member(object, "content"), "caf\xC3\xA9\n");
        assert_str(str_member(object, "encoding"), "iso-8859-1");
        plant_bytes_at(bench->root_fd, "wide", wide, sizeof(wide) - 1);
        object = read_file(bench, "{\"filePath\":\"wide\"}");
        assert_str(str_member(object, "content"), "one\n\xE2\x98\xA6");
        assert_str(str_member(object, "encoding"), "utf-16le");
        assert_int_equal(int_member(object, "totalLines"), 2);
    }
}

/* What looks like UTF-8 for 256 KB may be something else afterwards. */
static void an_encoding_may_show_late(void **state)
{
    struct bench *bench = *state;
    static char text[400 << 10];
    const struct json_value *object;

    memset(text, 'x', sizeof(text));
    memcpy(text + sizeof(text) - 6, "\ncaf\xE9\n", 6);
    plant_bytes_at(bench->root_fd, "late", text, sizeof(text));
    bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 1000}, NULL);
    object = read_file(bench, "{\"filePath\":\"late\",\"startLine\":2}");
    assert_str(str_member(object, "content"), "caf\xC3\xA9\n");
    assert_str(str_member(object, "encoding"), "windows-1252");
}

/* Of several files, an encoding that shows late takes nothing from those before. */
static void several_files_keep_their_contents(void **state)
{
    struct bench *bench = *state;
    static const char *const parts[] = {"one\n", "\n\xC2\xA9 caf\xC3\xA9\n"};
    static char text[300 << 10];
    const struct json_value *files;
    size_t count = 0;

    /* A byte that would continue a character is one of its own here. */
    memset(text, 'x', 270 << 10);
    memset(text + (270 << 10), '\n', 30 << 10);
    memcpy(text + (270 << 10), "\n\xA9 caf\xE9\n", 8);
    plant_bytes_at(bench->root_fd, "late", text, sizeof(text));
    plant(bench, "first", "one\n");
    bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 290 << 10}, NULL);
    files = json_get(bench_call(bench, "read_files", "{\"filePaths\":[\"first\",\"late\"]}"),
                     STR("files"));
    assert_int_equal(files->size, 2);
    json_each_item (file, files)
        assert_true(str_find(str_member(file, "content"), str_from(parts[count++])) != SIZE_MAX);
}

/* Nothing is told about them but why they are refused, and each keeps its place. */
static void refused_files_keep_no_others_from_being_read(void **state)
{
    struct bench *bench = *state;
    static const char *const denied[] = {"d/**", NULL};
    const struct json_value *files;
    size_t place = 0;

    plant_dir(bench, "d");
    plant(bench, "d/secret", "hidden\n");
    plant(bench, "first", "one\n");
    plant(bench, "last", "two\n");
    bench_deny(bench, denied);
    files = json_get(bench_call(bench, "read_files",
                                "{\"filePaths\":[\"d/secret\",\"first\",\"../out\",\"gone\","
                                "\"last\",\"d/nothing\"]}"),
                     STR("files"));
    assert_int_equal(files->size, 6);
    json_each_item (file, files) {
        bool is_read = place == 1 || place == 4;

        assert_true((json_get(file, STR("content")) != NULL) == is_read);
        assert_true((json_get(file, STR("error")) != NULL) == !is_read);
        place++;
    }
    assert_contains(bench_error(bench, "read_files", "{\"filePaths\":[\"d/secret\",\"../out\"]}"),
                    "d/secret");
}

static void the_end_can_be_read(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;

    plant(bench, "ended", "1\n2\n3\n4\n");
    plant(bench, "open", "1\n2\n3\n4");
    for (int is_large = 0; is_large < 2; is_large++) {
        if (is_large)
            bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 6}, NULL);
        object = read_file(bench, "{\"filePath\":\"ended\",\"tail\":2}");
        assert_str(str_member(object, "content"), "3\n4\n");
        assert_int_equal(int_member(object, "startLine"), 3);
        assert_false(bool_member(object, "truncated"));
        object = read_file(bench, "{\"filePath\":\"open\",\"tail\":2}");
        assert_str(str_member(object, "content"), "3\n4");
    }
    bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 0}, NULL);
    object = read_file(bench, "{\"filePath\":\"open\",\"tail\":9,\"startLine\":3}");
    assert_str(str_member(object, "content"), "1\n2\n3\n4");
}

static void lines_can_have_numbers(void **state)
{
    struct bench *bench = *state;
    const struct json_value *object;

    plant(bench, "file", "a\nb\n\nd");
    object = read_file(bench, "{\"filePath\":\"file\",\"startLine\":2,\"lineNumbers\":true}");
    assert_str(str_member(object, "content"), "     2\tb\n     3\t\n     4\td");
    object = read_file(bench, "{\"filePath\":\"file\",\"startLine\":7,\"lineNumbers\":true}");
    assert_str(str_member(object, "content"), "");
}

/* Piece by piece, by the columns that each answer names. */
static void a_very_long_line_can_be_read_to_its_end(void **state)
{
    struct bench *bench = *state;
    cleanup_buf struct buf line = BUF_INIT(1 << 20);
    cleanup_buf struct buf back = BUF_INIT(1 << 20);
    int64_t column = 1;

    for (int i = 0; i < 5000; i++)
        assert_int_equal(buf_printf(&line, "%d\xC3\xA9", i), 0);
    assert_int_equal(buf_append_str(&back, STR("first\n")), 0);
    assert_int_equal(buf_append_str(&back, buf_view(&line)), 0);
    assert_int_equal(buf_append_str(&back, STR("\nlast")), 0);
    plant_bytes_at(bench->root_fd, "long", back.data, back.len);
    buf_clear(&back);
    bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 1001}, NULL);
    while (column > 0) {
        char arguments[100];
        const struct json_value *object;

        snprintf(arguments, sizeof(arguments),
                 "{\"filePath\":\"long\",\"startLine\":2,\"maxLines\":1,\"startColumn\":%d}",
                 (int)column);
        object = read_file(bench, arguments);
        assert_int_equal(buf_append_str(&back, str_member(object, "content")), 0);
        column = has_member(object, "nextStartColumn") ? int_member(object, "nextStartColumn") : 0;
    }
    assert_true(str_eq(buf_view(&back), buf_view(&line)));
}

static void a_binary_file_is_refused_with_its_size(void **state)
{
    struct bench *bench = *state;
    static char zeros[20000];

    memset(zeros, 'x', sizeof(zeros));
    zeros[8191] = '\0';
    plant_bytes_at(bench->root_fd, "early", zeros, sizeof(zeros));
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"early\"}"),
                    "early is a binary file (20000 bytes)");
    zeros[8191] = 'x';
    zeros[8192] = '\0';
    plant_bytes_at(bench->root_fd, "late", zeros, sizeof(zeros));
    assert_int_equal(str_member(read_file(bench, "{\"filePath\":\"late\"}"), "content").len, 20000);
    plant(bench, "neither", "caf\xE9\x01\n");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"neither\"}"),
                    "neither is a binary file (6 bytes)");
    /* The same over the limit. */
    bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 100}, NULL);
    zeros[5] = '\0';
    plant_bytes_at(bench->root_fd, "large", zeros, sizeof(zeros));
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"large\"}"),
                    "large is a binary file (20000 bytes)");
}

static void images_come_as_image_blocks(void **state)
{
    static const struct {
        struct str bytes;
        const char *type;
        const char *encoded;
    } images[] = {
        {STR_LITERAL("\x89PNG\r\n\x1a\n\0\0"), "image/png", "iVBORw0KGgoAAA=="},
        {STR_LITERAL("\xFF\xD8\xFF\xE0"), "image/jpeg", "/9j/4A=="},
        {STR_LITERAL("GIF89a\x01"), "image/gif", "R0lGODlhAQ=="},
        {STR_LITERAL("RIFF\x04\0\0\0WEBPVP8 "), "image/webp", "UklGRgQAAABXRUJQVlA4IA=="},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < array_size(images); i++) {
        const struct json_value *result;
        const struct json_value *about;

        plant_bytes_at(bench->root_fd, "picture", images[i].bytes.ptr, images[i].bytes.len);
        result = bench_result(bench, "read_file", "{\"filePath\":\"picture\"}");
        assert_false(bench_is_error(result));
        assert_true(
            str_eq_c(str_member(bench_block(result, 0, "image"), "data"), images[i].encoded));
        assert_true(
            str_eq_c(str_member(bench_block(result, 0, "image"), "mimeType"), images[i].type));
        about = json_get(result, STR("structuredContent"));
        assert_true(json_eq(about, bench_parse(bench, bench_block_text(result, 1))));
        assert_str(str_member(about, "path"), "picture");
        assert_true(str_eq_c(str_member(about, "mimeType"), images[i].type));
        assert_int_equal(int_member(about, "sizeBytes"), images[i].bytes.len);
    }
}

static void a_pdf_comes_as_a_resource_with_its_address(void **state)
{
    struct bench *bench = *state;
    const struct json_value *resource;
    char uri[BENCH_PATH_BYTES + 32];

    plant(bench, "my file.pdf", "%PDF-1.7\n");
    plant_link(bench, "link", "my file.pdf");
    resource = json_get(
        bench_block(bench_result(bench, "read_file", "{\"filePath\":\"link\"}"), 0, "resource"),
        STR("resource"));
    snprintf(uri, sizeof(uri), "file://%s/my%%20file.pdf", bench->root);
    assert_true(str_eq_c(str_member(resource, "uri"), uri));
    assert_str(str_member(resource, "mimeType"), "application/pdf");
    assert_str(str_member(resource, "blob"), "JVBERi0xLjcK");
}

static void media_over_the_limit_is_refused_with_size_and_limit(void **state)
{
    struct bench *bench = *state;
    static char image[2000] = "\x89PNG\r\n\x1a\n";

    plant_bytes_at(bench->root_fd, "picture", image, sizeof(image));
    bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 1000}, NULL);
    assert_contains(
        bench_error(bench, "read_file", "{\"filePath\":\"picture\"}"),
        "picture (image/png) has 2000 bytes; the limit is 1000 bytes, which the user can "
        "raise with --max-file-size");
    bench_reopen(bench, (struct toolbox_config){.max_file_bytes = 2000}, NULL);
    assert_false(bench_is_error(bench_result(bench, "read_file", "{\"filePath\":\"picture\"}")));
}

/* ---- what is no file, or not ours ---- */

static void a_missing_name_is_found_in_another_directory(void **state)
{
    static const char *const denied[] = {"denied/**", NULL};
    struct bench *bench = *state;

    plant_dir(bench, "src");
    plant_dir(bench, "src/deep");
    plant_dir(bench, "denied");
    plant_dir(bench, "node_modules");
    plant(bench, "main.h", "");
    plant(bench, "src/deep/main.c", "");
    plant(bench, "denied/main.c", "");
    plant(bench, "node_modules/main.c", "");
    bench_reopen(bench, (struct toolbox_config){.may_write = true}, denied);
    assert_str(bench_error(bench, "read_file", "{\"filePath\":\"main.c\"}"),
               "main.c: not found; did you mean src/deep/main.c?");
    plant(bench, "src/main.c", "");
    assert_str(bench_error(bench, "read_file", "{\"filePath\":\"main.c\"}"),
               "main.c: not found; did you mean src/main.c or src/deep/main.c?");
    plant(bench, "src/a", "");
    assert_str(bench_error(bench, "read_file", "{\"filePath\":\"lib/a\"}"),
               "lib/a: not found; did you mean src/a?");
    for (char dir[] = "0"; dir[0] < '3'; dir[0]++) {
        char name[] = "0/a";

        name[0] = dir[0];
        plant_dir(bench, dir);
        plant(bench, name, "");
    }
    assert_str(bench_error(bench, "read_file", "{\"filePath\":\"lib/a\"}"),
               "lib/a: not found; the nearest that exists is the root");
}

static void what_is_no_file_is_refused_without_waiting(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "dir");
    assert_int_equal(mkfifoat(bench->root_fd, "pipe", 0644), 0);
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"pipe\"}"),
                    "pipe is not a regular file");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"dir\"}"),
                    "dir is a directory; use list_files");
    assert_str(bench_error(bench, "read_file", "{\"filePath\":\"\"}"),
               "filePath must not be empty");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"none\"}"), "none: not found");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"none/deeper\"}"),
                    "none/deeper: not found");
}

static void nothing_outside_can_be_read(void **state)
{
    struct bench *bench = *state;
    char arguments[2 * BENCH_PATH_BYTES];

    plant_bytes_at(bench->outside_fd, "secret", "SECRET", 6);
    plant(bench, "inside", "mine");
    plant_link(bench, "out", "../outside/secret");
    plant_link(bench, "outdir", "../outside");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"../outside/secret\"}"),
                    "../outside/secret is outside the root");
    snprintf(arguments, sizeof(arguments), "{\"filePath\":\"%s/secret\"}", bench->outside);
    assert_contains(bench_error(bench, "read_file", arguments), "outside the root");
    assert_lacks(bench_error(bench, "read_file", "{\"filePath\":\"out\"}"), "SECRET");
    assert_lacks(bench_error(bench, "read_file", "{\"filePath\":\"outdir/secret\"}"), "SECRET");
    assert_true(
        bench_is_error(bench_result(bench, "read_file", "{\"filePath\":\"in\\u0000side\"}")));
    /* An absolute path below the root is fine. */
    snprintf(arguments, sizeof(arguments), "{\"filePath\":\"%s/inside\"}", bench->root);
    assert_str(str_member(read_file(bench, arguments), "content"), "mine");
}

static void a_link_inside_is_followed(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "dir");
    plant(bench, "dir/file", "content");
    plant_link(bench, "link", "dir");
    assert_str(str_member(read_file(bench, "{\"filePath\":\"link/file\"}"), "content"), "content");
    assert_str(str_member(read_file(bench, "{\"filePath\":\"link/file\"}"), "path"), "link/file");
}

static void denied_names_cannot_be_read_by_any_way(void **state)
{
    static const char *const denied[] = {".env", "private/**", NULL};
    struct bench *bench = *state;

    plant(bench, ".env", "TOKEN");
    plant_dir(bench, "private");
    plant(bench, "private/file", "TOKEN");
    plant_link(bench, "innocent", ".env");
    plant_link(bench, "door", "private");
    plant_dir(bench, "dir");
    bench_deny(bench, denied);
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\".env\"}"), "denied");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"dir/../.env\"}"), "denied");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"innocent\"}"), "denied");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"private/file\"}"), "denied");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"door/file\"}"), "denied");
    assert_contains(bench_error(bench, "stat_file", "{\"path\":\"innocent\"}"), "denied");
}

static void a_file_that_became_a_link_since_is_refused(void **state)
{
    struct bench *bench = *state;
    struct tool_call *call;

    plant(bench, "file", "harmless");
    plant(bench, "other", "OTHER");
    call = bench_prepare(bench, "read_file", "{\"filePath\":\"file\"}");
    assert_non_null(call);
    assert_int_equal(unlinkat(bench->root_fd, "file", 0), 0);
    plant_link(bench, "file", "other");
    assert_contains(bench_error_of(bench, bench_run(bench, call)),
                    "file has changed since it was checked");
}

static void a_directory_that_became_a_link_since_is_refused(void **state)
{
    struct bench *bench = *state;
    struct tool_call *call;

    plant_dir(bench, "dir");
    plant(bench, "dir/file", "harmless");
    plant_bytes_at(bench->outside_fd, "file", "SECRET", 6);
    call = bench_prepare(bench, "read_file", "{\"filePath\":\"dir/file\"}");
    assert_non_null(call);
    assert_int_equal(renameat(bench->root_fd, "dir", bench->root_fd, "dir2"), 0);
    plant_link(bench, "dir", "../outside");
    assert_lacks(bench_error_of(bench, bench_run(bench, call)), "SECRET");
}

/* ---- stat_file ---- */

static void a_stat_tells_type_size_time_and_mode(void **state)
{
    struct bench *bench = *state;
    const struct timespec times[2] = {{.tv_sec = 1700000000, .tv_nsec = 123456789},
                                      {.tv_sec = 1700000000, .tv_nsec = 123456789}};
    const struct json_value *object;

    plant(bench, "file", "12345");
    assert_int_equal(fchmodat(bench->root_fd, "file", 0640, 0), 0);
    assert_int_equal(utimensat(bench->root_fd, "file", times, 0), 0);
    object = bench_call(bench, "stat_file", "{\"path\":\"file\"}");
    assert_str(str_member(object, "path"), "file");
    assert_str(str_member(object, "type"), "file");
    assert_int_equal(int_member(object, "sizeBytes"), 5);
    assert_str(str_member(object, "modifiedAt"), "2023-11-14T22:13:20.123Z");
    assert_str(str_member(object, "mode"), "0640");
    assert_false(bool_member(object, "isBinary"));
    plant_bytes_at(bench->root_fd, "file", "a\0b", 3);
    assert_true(bool_member(bench_call(bench, "stat_file", "{\"path\":\"file\"}"), "isBinary"));
    object = bench_call(bench, "stat_file", "{\"path\":\".\"}");
    assert_str(str_member(object, "type"), "directory");
    assert_false(has_member(object, "isBinary"));
    assert_int_equal(mkfifoat(bench->root_fd, "pipe", 0600), 0);
    assert_str(str_member(bench_call(bench, "stat_file", "{\"path\":\"pipe\"}"), "type"), "other");
    assert_contains(bench_error(bench, "stat_file", "{\"path\":\"none\"}"), "none: not found");
}

TEST_MAIN(
    BENCH_TEST(a_file_comes_back_as_it_is), BENCH_TEST(what_follows_the_last_line_end_is_a_line),
    BENCH_TEST(a_window_says_where_it_goes_on), BENCH_TEST(a_window_may_be_told_by_its_last_line),
    BENCH_TEST(odd_numbers_are_brought_into_range),
    BENCH_TEST(windows_of_a_large_file_are_those_of_a_small_one),
    BENCH_TEST(a_large_window_ends_with_the_last_line_that_fits),
    BENCH_TEST(a_line_over_the_limit_is_cut_with_a_note),
    BENCH_TEST(memory_is_flat_whatever_the_file),
    BENCH_TEST(a_long_read_reports_progress_and_can_be_cancelled),
    BENCH_TEST(text_in_other_encodings_is_converted), BENCH_TEST(an_encoding_may_show_late),
    BENCH_TEST(several_files_keep_their_contents),
    BENCH_TEST(refused_files_keep_no_others_from_being_read), BENCH_TEST(the_end_can_be_read),
    BENCH_TEST(lines_can_have_numbers), BENCH_TEST(a_very_long_line_can_be_read_to_its_end),
    BENCH_TEST(a_binary_file_is_refused_with_its_size), BENCH_TEST(images_come_as_image_blocks),
    BENCH_TEST(a_pdf_comes_as_a_resource_with_its_address),
    BENCH_TEST(media_over_the_limit_is_refused_with_size_and_limit),
    BENCH_TEST(a_missing_name_is_found_in_another_directory),
    BENCH_TEST(what_is_no_file_is_refused_without_waiting), BENCH_TEST(nothing_outside_can_be_read),
    BENCH_TEST(a_link_inside_is_followed), BENCH_TEST(denied_names_cannot_be_read_by_any_way),
    BENCH_TEST(a_file_that_became_a_link_since_is_refused),
    BENCH_TEST(a_directory_that_became_a_link_since_is_refused),
    BENCH_TEST(a_stat_tells_type_size_time_and_mode))
