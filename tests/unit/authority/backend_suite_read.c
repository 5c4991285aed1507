/* SPDX-License-Identifier: Apache-2.0 */
/* Looking, opening, reading files and directories. */
#include "backend_suite.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All of a directory, and what to do with each entry. */
static unsigned read_dir(struct suite *suite, struct backend_dir *dir,
                         void (*visit)(struct suite *suite, struct str component))
{
    enum authority_type type;
    unsigned count = 0;
    struct str component;
    int error = 0;

    while (suite->ops->dir_next(dir, &component, &type, &error)) {
        count++;
        if (visit != NULL)
            visit(suite, component);
    }
    assert_int_equal(error, 0);
    return count;
}

static struct backend_dir *open_dir(struct suite *suite, const char *name)
{
    struct backend_dir *dir = NULL;

    assert_int_equal(suite->ops->dir_open(suite->root, &suite_strict, str_from(name), &dir), 0);
    return dir;
}

void stat_tells_what_is_there(void **state)
{
    struct suite *suite = *state;
    struct authority_stat a;
    struct authority_stat b;

    suite_plant_dir(suite, "d");
    suite_plant(suite, "d/a", "12345");
    suite->fixture->set_mode(suite, SUITE_ROOT, "d/a", 0640);
    suite_plant(suite, "d/b", "");
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("d/a"), &a), 0);
    assert_int_equal(a.type, AUTHORITY_FILE);
    assert_int_equal(a.size, 5);
    assert_int_equal(a.mode & 07777, 0640);
    assert_int_equal(a.links, 1);
    assert_true(a.modified_ms > 0);
    assert_true(a.modified_ns < 1000000000);
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("d/b"), &b), 0);
    assert_int_equal(b.size, 0);
    assert_true(a.inode != b.inode);
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("d"), &b), 0);
    assert_int_equal(b.type, AUTHORITY_DIRECTORY);
    suite->fixture->plant(suite, SUITE_ROOT, "pipe", AUTHORITY_OTHER, STR_EMPTY);
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("pipe"), &b), 0);
    assert_int_equal(b.type, AUTHORITY_OTHER);
    suite->fixture->plant_hardlink(suite, SUITE_ROOT, "d/a", SUITE_ROOT, "second");
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("second"), &b), 0);
    assert_int_equal(b.links, 2);
    assert_true(a.inode == b.inode);
}

void stat_shows_a_last_link_itself_when_links_are_rejected(void **state)
{
    struct suite *suite = *state;
    struct authority_stat about;

    suite_plant(suite, "file", "12345");
    suite_plant_link(suite, "link", "file");
    suite_plant_link(suite, "nowhere", "missing");
    suite_plant_link(suite, "out", "/etc/passwd");
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("link"), &about), 0);
    assert_int_equal(about.type, AUTHORITY_SYMLINK);
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("nowhere"), &about), 0);
    assert_int_equal(about.type, AUTHORITY_SYMLINK);
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("out"), &about), 0);
    assert_int_equal(about.type, AUTHORITY_SYMLINK);
    assert_int_equal(suite->ops->stat(suite->root, &suite_following, STR("link"), &about), 0);
    assert_int_equal(about.type, AUTHORITY_FILE);
    assert_int_equal(about.size, 5);
}

void the_root_can_be_looked_at_and_read(void **state)
{
    struct suite *suite = *state;
    struct authority_stat about;
    struct backend_dir *dir;

    suite_plant(suite, "a", "");
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR(""), &about), 0);
    assert_int_equal(about.type, AUTHORITY_DIRECTORY);
    assert_int_equal(suite->ops->stat(suite->root, &suite_following, STR(""), &about), 0);
    dir = open_dir(suite, "");
    assert_int_equal(read_dir(suite, dir, NULL), 1);
    suite->ops->dir_close(dir);
}

