/* SPDX-License-Identifier: Apache-2.0 */
/* write_file, append_file, create_directory, move, copy_file, delete and extract_archive. */
#include "changebench.h"

static void limit_bytes(struct bench *bench, uint64_t bytes)
{
    bench_reopen(bench, (struct toolbox_config){.may_write = true, .max_file_bytes = bytes}, NULL);
}

/* ---- write_file ---- */

static void a_file_is_written_with_its_directories(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result =
        bench_call(bench, "write_file", "{\"filePath\":\"a/b/c.txt\",\"content\":\"x\\ny\"}");

    assert_str(str_member(result, "path"), "a/b/c.txt");
    assert_int_equal(result->size, 1);
    assert_file(bench, "a/b/c.txt", "x\ny");
}

static void a_replaced_file_keeps_its_mode(void **state)
{
    struct bench *bench = *state;

    plant(bench, "run.sh", "old");
    set_mode(bench, "run.sh", 0750);
    bench_call(bench, "write_file", "{\"filePath\":\"run.sh\",\"content\":\"new\"}");
    assert_file(bench, "run.sh", "new");
    assert_int_equal(mode_of(bench, "run.sh"), 0750);
}

static void a_write_over_the_limit_changes_nothing(void **state)
{
    struct bench *bench = *state;

    limit_bytes(bench, 4);
    plant(bench, "a.txt", "old");
    bench_call(bench, "write_file", "{\"filePath\":\"b.txt\",\"content\":\"1234\"}");
    assert_contains(
        bench_error(bench, "write_file", "{\"filePath\":\"a.txt\",\"content\":\"12345\"}"),
        "a.txt: 5 bytes exceed the limit of 4; nothing was changed");
    assert_file(bench, "a.txt", "old");
    (void)bench_error(bench, "write_file", "{\"filePath\":\"new/c.txt\",\"content\":\"12345\"}");
    assert_false(is_there(bench, "new"));
}

static void a_file_gets_no_name_of_a_directory(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "file");
    plant_dir(bench, "d");
    assert_contains(
        bench_error(bench, "move", "{\"sourcePath\":\"a\",\"destinationPath\":\"new/\"}"),
        "new/: ends with a slash: give the path of the file to create, with its name");
    assert_contains(
        bench_error(bench, "copy_file", "{\"sourcePath\":\"a\",\"destinationPath\":\"new/\"}"),
        "new/: ends with a slash");
    assert_false(is_there(bench, "new"));
    assert_file(bench, "a", "file");
    bench_call(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"new/\"}");
    assert_true(is_there(bench, "new"));
}

static void a_directory_is_not_written_over(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "d");
    plant(bench, "f", "file");
    assert_contains(bench_error(bench, "write_file", "{\"filePath\":\"d\",\"content\":\"\"}"),
                    "d: is a directory: give the path of the file to create in it");
    assert_contains(bench_error(bench, "write_file", "{\"filePath\":\".\",\"content\":\"\"}"),
                    ".: is a directory: give the path of the file");
    assert_contains(bench_error(bench, "write_file", "{\"filePath\":\"f/x\",\"content\":\"\"}"),
                    "f/x");
    assert_file(bench, "f", "file");
    assert_int_equal(int_member(undo_all(bench), "remaining"), 0);
}

static void a_link_is_written_through(void **state)
{
    struct bench *bench = *state;

    plant(bench, "real.txt", "old");
    plant_link(bench, "link.txt", "real.txt");
    bench_call(bench, "write_file", "{\"filePath\":\"link.txt\",\"content\":\"new\"}");
    assert_file(bench, "real.txt", "new");
    undo_all(bench);
    assert_file(bench, "real.txt", "old");
}

static void a_link_that_came_since_is_refused(void **state)
{
    struct bench *bench = *state;
    struct tool_call *call;

    plant(bench, "a.txt", "old");
    plant_bytes_at(bench->outside_fd, "secret", "secret", 6);
    call = bench_prepare(bench, "write_file", "{\"filePath\":\"a.txt\",\"content\":\"new\"}");
    assert_int_equal(unlinkat(bench->root_fd, "a.txt", 0), 0);
    plant_link(bench, "a.txt", "../outside/secret");
    (void)bench_error_of(bench, bench_run(bench, call));
    {
        cleanup_buf struct buf content = BUF_INIT(FILE_TEXT_BYTES);

        read_file_at(bench->outside_fd, "secret", &content);
        assert_str(buf_view(&content), "secret");
    }
}

/* ---- append_file ---- */

static void text_is_appended_and_a_missing_file_made(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result =
        bench_call(bench, "append_file", "{\"filePath\":\"logs/a\",\"content\":\"one\\n\"}");

    assert_str(str_member(result, "path"), "logs/a");
    bench_call(bench, "append_file", "{\"filePath\":\"logs/a\",\"content\":\"two\\n\"}");
    assert_file(bench, "logs/a", "one\ntwo\n");
}

static void the_limit_holds_for_the_file_after_it(void **state)
{
    struct bench *bench = *state;

    limit_bytes(bench, 8);
    plant(bench, "a", "12345");
    assert_contains(bench_error(bench, "append_file", "{\"filePath\":\"a\",\"content\":\"6789\"}"),
                    "9 bytes exceed the limit of 8");
    assert_file(bench, "a", "12345");
    bench_call(bench, "append_file", "{\"filePath\":\"a\",\"content\":\"678\"}");
    assert_file(bench, "a", "12345678");
}

/* ---- create_directory ---- */

static void a_directory_is_made_with_those_above(void **state)
{
    struct bench *bench = *state;

    assert_str(str_member(bench_call(bench, "create_directory", "{\"dirPath\":\"a/b/c\"}"), "path"),
               "a/b/c");
    assert_int_equal(mode_of(bench, "a/b/c"), 0755);
    bench_call(bench, "create_directory", "{\"dirPath\":\"a/b\"}");
    bench_call(bench, "create_directory", "{\"dirPath\":\".\"}");
    plant(bench, "file", "");
    assert_contains(bench_error(bench, "create_directory", "{\"dirPath\":\"file\"}"),
                    "one of its parents is a file");
    assert_contains(bench_error(bench, "create_directory", "{\"dirPath\":\"file/x\"}"), "file/x");
}

/* ---- move ---- */

static void a_file_is_moved_over_another(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant(bench, "a", "A");
    plant(bench, "b", "B");
    result = bench_call(bench, "move", "{\"sourcePath\":\"a\",\"destinationPath\":\"b\"}");
    assert_str(str_member(result, "sourcePath"), "a");
    assert_str(str_member(result, "destinationPath"), "b");
    assert_false(is_there(bench, "a"));
    assert_file(bench, "b", "A");
    bench_call(bench, "move", "{\"sourcePath\":\"b\",\"destinationPath\":\"x/y/z\"}");
    assert_file(bench, "x/y/z", "A");
}

static void a_directory_is_moved_with_all_in_it(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "d");
    plant(bench, "d/f", "F");
    plant_dir(bench, "empty");
    bench_call(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"empty\"}");
    assert_file(bench, "empty/f", "F");
    assert_false(is_there(bench, "d"));
}

static void what_cannot_be_moved_stays(void **state)
{
    struct bench *bench = *state;

    plant(bench, "f", "F");
    plant_dir(bench, "d");
    plant(bench, "d/g", "G");
    plant_dir(bench, "e");
    plant(bench, "e/h", "H");
    assert_contains(
        bench_error(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"d/x/y\"}"),
        "cannot be moved into itself");
    assert_false(is_there(bench, "d/x"));
    assert_contains(bench_error(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"e\"}"),
                    "not empty");
    assert_contains(bench_error(bench, "move", "{\"sourcePath\":\"f\",\"destinationPath\":\"d\"}"),
                    "is a directory");
    assert_contains(bench_error(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"f\"}"),
                    "is a file");
    assert_contains(
        bench_error(bench, "move", "{\"sourcePath\":\"missing\",\"destinationPath\":\"n/x\"}"),
        "missing: not found");
    assert_false(is_there(bench, "n"));
    assert_contains(bench_error(bench, "move", "{\"sourcePath\":\".\",\"destinationPath\":\"n\"}"),
                    "the root itself cannot be moved or removed");
    assert_contains(bench_error(bench, "move", "{\"sourcePath\":\"f\",\"destinationPath\":\"\"}"),
                    "the root itself cannot be moved or removed");
    /* Onto itself is no move. */
    bench_call(bench, "move", "{\"sourcePath\":\"f\",\"destinationPath\":\"./f\"}");
    assert_file(bench, "f", "F");
    assert_int_equal(int_member(undo_all(bench), "remaining"), 0);
}

static void a_link_is_moved_itself(void **state)
{
    struct bench *bench = *state;

    plant(bench, "real", "R");
    plant_link(bench, "link", "real");
    bench_call(bench, "move", "{\"sourcePath\":\"link\",\"destinationPath\":\"other\"}");
    assert_false(is_there(bench, "link"));
    assert_int_equal(mode_of(bench, "other"), 0777);
    assert_file(bench, "real", "R");
    undo_all(bench);
    assert_true(is_there(bench, "link"));
    assert_false(is_there(bench, "other"));
}