void what_is_missing_is_not_found(void **state)
{
    static const struct str names[] = {STR_LITERAL("no"), STR_LITERAL("no/such"),
                                       STR_LITERAL("d/no")};
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct backend_stage *stage = NULL;
    struct backend_file *file = NULL;
    struct authority_stat about;
    struct backend_dir *dir = NULL;

    suite_plant_dir(suite, "d");
    for (size_t i = 0; i < array_size(names); i++) {
        struct str name = names[i];

        assert_int_equal(ops->stat(suite->root, &suite_strict, name, &about), ERR_NOT_FOUND);
        assert_int_equal(ops->stat(suite->root, &suite_following, name, &about), ERR_NOT_FOUND);
        assert_int_equal(ops->file_open(suite->root, &suite_strict, name, &file, &about),
                         ERR_NOT_FOUND);
        assert_int_equal(ops->dir_open(suite->root, &suite_strict, name, &dir), ERR_NOT_FOUND);
        assert_int_equal(ops->remove(suite->root, &suite_strict, name, true, SUITE_BUDGET),
                         ERR_NOT_FOUND);
        assert_int_equal(
            ops->stage(suite->root, &suite_strict, name, BACKEND_REPLACE_OLD, 0644, &stage),
            ERR_NOT_FOUND);
        assert_int_equal(ops->rename(suite->root, &suite_strict, name, suite->root, &suite_strict,
                                     STR("new"), true),
                         ERR_NOT_FOUND);
    }
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "d"), 0);
}

void a_file_is_no_directory_on_the_way(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct str name = STR("file/below");
    struct backend_stage *stage = NULL;
    struct backend_root *tree = NULL;
    struct backend_file *file = NULL;
    struct authority_stat about;
    struct backend_dir *dir = NULL;

    suite_plant(suite, "file", "x");
    assert_int_equal(ops->stat(suite->root, &suite_strict, name, &about), ERR_NOT_A_DIRECTORY);
    assert_int_equal(ops->file_open(suite->root, &suite_strict, name, &file, &about),
                     ERR_NOT_A_DIRECTORY);
    assert_int_equal(ops->dir_open(suite->root, &suite_strict, name, &dir), ERR_NOT_A_DIRECTORY);
    assert_int_equal(ops->dir_open(suite->root, &suite_strict, STR("file"), &dir),
                     ERR_NOT_A_DIRECTORY);
    assert_int_equal(ops->mkdir(suite->root, &suite_strict, name, 0755, false),
                     ERR_NOT_A_DIRECTORY);
    assert_int_equal(
        ops->stage(suite->root, &suite_strict, name, BACKEND_CREATE_OR_REPLACE, 0644, &stage),
        ERR_NOT_A_DIRECTORY);
    assert_int_equal(ops->append(suite->root, &suite_strict, name, STR("x"), true, 0644, false),
                     ERR_NOT_A_DIRECTORY);
    assert_int_equal(ops->remove(suite->root, &suite_strict, name, true, SUITE_BUDGET),
                     ERR_NOT_A_DIRECTORY);
    assert_int_equal(ops->tree_stage(suite->root, &suite_strict, name, &tree), ERR_NOT_A_DIRECTORY);
    suite_assert_content(suite, SUITE_ROOT, "file", "x");
}

void outputs_stay_untouched_on_failure(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct authority_stat about;
    struct authority_stat before;
    char mark = 0;
    /* SAFETY: never followed, only compared. */
    struct backend_file *file = (struct backend_file *)&mark;
    struct backend_stage *stage = (struct backend_stage *)&mark;
    struct backend_dir *dir = (struct backend_dir *)&mark;
    struct backend_root *tree = (struct backend_root *)&mark;

    memset(&about, 0x5a, sizeof(about));
    memset(&before, 0x5a, sizeof(before));
    suite_plant(suite, "a", "");
    suite_plant_dir(suite, "d");
    assert_true(ops->stat(suite->root, &suite_strict, STR("no"), &about) < 0);
    assert_true(ops->file_open(suite->root, &suite_strict, STR("d"), &file, &about) < 0);
    assert_true(ops->stage(suite->root, &suite_strict, STR("a"), BACKEND_CREATE_NEW, 0644, &stage) <
                0);
    assert_true(ops->dir_open(suite->root, &suite_strict, STR("a"), &dir) < 0);
    assert_true(ops->tree_stage(suite->root, &suite_strict, STR("a/t"), &tree) < 0);
    assert_memory_equal(&about, &before, sizeof(about));
    assert_ptr_equal(file, &mark);
    assert_ptr_equal(stage, &mark);
    assert_ptr_equal(dir, &mark);
    assert_ptr_equal(tree, &mark);
}

void a_file_is_read_from_any_offset(void **state)
{
    struct suite *suite = *state;
    struct backend_file *file = NULL;
    struct authority_stat about;
    char bytes[16];
    size_t got = 0;

    suite_plant(suite, "f", "0123456789");
    assert_int_equal(suite->ops->file_open(suite->root, &suite_strict, STR("f"), &file, &about), 0);
    assert_int_equal(about.size, 10);
    assert_int_equal(suite->ops->file_read(file, 7, bytes, sizeof(bytes), &got), 0);
    assert_str(((struct str){bytes, got}), "789");
    assert_int_equal(suite->ops->file_read(file, 2, bytes, 3, &got), 0);
    assert_str(((struct str){bytes, got}), "234");
    assert_int_equal(suite->ops->file_read(file, 10, bytes, sizeof(bytes), &got), 0);
    assert_int_equal(got, 0);
    assert_int_equal(suite->ops->file_read(file, (uint64_t)1 << 40, bytes, sizeof(bytes), &got), 0);
    assert_int_equal(got, 0);
    suite_assert_handle(suite, file, "0123456789");
}

void an_open_file_stays_as_it_was_when_it_is_replaced(void **state)
{
    struct suite *suite = *state;
    struct backend_file *file = NULL;

    suite_plant(suite, "f", "old");
    assert_int_equal(suite_open(suite, &suite_strict, "f", &file), 0);
    assert_int_equal(suite_write(suite, &suite_strict, "f", "new content"), 0);
    suite_assert_reads(suite, &suite_strict, "f", "new content");
    suite_assert_handle(suite, file, "old");
}

void an_open_file_stays_readable_when_it_is_removed(void **state)
{
    struct suite *suite = *state;
    struct backend_file *file = NULL;

    suite_plant_dir(suite, "d");
    suite_plant(suite, "d/f", "still here");
    assert_int_equal(suite_open(suite, &suite_strict, "d/f", &file), 0);
    assert_int_equal(suite->ops->remove(suite->root, &suite_strict, STR("d"), true, SUITE_BUDGET),
                     0);
    suite_assert_missing(suite, SUITE_ROOT, "d");
    suite_assert_handle(suite, file, "still here");
}

void what_is_no_regular_file_is_refused_without_blocking(void **state)
{
    struct suite *suite = *state;
    struct backend_file *file = NULL;

    suite->fixture->plant(suite, SUITE_ROOT, "pipe", AUTHORITY_OTHER, STR_EMPTY);
    suite_plant_dir(suite, "d");
    assert_int_equal(suite_open(suite, &suite_strict, "pipe", &file), ERR_NOT_REGULAR_FILE);
    assert_int_equal(suite_open(suite, &suite_following, "pipe", &file), ERR_NOT_REGULAR_FILE);
    assert_int_equal(suite_open(suite, &suite_strict, "d", &file), ERR_NOT_REGULAR_FILE);
    assert_int_equal(suite_open(suite, &suite_strict, "", &file), ERR_NOT_REGULAR_FILE);
}