/* ---- copy_file ---- */

static void a_file_is_copied_over_another(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "A");
    set_mode(bench, "a", 0755);
    plant(bench, "b", "B");
    set_mode(bench, "b", 0600);
    bench_call(bench, "copy_file", "{\"sourcePath\":\"a\",\"destinationPath\":\"b\"}");
    bench_call(bench, "copy_file", "{\"sourcePath\":\"a\",\"destinationPath\":\"n/c\"}");
    bench_call(bench, "copy_file", "{\"sourcePath\":\"a\",\"destinationPath\":\"a\"}");
    assert_file(bench, "a", "A");
    assert_file(bench, "b", "A");
    assert_int_equal(mode_of(bench, "b"), 0600);
    assert_file(bench, "n/c", "A");
    assert_int_equal(mode_of(bench, "n/c"), 0755);
}

static void only_files_are_copied(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "d");
    plant(bench, "f", "F");
    assert_contains(
        bench_error(bench, "copy_file", "{\"sourcePath\":\"d\",\"destinationPath\":\"x\"}"),
        "only files can be copied");
    assert_contains(
        bench_error(bench, "copy_file", "{\"sourcePath\":\"f\",\"destinationPath\":\"d\"}"),
        "is a directory");
    assert_false(is_there(bench, "x"));
}

static void only_so_much_is_copied_in_one_call(void **state)
{
    struct bench *bench = *state;

    bench_reopen(bench, (struct toolbox_config){.may_write = true, .max_copy_bytes = 5}, NULL);
    plant(bench, "f", "123456");
    plant(bench, "old", "old");
    assert_contains(
        bench_error(bench, "copy_file", "{\"sourcePath\":\"f\",\"destinationPath\":\"n/c\"}"),
        "at most 5 bytes");
    (void)bench_error(bench, "copy_file", "{\"sourcePath\":\"f\",\"destinationPath\":\"old\"}");
    assert_false(is_there(bench, "n"));
    assert_file(bench, "old", "old");
    /* A rename copies nothing. */
    bench_call(bench, "move", "{\"sourcePath\":\"f\",\"destinationPath\":\"g\"}");
    assert_file(bench, "g", "123456");
}

/* ---- delete ---- */

static void files_and_trees_are_deleted(void **state)
{
    struct bench *bench = *state;

    plant(bench, "f", "F");
    plant_dir(bench, "d");
    plant_dir(bench, "d/e");
    plant(bench, "d/e/g", "G");
    assert_str(str_member(bench_call(bench, "delete", "{\"path\":\"f\"}"), "path"), "f");
    bench_call(bench, "delete", "{\"path\":\"d/\"}");
    assert_false(is_there(bench, "f"));
    assert_false(is_there(bench, "d"));
    assert_contains(bench_error(bench, "delete", "{\"path\":\"f\"}"), "f: not found");
}

static void the_root_cannot_be_deleted(void **state)
{
    static const char *const roots[] = {".", "", "./", "./.", "d/..", "d/../."};
    struct bench *bench = *state;

    plant_dir(bench, "d");
    plant(bench, "f", "F");
    for (size_t i = 0; i < array_size(roots); i++)
        assert_contains(
            bench_error(bench, "delete", arguments(bench, "path", roots[i], (char *)NULL)),
            "the root itself cannot be moved or removed");
    assert_file(bench, "f", "F");
    assert_true(is_there(bench, "d"));
}

static void a_link_is_deleted_and_not_what_it_leads_to(void **state)
{
    struct bench *bench = *state;

    plant(bench, "real", "R");
    plant_dir(bench, "d");
    plant(bench, "d/f", "F");
    plant_link(bench, "to_file", "real");
    plant_link(bench, "to_dir", "d");
    plant_link(bench, "away", "../outside");
    bench_call(bench, "delete", "{\"path\":\"to_file\"}");
    bench_call(bench, "delete", "{\"path\":\"to_dir\"}");
    bench_call(bench, "delete", "{\"path\":\"away\"}");
    assert_false(is_there(bench, "to_file"));
    assert_false(is_there(bench, "to_dir"));
    assert_false(is_there(bench, "away"));
    assert_file(bench, "real", "R");
    assert_file(bench, "d/f", "F");
}