void a_file_with_two_names_is_refused_unless_allowed(void **state)
{
    struct suite *suite = *state;
    struct backend_lookup allowing = {.allows_hardlinks = true};
    struct backend_file *file = NULL;

    suite_plant(suite, "f", "shared");
    suite->fixture->plant_hardlink(suite, SUITE_ROOT, "f", SUITE_OTHER, "second");
    assert_int_equal(suite_open(suite, &suite_strict, "f", &file), ERR_HARDLINK_REJECTED);
    suite_assert_reads(suite, &allowing, "f", "shared");
    suite->fixture->take(suite, SUITE_OTHER, "second");
    suite_assert_reads(suite, &suite_strict, "f", "shared");
}

void a_file_over_its_limit_is_refused(void **state)
{
    struct suite *suite = *state;
    struct backend_lookup limited = {.max_file_bytes = 5};
    struct backend_file *file = NULL;

    suite_plant(suite, "five", "12345");
    suite_plant(suite, "six", "123456");
    suite_assert_reads(suite, &limited, "five", "12345");
    assert_int_equal(suite_open(suite, &limited, "six", &file), ERR_TOO_LARGE);
}

void names_are_any_bytes(void **state)
{
    static const char *const names[] = {
        "line\nbreak", "\xff\xfe not \xc0 utf-8", "%2e%2e", "..\\x", "...", "~", " ", "-rf"};
    struct suite *suite = *state;
    char longest[NAME_MAX + 1];
    struct backend_dir *dir;
    struct str component;
    enum authority_type type;
    size_t found = 0;
    int error = 0;

    memset(longest, 'n', NAME_MAX);
    longest[NAME_MAX] = '\0';
    assert_int_equal(suite_write(suite, &suite_strict, longest, "long"), 0);
    suite_assert_content(suite, SUITE_ROOT, longest, "long");
    suite_assert_reads(suite, &suite_strict, longest, "long");
    suite_assert_reads(suite, &suite_following, longest, "long");
    for (size_t i = 0; i < array_size(names); i++) {
        assert_int_equal(suite_write(suite, &suite_strict, names[i], names[i]), 0);
        suite_assert_content(suite, SUITE_ROOT, names[i], names[i]);
        suite_assert_reads(suite, &suite_following, names[i], names[i]);
    }
    dir = open_dir(suite, "");
    while (suite->ops->dir_next(dir, &component, &type, &error)) {
        for (size_t i = 0; i < array_size(names); i++)
            found += str_eq_c(component, names[i]) ? 1 : 0;
        found += str_eq_c(component, longest) ? 1 : 0;
    }
    assert_int_equal(found, array_size(names) + 1);
    suite->ops->dir_close(dir);
    assert_int_equal(suite->ops->rename(suite->root, &suite_strict, str_from(longest), suite->root,
                                        &suite_strict, STR("short"), false),
                     0);
    suite_assert_content(suite, SUITE_ROOT, "short", "long");
}

enum { MANY = 5000 };

static void plant_many(struct suite *suite, unsigned count)
{
    suite_plant_dir(suite, "many");
    for (unsigned i = 0; i < count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "many/%04u", i);
        suite_plant(suite, name, "");
    }
}

void a_directory_is_read_whole_however_long(void **state)
{
    struct suite *suite = *state;
    cleanup_free bool *was_seen = calloc(MANY, sizeof(*was_seen));
    struct backend_dir *dir;
    enum authority_type type;
    struct str component;
    unsigned count = 0;
    int error = 0;

    assert_non_null(was_seen);
    plant_many(suite, MANY);
    dir = open_dir(suite, "many");
    while (suite->ops->dir_next(dir, &component, &type, &error)) {
        int64_t number = -1;

        assert_int_equal(component.len, 4);
        assert_int_equal(type, AUTHORITY_FILE);
        assert_true(str_to_int64(component, &number) && number >= 0 && number < MANY);
        assert_false(was_seen[number]);
        was_seen[number] = true;
        count++;
    }
    assert_int_equal(error, 0);
    assert_int_equal(count, MANY);
    suite->ops->dir_close(dir);
}

void names_of_every_length_are_read_whole(void **state)
{
    struct suite *suite = *state;
    bool was_seen[NAME_MAX + 1] = {false};
    struct backend_dir *dir;
    enum authority_type type;
    struct str component;
    int error = 0;

    suite_plant_dir(suite, "lengths");
    for (size_t len = 1; len <= NAME_MAX; len++) {
        char name[sizeof("lengths/") + NAME_MAX] = "lengths/";

        memset(name + strlen(name), 'n', len);
        suite_plant(suite, name, "");
    }
    dir = open_dir(suite, "lengths");
    while (suite->ops->dir_next(dir, &component, &type, &error)) {
        assert_in_range(component.len, 1, NAME_MAX);
        assert_false(was_seen[component.len]);
        was_seen[component.len] = true;
        for (size_t i = 0; i < component.len; i++)
            assert_int_equal(component.ptr[i], 'n');
    }
    assert_int_equal(error, 0);
    for (size_t len = 1; len <= NAME_MAX; len++)
        assert_true(was_seen[len]);
    suite->ops->dir_close(dir);
}

static void remove_entry(struct suite *suite, struct str component)
{
    char name[300];

    snprintf(name, sizeof(name), "many/%.*s", STR_ARG(component));
    assert_int_equal(suite->ops->remove(suite->root, &suite_strict, str_from(name), false, 1), 0);
    /* Still what was shown, though it is gone. */
    assert_int_equal(component.len, 4);
}

void entries_can_be_removed_while_they_are_read(void **state)
{
    enum { COUNT = 1000 };
    struct suite *suite = *state;
    struct backend_dir *dir;

    plant_many(suite, COUNT);
    dir = open_dir(suite, "many");
    assert_int_equal(read_dir(suite, dir, remove_entry), COUNT);
    suite->ops->dir_close(dir);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "many"), 0);
}

static void rename_entry(struct suite *suite, struct str component)
{
    char from[300];
    char to[300];

    snprintf(from, sizeof(from), "many/%.*s", STR_ARG(component));
    snprintf(to, sizeof(to), "many/%.*s~", STR_ARG(component));
    assert_int_equal(suite->ops->rename(suite->root, &suite_strict, str_from(from), suite->root,
                                        &suite_strict, str_from(to), false),
                     0);
}

void entries_can_be_renamed_while_they_are_read(void **state)
{
    enum { COUNT = 50 };
    struct suite *suite = *state;
    struct backend_dir *dir;

    plant_many(suite, COUNT);
    dir = open_dir(suite, "many");
    /* A renamed one may be shown again, but that has an end. */
    assert_true(read_dir(suite, dir, rename_entry) >= COUNT);
    suite->ops->dir_close(dir);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "many"), COUNT);
    suite_assert_missing(suite, SUITE_ROOT, "many/0000");
}

void a_directory_handle_opens_directories_directly_below(void **state)
{
    struct suite *suite = *state;
    struct backend_dir *below = NULL;
    struct backend_dir *last = NULL;
    struct authority_stat about;
    struct backend_dir *dir;

    suite_plant_dir(suite, "a");
    suite_plant_dir(suite, "a/b");
    suite_plant_dir(suite, "a/b/c");
    suite_plant(suite, "a/b/c/f", "123");
    suite_plant(suite, "a/b/c/g", "");
    dir = open_dir(suite, "a");
    assert_int_equal(suite->ops->dir_open_below(dir, STR("b"), &below), 0);
    suite->ops->dir_close(dir);
    assert_int_equal(suite->ops->dir_open_below(below, STR("c"), &last), 0);
    suite->ops->dir_close(below);
    assert_int_equal(suite->ops->dir_stat(last, STR("f"), &about), 0);
    assert_int_equal(about.size, 3);
    assert_int_equal(suite->ops->dir_stat(last, STR("missing"), &about), ERR_NOT_FOUND);
    assert_int_equal(suite->ops->dir_open_below(last, STR("missing"), &dir), ERR_NOT_FOUND);
    assert_int_equal(suite->ops->dir_open_below(last, STR("f"), &dir), ERR_NOT_A_DIRECTORY);
    assert_int_equal(read_dir(suite, last, NULL), 2);
    suite->ops->dir_close(last);
}