static void denied_names_stay_and_so_does_what_holds_them(void **state)
{
    static const char *const denied[] = {"**/.env", NULL};
    struct bench *bench = *state;

    bench_reopen(bench, (struct toolbox_config){.may_write = true}, denied);
    plant_dir(bench, "d");
    plant(bench, "d/.env", "SECRET");
    plant(bench, "d/f", "F");
    (void)bench_error(bench, "delete", "{\"path\":\"d/.env\"}");
    (void)bench_error(bench, "delete", "{\"path\":\"d\"}");
    (void)bench_error(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"e\"}");
    (void)bench_error(bench, "write_file", "{\"filePath\":\"d/.env\",\"content\":\"x\"}");
    (void)bench_error(bench, "copy_file",
                      "{\"sourcePath\":\"d/.env\",\"destinationPath\":\"plain\"}");
    assert_file(bench, "d/.env", "SECRET");
    assert_file(bench, "d/f", "F");
    assert_false(is_there(bench, "e"));
    assert_false(is_there(bench, "plain"));
}

/* ---- extract_archive ---- */

/* The directory `from` as the archive `name`, made through the authority. */
static void pack(struct bench *bench, const char *from, const char *name)
{
    struct authority_archive_result result;

    assert_int_equal(authority_create_archive(bench->files, str_from(from), str_from(name),
                                              AUTHORITY_TAR_GZ, NULL, &result, &bench->err),
                     0);
}

static void an_archive_is_unpacked_and_counted(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant_dir(bench, "d");
    plant_dir(bench, "d/e");
    plant(bench, "d/f", "12345");
    plant(bench, "d/e/g", "678");
    pack(bench, "d", "a.tar.gz");
    result = bench_call(bench, "extract_archive",
                        "{\"archivePath\":\"a.tar.gz\",\"destinationPath\":\"out/here\"}");
    assert_str(str_member(result, "destinationPath"), "out/here");
    assert_int_equal(int_member(result, "files"), 2);
    assert_int_equal(int_member(result, "directories"), 1);
    assert_int_equal(int_member(result, "bytes"), 8);
    assert_file(bench, "out/here/e/g", "678");
    assert_contains(bench_error(bench, "extract_archive",
                                "{\"archivePath\":\"a.tar.gz\",\"destinationPath\":\"d\"}"),
                    "must be missing or an empty directory");
    assert_contains(bench_error(bench, "extract_archive",
                                "{\"archivePath\":\"a.tar.gz\",\"destinationPath\":\"d/f\"}"),
                    "is a file");
    assert_contains(bench_error(bench, "extract_archive",
                                "{\"archivePath\":\"a.tar.gz\",\"destinationPath\":\".\"}"),
                    "below the root");
    assert_file(bench, "d/f", "12345");
}

struct reports {
    unsigned count;
    uint64_t last;
    uint64_t total;
};

static void count_report(void *data, uint64_t done, uint64_t total, const char *what)
{
    struct reports *reports = data;

    assert_string_equal(what, "unpacking");
    assert_true(done > reports->last);
    reports->last = done;
    reports->total = total;
    reports->count++;
}

static void unpacking_tells_how_far_it_is(void **state)
{
    static const struct {
        enum authority_archive_format format;
        const char *name;
        uint64_t total;
    } formats[] = {{AUTHORITY_TAR_GZ, "a.tgz", 0}, {AUTHORITY_ZIP, "a.zip", 8}};
    struct bench *bench = *state;

    plant_dir(bench, "d");
    plant(bench, "d/f", "12345");
    plant(bench, "d/g", "678");
    for (size_t i = 0; i < array_size(formats); i++) {
        struct authority_archive_result result;
        struct reports reports = {0};
        struct tool_call *call;
        char arguments[128];

        assert_int_equal(authority_create_archive(bench->files, STR("d"), str_from(formats[i].name),
                                                  formats[i].format, NULL, &result, &bench->err),
                         0);
        snprintf(arguments, sizeof(arguments),
                 "{\"archivePath\":\"%s\",\"destinationPath\":\"out-%s\"}", formats[i].name,
                 formats[i].name);
        call = bench_prepare(bench, "extract_archive", arguments);
        assert_non_null(call);
        buf_clear(&bench->out);
        assert_int_equal(tool_run(call, NULL, count_report, &reports, &bench->out), 0);
        assert_true(reports.count >= 2);
        assert_int_equal(reports.last, 8);
        assert_int_equal(reports.total, formats[i].total);
        tool_free(call);
    }
}

static void a_broken_archive_leaves_nothing(void **state)
{
    struct bench *bench = *state;

    plant(bench, "bad.zip", "PK\003\004 and then nothing");
    plant_dir(bench, "empty");
    set_mode(bench, "empty", 0700);
    (void)bench_error(bench, "extract_archive",
                      "{\"archivePath\":\"bad.zip\",\"destinationPath\":\"new/out\"}");
    assert_false(is_there(bench, "new"));
    (void)bench_error(bench, "extract_archive",
                      "{\"archivePath\":\"bad.zip\",\"destinationPath\":\"empty\"}");
    assert_int_equal(mode_of(bench, "empty"), 0700);
    assert_int_equal(int_member(undo_all(bench), "remaining"), 0);
}

/* ---- without the rights ---- */

static void what_is_read_only_stays(void **state)
{
    struct bench *bench = *state;

    if (geteuid() == 0)
        skip_because("root may write everything");
    plant(bench, "f", "F");
    set_mode(bench, "f", 0444);
    plant_dir(bench, "d");
    plant(bench, "d/g", "G");
    set_mode(bench, "d", 0555);
    assert_contains(bench_error(bench, "write_file", "{\"filePath\":\"f\",\"content\":\"x\"}"),
                    "permission denied");
    (void)bench_error(bench, "append_file", "{\"filePath\":\"f\",\"content\":\"x\"}");
    (void)bench_error(bench, "edit_file",
                      "{\"filePath\":\"f\",\"oldString\":\"F\",\"newString\":\"x\"}");
    (void)bench_error(bench, "delete", "{\"path\":\"d/g\"}");
    (void)bench_error(bench, "delete", "{\"path\":\"d\"}");
    (void)bench_error(bench, "move", "{\"sourcePath\":\"d/g\",\"destinationPath\":\"x\"}");
    assert_file(bench, "f", "F");
    assert_file(bench, "d/g", "G");
    assert_int_equal(int_member(undo_all(bench), "remaining"), 0);
    set_mode(bench, "d", 0755);
}

static void a_fifo_is_neither_written_nor_moved_over(void **state)
{
    struct bench *bench = *state;
    static const char both[] = "{\"sourcePath\":\"a\",\"destinationPath\":\"pipe\"}";

    plant(bench, "a", "A");
    assert_int_equal(mkfifoat(bench->root_fd, "pipe", 0644), 0);
    assert_contains(bench_error(bench, "write_file", "{\"filePath\":\"pipe\",\"content\":\"x\"}"),
                    "pipe: is not a writable file");
    assert_contains(bench_error(bench, "move", both), "pipe: is not a writable file");
    assert_contains(bench_error(bench, "copy_file", both), "pipe: is not a writable file");
    assert_file(bench, "a", "A");
    assert_int_equal(json_get(undo_all(bench), STR("undone"))->size, 0);
}

TEST_MAIN(CHANGE_TEST(a_file_is_written_with_its_directories),
          CHANGE_TEST(a_fifo_is_neither_written_nor_moved_over),
          CHANGE_TEST(a_replaced_file_keeps_its_mode),
          CHANGE_TEST(a_write_over_the_limit_changes_nothing),
          CHANGE_TEST(a_file_gets_no_name_of_a_directory),
          CHANGE_TEST(a_directory_is_not_written_over), CHANGE_TEST(a_link_is_written_through),
          CHANGE_TEST(a_link_that_came_since_is_refused),
          CHANGE_TEST(text_is_appended_and_a_missing_file_made),
          CHANGE_TEST(the_limit_holds_for_the_file_after_it),
          CHANGE_TEST(a_directory_is_made_with_those_above),
          CHANGE_TEST(a_file_is_moved_over_another),
          CHANGE_TEST(a_directory_is_moved_with_all_in_it), CHANGE_TEST(what_cannot_be_moved_stays),
          CHANGE_TEST(a_link_is_moved_itself), CHANGE_TEST(a_file_is_copied_over_another),
          CHANGE_TEST(only_files_are_copied), CHANGE_TEST(only_so_much_is_copied_in_one_call),
          CHANGE_TEST(files_and_trees_are_deleted), CHANGE_TEST(the_root_cannot_be_deleted),
          CHANGE_TEST(a_link_is_deleted_and_not_what_it_leads_to),
          CHANGE_TEST(denied_names_stay_and_so_does_what_holds_them),
          CHANGE_TEST(an_archive_is_unpacked_and_counted),
          CHANGE_TEST(unpacking_tells_how_far_it_is), CHANGE_TEST(a_broken_archive_leaves_nothing),
          CHANGE_TEST(what_is_read_only_stays))