void a_directory_handle_never_goes_through_a_link_or_upwards(void **state)
{
    static const struct str bad[] = {STR_LITERAL(".."), STR_LITERAL("../secret"),
                                     STR_LITERAL("sub/.."), STR_LITERAL("sub/f")};
    struct suite *suite = *state;
    struct backend_file *file = NULL;
    struct backend_dir *below = NULL;
    struct authority_stat about;
    struct backend_dir *dir = NULL;

    suite_plant_dir(suite, "d");
    suite_plant_dir(suite, "d/sub");
    suite_plant(suite, "d/sub/f", "");
    suite_plant(suite, "secret", "secret");
    suite_plant_link(suite, "d/to_dir", "sub");
    suite_plant_link(suite, "d/to_file", "../secret");
    /* Also when the directory itself was opened with links followed. */
    assert_int_equal(suite->ops->dir_open(suite->root, &suite_following, STR("d"), &dir), 0);
    suite_assert_refused(suite->ops->dir_open_below(dir, STR("to_dir"), &below),
                         ERR_SYMLINK_REJECTED, ERR_NOT_A_DIRECTORY);
    assert_int_equal(suite->ops->dir_stat(dir, STR("to_file"), &about), 0);
    assert_int_equal(about.type, AUTHORITY_SYMLINK);
    assert_int_equal(suite->ops->dir_file_open(dir, &suite_strict, STR("to_file"), &file, &about),
                     ERR_SYMLINK_REJECTED);
    assert_int_equal(
        suite->ops->dir_file_open(dir, &suite_following, STR("to_file"), &file, &about),
        ERR_SYMLINK_REJECTED);
    for (size_t i = 0; i < array_size(bad); i++) {
        assert_true(suite->ops->dir_open_below(dir, bad[i], &below) < 0);
        assert_true(suite->ops->dir_stat(dir, bad[i], &about) < 0);
        assert_true(suite->ops->dir_file_open(dir, &suite_strict, bad[i], &file, &about) < 0);
    }
    suite->ops->dir_close(dir);
}

void a_directory_handle_opens_files_by_the_lookups_rules(void **state)
{
    struct suite *suite = *state;
    struct backend_lookup limited = {.max_file_bytes = 2};
    struct backend_lookup allowing = {.allows_hardlinks = true};
    struct backend_file *file = NULL;
    struct authority_stat about;
    struct backend_dir *dir;

    suite_plant_dir(suite, "d");
    suite_plant(suite, "d/f", "123");
    suite_plant(suite, "d/h", "shared");
    suite->fixture->plant_hardlink(suite, SUITE_ROOT, "d/h", SUITE_ROOT, "h2");
    suite->fixture->plant(suite, SUITE_ROOT, "d/pipe", AUTHORITY_OTHER, STR_EMPTY);
    suite_plant_dir(suite, "d/sub");
    dir = open_dir(suite, "d");
    assert_int_equal(suite->ops->dir_file_open(dir, &suite_strict, STR("f"), &file, &about), 0);
    assert_int_equal(about.size, 3);
    suite_assert_handle(suite, file, "123");
    assert_int_equal(suite->ops->dir_file_open(dir, &limited, STR("f"), &file, &about),
                     ERR_TOO_LARGE);
    assert_int_equal(suite->ops->dir_file_open(dir, &suite_strict, STR("h"), &file, &about),
                     ERR_HARDLINK_REJECTED);
    assert_int_equal(suite->ops->dir_file_open(dir, &allowing, STR("h"), &file, &about), 0);
    suite_assert_handle(suite, file, "shared");
    assert_int_equal(suite->ops->dir_file_open(dir, &suite_strict, STR("pipe"), &file, &about),
                     ERR_NOT_REGULAR_FILE);
    assert_int_equal(suite->ops->dir_file_open(dir, &suite_strict, STR("sub"), &file, &about),
                     ERR_NOT_REGULAR_FILE);
    assert_int_equal(suite->ops->dir_file_open(dir, &suite_strict, STR("no"), &file, &about),
                     ERR_NOT_FOUND);
    suite->ops->dir_close(dir);
}

void a_directory_handle_outlives_its_directory(void **state)
{
    struct suite *suite = *state;
    struct backend_dir *dir;

    suite_plant_dir(suite, "d");
    suite_plant_dir(suite, "d/sub");
    suite_plant(suite, "d/sub/f", "x");
    dir = open_dir(suite, "d/sub");
    assert_int_equal(suite->ops->remove(suite->root, &suite_strict, STR("d"), true, SUITE_BUDGET),
                     0);
    suite_assert_missing(suite, SUITE_ROOT, "d");
    assert_int_equal(read_dir(suite, dir, NULL), 0);
    suite->ops->dir_close(dir);
}

void a_descriptor_of_the_host_is_read_and_left_open(void **state)
{
    struct suite *suite = *state;
    struct backend_lookup limited = {.max_file_bytes = 2};
    struct backend_file *file = NULL;
    struct authority_stat about;
    char byte;
    int fd;

    if (suite->fixture->open_fd == NULL) {
        assert_int_equal(suite->ops->file_from_fd(suite->backend, &suite_strict, 0, &file, &about),
                         ERR_UNSUPPORTED);
        return;
    }
    suite->fixture->plant(suite, SUITE_OUTSIDE, "f", AUTHORITY_FILE, STR("123"));
    suite->fixture->plant(suite, SUITE_OUTSIDE, "pipe", AUTHORITY_OTHER, STR_EMPTY);
    fd = suite->fixture->open_fd(suite, SUITE_OUTSIDE, "f");
    assert_int_equal(suite->ops->file_from_fd(suite->backend, &suite_strict, fd, &file, &about), 0);
    assert_int_equal(about.size, 3);
    suite_assert_handle(suite, file, "123");
    assert_int_equal(pread(fd, &byte, 1, 0), 1);
    assert_int_equal(suite->ops->file_from_fd(suite->backend, &limited, fd, &file, &about),
                     ERR_TOO_LARGE);
    suite->fixture->plant_hardlink(suite, SUITE_OUTSIDE, "f", SUITE_OUTSIDE, "f2");
    assert_int_equal(suite->ops->file_from_fd(suite->backend, &suite_strict, fd, &file, &about),
                     ERR_HARDLINK_REJECTED);
    close(fd);
    fd = suite->fixture->open_fd(suite, SUITE_OUTSIDE, "pipe");
    assert_int_equal(suite->ops->file_from_fd(suite->backend, &suite_strict, fd, &file, &about),
                     ERR_NOT_REGULAR_FILE);
    close(fd);
}

void a_root_is_a_directory(void **state)
{
    struct suite *suite = *state;
    struct backend_root *root = NULL;
    char path[PATH_MAX];

    if (suite->fixture->path == NULL) { /* in memory, where no path is anything else */
        assert_int_equal(suite->ops->root_open(suite->backend, "/memory/a", &root), 0);
        suite->ops->root_close(root);
        return;
    }
    suite_plant(suite, "file", "");
    snprintf(path, sizeof(path), "%s/file", suite->fixture->path(suite, SUITE_ROOT));
    assert_int_equal(suite->ops->root_open(suite->backend, path, &root), ERR_NOT_A_DIRECTORY);
    snprintf(path, sizeof(path), "%s/missing", suite->fixture->path(suite, SUITE_ROOT));
    suite_assert_refused(suite->ops->root_open(suite->backend, path, &root), ERR_NOT_A_DIRECTORY,
                         ERR_NOT_FOUND);
    suite_assert_missing(suite, SUITE_ROOT, "missing");
}
